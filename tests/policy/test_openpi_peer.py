"""The client against openpi's own server package, in the Python that LIBERO_SAFETY_OPENPI_PYTHON names.

python -m venv peer && peer/bin/pip install openpi-server==0.1.0 openpi-client==0.1.2 typing_extensions
LIBERO_SAFETY_OPENPI_PYTHON=peer/bin/python pytest -m slow tests/policy/test_openpi_peer.py
"""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pytest

from libero_safety.policy.contract import (
    ContractError,
    NonFiniteActionError,
    PolicyConnectionError,
    PolicyRaised,
    PolicyTimeoutError,
)
from libero_safety.policy.msgpack_numpy import pack, unpack
from libero_safety.policy.openpi import OpenpiPolicy
from libero_safety.types import Observation

PYTHON = os.environ.get("LIBERO_SAFETY_OPENPI_PYTHON", "")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not PYTHON, reason="LIBERO_SAFETY_OPENPI_PYTHON names no Python with openpi-server"),
]

SERVER = """
import sys, time
import numpy as np
from openpi_server import WebsocketPolicyServer

class Policy:
    def infer(self, obs):
        verb, _, number = obs["prompt"].partition(" ")
        if verb == "raise":
            raise ValueError("no such prompt")
        if verb == "sleep":
            time.sleep(float(number))
        actions = np.tile(np.asarray(obs["observation/state"])[:7], (10, 1)).astype(np.float32)
        if verb == "short":
            actions = actions[:3]
        if verb == "nan":
            actions[1, 6] = np.nan
        image = obs["observation/image"]
        return {"actions": actions, "corner": image[0, 0], "seen": np.float32(image.mean())}

WebsocketPolicyServer(Policy(), "127.0.0.1", int(sys.argv[1]), {"name": "peer"}).serve_forever()
"""

ECHO = """
import sys
from openpi_client import msgpack_numpy
data = sys.stdin.buffer.read()
sys.stdout.buffer.write(msgpack_numpy.packb(msgpack_numpy.unpackb(data)))
"""

LIBERO_IMAGE = """
import sys
import numpy as np
from openpi_client import image_tools
height, width = int(sys.argv[1]), int(sys.argv[2])
image = np.frombuffer(sys.stdin.buffer.read(), np.uint8).reshape(height, width, 3)
turned = np.ascontiguousarray(image[::-1, ::-1])
sys.stdout.buffer.write(image_tools.convert_to_uint8(image_tools.resize_with_pad(turned, 224, 224)).tobytes())
"""


def run(script: str, data: bytes, *arguments: str) -> bytes:
    done = subprocess.run(
        [PYTHON, "-c", script, *arguments], input=data, capture_output=True, check=True, timeout=60
    )
    return done.stdout


def observation(prompt: str) -> Observation:
    image = np.random.Generator(np.random.PCG64(1)).integers(0, 256, (256, 256, 3), np.uint8)
    return Observation({"agentview": image, "robot0_eye_in_hand": image}, np.arange(8.0), prompt, 0.0)


@contextmanager
def server(port: int) -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([PYTHON, "-c", SERVER, str(port)], stderr=subprocess.DEVNULL)
    try:
        yield process
    finally:
        process.send_signal(signal.SIGCONT)
        process.kill()
        process.wait()


@pytest.fixture
def port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def connect(port: int, **options: float) -> OpenpiPolicy:
    policy = OpenpiPolicy(f"ws://127.0.0.1:{port}", connect_timeout_s=30.0, **options)  # type: ignore[arg-type]
    policy.reset("", np.random.Generator(np.random.PCG64(0)))
    return policy


def test_a_whole_episode_and_every_failure(port: int) -> None:
    with server(port):
        policy = connect(port)
        assert policy.metadata == {"name": "peer"}
        times_s: list[float] = []
        for _ in range(50):
            started = time.perf_counter()
            chunk = policy.act(observation("go"))
            times_s.append(time.perf_counter() - started)
            np.testing.assert_array_equal(chunk, np.tile(np.arange(7.0), (5, 1)))
        print(f"median {np.median(times_s) * 1e3:.2f} ms per call")  # noqa: T201
        with pytest.raises(ContractError, match="3 actions, but 5"):
            policy.act(observation("short"))
        with pytest.raises(NonFiniteActionError, match="action 1 of 5 has nan in component 6"):
            policy.act(observation("nan"))
        with pytest.raises(PolicyRaised, match="ValueError: no such prompt"):
            policy.act(observation("raise"))
        policy.reset("again", np.random.Generator(np.random.PCG64(0)))
        assert policy.act(observation("go")).shape == (5, 7)
        policy.close()


def test_a_killed_server_that_comes_back_is_found_again(port: int) -> None:
    with server(port) as process:
        policy = connect(port)
        policy.act(observation("go"))
        process.kill()
        process.wait()
        with pytest.raises(PolicyConnectionError):
            policy.act(observation("go"))
    with server(port):
        policy.reset("again", np.random.Generator(np.random.PCG64(0)))
        assert policy.act(observation("go")).shape == (5, 7)
        policy.close()


def test_a_stopped_server_does_not_stop_us(port: int) -> None:
    with server(port) as process:
        policy = connect(port, timeout_s=1.0)
        policy.act(observation("go"))
        process.send_signal(signal.SIGSTOP)
        started = time.monotonic()
        with pytest.raises(PolicyTimeoutError):
            policy.act(observation("go"))
        assert time.monotonic() - started < 5.0


def test_keepalive_does_not_kill_a_slow_first_call(port: int) -> None:
    with server(port):
        policy = connect(port, timeout_s=5.0, first_timeout_s=120.0)
        assert policy.act(observation("sleep 50")).shape == (5, 7)  # both sides would ping after 20 s
        assert policy.act(observation("go")).shape == (5, 7)
        policy.close()


def test_the_codecs_agree() -> None:
    message = {
        "prompt": "pick up the mug",
        "flags": [True, False, None, 3, 2.5, b"raw"],
        "scalar": np.float32(0.1),
        "count": np.int64(7),
        "image": np.arange(24, dtype=np.uint8).reshape(2, 4, 3),
        "state": np.linspace(0, 1, 8),
        "big_endian": np.arange(3, dtype=">i2"),
        "mask": np.array([[True, False]]),
        "empty": np.zeros((0, 7), np.float32),
    }
    packed = pack(message)
    returned = run(ECHO, packed)
    assert returned == packed
    back = unpack(returned)
    assert list(back) == list(message)
    for key in ("image", "state", "big_endian", "mask", "empty"):
        np.testing.assert_array_equal(back[key], message[key])
        assert back[key].dtype == message[key].dtype


@pytest.mark.parametrize("shape", [(256, 256), (224, 224), (128, 128), (480, 640), (300, 211)])
def test_images_are_those_of_openpis_libero_client(shape: tuple[int, int]) -> None:
    upright = np.random.Generator(np.random.PCG64(2)).integers(0, 256, (*shape, 3), np.uint8)
    as_libero_gives_it = np.ascontiguousarray(upright[::-1])
    expected = run(LIBERO_IMAGE, as_libero_gives_it.tobytes(), *map(str, shape))
    policy = OpenpiPolicy()
    scene = Observation({"agentview": upright, "robot0_eye_in_hand": upright}, np.zeros(8), "", 0.0)
    request = policy._request(scene)
    np.testing.assert_array_equal(
        request["observation/image"], np.frombuffer(expected, np.uint8).reshape(224, 224, 3)
    )
