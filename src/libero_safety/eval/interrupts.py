"""Ctrl-C and SIGTERM at moments that suit."""

import os
import signal
import threading
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any, Self

EXIT_CANCELLED = 130
SAME_KEYPRESS_S = 0.5
"""A wrapper may pass on the signal that the terminal has sent too: two this close are one."""


class Interrupts:
    """While entered, SIGINT and SIGTERM raise KeyboardInterrupt inside `allowed()`; elsewhere they wait.

    The second one calls `on_second` and ends the process with exit code 130 at once. In a thread that cannot
    receive signals nothing is changed.
    """

    def __init__(self) -> None:
        self.on_second: Callable[[], None] = lambda: None
        self._first_s: float | None = None
        self._allowed = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for number in (signal.SIGINT, signal.SIGTERM):
                self._before[number] = signal.signal(number, self._handle)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def allowed(self) -> Generator[None]:
        """Let KeyboardInterrupt be raised here, at once if a signal has been waiting."""
        self._allowed = True
        try:
            if self._first_s is not None:
                raise KeyboardInterrupt
            yield
        finally:
            self._allowed = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        now_s = time.monotonic()
        if self._first_s is None:
            self._first_s = now_s
            if self._allowed:
                raise KeyboardInterrupt
        elif now_s - self._first_s > SAME_KEYPRESS_S:
            self.on_second()
            os._exit(EXIT_CANCELLED)


class HungError(BaseException):
    """An episode that took too long; no Exception, so that no policy's own error handling swallows it."""


@contextmanager
def deadline(limit_s: float) -> Generator[None]:
    """Raise HungError in the block after `limit_s` seconds.

    A native call that never comes back cannot be ended so, and nothing happens in a thread that cannot
    receive signals.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def expire(number: int, frame: FrameType | None) -> None:
        raise HungError

    before = signal.signal(signal.SIGALRM, expire)
    signal.setitimer(signal.ITIMER_REAL, limit_s)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
