"""What each policy keeps, joins and drops, and how it is asked for."""

from typing import Any

import pytest
import reactivex
from hypothesis import given
from hypothesis import strategies as st
from reactivex import operators as ops

from operators import (
    Event,
    Finish,
    Gap,
    ReasoningDelta,
    RefusalDelta,
    TextDelta,
    ToolCallDelta,
    Usage,
    message,
)
from pipeline.sharing import Paced, block, coalesce, drop_oldest, latest
from pipeline.sharing._buffers import Buffer


def taken(buffer: Buffer) -> list[Any]:
    found = []
    while buffer.ready_in(1e9) is not None:
        found.append(buffer.take())
    return found


def filled(paced: Paced, *events: Any, now: float = 0.0) -> Buffer:
    buffer = paced.buffer()
    for event in events:
        buffer.put(event, now)
    return buffer


def test_block_keeps_all_and_is_full_at_its_limit() -> None:
    buffer = filled(block(print, 2), 1)
    assert not buffer.full
    buffer.put(2, 0.0)
    assert buffer.full
    assert not buffer.bursting
    assert buffer.ready_in(0.0) == 0.0
    assert taken(buffer) == [1, 2]
    assert buffer.ready_in(0.0) is None


def test_drop_oldest_says_where_and_how_many_are_missing() -> None:
    paced = drop_oldest(print, 2)
    buffer = filled(paced, 1, 2)
    assert buffer.take() == 1
    for event in (3, 4, 5):
        buffer.put(event, 0.0)
    assert (paced.dropped, paced.waiting) == (2, 2)
    assert taken(buffer) == [Gap(2), 4, 5]
    buffer.put(6, 0.0)
    assert taken(buffer) == [6]
    assert not buffer.full
    assert not buffer.bursting


def test_a_dropped_gap_counts_for_what_it_stands_for() -> None:
    paced = latest(print)
    assert taken(filled(paced, Gap(7), 1, 2)) == [Gap(8), 2]
    assert paced.dropped == 8


def test_latest_keeps_one() -> None:
    paced = latest(print)
    assert taken(filled(paced, *range(10))) == [Gap(9), 9]
    assert taken(filled(paced, *range(10))) == [Gap(9), 9]
    assert paced.dropped == 18


def test_coalesce_joins_what_goes_on_with_the_same() -> None:
    events: list[Event] = [
        ReasoningDelta("a", extra={"signature": "s"}),
        ReasoningDelta("b"),
        TextDelta("c"),
        TextDelta("d"),
        TextDelta("x", choice=1),
        TextDelta("e"),
        RefusalDelta("f"),
        RefusalDelta("g"),
        ToolCallDelta(0, 0, "id", "name"),
        ToolCallDelta(0, 0, "id", "", "{"),
        ToolCallDelta(0, 0, "id", "", "}"),
        ToolCallDelta(1, 1, "id1", "", "["),
        Usage(1, 2, 3),
        TextDelta("h"),
        TextDelta("i"),
    ]
    assert taken(filled(coalesce(print), *events)) == [
        ReasoningDelta("ab", extra={"signature": "s"}),
        TextDelta("cde"),
        TextDelta("x", choice=1),
        RefusalDelta("fg"),
        ToolCallDelta(0, 0, "id", "name", "{}"),
        ToolCallDelta(1, 1, "id1", "", "["),
        Usage(1, 2, 3),
        TextDelta("hi"),
    ]


@pytest.mark.parametrize(
    ("first", "then"),
    [
        (ReasoningDelta("a"), ReasoningDelta("b", extra={"signature": "s"})),
        (ToolCallDelta(0, 0, None, "f"), ToolCallDelta(0, 0, "id", "", "{")),
        (ToolCallDelta(0, 0, "id", "f"), ToolCallDelta(0, 0, "id", "g")),
        (ToolCallDelta(0, 0, "id", "f"), ToolCallDelta(1, 1, "id", "", "{")),
        (ToolCallDelta(0, 0, "id", "f"), ToolCallDelta(0, 0, "id", "", "{", 0, {"k": 1})),
        (TextDelta("a"), ReasoningDelta("b")),
    ],
)
def test_coalesce_does_not_join(first: Event, then: Event) -> None:
    assert taken(filled(coalesce(print), first, then)) == [first, then]


