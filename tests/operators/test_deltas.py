"""deltas(): Chunk → Event. The oddities are named as they were met."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from operators import (
    AnnotationDelta,
    ApiError,
    AudioDelta,
    Choice,
    Chunk,
    ConnectionLost,
    Delta,
    EmptyStream,
    Event,
    Finish,
    LogprobsDelta,
    ProtocolError,
    ReasoningDelta,
    RefusalDelta,
    Started,
    StreamTimeout,
    TextDelta,
    ToolCallDelta,
    TruncatedError,
    Unknown,
    Usage,
    deltas,
)
from tests.support import COMPLETED, WAYS, Way, answer_of, call, chunk, events_of

RUN = WAYS[0].run
STOP = chunk(finish="stop")


def told(*said: Any, **how: Any) -> list[Event]:
    """The events without Started, of a stream that must complete."""
    seen = events_of(*said, **how)
    assert seen.completed, seen.end
    return [event for event in seen.values if not isinstance(event, Started)]


def broken_by(error: Exception, *said: Any, **options: Any) -> Any:
    from operators import chunks, payloads, sse
    from operators import lines as cut
    from tests.support import body_of

    reads = [body_of(*said, done=False)]
    return RUN(reads, cut(), sse(), payloads(), chunks(), deltas(**options), end=error)


# ----------------------------------------------------------------------------------- the order of things


def test_one_event_for_each_thing_that_a_chunk_says(each_way: Way) -> None:
    """In the order that the docstring gives."""
    given = Chunk(
        id="c",
        model="m",
        choices=[
            Choice(
                index=0,
                delta=Delta(
                    role="assistant",
                    content="t",
                    reasoning="r",
                    refusal="n",
                    tool_calls=[{"index": 0, "id": "a", "function": {"name": "f"}}],
                    audio={"id": "au"},
                    annotations=[{"type": "url_citation"}],
                ),
                logprobs={"content": [{"token": "t"}]},
                finish_reason="stop",
            )
        ],
        usage={"total_tokens": 3},
        unknown={"x": 1},
    )
    assert each_way.run([given], deltas()).values == [
        Started("c", "m"),
        ReasoningDelta("r"),
        TextDelta("t"),
        RefusalDelta("n"),
        ToolCallDelta(0, 0, "a", "f"),
        AudioDelta("au"),
        AnnotationDelta([{"type": "url_citation"}]),
        LogprobsDelta([{"token": "t"}]),
        Finish("stop"),
        Usage(total_tokens=3),
        Unknown({"x": 1}),
    ]


def test_started_once_a_choice_as_soon_as_the_stream_has_a_name() -> None:
    """And again for who began without it, when a later chunk tells the id or the model."""
    seen = events_of(chunk({"role": "assistant"}), chunk({"content": "Hi"}), chunk({"content": "B"}, choice=1), STOP)
    assert [event for event in seen.values if isinstance(event, Started)] == [
        Started("c1", "m"),
        Started("c1", "m", choice=1),
    ]
    late = events_of(
        {"choices": [{"delta": {"content": "a"}}]},
        {"id": "c", "choices": []},
        {"id": "d", "model": "m", "choices": []},
        STOP,
    )
    assert [event for event in late.values if isinstance(event, Started)] == [
        Started(),
        Started("c"),
        Started("c", "m"),
    ]


def test_a_nameless_stream_starts_with_the_first_thing_said() -> None:
    """A role alone does not start it."""
    seen = events_of({"choices": [{"delta": {"role": "tool"}}]}, {"choices": [{"delta": {"content": "a"}}]}, done=False)
    assert seen.values == [Started(role="tool"), TextDelta("a")]


def test_who_has_not_said_anything_is_started_only_once() -> None:
    """A role in a stream without a name; the name comes; then the text."""
    seen = events_of(
        {"choices": [{"delta": {"role": "assistant"}}]}, {"id": "c", "choices": []}, chunk({"content": "a"})
    )
    assert seen.values == [Started("c"), Started("c", "m"), TextDelta("a")] or seen.values == [
        Started("c", "m"),
        TextDelta("a"),
    ]


# ----------------------------------------------------------------------------------- chunk shapes


def test_choices_empty_first_with_blank_id_and_model() -> None:
    """Prefilter results come before the stream has a name."""
    blank = {"id": "", "object": "", "model": "", "choices": [], "prompt_filter_results": [{"prompt_index": 0}]}
    whole = answer_of(blank, chunk({"role": "assistant", "content": ""}), chunk({"content": "Hi"}), STOP)
    assert (whole.text, whole.id, whole.model) == ("Hi", "c1", "m")


def test_choices_null_or_missing() -> None:
    """They say nothing."""
    assert told({"id": "c", "choices": None}, {"id": "c"}, chunk({"content": "Hi"}), {"choices": None}, STOP) == [
        TextDelta("Hi"),
        Finish("stop"),
    ]


def test_delta_missing_or_null() -> None:
    """An asynchronous filter's note, in the middle."""
    note = {"id": "", "model": "", "choices": [{"index": 0, "finish_reason": None, "content_filter_results": {}}]}
    null = {"choices": [{"index": 0, "delta": None}]}
    assert answer_of(chunk({"content": "a"}), note, null, chunk({"content": "b"}), STOP).text == "ab"


