"""Where things stand in a picture: time runs to the right, nothing stands on anything else, nobody waits for long.

The plan. All that happened is placed in its order, so what stands further to the right came later, on whatever row. What
happens at one time is a bundle: it is moved right as a whole until it stands clear of what is there. Time between bundles
moves on by a length that grows with it; the longest gaps are breaks in the axis instead, where nothing stands. When there
is no room for all, equal columns are made, and what falls into one is drawn as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import ceil
from statistics import median_low
from typing import NamedTuple

from pipeline.probing._seen import SAME_TIME

_BREAKS = 6
_LONG = 8  # times the usual gap
_LONG_IF_FEW = 1.0  # seconds
_FOR_GAPS = 0.2  # of the room, at most, where things are grouped
_FOR_SLOTS = 0.15  # at least, for what is not alone


class Thing(NamedTuple):
    """Something to be placed: its time, its row, the room it needs there, and what it needs more, to its right.

    `alone` shares no column.
    """

    at: float
    row: int
    room: float
    after: float = 0.0
    alone: bool = False

    def right(self, x: float) -> float:
        """Where the next one on its row may begin, if it stands there."""
        return x + self.room / 2 + self.after


class Room(NamedTuple):
    """What there is: lengths in one unit, that of the picture."""

    width: float
    longest_gap: float
    usual_gap: float
    column: float
    """What a column of grouped things takes."""


class Break(NamedTuple):
    """A gap that is longer than it looks."""

    start: float
    end: float
    seconds: float


class Placed(NamedTuple):
    """`xs` are the places of the things, in their order; `columns` is set where they are grouped."""

    xs: list[float]
    width: float
    breaks: list[Break]
    columns: list[int] | None = None


class _Waits:
    """The seconds before each thing in which nothing happened, and how long they are drawn."""

    def __init__(self, things: Sequence[Thing], room: Room) -> None:
        latest = [0.0, *accumulate((thing.at for thing in things), max)]
        waits = [thing.at - last for thing, last in zip(things, latest, strict=False)]
        self.waits = [wait if wait >= SAME_TIME else 0.0 for wait in waits]
        there = [wait for wait in self.waits if wait]
        self._room = room
        self._usual = median_low(there) if there else 0.0
        least = self._usual * _LONG if len(there) > 2 else _LONG_IF_FEW
        longest = sorted((wait for wait in there if wait > least), reverse=True)[:_BREAKS]
        self._broken = longest[-1] if longest else float("inf")

    @property
    def usual_scale(self) -> float:
        return self._room.usual_gap / self._usual if self._usual else 0.0

    def is_broken(self, wait: float) -> bool:
        return wait >= self._broken

    def gaps(self, scale: float) -> list[float]:
        longest = self._room.longest_gap
        return [longest if self.is_broken(wait) else min(wait * scale, longest) for wait in self.waits]


def place(things: Sequence[Thing], room: Room) -> Placed | None:
    """From things, in their order, to their places; None if they do not fit."""
    if not things:
        return Placed([], 0.0, [])
    waits = _Waits(things, room)
    low, high = 0.0, waits.usual_scale
    if _laid(things, waits, low).width > room.width:
        return None
    if _laid(things, waits, high).width > room.width:
        for _ in range(16):
            middle = (low + high) / 2
            low, high = (middle, high) if _laid(things, waits, middle).width <= room.width else (low, middle)
        high = low
    return _laid(things, waits, high)


def place_in_columns(things: Sequence[Thing], room: Room) -> Placed:
    """The same for more things than fit: in equal columns, of which a break takes several, and what is alone as many as it needs."""
    waits = _Waits(things, room)
    gaps = [0.0 if waits.is_broken(wait) else gap for gap, wait in zip(waits.gaps(1), waits.waits, strict=True)]
    scale = min(waits.usual_scale, room.width * _FOR_GAPS / sum(gaps)) if any(gaps) else 0.0
    slots = _laid(things, waits, None).xs
    for_breaks = room.column * ceil(room.longest_gap / room.column) * sum(map(waits.is_broken, waits.waits))
    for_slots = room.width - room.column - for_breaks - sum(gaps) * scale
    placed = Placed([], 0.0, [])
    for _ in range(2):  # how much more it takes that some things are alone is seen when they are placed
        by = min(1.0, max(for_slots, room.width * _FOR_SLOTS) / max(slots[-1], 1e-9))
        starts = [gap * scale + slot * by for gap, slot in zip(accumulate(gaps), slots, strict=True)]
        placed = _in_columns(things, starts, waits, room)
        if placed.width <= room.width:
            break
        for_slots -= placed.width - room.width
    return placed


def _in_columns(things: Sequence[Thing], starts: Sequence[float], waits: _Waits, room: Room) -> Placed:
    skipped = ceil(room.longest_gap / room.column)
    placed = Placed([], 0.0, [], columns := [])
    more = 0
    last: dict[int, tuple[int, bool]] = {}  # of a row, the last column that is taken, and whether it is by one alone
    for thing, x, wait in zip(things, starts, waits.waits, strict=True):
        column = start = int(x / room.column) + more
        if waits.is_broken(wait):
            edge = max((taken for taken, _ in last.values()), default=-1) + 1
            start = max(start, edge + skipped)
            placed.breaks.append(Break(edge * room.column, start * room.column, wait))
        taken, by_one = last.get(thing.row, (-1, False))
        start = max(start, taken + (thing.alone or by_one))
        more += start - column
        own = max(thing.room, room.column) if thing.alone else room.column
        takes = ceil((own + thing.after) / room.column) if thing.alone else 1
        last[thing.row] = start + takes - 1, thing.alone
        columns.append(start)
        placed.xs.append(start * room.column + own / 2)
    return placed._replace(width=(max(taken for taken, _ in last.values()) + 1) * room.column)


def _laid(things: Sequence[Thing], waits: _Waits, scale: float | None) -> Placed:
    """The places at this scale of time; None: time takes nothing."""
    gaps = waits.gaps(scale) if scale is not None else [0.0] * len(things)
    starts = [number for number, gap in enumerate(gaps) if gap or not number]
    xs: list[float] = []
    breaks: list[Break] = []
    taken: dict[int, float] = {}  # up to where a row is
    x = 0.0
    for start, end in zip(starts, [*starts[1:], len(things)], strict=True):
        bundle, gap, wait = things[start:end], gaps[start], waits.waits[start]
        if gap and waits.is_broken(wait):
            edge = max(taken.values(), default=0.0)
            taken = dict.fromkeys({*taken, *(thing.row for thing in bundle)}, edge + gap)
            breaks.append(Break(edge, edge + gap, wait))
        xs += _clear_of(taken, bundle, _bundle(bundle, x + gap))
        x = xs[-1]
    width = max((x + thing.room / 2 for thing, x in zip(things, xs, strict=True)), default=0.0)
    return Placed(xs, width, breaks)


def _bundle(things: Sequence[Thing], x: float) -> list[float]:
    """What happens at one time: cause by cause, so that what one of them has caused stands below it."""
    places: list[float] = []
    taken: dict[int, float] = {}
    start = 0
    for end in range(1, len(things) + 1):
        if end == len(things) or things[end].row < things[end - 1].row:
            own: dict[int, float] = {}
            made: list[float] = []
            for thing in things[start:end]:
                x = max(x, own[thing.row] + thing.room / 2) if thing.row in own else x
                own[thing.row] = thing.right(x)
                made.append(x)
            places += _clear_of(taken, things[start:end], made)
            x = places[-1]
            start = end
    return places


def _clear_of(taken: dict[int, float], things: Sequence[Thing], xs: list[float]) -> list[float]:
    """The places, moved right as a whole until they are clear of what is taken; and now these are taken too."""
    firsts: dict[int, float] = {}
    for thing, x in zip(things, xs, strict=True):
        firsts.setdefault(thing.row, x - thing.room / 2)
    shift = max(0.0, *(taken.get(row, 0.0) - first for row, first in firsts.items()))
    moved = [x + shift for x in xs]
    taken.update({thing.row: thing.right(x) for thing, x in zip(things, moved, strict=True)})
    return moved
