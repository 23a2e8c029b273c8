"""Limits on the time without content: what says nothing, a heartbeat for one, does not count."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable

from operators import Event, Out, Retrying, Stage, Started, StreamTimeout, Usage, operator

from pipeline.sources._timeouts import Timeouts

_SAYS_NOTHING = (Started, Usage, Retrying)


class Patience:
    """The guard of one attempt: breaks it when no content has come for too long while its source waits for a read."""

    def __init__(self, timeouts: Timeouts, *, looping: bool) -> None:
        self._limit, self._next_limit, self._looping = timeouts.first_content, timeouts.idle_content, looping
        self._phase = "first_content"
        self._since = time.monotonic()
        self._abort: Callable[[Exception], bool] | None = None
        self._timer: asyncio.TimerHandle | threading.Timer | None = None

    def started(self, abort: Callable[[Exception], bool]) -> None:
        self._abort = abort
        self._since = time.monotonic()
        self._arm(self._limit)

    def content(self) -> None:
        """Content has come."""
        self._since = time.monotonic()
        if self._phase == "first_content":
            self._phase, self._limit = "idle_content", self._next_limit
            if self._timer is not None:
                self._timer.cancel()
            self._arm(self._limit)

    def stopped(self) -> None:
        self._abort = None
        if self._timer is not None:
            self._timer.cancel()

    def _arm(self, seconds: float | None) -> None:
        if seconds is None or self._abort is None:
            return
        if self._looping:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._look)
        else:
            self._timer = threading.Timer(seconds, self._look)
            self._timer.daemon = True
            self._timer.start()

    def _look(self) -> None:
        abort, limit = self._abort, self._limit
        if abort is None or limit is None:
            return
        left = self._since + limit - time.monotonic()
        if left > 0:
            self._arm(left)
            return
        timeout = StreamTimeout(f"no content came for {limit:g} s ({self._phase})")
        timeout.phase = self._phase
        if not abort(timeout):  # it is the consumer that is slow
            self._arm(limit)


@operator
def patient(out: Out[Event], patience: Patience) -> Stage[Event]:
    """Event → Event: tells the patience of each event that says something."""

    def on_next(event: Event) -> None:
        if not isinstance(event, _SAYS_NOTHING):
            patience.content()
        out.on_next(event)

    yield on_next