def test_delta_wins_over_a_message_beside_it() -> None:
    """The same text in both counts once."""
    both = chunk({"content": "Hi"})
    both["choices"][0]["message"] = {"content": "Hi"}
    assert told(both, STOP) == [TextDelta("Hi"), Finish("stop")]


def test_a_whole_completion_in_one_event() -> None:
    """All the events that a stream would have given."""
    whole = {
        "id": "c1",
        "choices": [
            {
                "index": 0,
                "message": {
                    "role": "assistant",
                    "content": "Hi",
                    "tool_calls": [{"id": "a", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}}],
                },
                "finish_reason": "tool_calls",
            }
        ],
        "usage": {"prompt_tokens": 4, "completion_tokens": 6, "total_tokens": 10},
    }
    assert told(whole) == [
        TextDelta("Hi"),
        ToolCallDelta(0, None, "a", "f", '{"a":1}'),
        Finish("tool_calls"),
        Usage(4, 6, 10),
    ]


def test_content_null_and_empty() -> None:
    """With a role and without: they say nothing."""
    said = (chunk({"role": "assistant", "content": None}), chunk({"content": ""}), chunk({"content": "Hi"}))
    assert told(*said, chunk({"content": None}), chunk({"content": ""}, "stop")) == [TextDelta("Hi"), Finish("stop")]


PARTS: dict[str, tuple[Any, list[Any]]] = {
    "text": ([{"type": "text", "text": "Hi"}], [TextDelta("Hi")]),
    "texts": (["H", {"text": "i"}], [TextDelta("Hi")]),
    "a single part": ({"type": "text", "text": "Hi"}, [TextDelta("Hi")]),
    "thinking": ([{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}]}], [ReasoningDelta("hm")]),
    "thinking as text": ([{"type": "thinking", "thinking": "hm"}], [ReasoningDelta("hm")]),
    "reasoning with a summary": ([{"type": "reasoning", "summary": "hm"}], [ReasoningDelta("hm")]),
    "thinking that says nothing": ([{"type": "thinking"}, "Hi"], [TextDelta("Hi")]),
    "thinking, then text": (
        [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}],
        [ReasoningDelta("hm"), TextDelta("Hi")],
    ),
    "refusal": ([{"type": "refusal", "refusal": "no"}], [RefusalDelta("no")]),
    "a text with a value": ([{"type": "text", "text": {"value": "Hi"}}], [TextDelta("Hi")]),
    "content in content": ([{"type": "output_text", "content": "Hi"}], [TextDelta("Hi")]),
    "what is not known": (
        [{"type": "image_url", "image_url": "x"}],
        [Unknown({"type": "image_url", "image_url": "x"})],
    ),
    "an empty part": ([{}, "Hi"], [TextDelta("Hi")]),
    "a number": (7, [TextDelta("7")]),
    "a boolean": (True, []),
}


@pytest.mark.parametrize(("content", "wanted"), PARTS.values(), ids=PARTS)
def test_content_as_typed_parts(content: Any, wanted: list[Any]) -> None:
    """A list of parts, a part, or something that is neither."""
    assert told(chunk({"content": content}), STOP) == [*wanted, Finish("stop")]


def test_ids_that_differ_from_chunk_to_chunk() -> None:
    """The first one stays; nothing starts again."""
    seen = events_of(chunk({"content": "a"}), chunk({"content": "b"}, id="c2"), chunk(finish="stop", id="c3"))
    assert [event for event in seen.values if isinstance(event, Started)] == [Started("c1", "m")]


def test_choice_indexes_that_are_no_numbers() -> None:
    """A numeric text is its number; null, missing, true and words are 0."""
    for index, wanted in (("1", 1), (None, 0), (True, 0), ("x", 0), (1.0, 1), (float("1e400"), 0)):
        given = Chunk(choices=[Choice(index=index, delta=Delta(content="a"))])
        assert RUN([given], deltas()).values[1] == TextDelta("a", wanted)


