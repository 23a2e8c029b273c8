"""Sink → the same sink with a flow policy: what happens when the stream is faster than it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING

from operators._given import check_count, check_number
from pipeline._makes_sink import makes_sink
from pipeline.sharing._buffers import Buffer, Kept, Newest
from pipeline.sharing._joining import Joined
from pipeline.sharing._sink import Calls, Sink, as_calls


class Paced:
    """A sink with its flow policy, for `share_to()`. Its counters may be read at any time, from any thread."""

    def __init__(self, sink: Sink, policy: str, make: Callable[[Callable[[int], None]], Buffer]) -> None:
        if isinstance(sink, Paced):
            raise TypeError(f"{sink!r} has its policy already")
        self.calls: Calls = as_calls(sink)
        self._policy, self._make = policy, make
        self._lock = threading.Lock()
        self._dropped = 0
        self._buffers: weakref.WeakSet[Buffer] = weakref.WeakSet()

    if not TYPE_CHECKING:  # for a checker it is no function, and so no subscriber

        def __call__(self, _event: object) -> None:
            raise TypeError(f"{self!r} has a pace of its own and goes into share_to({self!r}), not into subscribe()")

    @property
    def dropped(self) -> int:
        """How many events this sink did not get because it was too slow; over all streams that it is on."""
        return self._dropped

    @property
    def waiting(self) -> int:
        """How many events wait for this sink now."""
        with self._lock:
            return sum(len(buffer) for buffer in self._buffers)

    def buffer(self) -> Buffer:
        """A fresh buffer, for one stream."""
        buffer = self._make(self._count)
        with self._lock:
            self._buffers.add(buffer)
        return buffer

    def _count(self, dropped: int) -> None:
        with self._lock:
            self._dropped += dropped

    def __repr__(self) -> str:
        return self._policy.format(self.calls.name)


@makes_sink
def block(sink: Sink, limit: int = 64) -> Paced:
    """From a sink to one that gets every event, and holds the stream back while `limit` of them wait.

    An async source reads no further until there is room again, and the loop stays free; what one read gave is kept, so
    there can be that many more. A source that blocks waits on its own thread. A source that cannot be held back, such
    as a Subject fed on the event loop, may be 65,536 events ahead; then this sink is told LimitExceeded after them.

    Raises ValueError for a limit below 1.

    >>> block(print, 8)
    block(print, 8)
    """
    check_count("block(limit=…)", limit)
    return Paced(sink, f"block({{}}, {limit})", lambda _: Kept(limit))


@makes_sink
def latest(sink: Sink) -> Paced:
    """From a sink to one that gets the newest event each time it is done with the one before.

    Never holds the stream back. A `Gap` goes before an event that did not come directly after the last one. For what
    shows a state; the last event of a stream is always delivered.

    >>> latest(print)
    latest(print)
    """
    return Paced(sink, "latest({})", lambda on_drop: Newest(1, on_drop))


@makes_sink
def drop_oldest(sink: Sink, limit: int = 100) -> Paced:
    """From a sink to one for which at most `limit` events wait, and that misses the oldest of them when more come.

    Never holds the stream back. A `Gap` stands where events are missing, and says how many.

    Raises ValueError for a limit below 1.

    >>> drop_oldest(print)
    drop_oldest(print, 100)
    """
    check_count("drop_oldest(limit=…)", limit)
    return Paced(sink, f"drop_oldest({{}}, {limit})", lambda on_drop: Newest(limit, on_drop))


@makes_sink
def coalesce(sink: Sink, ms: float = 50, *, limit: int = 65_536) -> Paced:
    """From a sink to one that gets deltas joined: all that was said, in fewer and larger events.

    Text joins text of the same choice, reasoning and refusals too, arguments join those of the same call. A delta waits
    `ms` milliseconds at most, and longer only while the sink is busy. Any other event is delivered as it is, at once,
    with all that waits before it. The order within a choice stays. A delta that brings `extra` is not joined to
    another.

    Holds the stream back, as `block()` does, while `limit` characters wait. In virtual time, the milliseconds are those
    of the subscription's scheduler.

    Raises ValueError for a limit below 1 or a negative time.

    >>> coalesce(print, 20)
    coalesce(print, 20, limit=65536)
    """
    check_count("coalesce(limit=…)", limit)
    check_number("coalesce(ms=…)", "a number of milliseconds, at least 0", ms, lambda n: n >= 0)
    return Paced(sink, f"coalesce({{}}, {ms:g}, limit={limit})", lambda _: Joined(ms / 1000, limit))
