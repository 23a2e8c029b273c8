"""Sinks that a test can stop and let go."""

from __future__ import annotations

import threading
from typing import Any

from operators import Out, Stage, operator
from tests.support import Seen
from tests.support.timing import LONG


class Stopped(Seen):
    """A subscriber that waits in each on_next until it is let go; `busy` is set while it does."""

    def __init__(self, raises: BaseException | None = None) -> None:
        super().__init__()
        self._raises = raises
        self._permits = threading.Semaphore(0)
        self._free = False
        self.busy = threading.Event()
        self.ended = threading.Event()

    def on_next(self, value: Any) -> None:
        if not self._free:
            self.busy.set()
            assert self._permits.acquire(timeout=LONG), "nobody let this sink go"
        super().on_next(value)
        if self._raises is not None:
            raise self._raises

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        self.ended.set()

    def on_completed(self) -> None:
        super().on_completed()
        self.ended.set()

    def let_go(self, times: int = 1) -> None:
        self.busy.clear()
        self._permits.release(times)

    def free(self) -> None:
        """Let it run without a stop from now on."""
        self._free = True
        self._permits.release(1)


def in_thread(action: Any) -> threading.Thread:
    thread = threading.Thread(target=action, daemon=True)
    thread.start()
    return thread


@operator
def first(out: Out[Any], count: int) -> Stage[Any]:
    """The first values; ends the stream in good order, as a stage does, and not as a stock operator does."""
    seen = 0

    def on_next(value: Any) -> None:
        nonlocal seen
        seen += 1
        out.on_next(value)
        if seen == count:
            out.on_completed()

    yield on_next
