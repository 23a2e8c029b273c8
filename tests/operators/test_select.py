"""select(): Event → Event."""

from __future__ import annotations

from typing import Any

import pytest

from operators import ConnectionLost, Finish, TextDelta, Usage, select
from tests.support import Way

EVENTS = [TextDelta("a"), Finish("stop"), Usage(1), TextDelta("b")]


def test_only_the_types_that_are_asked_for(each_way: Way) -> None:
    """One or several; the end passes."""
    assert each_way.run(EVENTS, select(TextDelta)).values == [EVENTS[0], EVENTS[3]]
    assert each_way.run(EVENTS, select(TextDelta, Usage)).values == [EVENTS[0], EVENTS[2], EVENTS[3]]
    gone = ConnectionLost("gone")
    assert each_way.run(EVENTS, select(Finish), end=gone).end is gone


def test_it_is_named_as_it_is_written() -> None:
    """So that a spy's lanes can be read."""
    assert repr(select(TextDelta, Finish)) == "select(TextDelta, Finish)"


@pytest.mark.parametrize("wrong", [TextDelta("x"), "TextDelta", None])
def test_what_is_no_type_is_refused_at_once(wrong: Any) -> None:
    """With a hint how to write it."""
    with pytest.raises(TypeError, match=r"as in select\(TextDelta\)"):
        select(wrong)


def test_no_type_at_all_is_refused_at_once() -> None:
    with pytest.raises(TypeError, match=r"as in select\(TextDelta\); got none"):
        select()
