"""Where things stand in a picture: time runs to the right, nothing stands on anything else, nobody waits for long.

The plan. All that happened is placed in its order, so what stands further to the right came later, on whatever row. What
happens at one time is a bundle: it is moved right as a whole until it stands clear of what is there. Time between bundles
moves on by a length that grows with it; the longest gaps are breaks in the axis instead. When there is no room for all,
equal columns are made, and what falls into one is drawn as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from statistics import median_low
from typing import NamedTuple

_SAME_TIME = 0.001  # seconds; what is closer together is noise of the clock
_BREAKS = 6
_LONG = 8  # times the usual gap
_LONG_IF_FEW = 1.0  # seconds
_FOR_GAPS = 0.2  # of the room, where things are grouped


class Thing(NamedTuple):
    """Something to be placed: its time, its row, and the room it needs there. `alone` shares no column."""

    at: float
    row: int
    room: float
    alone: bool = False


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
        self.waits = [wait if wait >= _SAME_TIME else 0.0 for wait in waits]
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
    waits = _Waits(things, room)
    low, high = 0.0, waits.usual_scale
    if _laid(things, waits, low)[1] > room.width:
        return None
    if _laid(things, waits, high)[1] > room.width:
        for _ in range(16):
            middle = (low + high) / 2
            low, high = (middle, high) if _laid(things, waits, middle)[1] <= room.width else (low, middle)
        high = low
    xs, width = _laid(things, waits, high)
    return Placed(xs, width, _breaks(xs, waits))


def place_in_columns(things: Sequence[Thing], room: Room) -> Placed:
    """The same for more things than fit: in equal columns."""
    waits = _Waits(things, room)
    short = sum(gap for gap, wait in zip(waits.gaps(1), waits.waits, strict=True) if not waits.is_broken(wait))
    gaps = waits.gaps(min(waits.usual_scale, room.width * _FOR_GAPS / short) if short else 0.0)
    slots = _laid(things, waits, None)[0]
    by = min(1.0, max(room.width - sum(gaps) - room.column, room.column) / max(slots[-1], 1e-9))
    passed, more = 0.0, 0
    columns: list[int] = []
    last: dict[int, tuple[int, bool]] = {}
    for thing, slot, gap in zip(things, slots, gaps, strict=True):
        passed += gap
        column = int((passed + slot * by) / room.column) + more
        before, was_alone = last.get(thing.row, (-1, False))
        if before == column and (thing.alone or was_alone):
            column += 1
            more += 1
        last[thing.row] = column, thing.alone
        columns.append(column)
    xs = [(column + 0.5) * room.column for column in columns]
    return Placed(xs, xs[-1] + room.column / 2, _breaks(xs, waits), columns)


def _breaks(xs: Sequence[float], waits: _Waits) -> list[Break]:
    places = zip([0.0, *xs], xs, waits.waits, strict=False)
    return [Break(before, x, wait) for before, x, wait in places if waits.is_broken(wait)]


def _laid(things: Sequence[Thing], waits: _Waits, scale: float | None) -> tuple[list[float], float]:
    """The places at this scale of time (None: time takes nothing), and the width of it all."""
    gaps = waits.gaps(scale) if scale is not None else [0.0] * len(things)
    starts = [number for number, gap in enumerate(gaps) if gap or not number]
    xs: list[float] = []
    taken: dict[int, float] = {}  # up to where a row is
    x = 0.0
    for start, end in zip(starts, [*starts[1:], len(things)], strict=True):
        xs += _clear_of(taken, things[start:end], _bundle(things[start:end], x + gaps[start]))
        x = xs[-1]
    return xs, max(taken.values(), default=0.0)


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
                own[thing.row] = x + thing.room / 2
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
    taken.update({thing.row: x + thing.room / 2 for thing, x in zip(things, moved, strict=True)})
    return moved