def test_two_choices_interleaved_the_second_first() -> None:
    """Each has its own text and its own end."""
    both = {
        "choices": [{"index": 1, "delta": {"content": "1"}}, {"index": 0, "delta": {"content": "0"}}],
    }
    seen = events_of(
        chunk({"content": "B"}, choice=1), chunk({"content": "A"}), both, STOP, chunk(finish="length", choice=1)
    )
    texts = [(event.choice, event.text) for event in seen.values if isinstance(event, TextDelta)]
    assert texts == [(1, "B"), (0, "A"), (1, "1"), (0, "0")]
    assert seen.values[-2:] == [Finish("stop"), Finish("length", 1)]


# ----------------------------------------------------------------------------------- reasoning


@pytest.mark.parametrize("key", ["reasoning_content", "reasoning", "reasoning_text", "thinking"])
def test_reasoning_under_every_key(key: str) -> None:
    """With content null or empty, then content with the reasoning null."""
    said = (
        chunk({"content": None, key: "sum of"}),
        chunk({"content": "", key: " it"}),
        chunk({"content": "4", key: None}),
        STOP,
    )
    assert told(*said) == [ReasoningDelta("sum of"), ReasoningDelta(" it"), TextDelta("4"), Finish("stop")]


def test_the_same_reasoning_under_several_keys_counts_once() -> None:
    """Also in reasoning_details, which are kept for the next turn."""
    details = [{"type": "reasoning.text", "text": "hm", "index": 0}]
    (delta, _) = told(chunk({"reasoning_content": "hm", "reasoning": "hm", "reasoning_details": details}), STOP)
    assert delta == ReasoningDelta("hm", extra={"reasoning_details": details})


def test_reasoning_in_details_alone() -> None:
    """Text or summary; an entry without either is only kept."""
    assert told(chunk({"reasoning_details": [{"text": "a"}, {"summary": "b"}, {"data": "eA=="}, 7]}))[
        0
    ] == ReasoningDelta("ab", extra={"reasoning_details": [{"text": "a"}, {"summary": "b"}, {"data": "eA=="}, 7]})
    secret = [{"type": "reasoning.encrypted", "data": "eA=="}]
    assert told(chunk({"reasoning_details": secret})) == [ReasoningDelta("", extra={"reasoning_details": secret})]


def test_reasoning_that_is_an_object_or_a_list() -> None:
    """Its text counts."""
    assert told(chunk({"reasoning": {"text": "hm"}}), STOP)[0] == ReasoningDelta("hm")
    assert told(chunk({"reasoning": [{"text": "h"}, "m"]}), STOP)[0] == ReasoningDelta("hm")


@pytest.mark.parametrize("key", ["reasoning_opaque", "thought_signature", "extra_content", "thinking_blocks"])
def test_what_the_next_turn_needs_is_kept(key: str) -> None:
    """As it came, on the event and in the message to send back."""
    whole = answer_of(chunk({"content": "Hi", key: "c2ln"}), STOP)
    assert whole.to_dict() == {"role": "assistant", "content": "Hi", key: "c2ln"}


# ----------------------------------------------------------------------------------- finish


def test_finish_empty_text_on_every_chunk_but_the_last() -> None:
    """`""` is absent."""
    assert told(chunk({"content": "a"}, ""), chunk({"content": "b"}, "stop")) == [
        TextDelta("a"),
        TextDelta("b"),
        Finish("stop"),
    ]


def test_text_and_usage_after_the_finish() -> None:
    """finish_reason ends nothing; the first reason stays and is told once."""
    said = (chunk({"content": "a"}), STOP, chunk({"content": "b"}), chunk(finish="length", usage={"total_tokens": 1}))
    assert told(*said) == [TextDelta("a"), Finish("stop"), TextDelta("b"), Usage(total_tokens=1)]


def test_no_done_but_a_finish_is_complete(caplog: pytest.LogCaptureFixture) -> None:
    """With a warning in the log."""
    with caplog.at_level(logging.WARNING, "rxchat.deltas"):
        assert told(chunk({"content": "Hi"}), STOP, done=False) == [TextDelta("Hi"), Finish("stop")]
    assert "the answer is whole, but its stream did not end well" in caplog.text


