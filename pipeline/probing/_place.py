"""Where things stand in a picture: time runs to the right, nothing stands on anything else, nobody waits for long.

The plan. All that happened is placed in its order, so what stands further to the right came later, on whatever row. Two
things on one row keep apart. Time between two of them moves on by a length that grows with it, up to a limit: a longer gap is
a break in the axis. When there is no room for all, equal columns are made, and what falls into one is drawn as one.
"""

from __future__ import annotations

from collections.abc import Sequence
from statistics import median
from typing import NamedTuple

_SAME_TIME = 0.001  # seconds; what is closer together is noise of the clock


class Thing(NamedTuple):
    """Something to be placed: its time, its row, and the room it needs there."""

    at: float
    row: int
    room: float


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


def place(things: Sequence[Thing], room: Room) -> Placed | None:
    """From things, in their order, to their places; None if they do not fit."""
    waits = _waits(things)
    usual = _usual_scale(waits, room)

    def laid(scale: float) -> Placed:
        return _laid(things, [_gap(wait, scale, room) for wait in waits], waits, scale, room)

    if laid(0).width > room.width:
        return None
    low, high = 0.0, usual
    if laid(high).width <= room.width:
        return laid(high)
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if laid(middle).width <= room.width else (low, middle)
    return laid(low)


def place_in_columns(things: Sequence[Thing], room: Room) -> Placed:
    """The same for more things than fit: in equal columns."""
    waits = _waits(things)
    low, high = 0.0, _usual_scale(waits, room)
    allowed = room.width * 0.4
    if sum(_gap(wait, high, room) for wait in waits) > allowed:
        for _ in range(24):
            middle = (low + high) / 2
            low, high = (middle, high) if sum(_gap(w, middle, room) for w in waits) <= allowed else (low, middle)
        high = low
    gaps = [_gap(wait, high, room) for wait in waits]
    slots = _laid(things, [0.0] * len(things), waits, 0, room).xs
    free = max(room.width - sum(gaps) - room.column, room.column)
    by = min(1.0, free / max(slots[-1], 1e-9))
    passed, columns = 0.0, []
    for slot, gap in zip(slots, gaps, strict=True):
        passed += gap
        columns.append(int((passed + slot * by) / room.column))
    xs = [(column + 0.5) * room.column for column in columns]
    breaks = []
    for number, (gap, wait) in enumerate(zip(gaps, waits, strict=True)):
        if number and wait * high > room.longest_gap and gap:
            breaks.append(Break(xs[number - 1], xs[number], wait))
    return Placed(xs, xs[-1] + room.column / 2, breaks, columns)


def _waits(things: Sequence[Thing]) -> list[float]:
    """Seconds before each thing in which nothing happened."""
    waits, last = [], things[0].at if things else 0.0
    for thing in things:
        wait = thing.at - last
        waits.append(wait if wait >= _SAME_TIME else 0.0)
        last = max(last, thing.at)
    return waits


def _usual_scale(waits: Sequence[float], room: Room) -> float:
    there = [wait for wait in waits if wait]
    return room.usual_gap / median(there) if there else 0.0


def _gap(wait: float, scale: float, room: Room) -> float:
    return min(wait * scale, room.longest_gap)


def _laid(things: Sequence[Thing], gaps: list[float], waits: list[float], scale: float, room: Room) -> Placed:
    xs: list[float] = []
    breaks: list[Break] = []
    taken: dict[int, float] = {}  # up to where a row is
    x = 0.0
    for thing, gap, wait in zip(things, gaps, waits, strict=True):
        before = x
        x = max(x + gap, taken.get(thing.row, 0.0) + thing.room / 2)
        taken[thing.row] = x + thing.room / 2
        if wait * scale > room.longest_gap:
            breaks.append(Break(before, x, wait))
        xs.append(x)
    return Placed(xs, max(taken.values(), default=0.0), breaks)
