"""What sees one chain: which item caused which, and what each stage took for itself.

The plan. Calls nest: what a stage emits, it emits while its step is called. So each thread has a stack of the items that
are being looked at, and the item on top of it is the cause of the next one, across chains and across the stock operators
between them, too. The time between the call and its return, without the time of what was called in between, is
the stage's own; the probe's own work is left out of both.

An item that comes while the stack is empty came from outside, or from a flush, whose time runs from the end of its
lane to the end of the next. A source is no chain and calls nobody by way of us: what enters the chain that has opened it
came of its last read, if it is that read, or if it comes at the time of it.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from itertools import count
from typing import TYPE_CHECKING

from operators import Gap, Lanes, StreamError
from operators._run import _Raised, _Stop
from pipeline.probing._preview import SHOWN, preview
from pipeline.probing._seen import SAME_TIME, End, Item, Moment, Strand

if TYPE_CHECKING:
    from collections.abc import Iterator


class Frame:
    """An item that is being looked at by the stage below."""

    __slots__ = ("began", "handling", "item", "lane", "others", "strand", "told")

    def __init__(self, strand: Strand, lane: int, item: Item, handling: BaseException | None) -> None:
        self.strand, self.lane, self.item, self.handling = strand, lane, item, handling
        self.others = 0.0  # seconds that are not the stage's own
        self.told = False  # the stage has emitted something
        self.began = 0.0


class Thread(threading.local):
    """What is known of one thread."""

    def __init__(self) -> None:
        self.frames: list[Frame] = []
        self.opening: list[Watch] = []  # chains whose upstream is being subscribed
        self.read: tuple[Strand, Item, bytes] | None = None  # the last read, until somebody gets it


class Clocks:
    """The time that is shown, the time that work takes, and the order in which things happen."""

    def __init__(self, clock: Callable[[], float], timer: Callable[[], float]) -> None:
        self._clock, self.timer = clock, timer
        self._numbers: Iterator[int] = count(1)
        self._began = clock()
        self._first: float | None = None  # by the timer
        self._last = 0.0
        self.own = 0.0  # seconds that the probe took itself

    @property
    def passed(self) -> float:
        """By the timer, from the first thing that happened to the last, without the probe."""
        return max(0.0, self._last - self._first - self.own) if self._first is not None else 0.0

    def moment(self) -> Moment:
        self._last = self.timer()
        if self._first is None:
            self._first = self._last
        return Moment(next(self._numbers), self.now())

    def now(self) -> float:
        """By the clock that is shown."""
        return self._clock() - self._began


class _Flush:
    """A stage that has been told the end of its lane, and has not ended itself yet."""

    __slots__ = ("began", "depth", "lane", "others")

    def __init__(self, lane: int, depth: int, began: float) -> None:
        self.lane, self.depth, self.began, self.others = lane, depth, began, 0.0


class Watch(Lanes):
    """Sees one chain."""

    def __init__(self, strand: Strand, clocks: Clocks, thread: Thread) -> None:
        self.strand, self._clocks, self._thread = strand, clocks, thread
        self._flush: _Flush | None = None
        thread.opening.append(self)

    def subscribed(self) -> None:
        """Nothing more is opened above it."""
        opening = self._thread.opening
        if self in opening:
            del opening[opening.index(self) :]

    def on_next(self, lane: int, value: object) -> None:
        entered = self._clocks.timer()
        frames = self._thread.frames
        said = preview(value)
        seq, at = self._clocks.moment()
        item = Item(seq, at, type(value).__name__, said.text, said.size, self._cause(lane, value, at), said.piece)
        self.strand.lanes[lane].add(item, value.dropped if isinstance(value, Gap) else 0)
        frame = Frame(self.strand, lane, item, sys.exception())
        frames.append(frame)
        frame.began = now = self._clocks.timer()
        self._clocks.own += now - entered
        self._elsewhere(now - entered)

    def _cause(self, lane: int, value: object, at: float) -> int | None:
        frames = self._thread.frames
        if lane == 0 and (read := self._read(value, at)) is not None:
            return read
        if not frames:
            return None
        above = frames[-1]
        if above.strand is not self.strand:
            if lane == 0 and above.lane == len(above.strand.lanes) - 1:
                above.strand.feeds.add(self.strand.number)
        elif above.lane == lane - 1:
            above.told = True
        return above.item.seq

    def _read(self, value: object, at: float) -> int | None:
        if self._thread.read is None:
            return None
        source, item, data = self._thread.read
        if value is data:
            self._thread.read = None
        elif self._thread.frames or source.within != self.strand.number or at - item.at >= SAME_TIME:
            return None
        source.feeds.add(self.strand.number)
        return item.seq

    def _elsewhere(self, seconds: float) -> None:
        """Time that is not that of whoever called us."""
        frames = self._thread.frames
        if len(frames) > 1:
            frames[-2].others += seconds
        if self._flush is not None and len(frames) == self._flush.depth + 1:
            self._flush.others += seconds

    def returned(self, lane: int) -> None:
        now = self._clocks.timer()
        frames = self._thread.frames
        while frames and not (frames[-1].strand is self.strand and frames[-1].lane == lane):
            frames.pop()  # of a chain that another onlooker has broken
        if not frames:
            return
        frame = frames[-1]
        seen = self.strand.lanes[lane]
        seen.spent(max(0.0, now - frame.began - frame.others))
        if not frame.told and lane < len(self.strand.lanes) - 1:
            seen.silent += 1
        error = sys.exception()
        if error is not None and error is not frame.handling:
            self._unwound(error)
        left = self._clocks.timer()
        self._clocks.own += left - now
        self._elsewhere(left - frame.began)
        frames.pop()

    def _unwound(self, error: BaseException) -> None:
        """A call is left by an exception: if the subscriber raised it, or something tears the stream down, that is the end."""
        if isinstance(error, _Raised):
            self._leave(error.error)
        elif not isinstance(error, (_Stop, Exception)):
            self._leave(error)

    def _leave(self, error: BaseException | None) -> None:
        self.subscribed()
        if self.strand.end is None:
            told = "" if error is None else type(error).__name__
            self.strand.left = End(*self._clocks.moment(), "left", told, str(error or "")[:SHOWN])

    def on_completed(self, lane: int) -> None:
        self._ended(lane, End(*self._clocks.moment(), "completed"))

    def on_error(self, lane: int, error: Exception) -> None:
        kind = error.kind if isinstance(error, StreamError) else type(error).__name__
        self._ended(lane, End(*self._clocks.moment(), "error", kind, str(error)[:SHOWN]))

    def _ended(self, lane: int, end: End) -> None:
        now = self._clocks.timer()
        self.strand.lanes[lane].end = end
        flushed = self._flush
        frames = self._thread.frames
        if flushed is not None:
            if len(frames) > flushed.depth:  # the stream was ended from inside of what the flush has emitted
                flushed.others += now - frames[flushed.depth].began
            took = max(0.0, now - flushed.began - flushed.others)
            self.strand.lanes[flushed.lane].busy += took
            if frames:
                frames[-1].others += took
        below = lane < len(self.strand.lanes) - 1
        if not below:
            self.subscribed()  # it may have ended before that was said
        self._flush = _Flush(lane, len(frames), self._clocks.timer()) if below else None

    def disposed(self) -> None:
        self._leave(None)
