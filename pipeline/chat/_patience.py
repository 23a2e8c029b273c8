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

    What counts is the time that the source waits for reads, and takes to find no content in them; a consumer that is slow
    is not the stream's fault. One timer is set at a time, and is not moved by what comes: when it goes off, it looks whether
    it was right, and is set anew. A wait that begins when it is up already is refused.
    """

    def __init__(self, timeouts: Timeouts, until: float | None, *, looping: bool) -> None:
        self._limit, self._next_limit, self._until, self._looping = (
            timeouts.first_content,
            timeouts.idle_content,
            until,
            looping,
        )
        self._phase = "first_content"
        self._waited = 0.0  # without content, before the wait that runs now
        self._since: float | None = None  # when that began
        self._abort: Callable[[Exception], bool] | None = None
        self._timer: asyncio.TimerHandle | threading.Timer | None = None

    def started(self, abort: Callable[[Exception], bool]) -> None:
        self._abort = abort

    def waiting(self) -> None:
        self._since = self._since or time.monotonic()
        due = self._due()
        if due is not None and due <= time.monotonic():
            raise self._error()
        if self._timer is None:
            self._arm()

    def came(self) -> None:
        if self._since is not None:
            self._waited += time.monotonic() - self._since
            self._since = None

    def content(self) -> None:
        """Content has come, and its consumer takes its time."""
        self._waited, self._since = 0.0, None
        if self._phase == "first_content":
            self._phase, self._limit = "idle_content", self._next_limit
            self._disarm()

    def stopped(self) -> None:
        self._abort = None
        self._disarm()

    def _due(self) -> float | None:
        """When to break, by the monotonic clock; None if nothing is waited for, or without limit."""
        since = self._since
        if since is None:
            return None
        due = [self._until] if self._until is not None else []
        due += [since + self._limit - self._waited] if self._limit is not None else []
        return min(due, default=None)

    def _arm(self) -> None:
        due = self._due()
        if due is None or self._abort is None:
            return
        seconds = max(0.0, due - time.monotonic())
        if self._looping:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)
        else:
            self._timer = threading.Timer(seconds, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _disarm(self) -> None:
        timer, self._timer = self._timer, None
        if timer is not None:
            timer.cancel()

    def _look(self) -> None:
        self._timer = None  # first, so that a wait that begins now sets another one
        abort, due = self._abort, self._due()
        if abort is None or due is None:
            return
        if due > time.monotonic():
            self._arm()
        else:
            abort(self._error())

    def _error(self) -> StreamError:
        if self._until is not None and self._until <= time.monotonic():
            return LimitExceeded("the time for this conversation was up")
        timeout = StreamTimeout(f"no content came for {self._limit:g} s ({self._phase})")
        timeout.phase = self._phase
        return timeout


@operator
def patient(out: Out[Event], patience: Patience) -> Stage[Event]:
    """Event → Event: tells the patience of each event, as what its consumer does then is not waited for."""

    def on_next(event: Event) -> None:
        if isinstance(event, _SAYS_NOTHING):
            patience.came()
        else:
            patience.content()
        out.on_next(event)

    yield on_next
