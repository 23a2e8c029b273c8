"""Where things stand: in their order, clear of each other, within the room."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from pipeline.probing._place import Room, Thing, place, place_in_columns

ROOM = Room(width=400, longest_gap=60, usual_gap=20, column=25)

things = st.lists(
    st.builds(
        Thing,
        at=st.sampled_from([0.0, 0.0005, 0.02, 0.05, 0.3, 4.0]),
        row=st.integers(-1, 3),
        room=st.sampled_from([0.0, 5.0, 30.0]),
        after=st.sampled_from([0.0, 0.0, 40.0]),
        alone=st.booleans(),
    ),
    max_size=60,
).map(lambda made: sorted(made, key=lambda thing: thing.at))


@given(things)
def test_on_a_row_nothing_stands_on_anything_and_all_keep_their_order(made: list[Thing]) -> None:
    """What came later stands further right; each has its room, and the whole has the width that there is, or no place."""
    placed = place(made, ROOM)
    if placed is None:
        return
    assert placed.width <= ROOM.width
    assert len(placed.xs) == len(made)
    for row in range(-1, 4):
        own = [(thing, x) for thing, x in zip(made, placed.xs, strict=True) if thing.row == row]
        for (left, x), (right, next_x) in pairwise(own):
            assert next_x - right.room / 2 >= left.right(x) - 1e-6


@given(things.filter(bool))
def test_in_columns_there_is_place_for_all(made: list[Thing]) -> None:
    """They keep their order; what wants to be alone shares no column with anything of its row, and has all its room."""
    placed = place_in_columns(made, ROOM)
    assert placed.columns is not None
    assert placed.columns == sorted(placed.columns)
    shared: dict[tuple[int, int], list[Thing]] = {}
    for thing, column in zip(made, placed.columns, strict=True):
        shared.setdefault((thing.row, column), []).append(thing)
    assert all(len(here) == 1 for here in shared.values() if any(thing.alone for thing in here))
    for row in range(-1, 4):
        own = [(thing, x) for thing, x in zip(made, placed.xs, strict=True) if thing.row == row]
        for (left, x), (right, next_x) in pairwise(own):
            if left.alone:
                assert next_x - (right.room if right.alone else ROOM.column) / 2 >= left.right(x) - 1e-6


@given(things.filter(bool))
def test_nothing_stands_in_a_break(made: list[Thing]) -> None:
    """Nor does anything reach into it: a break has its length for itself."""
    for placed in (place(made, ROOM), place_in_columns(made, ROOM)):
        if placed is None:
            continue
        for gap in placed.breaks:
            assert gap.end - gap.start >= ROOM.longest_gap - 1e-6
            for thing, x in zip(made, placed.xs, strict=True):
                room = thing.room if thing.alone or placed.columns is None else ROOM.column
                right = x + room / 2 + (thing.after if thing.alone or placed.columns is None else 0)
                assert right <= gap.start + 1e-6 or x - room / 2 >= gap.end - 1e-6


def test_two_thousand_things_take_the_room_of_a_picture() -> None:
    """Grouped, as they do not fit."""
    many = [Thing(number * 0.01, number % 4, 6.0) for number in range(2000)]
    assert place(many, ROOM) is None
    assert place_in_columns(many, ROOM).width <= ROOM.width + ROOM.column


def test_time_takes_length_and_the_longest_waits_are_broken() -> None:
    """Twice the wait is twice the gap; one that is far longer than the others is a break that says so."""
    at = [0.0, 0.1, 0.3, 0.4, 0.5, 9.5, 9.6]
    placed = place([Thing(time, 0, 0.0) for time in at], ROOM)
    assert placed is not None
    gaps = [right - left for left, right in zip(placed.xs, placed.xs[1:], strict=False)]
    assert round(gaps[1] / gaps[0], 3) == 2
    assert [(round(gap.seconds, 3), gap.end - gap.start) for gap in placed.breaks] == [(9.0, ROOM.longest_gap)]


def test_time_is_drawn_closer_before_things_are_grouped() -> None:
    """What would be too wide at the usual scale still fits at a smaller one."""
    many = [Thing(number * 0.1, 0, 6.0) for number in range(40)]
    placed = place(many, ROOM)
    assert placed is not None
    assert ROOM.width * 0.9 < placed.width <= ROOM.width


def test_nothing_has_no_width() -> None:
    """Of nothing, nothing is drawn."""
    assert place([], ROOM) == ([], 0.0, [], None)