def test_neither_done_nor_a_finish_is_truncated() -> None:
    """Everything that came is there."""
    seen = events_of(chunk({"content": "The answer"}), chunk({"content": " is"}), done=False)
    assert [event.text for event in seen.values[1:]] == ["The answer", " is"]
    assert isinstance(seen.end, TruncatedError)


def test_done_without_a_finish_is_complete() -> None:
    """The reason is None."""
    whole = answer_of(chunk({"content": "Hi"}))
    assert (whole.text, whole.finish_reason) == ("Hi", None)


def test_a_finish_with_no_text_at_all_is_complete() -> None:
    """An empty answer is an answer."""
    assert told(chunk({"role": "assistant", "content": ""}), STOP) == [Finish("stop")]


def test_chunks_that_say_nothing_are_an_empty_stream() -> None:
    """A role is not an answer."""
    seen = events_of(chunk({"role": "assistant"}), {"choices": []})
    assert isinstance(seen.end, EmptyStream)
    assert isinstance(RUN([], deltas()).end, EmptyStream)


@pytest.mark.parametrize("phase", [None, "idle", "idle_content"])
def test_a_broken_end_after_every_finish_is_no_loss(phase: str | None) -> None:
    """Of a connection, or a silence; before it, it is told."""
    idle = StreamTimeout("idle")
    idle.phase = phase
    for error in (idle, ConnectionLost("gone")):
        assert broken_by(error, chunk({"content": "Hi"}), STOP).completed
        assert broken_by(error, chunk({"content": "Hi"})).end is error
        assert broken_by(error, chunk({"content": "Hi"}, choice=1), STOP).end is error


def test_other_errors_after_every_finish_are_told() -> None:
    """A first-byte timeout, bad data, or an error of the provider is never taken for an end."""
    first = StreamTimeout("first")
    first.phase = "first"
    for error in (first, ProtocolError("bad"), ApiError("no"), ValueError("bug")):
        assert broken_by(error, chunk({"content": "Hi"}), STOP).end is error


def test_every_choice_asked_for_must_have_finished() -> None:
    """`choices=2`: one that was never heard of is missing."""
    gone = ConnectionLost("gone")
    assert broken_by(gone, STOP, choices=2).end is gone
    assert broken_by(gone, STOP, chunk(finish="stop", choice=1), choices=2).completed
    assert broken_by(gone, choices=None).end is gone


# ----------------------------------------------------------------------------------- usage


COUNTS = {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5}
USAGES: dict[str, tuple[list[Any], list[Usage]]] = {
    "on the finish chunk": ([chunk(finish="stop", usage=COUNTS)], [Usage(4, 1, 5)]),
    "on a trailing chunk": ([STOP, {"choices": [], "usage": COUNTS}], [Usage(4, 1, 5)]),
    "twice the same": ([chunk(finish="stop", usage=COUNTS), {"choices": [], "usage": COUNTS}], [Usage(4, 1, 5)]),
    "then null": ([chunk(finish="stop", usage=COUNTS), {"choices": [], "usage": None}], [Usage(4, 1, 5)]),
    "running totals": (
        [chunk(usage=COUNTS), chunk(finish="stop", usage=COUNTS | {"completion_tokens": 2})],
        [Usage(4, 1, 5), Usage(4, 2, 5)],
    ),
    "inside the choice": ([{"choices": [{"finish_reason": "stop", "delta": {}, "usage": COUNTS}]}], [Usage(4, 1, 5)]),
    "under x_groq": ([chunk(finish="stop", x_groq={"id": "r", "usage": COUNTS})], [Usage(4, 1, 5)]),
    "x_groq without usage": ([chunk(finish="stop", x_groq={"id": "r"})], []),
    "x_groq that is a text": ([chunk(finish="stop", x_groq="r")], []),
    "nulls, later full": (
        [
            chunk(usage={"prompt_tokens": 4, "completion_tokens": None, "details": None}),
            chunk(finish="stop", usage=COUNTS),
        ],
        [Usage(4), Usage(4, 1, 5)],
    ),
    "full, later nulls": (
        [chunk(usage=COUNTS), chunk(finish="stop", usage={"prompt_tokens": None, "cost": 0.1})],
        [Usage(4, 1, 5), Usage(4, 1, 5, {"cost": 0.1})],
    ),
    "no total": ([chunk(finish="stop", usage={"prompt_tokens": 4, "completion_tokens": 1})], [Usage(4, 1)]),
    "numbers in texts": ([chunk(finish="stop", usage={"prompt_tokens": "4"})], [Usage(4)]),
    "nothing but nulls": ([chunk(finish="stop", usage={"prompt_tokens": None})], []),
    "no object": ([chunk(finish="stop", usage="5")], []),
    "details": (
        [chunk(finish="stop", usage=COUNTS | {"completion_tokens_details": {"reasoning_tokens": 1}})],
        [Usage(4, 1, 5, {"completion_tokens_details": {"reasoning_tokens": 1}})],
    ),
}


