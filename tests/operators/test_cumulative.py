"""cumulative(): only what is new."""

from __future__ import annotations

import itertools
import time

from hypothesis import given
from hypothesis import strategies as st

from operators import (
    Finish,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    RoundStarted,
    TextDelta,
    ToolCallDelta,
)
from operators._cumulative import cumulative
from tests.support import WAYS, Way


def new(*events: object) -> list[object]:
    return list(WAYS[0].run(events, cumulative()).values)


def text_of(*texts: str) -> list[str]:
    return [event.text for event in new(*map(TextDelta, texts))]  # type: ignore[attr-defined]


def test_fused_and_unfused(each_way: Way) -> None:
    seen = each_way.run([TextDelta("H"), TextDelta("Hi"), Finish("stop")], cumulative())
    assert seen.values == [TextDelta("H"), TextDelta("i"), Finish("stop")]
    assert seen.completed


def test_a_repeat_adds_nothing() -> None:
    assert text_of("Hello", "Hello", "Hello!") == ["Hello", "!"]


def test_what_does_not_begin_with_what_came_is_an_increment() -> None:
    assert text_of("Hel", "lo", "Hello!", "Hello! You", " too") == ["Hel", "lo", "!", " You", " too"]
    assert text_of("Hello", "Yes, Hello") == ["Hello", "Yes, Hello"]


@given(st.text(min_size=1), st.lists(st.integers(0, 200)))
def test_any_growing_text_comes_out_once(whole: str, lengths: list[int]) -> None:
    texts = [text for length in sorted(lengths) if (text := whole[:length])]
    assert "".join(text_of(*texts, whole)) == whole


def test_each_channel_and_choice_by_itself() -> None:
    events = [
        TextDelta("a"),
        ReasoningDelta("a"),
        RefusalDelta("a"),
        TextDelta("a", 1),
        TextDelta("ab", 1),
        RefusalDelta("ac"),
        ReasoningDelta("ad"),
    ]
    expected = [*events[:4], TextDelta("b", 1), RefusalDelta("c"), ReasoningDelta("d")]
    assert new(*events) == expected


def test_what_a_provider_wants_back_is_kept() -> None:
    kept = {"signature": "s"}
    assert new(ReasoningDelta("a"), ReasoningDelta("a", extra=kept)) == [
        ReasoningDelta("a"),
        ReasoningDelta("", extra=kept),
    ]


def test_arguments_by_call() -> None:
    events = [
        ToolCallDelta(0, 0, "x", "f"),
        ToolCallDelta(0, 0, "x", arguments='{"a"'),
        ToolCallDelta(1, 1, "y", "f", '{"a"'),
        ToolCallDelta(0, 0, "x", arguments='{"a":1}'),
        ToolCallDelta(0, 0, "x", arguments='{"a":1}'),
        ToolCallDelta(1, 1, "y", arguments='{"a":2}'),
    ]
    assert new(*events) == [
        *events[:3],
        ToolCallDelta(0, 0, "x", arguments=":1}"),
        ToolCallDelta(1, 1, "y", arguments=":2}"),
    ]


def test_a_repeat_that_brings_a_late_id_passes() -> None:
    assert new(ToolCallDelta(0, arguments="{}"), ToolCallDelta(0, None, "late", arguments="{}")) == [
        ToolCallDelta(0, arguments="{}"),
        ToolCallDelta(0, None, "late"),
    ]


def test_a_round_and_a_restart_begin_afresh() -> None:
    for event in (RoundStarted(2), Restarted()):
        assert new(TextDelta("a"), event, TextDelta("a")) == [TextDelta("a"), event, TextDelta("a")]


def test_increments_cost_their_own_length() -> None:
    def seconds(count: int) -> float:
        events = [TextDelta("abcd")] + [TextDelta("x")] * count
        best = float("inf")
        for _ in range(3):
            begun = time.perf_counter()
            new(*events)
            best = min(best, time.perf_counter() - begun)
        return best / count

    assert seconds(40_000) < 3 * seconds(10_000)


def test_many_cuts() -> None:
    whole = "the whole text"
    for size in range(1, len(whole)):
        growing = [*itertools.accumulate(whole[at : at + size] for at in range(0, len(whole), size))]
        assert "".join(text_of(*growing)) == whole