def test_coalesce_waits_its_time_or_for_something_else() -> None:
    buffer = filled(coalesce(print, 50), TextDelta("a"), now=10.0)
    assert buffer.ready_in(10.0) == pytest.approx(0.05)
    buffer.put(TextDelta("b"), 10.04)
    assert buffer.ready_in(10.04) == pytest.approx(0.01)
    assert buffer.ready_in(10.05) == 0.0
    buffer = filled(coalesce(print, 50), TextDelta("a"), Finish("stop"))
    assert buffer.ready_in(0.0) == 0.0
    assert buffer.take() == TextDelta("a")
    buffer.put(TextDelta("b"), 0.0)
    assert buffer.ready_in(0.0) == 0.0  # Finish still waits
    assert buffer.take() == Finish("stop")
    assert buffer.ready_in(0.0) == pytest.approx(0.05)


def test_coalesce_is_bounded_in_characters() -> None:
    buffer = filled(coalesce(print, 50, limit=10), TextDelta("1234"))
    assert not buffer.full
    buffer.put(TextDelta("5678"), 0.0)
    assert buffer.full
    assert buffer.ready_in(0.0) == 0.0
    assert taken(buffer) == [TextDelta("12345678")]
    assert not buffer.full


_choices = st.integers(0, 1)
_text = st.text(min_size=1, max_size=3)
_events = st.one_of(
    st.builds(TextDelta, _text, _choices),
    st.builds(ReasoningDelta, _text, _choices),
    st.builds(RefusalDelta, _text, _choices),
    st.builds(
        lambda key, arguments, choice: ToolCallDelta(key, key, f"call_{key}", "", arguments, choice),
        st.integers(0, 1),
        _text,
        _choices,
    ),
    st.builds(Usage, st.integers(0, 9)),
    st.builds(Finish, st.just("stop"), _choices),
)


def folded(events: list[Event]) -> list[Any]:
    return reactivex.from_iterable(events).pipe(message(), ops.to_list()).run()


@given(st.lists(_events, max_size=30), st.data())
def test_nothing_is_lost_by_joining(events: list[Event], data: st.DataObject) -> None:
    buffer, joined = coalesce(print).buffer(), []
    for event in events:
        buffer.put(event, 0.0)
        if data.draw(st.booleans()):
            joined.append(buffer.take())
    joined += taken(buffer)
    assert len(joined) <= len(events)
    assert folded(joined) == folded(events)


@pytest.mark.parametrize(
    "wrong",
    [
        lambda: block(print, 0),
        lambda: drop_oldest(print, 0),
        lambda: coalesce(print, -1),
        lambda: coalesce(print, float("nan")),
        lambda: coalesce(print, limit=0),
    ],
)
def test_wrong_bounds(wrong: Any) -> None:
    with pytest.raises(ValueError, match="at least"):
        wrong()


@pytest.mark.parametrize(("policy", "bound"), [(block, "x"), (drop_oldest, 1.5), (coalesce, "x"), (coalesce, None)])
def test_bounds_that_are_no_numbers(policy: Any, bound: Any) -> None:
    with pytest.raises(TypeError, match=r"number.*, at least"):
        policy(print, bound)


@pytest.mark.parametrize("sink", [None, 3, "print", list])
def test_what_is_no_sink(sink: Any) -> None:
    with pytest.raises(TypeError, match="a sink is"):
        latest(sink)


def test_what_has_a_policy_takes_no_other_one() -> None:
    paced: Any = latest(print)
    with pytest.raises(TypeError, match=r"latest\(print\) has its policy already"):
        block(paced)


def test_what_has_a_policy_is_no_subscriber() -> None:
    """It is told where it goes."""
    sink: Any = latest(print)
    with pytest.raises(TypeError, match=r"goes into share_to\(latest\(print\)\), not into subscribe\(\)"):
        reactivex.of(TextDelta("Hi")).subscribe(sink)


def test_repr() -> None:
    class Page:
        def __call__(self, event: object) -> None: ...

    assert repr(latest(Page())) == "latest(Page)"
    assert repr(coalesce(print, 7.5)) == "coalesce(print, 7.5, limit=65536)"
