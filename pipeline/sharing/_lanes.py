"""One sink on one stream: how it is called, and where it runs.

A sink without a policy is called where the stream emits. One with a policy has a buffer, and is called from it: by a
thread of its own; if it is async, by a task; in virtual time, by the scheduler.
"""

from __future__ import annotations

import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import Any, TypeAlias

from operators import LimitExceeded
from pipeline.sharing._policies import Paced
from pipeline.sharing._progress import Progress
from pipeline.sharing._sink import Calls

log = logging.getLogger("rxchat.sharing")

ToDo: TypeAlias = Callable[[], Any] | float | None
"""A call to make; or the seconds to wait for one; or None, to wait until something comes."""


class Lane(ABC):
    """One sink on one stream. It is `over` when the sink has had the end, or has been cut off."""

    over = False

    def __init__(self, calls: Calls) -> None:
        self.name, self._calls = calls.name, calls
        self._error: Exception | None = None  # how the stream ended

    @abstractmethod
    def offer(self, event: Any) -> None:
        """An event for the sink. Never waits, but for a sink without a policy."""

    @abstractmethod
    def end(self, error: Exception | None) -> None:
        """The stream's end, for the sink to be told after all that waits for it."""

    @abstractmethod
    def cut(self) -> None:
        """Let the sink have no more."""

    def runs_here(self) -> bool:
        """Whether the sink cannot go on before the calling thread does: so nobody may wait for it here."""
        return False

    def _end_call(self) -> Callable[[], Any]:
        return self._calls.on_completed if self._error is None else partial(self._calls.on_error, self._error)

    def _failed(self, raised: BaseException) -> None:
        """The sink raised: it is cut off. One that only raises the stream's own error on, as Rx does, is no news."""
        if raised is not self._error:
            log.error("the sink %s raised and is cut off; the others go on", self.name, exc_info=raised)
        self.cut()


class Direct(Lane):
    """Calls its sink on the thread that emits."""

    def offer(self, event: Any) -> None:
        if not self.over:
            try:
                self._calls.on_next(event)
            except Exception as raised:
                self._failed(raised)

    def end(self, error: Exception | None) -> None:
        if not self.over:
            self._error = error
            try:
                self._end_call()()
            except Exception as raised:
                self._failed(raised)
            self.over = True

    def cut(self) -> None:
        self.over = True


class Queued(Lane):
    """A sink behind a buffer."""

    def __init__(self, paced: Paced, progress: Progress, now: Callable[[], float]) -> None:
        super().__init__(paced.calls)
        self._buffer, self._progress, self._now = paced.buffer(), progress, now
        self.lossless = self._buffer.lossless
        self._changed = threading.Condition()  # its lock guards the buffer and the end
        self._ended = self._told = False

    @property
    def waiting(self) -> int:
        return len(self._buffer)

    @property
    def has_room(self) -> bool:
        return self._ended or self.over or not self._buffer.full

    def offer(self, event: Any) -> None:
        if self._buffer.bursting:
            self._burst()
            return
        with self._changed:
            if self._ended or self.over:
                return
            now, first = self._now(), not len(self._buffer)
            self._buffer.put(event, now)
            news = first or self._buffer.ready_in(now) == 0.0
        if news:
            self._wake()

    def _burst(self) -> None:
        if not self._ended:
            error = LimitExceeded(f"{self.waiting} events wait for {self.name}: this stream cannot be held back")
            log.error("the sink %s is cut off: %s", self.name, error)
            self.end(error)

    def end(self, error: Exception | None) -> None:
        with self._changed:
            if self._ended or self.over:
                return
            self._error, self._ended = error, True
        self._wake()

    def cut(self) -> None:
        with self._changed:
            while len(self._buffer):
                self._buffer.take()
        self._close()
        self._wake()

    @abstractmethod
    def _wake(self) -> None:
        """There is something to do."""

    def _to_do(self) -> ToDo:
        """What is to be done now. A call is to be made by the caller, who holds no lock."""
        with self._changed:
            if self.over:
                return None
            wait = self._buffer.ready_in(self._now())
            if wait is None and self._ended:
                self._told = True
                return self._end_call()
            if wait is None or (wait > 0.0 and not self._ended):
                return wait
            was_full = self._buffer.full
            event = self._buffer.take()
        if was_full:
            self._progress.changed()
        return partial(self._calls.on_next, event)

    def _called(self) -> None:
        """A call has returned."""
        if self._told:
            self._close()

    def _close(self) -> None:
        with self._changed:
            self.over = True
        self._progress.changed()
