"""Client of openpi's websocket policy server, for models fine-tuned on LIBERO.

On connection the server sends one message of metadata; then every request is answered by one reply, all of
them MessagePack. A failed inference comes back as text, the server's traceback, after which the server closes
the connection.
"""

import time
from contextlib import ExitStack
from typing import Any, Literal, cast

import numpy as np
from PIL import Image
from websockets.exceptions import InvalidStatus, InvalidURI, WebSocketException
from websockets.sync.client import ClientConnection, connect
from websockets.uri import parse_uri

from libero_safety.policy.contract import (
    ContractError,
    PolicyConnectionError,
    PolicyRaised,
    PolicyTimeoutError,
    check_chunk,
)
from libero_safety.policy.msgpack_numpy import CodecError, pack, unpack
from libero_safety.types import Chunk, ImageArray, Observation

_IMAGES = {"observation/image": "agentview", "observation/wrist_image": "robot0_eye_in_hand"}
_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.1, 5.0
_CLOSE_TIMEOUT_S = 1.0


class OpenpiPolicy:
    """A policy behind an openpi websocket server.

    The connection is made at the first `reset` and, once lost, again at the next one. An episode in which it
    is lost ends with `PolicyConnectionError`: what the model would have done next is unknown.

    Args:
        url: `ws://` or `wss://` address of the server.
        replan: actions of every chunk that are executed before the next request; openpi's LIBERO evaluation
            uses 5.
        timeout_s: wait for a reply at most this long.
        first_timeout_s: likewise for the first reply on a connection, before which the server may compile its
            model.
        connect_timeout_s: keep trying to reach the server for this long.
        api_key: sent in the `Authorization` header.
        image_size: side of the images that the model expects, in pixels.
        image_view: `libero`: images as LIBERO-trained models know them, mirrored left to right. LIBERO gives
            its images bottom row first and its users turn them by 180 degrees, which leaves them upright but
            mirrored. `upright`: as the camera sees them.
    """

    def __init__(
        self,
        url: str = "ws://localhost:8000",
        replan: int = 5,
        timeout_s: float = 30.0,
        first_timeout_s: float = 300.0,
        connect_timeout_s: float = 60.0,
        api_key: str | None = None,
        image_size: int = 224,
        image_view: Literal["libero", "upright"] = "libero",
    ) -> None:
        if replan < 1:
            raise ContractError(f"replan is {replan}, must be at least 1")
        _check_url(url)
        self._url = url
        self._replan = replan
        self._timeout_s = timeout_s
        self._first_timeout_s = first_timeout_s
        self._connect_timeout_s = connect_timeout_s
        self._headers = {"Authorization": f"Api-Key {api_key}"} if api_key else None
        self._image_size = image_size
        self._image_view = image_view
        self._open = ExitStack()
        self._connection: ClientConnection | None = None
        self._answered = False
        self.metadata: dict[str, Any] = {}
        """What the server said about itself when it was reached."""

    def reset(self, instruction: str, rng: np.random.Generator) -> None:
        """Start an episode; connect if there is no connection. The server is stateless and is not told.

        Raises:
            PolicyConnectionError: no server within `connect_timeout_s`, or none that speaks this protocol.
        """
        if self._connection is None:
            self._connect()

    def act(self, observation: Observation) -> Chunk:
        """Return the first `replan` actions, (replan, 7), that the server proposes.

        Raises:
            ContractError: the reply holds no actions, fewer than `replan`, or actions of another size.
            NonFiniteActionError: NaN or infinity among them.
            PolicyRaised: the server failed; the message carries its traceback.
            PolicyTimeoutError: no reply in time.
            PolicyConnectionError: the connection is lost.
        """
        reply = self._ask(pack(self._request(observation)))
        if not isinstance(reply, dict):
            raise ContractError(
                f"{self._url} replied with a {type(reply).__name__}, expected a map with 'actions'"
            )
        if "actions" not in reply:
            keys = ", ".join(str(key) for key in cast("dict[object, object]", reply))
            raise ContractError(f"the reply of {self._url} holds no 'actions'; it holds: {keys or 'nothing'}")
        return check_chunk(reply["actions"], self._replan)

    def close(self) -> None:
        """Close the connection."""
        self._connection = None
        self._answered = False
        self._open.close()

    def _request(self, observation: Observation) -> dict[str, object]:
        request: dict[str, object] = {
            "observation/state": observation.state,
            "prompt": observation.instruction,
        }
        for key, camera in _IMAGES.items():
            if camera not in observation.images:
                raise ContractError(
                    f"openpi needs the camera {camera!r}; "
                    f"the cameras are: {', '.join(observation.images) or 'none'}"
                )
            image = observation.images[camera]
            seen = image[:, ::-1] if self._image_view == "libero" else image
            request[key] = resize_with_padding(seen, self._image_size)
        return request

    def _ask(self, request: bytes) -> object:
        connection = self._connection
        if connection is None:
            raise PolicyConnectionError(f"not connected to {self._url}: the connection is made by reset()")
        limit_s = self._timeout_s if self._answered else self._first_timeout_s
        try:
            connection.send(request)
            reply = connection.recv(timeout=limit_s)
        except TimeoutError as error:
            which = "timeout_s" if self._answered else "first_timeout_s"
            self.close()  # A late reply must not be taken for the answer to the next request.
            raise PolicyTimeoutError(f"{self._url} did not reply within {limit_s:g} s ({which})") from error
        except (WebSocketException, OSError) as error:
            self.close()
            raise PolicyConnectionError(f"lost the connection to {self._url}: {_text(error)}") from error
        except BaseException:
            self.close()
            raise
        if isinstance(reply, str):
            self.close()
            raise PolicyRaised(f"the policy server {self._url} raised:\n{reply.strip()}")
        self._answered = True
        return self._decode(reply)

    def _decode(self, message: bytes) -> object:
        try:
            return unpack(message)
        except CodecError as error:
            raise ContractError(f"{self._url} does not speak openpi's protocol: {error}") from error

    def _connect(self) -> None:
        deadline_s = time.monotonic() + self._connect_timeout_s
        pause_s = _FIRST_PAUSE_S
        tries = 0
        while True:
            tries += 1
            try:
                self._connect_once(max(deadline_s - time.monotonic(), _FIRST_PAUSE_S))
                return
            except (WebSocketException, OSError) as error:
                if _is_final(error) or time.monotonic() + pause_s >= deadline_s:
                    raise PolicyConnectionError(
                        f"no policy server at {self._url} (tries: {tries}, connect_timeout_s: "
                        f"{self._connect_timeout_s:g}): {_text(error)}"
                    ) from error
            time.sleep(pause_s)
            pause_s = min(2 * pause_s, _LONGEST_PAUSE_S)

    def _connect_once(self, timeout_s: float) -> None:
        with ExitStack() as stack:
            connection = stack.enter_context(
                connect(
                    self._url,
                    compression=None,
                    additional_headers=self._headers,
                    open_timeout=timeout_s,
                    close_timeout=_CLOSE_TIMEOUT_S,
                    # The server answers no ping while it computes, and compiling a model takes minutes.
                    ping_interval=None,
                    max_size=None,
                )
            )
            first = connection.recv(timeout=timeout_s)
            metadata = self._decode(first) if isinstance(first, bytes) else None
            if not isinstance(metadata, dict):
                raise ContractError(
                    f"{self._url} is no openpi server: its first message is not a map of metadata"
                )
            self.metadata = cast("dict[str, Any]", metadata)
            self._connection = connection
            self._open = stack.pop_all()


