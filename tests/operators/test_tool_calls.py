"""tool_calls(): Event → Event, and the folding of calls that it shares with message()."""

from __future__ import annotations

from typing import Any

import pytest

from operators import (
    ConnectionLost,
    Event,
    Finish,
    Restarted,
    RoundStarted,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolCallSnapshot,
    tool_calls,
)
from operators._calls import CUT, is_object, loads, made_up_id
from tests.support import COMPLETED, FINISHED, Way, call, calls_of, chunk

D = ToolCallDelta


def whole(key: int, id_: str, name: str, arguments: str, index: int | None = None, choice: int = 0) -> ToolCall:
    return ToolCall(key, index, id_, name, arguments, complete=True, choice=choice)


def added(way: Way, *events: Event, **how: Any) -> list[Event]:
    """What comes out beyond what went in."""
    seen = way.run(events, tool_calls(), **how)
    assert [event for event in seen.values if event in events or type(event) is not ToolCall] == list(events)
    return [event for event in seen.values if event not in events]


def test_everything_passes_and_the_calls_come_at_the_end(each_way: Way) -> None:
    """Arguments may follow the finish; nothing is complete before the stream is."""
    events = (Started("c"), TextDelta("t"), D(0, 0, "a", "f", '{"x"'), Finish("tool_calls"), D(0, 0, "a", "", ":1}"))
    assert each_way.run(events, tool_calls()).values == [*events, whole(0, "a", "f", '{"x":1}', 0)]
    assert each_way.run(events, tool_calls(), end=None).values == list(events)


def test_the_providers_order_then_the_order_of_opening(each_way: Way) -> None:
    """By choice first; where a call has no index, by opening."""
    first, second, other = D(0, 2, "b", "g"), D(1, 0, "a", "f"), D(0, 0, "c", "h", "", 1)
    assert [found.id for found in added(each_way, other, first, second)] == ["a", "b", "c"]  # type: ignore[union-attr]
    assert [found.id for found in added(each_way, D(0, 2, "b", "g"), D(1, None, "a", "f"))] == ["b", "a"]  # type: ignore[union-attr]


@pytest.mark.parametrize("reason", ["length", "content_filter", "MAX_TOKENS", "SAFETY", "error"])
def test_no_call_is_complete_after_a_cut(reason: str, each_way: Way) -> None:
    """Whatever its arguments; other choices are not touched."""
    assert added(each_way, D(0, 0, "a", "f", "{}"), Finish(reason)) == []
    assert added(each_way, D(0, 0, "a", "f", "{}", 1), Finish(reason), Finish("stop", 1)) == [
        whole(0, "a", "f", "{}", 0, choice=1)
    ]
    assert reason.lower() in CUT


@pytest.mark.parametrize("arguments", ['{"x":', "[1]", "7", '"{}"', "{}{}"])
def test_a_call_whose_arguments_are_no_object_is_not_complete(arguments: str, each_way: Way) -> None:
    """Nothing at all is an empty object."""
    assert added(each_way, D(0, 0, "a", "f", arguments)) == []
    assert added(each_way, D(0, 0, "a", "f", " ")) == [whole(0, "a", "f", " ", 0)]


def test_no_call_is_complete_when_the_stream_breaks(each_way: Way) -> None:
    """More keys may have been on the way."""
    assert added(each_way, D(0, 0, "a", "f", "{}"), Finish("tool_calls"), end=ConnectionLost("gone")) == []


def test_the_first_finish_counts(each_way: Way) -> None:
    """A later word does not cut what was finished."""
    assert len(added(each_way, D(0, 0, "a", "f", "{}"), Finish("tool_calls"), Finish("length"))) == 1


def test_whether_to_run_is_decided_by_the_calls_not_by_the_word() -> None:
    """`stop`, no reason at all, a call after the finish."""
    wanted = [("a", "f", "{}", True)]
    assert calls_of(call(0, "a", "f", "{}"), chunk(finish="stop")) == wanted
    assert calls_of(call(0, "a", "f", "{}")) == wanted
    assert calls_of(chunk({"content": "ok"}, "stop"), call(0, "a", "f", "{}")) == wanted
    assert calls_of(call(0, "a", "f", '{"x":"hel'), chunk(finish="length")) == [("a", "f", '{"x":"hel', False)]
    assert calls_of(call(0, "a", "f", "{}"), end=ConnectionLost("gone"), done=False) == [("a", "f", "{}", False)]


