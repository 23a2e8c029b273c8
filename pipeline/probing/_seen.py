"""What a probe has seen, as data: strands of lanes, with the items that passed and how they ended."""

from __future__ import annotations

import threading
from collections import deque
from copy import copy
from typing import Literal, NamedTuple

from msgspec import Struct

from pipeline.measure._quantiles import Quantiles

SAME_TIME = 0.001
"""Seconds; what is closer together is noise of the clock."""


class Moment(NamedTuple):
    """When something happened: its place in the order of all that the probe saw, and seconds since the probe began."""

    seq: int
    at: float


class Piece(Struct, frozen=True, gc=False):
    """What an item says of a tool call: of which one, and how many characters of arguments it brought."""

    choice: int
    key: int
    id: str
    name: str
    arguments: int


class Item(Struct, frozen=True, gc=False):
    """A value that passed: not itself, but its type, the start of what it says, and its size in bytes.

    `cause` is the `seq` of the item in whose course it was emitted; None for what came from outside, or at the end.
    """

    seq: int
    at: float
    kind: str
    text: str
    size: int
    cause: int | None = None
    piece: Piece | None = None


class End(Struct, frozen=True):
    """How a lane ended: "left" is a dispose, or a subscriber that raised, and `error` then says what."""

    seq: int
    at: float
    how: Literal["completed", "error", "left"]
    error: str = ""
    message: str = ""


class Lane:
    """What one stage emitted. The first and the last items are kept, `limit` in all; the counts go on."""

    def __init__(self, name: str, limit: int) -> None:
        self.name = name
        self.count = self.size = 0
        self.lost = 0  # events that a Gap says were dropped
        self.silent = 0  # items of this lane in whose course the stage below emitted nothing
        self.times = Quantiles()  # what the stage below took for each, without what is below it
        self.busy = 0.0  # and in all
        self.end: End | None = None
        self._first: list[Item] = []
        self._last: deque[Item] = deque(maxlen=limit // 2)
        self._limit = limit - limit // 2
        self._lock = threading.Lock()

    def add(self, item: Item, lost: int = 0) -> None:
        with self._lock:
            self.count += 1
            self.size += item.size
            self.lost += lost
            (self._first if len(self._first) < self._limit else self._last).append(item)

    @property
    def skipped_after(self) -> int | None:
        """The number of kept items after which some were not kept; None if all were."""
        return len(self._first) if self.count > len(self._first) + len(self._last) else None

    @property
    def items(self) -> list[Item]:
        """Those that are kept, in their order."""
        with self._lock:
            return [*self._first, *self._last]

    def frozen(self) -> Lane:
        """As it is now: a lane to which nothing more is added."""
        with self._lock:
            lane = copy(self)
            vars(lane).update(_first=self._first.copy(), _last=self._last.copy())
            return lane

    def spent(self, seconds: float) -> None:
        with self._lock:
            self.times.add(seconds)
            self.busy += seconds


class Strand:
    """Lanes that were subscribed as one: those of a chain of ours, or the reads of a source."""

    def __init__(self, number: int, names: tuple[str, ...], scope: tuple[str, ...], opened: Moment, limit: int) -> None:
        self.number, self.scope, self.opened = number, scope, opened
        self.lanes = tuple(Lane(name, limit) for name in names)
        self.cause: int | None = None  # the item in whose course it was opened
        self.feeds: set[int] = set()  # strands that an item of this one's last lane was seen to reach
        self.within: int | None = None  # the strand by whose subscription it was opened
        self.left: End | None = None  # the subscriber was gone before the end

    def frozen(self) -> Strand:
        """As it is now."""
        strand = copy(self)
        strand.lanes = tuple(lane.frozen() for lane in self.lanes)
        strand.feeds = self.feeds.copy()
        return strand

    @property
    def is_source(self) -> bool:
        return len(self.lanes) == 1

    @property
    def end(self) -> End | None:
        """How it ended for whoever had subscribed to it; None while it runs."""
        return self.lanes[-1].end or self.left


class Sign(NamedTuple):
    """Something that a source said of itself: "POST", or the status of the response."""

    moment: Moment
    strand: int
    text: str


class ToolRun:
    """A tool that ran."""

    def __init__(self, name: str, id: str, began: Moment) -> None:  # noqa: A002
        self.name, self.id, self.began = name, id, began
        self.ended: Moment | None = None
        self.error = ""
