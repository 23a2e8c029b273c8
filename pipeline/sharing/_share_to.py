"""Event → Event: many sinks on one stream."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from reactivex import Observable, abc
from reactivex.internal import default_error, noop
from reactivex.scheduler import CurrentThreadScheduler, VirtualTimeScheduler

from operators._given import check_seconds
from operators._leavable import Leavable
from operators._operator import on_trampoline
from pipeline.sharing._lanes import Direct, Lane, Queued, log
from pipeline.sharing._passing import Passing
from pipeline.sharing._policies import Paced
from pipeline.sharing._progress import Progress, running_loop
from pipeline.sharing._sink import Calls, Sink, as_calls
from pipeline.sharing._task import Task
from pipeline.sharing._virtual import Virtual
from pipeline.sharing._worker import Worker
from pipeline.sources._gate import Held

T = TypeVar("T")

MOMENT = 1.0
"""Seconds that the end waits for a sink that may miss events: enough for a display to show the last state."""

_draining: set[asyncio.Task[None]] = set()
"""Tasks that wait for sinks. The event loop itself holds them only weakly."""


def share_to(*sinks: Sink | Paced, drain_seconds: float | None = 30.0) -> Callable[[Observable[T]], Observable[T]]:
    """From events to the same events, which go to the sinks too: one subscription, however many look on.

    A sink is an observer, or a function of an event. As it is, it is called on the thread that emits, before the
    subscriber below. With a policy it has its own pace, in a thread of its own; async ones in a task on the loop that
    runs when the stream is subscribed:

        block(sink)         gets every event, and holds the source back
        coalesce(sink)      gets all that was said, deltas joined; holds the source back only when very far behind
        drop_oldest(sink)   never holds back; a Gap stands where events are missing
        latest(sink)        never holds back; gets the newest event

    A sink that raises is cut off and logged ("rxchat.sharing"); the others and the stream go on. Each sink is told of
    completion or error once, after all that waited for it. Disposing cuts every sink off.

    Ends as the stream above does, when the sinks have had all that waits for them: so a process may end right after
    its stream. It waits `drain_seconds` at most (None: as long as it takes) for block and coalesce, and a second for the
    others; those that take longer go on, and the former are logged.

    Raises TypeError for what is no sink, and for an async one without a policy; ValueError for negative drain_seconds.
    Subscribing an async sink raises RuntimeError where no event loop runs.

    >>> import reactivex
    >>> from operators import TextDelta
    >>> from pipeline.sharing import coalesce
    >>> said = []
    >>> stream = reactivex.of(TextDelta("H"), TextDelta("i"))
    >>> stream.pipe(share_to(print, coalesce(said.append, ms=60_000))).subscribe() and None
    TextDelta(text='H', choice=0)
    TextDelta(text='i', choice=0)
    >>> said
    [TextDelta(text='Hi', choice=0)]
    """
    if drain_seconds is not None:
        check_seconds("drain_seconds", drain_seconds)
    given = [sink if isinstance(sink, Paced) else as_calls(sink) for sink in sinks]
    for sink in given:
        if isinstance(sink, Calls) and sink.is_async:
            raise TypeError(f"{sink.name} is async and needs a policy, as in share_to(block({sink.name}))")
    return lambda source: _Shared(source, given, drain_seconds)


class _Shared(Leavable[T]):
    def __init__(self, source: Observable[T], sinks: Sequence[Calls | Paced], drain_seconds: float | None) -> None:
        super().__init__()
        self._source, self._sinks, self._drain_seconds = source, sinks, drain_seconds

    def subscribe(
        self,
        on_next: abc.ObserverBase[T] | abc.OnNext[T] | None = None,
        on_error: abc.OnError | None = None,
        on_completed: abc.OnCompleted | None = None,
        *,
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        observer: Any = on_next
        if hasattr(observer, "on_next"):
            below = Calls("", observer.on_next, observer.on_error, observer.on_completed)
        else:
            below = Calls("", observer or noop, on_error or default_error, on_completed or noop)
        sharing = _Sharing(self._sinks, below, self._drain_seconds, scheduler)
        on_trampoline(lambda: sharing.begin(self._source))
        return sharing


class _Sharing(abc.DisposableBase):
    """One stream on its way to its sinks and to the subscriber below; for the source, someone who may hold it back."""

    def __init__(
        self,
        sinks: Sequence[Calls | Paced],
        below: Calls,
        drain_seconds: float | None,
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self._below, self._drain_seconds = below, drain_seconds
        self._progress = Progress()
        self._lanes = [_lane(sink, self._progress, scheduler) for sink in sinks]
        self._holding = _lossless(self._lanes)
        self._scheduler, self._held = scheduler, scheduler if isinstance(scheduler, Held) else None
        if self._held is None and self._holding and not isinstance(scheduler, VirtualTimeScheduler):
            self._scheduler = self._held = Passing(scheduler)
        self._upstream: abc.DisposableBase | None = None
        self._ending = self._left = self._finishing = False

    def begin(self, source: Observable[Any]) -> None:
        if self._left:
            return
        if self._held is not None:
            self._held.holds.append(self)
        try:
            self._upstream = source.subscribe(
                self._receive, self._end, lambda: self._end(None), scheduler=self._scheduler
            )
        except BaseException:
            self.dispose()
            raise
        if self._left:  # a source that emits inside subscribe has come to its end, or was left, before we knew it
            self._release()

    def _receive(self, event: Any) -> None:
        if self._is_over():
            return
        try:
            for lane in self._lanes:
                lane.offer(event)
            if self._is_over():  # a sink has ended the stream
                return
            self._below.on_next(event)
            if not self.has_room() and self._may_block():
                self._wait_for_room()
        except BaseException:
            self.dispose()
            raise

    def _is_over(self) -> bool:
        return self._left or self._ending

    # ------------------------------------------------------------------------------------------------ holding back

    def has_room(self) -> bool:
        return self._left or all(lane.has_room for lane in self._holding)

    async def room(self) -> None:
        await self._progress.until(self.has_room)

    def _wait_for_room(self) -> None:
        lanes = [lane for lane in self._holding if not lane.runs_here()]
        self._progress.wait(lambda: self._left or all(lane.has_room for lane in lanes))

    def _may_block(self) -> bool:
        """Whether this thread is one that a source reads on: no event loop may stand still because of a sink."""
        if running_loop() is None:
            return True
        if self._held is not None and self._held.tasks:
            return False
        reads_in_subscribe = not CurrentThreadScheduler.singleton().schedule_required()
        return reads_in_subscribe or (self._held is not None and self._held.emitting > 0)

    # ------------------------------------------------------------------------------------------------ the end

    def _end(self, error: Exception | None) -> None:
        if self._is_over():
            return
        self._ending = True
        if not self._end_lanes(error):
            self._tell(error)
        elif self._may_block():
            self._drain()
            self._tell(error)
        else:
            task = asyncio.get_running_loop().create_task(self._drain_and_tell(error))
            _draining.add(task)
            task.add_done_callback(_draining.discard)

    def _end_lanes(self, error: Exception | None) -> bool:
        """Tell all lanes of the end; True if some have more to do before it."""
        for lane in self._lanes:
            lane.end(error)
        return not all(lane.over for lane in self._lanes)

    def _drain(self) -> None:
        try:
            for over, seconds in self._waits([lane for lane in self._lanes if not lane.runs_here()]):
                self._progress.wait(over, seconds)
        except BaseException:  # KeyboardInterrupt
            self.dispose()
            raise

    async def _drain_and_tell(self, error: Exception | None) -> None:
        try:
            for over, seconds in self._waits(self._lanes):
                await self._progress.until(over, seconds)
        except asyncio.CancelledError:
            self.dispose()
            raise
        try:
            self._tell(error)
        except Exception as raised:
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a subscriber raised at the end of its stream", "exception": raised}
            )

    def _waits(self, lanes: Sequence[Lane]) -> Iterator[tuple[Callable[[], bool], float | None]]:
        """What the end waits for, and for how many seconds: all lanes for a moment, then those that may lose nothing."""
        began, limit = time.monotonic(), self._drain_seconds
        yield lambda: all(lane.over for lane in lanes), MOMENT if limit is None else min(limit, MOMENT)
        lossless = _lossless(lanes)
        left = None if limit is None else max(0.0, began + limit - time.monotonic())
        yield lambda: all(lane.over for lane in lossless), left
        for lane in lossless:
            if not lane.over:
                log.warning(
                    "the sink %s has not ended after %g s; it goes on, and %d events wait",
                    lane.name,
                    limit,
                    lane.waiting,
                )

    def _tell(self, error: Exception | None) -> None:
        if self._left:
            return
        self._left = True
        self._release()
        if error is None:
            self._below.on_completed()
        else:
            self._below.on_error(error)

    def finish(self) -> None:
        """The stream was ended in good order by what is below: so it ends for the sinks, too, where they have got to."""
        if not self._left:
            self._left = self._finishing = True
            self._end_lanes(None)
            self._release()
            if self._may_block():
                self._drain()

    def dispose(self) -> None:
        """Leave: no sink gets any more."""
        if not self._left:
            self._left = True
            for lane in self._lanes:
                lane.cut()
            self._progress.changed()
            self._release()

    def _release(self) -> None:
        if self._held is not None and self in self._held.holds:
            self._held.holds.remove(self)
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            (getattr(upstream, "finish", upstream.dispose) if self._finishing else upstream.dispose)()


def _lossless(lanes: Sequence[Lane]) -> list[Queued]:
    return [lane for lane in lanes if isinstance(lane, Queued) and lane.lossless]


def _lane(sink: Calls | Paced, progress: Progress, scheduler: abc.SchedulerBase | None) -> Lane:
    if isinstance(sink, Calls):
        return Direct(sink)
    if sink.calls.is_async:
        loop = running_loop()
        if loop is None:
            raise RuntimeError(
                f"the sink {sink.calls.name} is async and is run by an event loop, and none is running here: subscribe "
                "inside an `async def`"
            )
        return Task(sink, progress, loop)
    if isinstance(scheduler, VirtualTimeScheduler):
        return Virtual(sink, progress, scheduler)
    return Worker(sink, progress)