def resize_with_padding(image: ImageArray, size: int) -> ImageArray:
    """Return `image` scaled (bilinear) to fit a square, centred on black: (size, size, 3)."""
    height, width = image.shape[:2]
    if (height, width) == (size, size):
        return np.ascontiguousarray(image)
    longest = max(height, width)
    fitted = (int(width * size / longest), int(height * size / longest))
    scaled = Image.fromarray(np.ascontiguousarray(image)).resize(fitted, Image.Resampling.BILINEAR)
    square = np.zeros((size, size, 3), np.uint8)
    top, left = (size - fitted[1]) // 2, (size - fitted[0]) // 2
    square[top : top + fitted[1], left : left + fitted[0]] = np.asarray(scaled)
    return square


def _check_url(url: str) -> None:
    try:
        parse_uri(url)
    except (InvalidURI, ValueError) as error:
        hint = "" if "://" in url else f", did you mean 'ws://{url}'?"
        raise PolicyConnectionError(f"{url!r} is no ws:// or wss:// address{hint}") from error


def _is_final(error: Exception) -> bool:
    """Whether the server is there and says no, so that trying again is no use."""
    return isinstance(error, InvalidStatus) and error.response.status_code < 500


def _text(error: BaseException) -> str:
    return str(error) or type(error).__name__
