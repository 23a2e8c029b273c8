"""Limits on the time without content: what says nothing, a heartbeat for one, does not count."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from operators import Event, LimitExceeded, Out, Retrying, Stage, Started, StreamError, StreamTimeout, Usage, operator

from pipeline.sources._timeouts import Timeouts

_SAYS_NOTHING = (Started, Usage, Retrying)


class Patience:
    """The guard of one attempt: breaks it when no content has come for too long, or when its time is up.

    It breaks only a source that waits for a read: a consumer that is slow is not the stream's fault.
    """

    def __init__(self, timeouts: Timeouts, until: float | None, *, looping: bool) -> None:
        self._limit, self._next_limit, self._until, self._looping = (
            timeouts.first_content,
            timeouts.idle_content,
            until,
            looping,
        )
        self._phase = "first_content"
        self._since = time.monotonic()
        self._abort: Callable[[Exception], bool] | None = None
        self._timer: asyncio.TimerHandle | threading.Timer | None = None

    def started(self, abort: Callable[[Exception], bool]) -> None:
        self._abort = abort
        self._since = time.monotonic()
        self._arm()

    def content(self) -> None:
        """Content has come."""
        self._since = time.monotonic()
        if self._phase == "first_content":
            self._phase, self._limit = "idle_content", self._next_limit
            self._arm()

    def stopped(self) -> None:
        self._abort = None
        if self._timer is not None:
            self._timer.cancel()

    def _due(self) -> float | None:
        """When to break, by the monotonic clock."""
        due = [self._until] if self._until is not None else []
        due += [self._since + self._limit] if self._limit is not None else []
        return min(due, default=None)

    def _arm(self, at_least: float = 0.0) -> None:
        if self._timer is not None:
            self._timer.cancel()
        due = self._due()
        if due is None or self._abort is None:
            return
        seconds = max(at_least, due - time.monotonic())
        if self._looping:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)
        else:
            self._timer = threading.Timer(seconds, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        abort, due = self._abort, self._due()
        if abort is None or due is None:
            return
        if due > time.monotonic() or not abort(self._error()):
            self._arm(at_least=0.01)

    def _error(self) -> StreamError:
        if self._until is not None and self._until <= time.monotonic():
            return LimitExceeded("the time for this conversation was up")
        timeout = StreamTimeout(f"no content came for {self._limit:g} s ({self._phase})")
        timeout.phase = self._phase
        return timeout


@operator
def patient(out: Out[Event], patience: Patience) -> Stage[Event]:
    """Event → Event: tells the patience of each event that says something."""

    def on_next(event: Event) -> None:
        if not isinstance(event, _SAYS_NOTHING):
            patience.content()
        out.on_next(event)

    yield on_next