def test_a_round_hands_out_the_calls_of_the_last_one_and_a_restart_drops_them(each_way: Way) -> None:
    """Each round starts afresh, its made-up ids with it."""
    first, second = whole(0, "a", "f", "{}", 0), whole(0, "b", "g", "", 0)
    events = [RoundStarted(1), D(0, 0, "a", "f", "{}"), RoundStarted(2), D(0, 0, "b", "g")]
    assert each_way.run(events, tool_calls()).values == [*events[:2], first, *events[2:], second]
    assert added(each_way, D(0, 0, "a", "f", "{}"), Restarted(), D(0, 0, "b", "g")) == [second]
    nameless = [Started("s1"), D(0, 0, None, "f"), RoundStarted(2), Started("s2"), D(0, 0, None, "f")]
    made = [event.id for event in each_way.run(nameless, tool_calls()).values if isinstance(event, ToolCall)]
    assert made == [made_up_id("s1", 0, 0), made_up_id("s2", 0, 0)]


def test_a_call_that_came_as_a_whole_is_not_told_again(each_way: Way) -> None:
    """`tool_calls()` twice does what it does once."""
    events = [D(0, 0, "a", "f", "{}"), Finish("tool_calls")]
    assert each_way.run(events, tool_calls(), tool_calls()).values == each_way.run(events, tool_calls()).values


def test_snapshots_follow_each_fragment(each_way: Way) -> None:
    """The growing call; what a snapshot shows does not change when more comes."""
    fragments = [D(0, 0, "a", "f", '{"x"'), D(0, 0, "a", "", ":1}")]
    seen = each_way.run(fragments, tool_calls(snapshots=True))
    shots = [event for event in seen.values if isinstance(event, ToolCallSnapshot)]
    assert [type(event).__name__ for event in seen.values] == ["ToolCallDelta", "ToolCallSnapshot"] * 2 + ["ToolCall"]
    assert [(shot.key, shot.index, shot.id, shot.name, shot.arguments, shot.choice) for shot in shots] == [
        (0, 0, "a", "f", '{"x"', 0),
        (0, 0, "a", "f", '{"x":1}', 0),
    ]
    assert not shots[1].complete
    assert repr(shots[0]) == "ToolCallSnapshot(key=0, id='a', name='f', arguments='{\"x\"')"


def test_ids_and_indexes_that_come_late(each_way: Way) -> None:
    """The call has what was told last of them."""
    late = [D(0, None, None, "f"), D(0, 3, None), D(0, None, "a", "", "{}")]
    assert added(each_way, *late, end=COMPLETED) == [whole(0, "a", "f", "{}", 3)]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", True),
        ("{}", True),
        ('{"a": NaN}', True),
        ('{"a":"\t"}', True),
        ('{"a":"\\ud83d"}', True),
        ("{", False),
        ("[" * 100_000, False),
    ],
)
def test_arguments_that_are_an_object(text: str, wanted: bool) -> None:
    """Read as leniently as chunks are."""
    assert is_object(text) is wanted


def test_loads_reads_what_json_would_refuse() -> None:
    """None is for what cannot be read."""
    assert loads("[1]") == [1]
    assert loads("nonsense") is None
    assert loads('"\ud83d"') == "\ud83d"


def test_an_extra_that_was_merged_does_not_change_the_event_it_came_in(each_way: Way) -> None:
    """Events are frozen, so what they hold must not grow behind their back."""
    first, second = (
        D(0, 0, "a", "f", extra={"l": [{"index": 0, "text": "a"}]}),
        D(0, extra={"l": [{"index": 0, "text": "b"}]}),
    )
    (found,) = added(each_way, first, second)
    assert isinstance(found, ToolCall)
    assert found.extra == {"l": [{"index": 0, "text": "ab"}]}
    assert first.extra == {"l": [{"index": 0, "text": "a"}]}
    assert calls_of(call(0, "a", "f"), FINISHED)