@pytest.mark.parametrize(("said", "wanted"), USAGES.values(), ids=USAGES)
def test_usage_wherever_it_stands(said: list[Any], wanted: list[Usage]) -> None:
    """Told when it changes; a null takes nothing back; nothing is summed."""
    assert [event for event in told(chunk({"content": "Hi"}), *said) if isinstance(event, Usage)] == wanted


# ----------------------------------------------------------------------------------- the rest


def test_logprobs_are_handed_on_as_they_come() -> None:
    """Empty lists say nothing; legacy ones are kept whole; a refusal has its own."""
    first: dict[str, Any] = {"content": [], "refusal": None}
    seen = told(
        *(
            {"choices": [{"delta": {"content": "H"}, "logprobs": logprobs}]}
            for logprobs in (first, {"content": [1]}, {"refusal": [2]}, {"tokens": ["x"]}, "odd")
        ),
        STOP,
    )
    assert [event for event in seen if isinstance(event, LogprobsDelta)] == [
        LogprobsDelta([1]),
        LogprobsDelta(None, [2]),
        LogprobsDelta([{"tokens": ["x"]}]),
    ]


def test_audio_in_pieces_without_a_finish() -> None:
    """Ended by an expires_at alone."""
    pieces: list[dict[str, Any]] = [
        {"id": "aud", "transcript": "Hi"},
        {"id": "aud", "data": "QUJD"},
        {"data": "REVG", "transcript": " there"},
        {"expires_at": 99},
        {},
    ]
    whole = answer_of(*(chunk({"audio": piece}) for piece in pieces))
    assert whole.audio == AudioDelta("aud", "QUJDREVG", "Hi there", 99)
    assert whole.to_dict()["audio"] == {"id": "aud"}


def test_annotations_as_a_list_or_one_object() -> None:
    """Kept as the provider's objects."""
    assert told(chunk({"annotations": [{"a": 1}]}), chunk({"annotations": {"b": 2}}), chunk({"annotations": {}}), STOP)[
        :2
    ] == [
        AnnotationDelta([{"a": 1}]),
        AnnotationDelta([{"b": 2}]),
    ]


def test_refusal() -> None:
    """Text of its own."""
    assert told(chunk({"refusal": "I "}), chunk({"refusal": "can't"}), STOP)[:2] == [
        RefusalDelta("I "),
        RefusalDelta("can't"),
    ]


def test_text_and_a_tool_call_in_one_delta() -> None:
    """Both are told."""
    both = call(0, "a", "f", "{}")
    both["choices"][0]["delta"]["content"] = "Let me look."
    assert told(both)[:2] == [TextDelta("Let me look."), ToolCallDelta(0, 0, "a", "f", "", extra=None)]


def test_a_legacy_function_call_is_a_tool_call() -> None:
    """Its pieces belong together."""
    said = (chunk({"function_call": {"name": "f", "arguments": ""}}), chunk({"function_call": {"arguments": "{}"}}))
    whole = answer_of(*said, chunk(finish="function_call"))
    assert [(found.name, found.arguments, found.complete) for found in whole.tool_calls] == [("f", "{}", True)]


def test_tool_calls_of_odd_shapes() -> None:
    """One object in place of a list; what is no object is passed over."""
    assert told(chunk({"tool_calls": {"index": 0, "function": {"name": "f"}}}), STOP)[0] == ToolCallDelta(
        0, 0, None, "f"
    )
    assert told(chunk({"tool_calls": ["x", None]}), STOP) == [Finish("stop")]


def test_escaped_nul_stays() -> None:
    """In text and in arguments."""
    whole = answer_of(chunk({"content": "a\0b"}), call(0, "a", "note", '{"t":"x\\u0000y"}'), chunk(finish="tool_calls"))
    assert (whole.text, whole.tool_calls[0].arguments) == ("a\0b", '{"t":"x\\u0000y"}')


def test_a_stream_that_goes_on_is_silent_at_its_end() -> None:
    """No end, no event."""
    assert RUN([Chunk(id="c", choices=[])], deltas(), end=None).values == []
    assert RUN([Chunk(choices=[Choice(finish_reason="x")])], deltas()).end == COMPLETED
