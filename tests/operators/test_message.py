"""message(): Event → Message, and the assembly that can be read at any time."""

from __future__ import annotations

from operators import (
    AnnotationDelta,
    AudioDelta,
    ConnectionLost,
    Event,
    Finish,
    Gap,
    LogprobsDelta,
    Message,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    RoundStarted,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    TruncatedError,
    Usage,
    message,
    tool_calls,
)
from operators._assembly import Assembly
from operators._calls import made_up_id
from tests.support import Way, call, calls_of, chunk

EVERYTHING: list[Event] = [
    Started("c", "m", "assistant"),
    ReasoningDelta("h", extra={"reasoning_details": [{"index": 0, "text": "h"}]}),
    ReasoningDelta("m", extra={"reasoning_details": [{"index": 0, "text": "m"}]}),
    TextDelta("H"),
    TextDelta("i"),
    RefusalDelta("n"),
    RefusalDelta("o"),
    ToolCallDelta(0, 0, "a", "f", '{"x"'),
    ToolCallDelta(0, 0, "a", "", ":1}"),
    LogprobsDelta([1], [2]),
    LogprobsDelta([3]),
    AnnotationDelta([{"a": 1}]),
    AudioDelta("au", "QUJD", "Hi"),
    AudioDelta(None, "REVG", None, 9),
    Gap(1),
    Finish("tool_calls"),
    Finish("stop"),
    Usage(1, 2, 3),
]
WHOLE = Message(
    role="assistant",
    text="Hi",
    reasoning="hm",
    refusal="no",
    tool_calls=(ToolCall(0, 0, "a", "f", '{"x":1}', complete=True),),
    finish_reason="tool_calls",
    usage=Usage(1, 2, 3),
    id="c",
    model="m",
    logprobs=LogprobsDelta([1, 3], [2]),
    annotations=({"a": 1},),
    audio=AudioDelta("au", "QUJDREVG", "Hi", 9),
    extra={"reasoning_details": [{"index": 0, "text": "hm"}]},
)


def test_everything_that_a_stream_says_is_in_its_message(each_way: Way) -> None:
    """Once, on completion; the first reason stays."""
    seen = each_way.run(EVERYTHING, message())
    assert seen.values == [WHOLE]
    assert each_way.run(EVERYTHING, message(), end=None).values == []


def test_one_message_a_choice_in_choice_order(each_way: Way) -> None:
    """Whichever began first."""
    seen = each_way.run([TextDelta("B", 1), TextDelta("A"), Finish("stop"), Finish("length", 1)], message())
    assert [(found.choice, found.text, found.finish_reason) for found in seen.values] == [
        (0, "A", "stop"),
        (1, "B", "length"),
    ]


def test_usage_alone_is_a_message_and_nothing_is_none(each_way: Way) -> None:
    """A stream of nothing has no message."""
    assert each_way.run([Usage(1)], message()).values == [Message(usage=Usage(1))]
    assert each_way.run([], message()).values == []


def test_when_the_stream_breaks_the_error_holds_what_came(each_way: Way) -> None:
    """And passes on; no call in it is complete."""
    gone = ConnectionLost("gone")
    seen = each_way.run([TextDelta("Hi"), ToolCallDelta(0, 0, "a", "f", "{}")], message(), end=gone)
    assert (seen.values, seen.end) == ([], gone)
    assert gone.partial == (Message(text="Hi", tool_calls=(ToolCall(0, 0, "a", "f", "{}", complete=False),)),)


def test_a_partial_that_is_filled_already_stays(each_way: Way) -> None:
    """`completion()` knows more."""
    filled = TruncatedError("cut", partial=(Message(text="more"),))
    each_way.run([TextDelta("Hi")], message(), end=filled)
    assert filled.partial == (Message(text="more"),)


def test_other_errors_pass_as_they_are(each_way: Way) -> None:
    """They have no partial to fill."""
    bug = ValueError("bug")
    assert each_way.run([TextDelta("Hi")], message(), end=bug).end is bug


def test_a_round_emits_the_last_one_and_a_restart_begins_afresh(each_way: Way) -> None:
    """The messages of every round, nothing of what is void."""
    events = [RoundStarted(1), Started("a"), TextDelta("1"), Usage(1), RoundStarted(2), TextDelta("2")]
    assert each_way.run(events, message()).values == [Message(text="1", id="a", usage=Usage(1)), Message(text="2")]
    assert each_way.run([TextDelta("void"), Restarted(), TextDelta("2")], message()).values == [Message(text="2")]


def test_calls_are_folded_here_with_tool_calls_above_or_without(each_way: Way) -> None:
    """Once each; a whole call without fragments counts too."""
    assert each_way.run(EVERYTHING, tool_calls(), message()).values == [WHOLE]
    given = ToolCall(0, None, "a", "f", "{}", complete=True)
    assert each_way.run([given], message()).values == [Message(tool_calls=(given,))]


def test_a_cut_call_stays_and_a_missing_id_is_made_up(each_way: Way) -> None:
    """With complete=False."""
    events = [Started("c"), ToolCallDelta(0, 0, None, "f", '{"x'), Finish("length")]
    (found,) = each_way.run(events, message()).values
    assert found.tool_calls == (ToolCall(0, 0, made_up_id("c", 0, 0), "f", '{"x', complete=False),)
    assert calls_of(call(0, "a", "f", '{"x'), chunk(finish="length")) == [("a", "f", '{"x', False)]


def test_the_assembly_can_be_read_at_any_time() -> None:
    """Again and again while it grows."""
    assembly = Assembly()
    texts: list[str] = []
    for letter in "abc":
        assembly.add(TextDelta(letter))
        texts.extend(found.text for found in assembly.messages(ended=False))
    assert texts == ["a", "ab", "abc"]


def test_the_message_to_append_to_a_conversation() -> None:
    """What a next request wants: content null beside calls, a refusal or audio; else a text, if an empty one."""
    assert WHOLE.to_dict() == {
        "role": "assistant",
        "content": "Hi",
        "refusal": "no",
        "audio": {"id": "au"},
        "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"x":1}'}}],
        "reasoning_details": [{"index": 0, "text": "hm"}],
    }
    assert Message().to_dict() == {"role": "assistant", "content": ""}
    assert Message(refusal="no").to_dict() == {"role": "assistant", "content": None, "refusal": "no"}
    assert Message(audio=AudioDelta(None, "QQ==")).to_dict() == {"role": "assistant", "content": None}


def test_reasoning_goes_back_where_it_is_asked_for() -> None:
    """Some servers want it, most refuse it; the key is theirs."""
    assert Message(text="4", reasoning="hm").to_dict(reasoning_key="reasoning_content") == {
        "role": "assistant",
        "content": "4",
        "reasoning_content": "hm",
    }
    assert "reasoning_content" not in Message(text="4").to_dict(reasoning_key="reasoning_content")


def test_a_call_keeps_the_id_that_it_was_given_as_a_whole(each_way: Way) -> None:
    """Whoever gives it one, for its pieces had none."""
    events = [
        Started("c", "m"),
        ToolCallDelta(0, 0, None, "f", "{}"),
        ToolCall(0, 0, "given", "f", "{}", complete=True),
    ]
    (made,) = each_way.run(events, message()).values
    assert [call.id for call in made.tool_calls] == ["given"]
