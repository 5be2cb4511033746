"""The client against a server in this process that speaks openpi's protocol, well or badly."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import numpy as np
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.http11 import Request, Response
from websockets.sync.server import Server, ServerConnection, serve

from libero_safety.policy.contract import (
    ContractError,
    NonFiniteActionError,
    PolicyConnectionError,
    PolicyRaised,
    PolicyTimeoutError,
)
from libero_safety.policy.msgpack_numpy import pack, unpack
from libero_safety.policy.openpi import OpenpiPolicy, resize_with_padding
from libero_safety.types import Observation

RNG = np.random.Generator(np.random.PCG64(0))
Answer = Callable[[dict[str, Any]], Any]


def corners(height: int = 256, width: int = 256) -> np.ndarray:
    """Red top left, green top right, blue bottom left, white bottom right, black elsewhere."""
    image = np.zeros((height, width, 3), np.uint8)
    image[:64, :64] = (255, 0, 0)
    image[:64, -64:] = (0, 255, 0)
    image[-64:, :64] = (0, 0, 255)
    image[-64:, -64:] = 255
    return image


OBSERVATION = Observation(
    {"agentview": corners(), "robot0_eye_in_hand": corners()},
    np.arange(8.0),
    "put the mug on the plate",
    0.0,
)


def ramp(request: dict[str, Any]) -> dict[str, Any]:
    return {"actions": np.arange(70.0).reshape(10, 7) / 100}


class Peer:
    """What a server saw, and how it is told to behave."""

    def __init__(self, answer: Answer, greeting: bytes | str | None) -> None:
        self.answer = answer
        self.greeting = greeting
        self.requests: list[dict[str, Any]] = []
        self.connections = 0
        self.headers: list[str | None] = []

    def __call__(self, connection: ServerConnection) -> None:
        self.connections += 1
        assert connection.request is not None
        self.headers.append(connection.request.headers.get("Authorization"))
        if self.greeting is not None:
            connection.send(self.greeting)
        try:
            for message in connection:
                self.requests.append(unpack(message))
                reply = self.answer(self.requests[-1])
                if reply is None:
                    connection.socket.shutdown(socket.SHUT_RDWR)
                    return
                connection.send(reply if isinstance(reply, str | bytes) else pack(reply))
                if isinstance(reply, str):
                    connection.close(1011, "Internal server error. Traceback included in previous frame.")
        except ConnectionClosed:
            pass


@contextmanager
def running(peer: Callable[[ServerConnection], None], port: int = 0, **options: Any) -> Iterator[Server]:
    server = serve(peer, "127.0.0.1", port, compression=None, max_size=None, **options)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()


def url_of(server: Server) -> str:
    return f"ws://127.0.0.1:{server.socket.getsockname()[1]}"


@contextmanager
def connected(answer: Answer = ramp, **options: Any) -> Iterator[tuple[OpenpiPolicy, Peer]]:
    peer = Peer(answer, pack({"model": "none"}))
    with running(peer) as server:
        policy = OpenpiPolicy(url_of(server), connect_timeout_s=5.0, **options)
        try:
            policy.reset("put the mug on the plate", RNG)
            yield policy, peer
        finally:
            policy.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def test_the_first_actions_of_the_chunk_are_returned() -> None:
    with connected() as (policy, peer):
        chunk = policy.act(OBSERVATION)
        assert policy.metadata == {"model": "none"}
        assert chunk.shape == (5, 7)
        np.testing.assert_array_equal(chunk, np.arange(35.0).reshape(5, 7) / 100)
        assert policy.act(OBSERVATION).shape == (5, 7)
        assert len(peer.requests) == 2


def test_the_gripper_is_passed_on_as_it_is() -> None:
    actions = np.zeros((5, 7), np.float32)
    actions[:, 6] = (-1.0, 1.0, 0.25, -1.5, 0.0)
    with connected(lambda _: {"actions": actions}) as (policy, _):
        np.testing.assert_array_equal(policy.act(OBSERVATION), actions.astype(np.float64))


def test_the_request_is_what_openpi_expects() -> None:
    with connected() as (policy, peer):
        policy.act(OBSERVATION)
    request = peer.requests[0]
    assert set(request) == {"observation/image", "observation/wrist_image", "observation/state", "prompt"}
    assert request["prompt"] == "put the mug on the plate"
    np.testing.assert_array_equal(request["observation/state"], np.arange(8.0))
    for key in ("observation/image", "observation/wrist_image"):
        assert request[key].shape == (224, 224, 3)
        assert request[key].dtype == np.uint8


def quadrants(image: np.ndarray) -> list[str]:
    """Colour of the corners: top left, top right, bottom left, bottom right."""
    names = {(255, 0, 0): "red", (0, 255, 0): "green", (0, 0, 255): "blue", (255, 255, 255): "white"}
    return [names[tuple(int(c) for c in image[row, column])] for row in (10, -10) for column in (10, -10)]


@pytest.mark.parametrize(
    ("view", "seen"),
    [("libero", ["green", "red", "white", "blue"]), ("upright", ["red", "green", "blue", "white"])],
)
def test_libero_models_see_upright_mirrored_images(view: Any, seen: list[str]) -> None:
    with connected(image_view=view) as (policy, peer):
        policy.act(OBSERVATION)
    for key in ("observation/image", "observation/wrist_image"):
        assert quadrants(peer.requests[0][key]) == seen


def test_mirroring_is_liberos_turn_of_images_stored_bottom_row_first() -> None:
    with connected(image_size=256) as (policy, peer):
        policy.act(OBSERVATION)
    as_libero_gives_it = corners()[::-1]
    np.testing.assert_array_equal(peer.requests[0]["observation/image"], as_libero_gives_it[::-1, ::-1])


def test_other_shapes_are_padded_not_stretched() -> None:
    image = np.full((100, 200, 3), 200, np.uint8)
    padded = resize_with_padding(image, 224)
    assert padded.shape == (224, 224, 3)
    assert not padded[:56].any()
    assert not padded[168:].any()
    np.testing.assert_array_equal(padded[56:168], 200)


def test_a_key_is_sent_where_one_is_given() -> None:
    with connected(api_key="secret") as (_, peer):
        assert peer.headers == ["Api-Key secret"]
    with connected() as (_, peer):
        assert peer.headers == [None]


def test_a_short_chunk_gives_both_numbers() -> None:
    with (
        connected(lambda _: {"actions": np.zeros((3, 7))}) as (policy, _),
        pytest.raises(ContractError, match="returned 3 actions, but 5 are to be executed"),
    ):
        policy.act(OBSERVATION)


@pytest.mark.parametrize(
    ("reply", "message"),
    [
        ({"state": np.zeros(8)}, "holds no 'actions'; it holds: state"),
        ([1, 2], "replied with a list"),
        ({"actions": np.zeros((10, 32))}, r"shape \(10, 32\)"),
        (b"\xc1", "does not speak openpi's protocol"),
    ],
)
def test_a_reply_that_is_no_chunk_is_a_contract_error(reply: object, message: str) -> None:
    with connected(lambda _: reply) as (policy, _), pytest.raises(ContractError, match=message):
        policy.act(OBSERVATION)


def test_nan_is_found_and_the_next_call_still_works() -> None:
    bad = np.zeros((5, 7))
    bad[2, 3] = np.nan
    replies = iter([{"actions": bad}, {"actions": np.zeros((5, 7))}])
    with connected(lambda _: next(replies)) as (policy, _):
        with pytest.raises(NonFiniteActionError, match="action 2 of 5 has nan in component 3"):
            policy.act(OBSERVATION)
        assert not policy.act(OBSERVATION).any()


def test_a_server_error_carries_its_traceback_and_the_next_episode_reconnects() -> None:
    replies = iter(["Traceback (most recent call last):\nKeyError: 'observation/imag'", ramp({})])
    with connected(lambda _: next(replies)) as (policy, peer):
        with pytest.raises(PolicyRaised, match=r"KeyError: 'observation/imag'") as error:
            policy.act(OBSERVATION)
        assert error.value.error_class == "policy"
        policy.reset("again", RNG)
        assert policy.act(OBSERVATION).shape == (5, 7)
        assert peer.connections == 2


def test_a_connection_lost_within_an_episode_is_no_fault_of_the_policy() -> None:
    replies = iter([ramp({}), None, ramp({})])
    with connected(lambda _: next(replies)) as (policy, peer):
        policy.act(OBSERVATION)
        with pytest.raises(PolicyConnectionError, match="lost the connection") as error:
            policy.act(OBSERVATION)
        assert error.value.error_class == "connection"
        with pytest.raises(PolicyConnectionError, match="not connected"):
            policy.act(OBSERVATION)
        policy.reset("again", RNG)
        assert policy.act(OBSERVATION).shape == (5, 7)
        assert peer.connections == 2


def test_a_restarted_server_is_waited_for() -> None:
    port = free_port()
    policy = OpenpiPolicy(f"ws://127.0.0.1:{port}", connect_timeout_s=10.0)
    replies = iter([ramp({}), None])
    with running(Peer(lambda _: next(replies), pack({})), port):
        policy.reset("", RNG)
        policy.act(OBSERVATION)
        with pytest.raises(PolicyConnectionError):
            policy.act(OBSERVATION)

    stop = threading.Event()

    def restart() -> None:
        time.sleep(0.4)
        with running(Peer(ramp, pack({})), port):
            stop.wait()

    thread = threading.Thread(target=restart)
    thread.start()
    try:
        policy.reset("", RNG)
        assert policy.act(OBSERVATION).shape == (5, 7)
    finally:
        policy.close()
        stop.set()
        thread.join()


def test_the_first_reply_may_take_longer_than_the_others() -> None:
    delays = iter([1.5, 0.0, 1.5])

    def slow(request: dict[str, Any]) -> dict[str, Any]:
        time.sleep(next(delays))
        return ramp(request)

    with connected(slow, timeout_s=0.7, first_timeout_s=20.0) as (policy, _):
        policy.act(OBSERVATION)
        policy.act(OBSERVATION)
        with pytest.raises(PolicyTimeoutError, match=r"within 0.7 s \(timeout_s\)"):
            policy.act(OBSERVATION)


def test_the_first_reply_is_not_waited_for_forever() -> None:
    def slow(request: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.5)
        return ramp(request)

    with (
        connected(slow, first_timeout_s=0.1) as (policy, _),
        pytest.raises(PolicyTimeoutError, match=r"within 0.1 s \(first_timeout_s\)"),
    ):
        policy.act(OBSERVATION)


def test_a_late_reply_is_not_taken_for_the_next_answer() -> None:
    count = iter(range(10))

    def numbered(request: dict[str, Any]) -> dict[str, Any]:
        number = next(count)
        if number == 1:
            time.sleep(0.4)
        return {"actions": np.full((5, 7), number)}

    with connected(numbered, timeout_s=0.1, first_timeout_s=5.0) as (policy, _):
        policy.act(OBSERVATION)
        with pytest.raises(PolicyTimeoutError):
            policy.act(OBSERVATION)
        policy.reset("again", RNG)
        np.testing.assert_array_equal(policy.act(OBSERVATION), 2.0)


def test_no_server_is_an_error_after_the_time_given() -> None:
    policy = OpenpiPolicy(f"ws://127.0.0.1:{free_port()}", connect_timeout_s=0.5)
    started = time.monotonic()
    with pytest.raises(PolicyConnectionError, match=r"no policy server at ws://127.0.0.1:\d+ \(tries: [2-9]"):
        policy.reset("", RNG)
    assert time.monotonic() - started < 3.0


def test_a_server_that_says_no_is_not_asked_again() -> None:
    def refuse(connection: ServerConnection, request: Request) -> Response:
        return connection.respond(HTTPStatus.UNAUTHORIZED, "who are you?\n")

    with running(Peer(ramp, pack({})), process_request=refuse) as server:
        policy = OpenpiPolicy(url_of(server), connect_timeout_s=60.0)
        with pytest.raises(PolicyConnectionError, match=r"tries: 1.*HTTP 401"):
            policy.reset("", RNG)


@pytest.mark.parametrize("greeting", ["hello", pack([1]), b"\xc1"])
def test_another_protocol_is_told_apart(greeting: bytes | str) -> None:
    with running(Peer(ramp, greeting)) as server:
        policy = OpenpiPolicy(url_of(server), connect_timeout_s=60.0)
        with pytest.raises(ContractError, match=r"is no openpi server|does not speak openpi's protocol"):
            policy.reset("", RNG)


def test_a_silent_server_is_not_waited_for_forever() -> None:
    with running(Peer(ramp, None)) as server:
        policy = OpenpiPolicy(url_of(server), connect_timeout_s=0.3)
        with pytest.raises(PolicyConnectionError, match=r"timed out|TimeoutError"):
            policy.reset("", RNG)


@pytest.mark.parametrize("url", ["localhost:8000", "http://localhost:8000", "ws://", "ws://host:port"])
def test_an_address_must_be_a_websocket(url: str) -> None:
    with pytest.raises(PolicyConnectionError, match="no ws:// or wss:// address"):
        OpenpiPolicy(url)


def test_a_missing_camera_is_named() -> None:
    observation = Observation({"agentview": corners()}, np.zeros(8), "", 0.0)
    with (
        connected() as (policy, _),
        pytest.raises(ContractError, match=r"camera 'robot0_eye_in_hand'.*agentview"),
    ):
        policy.act(observation)


def test_at_least_one_action_must_be_executed() -> None:
    with pytest.raises(ContractError, match="replan is 0"):
        OpenpiPolicy(replan=0)
