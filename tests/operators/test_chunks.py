"""chunks(): bytes → Chunk."""

from __future__ import annotations

import json
import logging
import math
from typing import Any

import pytest

from operators import (
    Choice,
    Chunk,
    ConnectionLost,
    Delta,
    Finish,
    ProtocolError,
    Started,
    TextDelta,
    TruncatedError,
    Unknown,
    Usage,
    chunks,
    deltas,
)
from tests.support import WAYS, Way, answer_of, chunk, events_of

RUN = WAYS[0].run


def chunk_of(payload: bytes, **options: Any) -> Chunk:
    (found,) = RUN([payload], chunks(**options)).values
    return found


def test_a_chunk_is_decoded_with_the_fields_that_are_known(each_way: Way) -> None:
    """Whatever else it holds is passed over."""
    payload = b'{"id":"c","model":"m","object":"x","choices":[{"index":0,"delta":{"content":"Hi","z":1},"y":2}]}'
    (found,) = each_way.run([payload], chunks()).values
    assert found == Chunk(id="c", model="m", choices=[Choice(index=0, delta=Delta(content="Hi"))])


@pytest.mark.parametrize("payload", [b"null", b" null ", b"[]"])
def test_what_says_nothing_is_passed_over(payload: bytes, each_way: Way) -> None:
    """A heartbeat in JSON."""
    seen = each_way.run([payload], chunks())
    assert (seen.values, seen.completed) == ([], True)


def test_a_chunk_in_a_list_is_one() -> None:
    """A gateway's wrapping."""
    assert chunk_of(b'[{"id":"a"}]').id == "a"


@pytest.mark.parametrize(
    ("payload", "delta"),
    [
        (b'{"delta":{"content":"Hi"}}', Delta(content="Hi")),
        (b'{"content":"Hi"}', Delta(content="Hi")),
        (b'{"choices":{"delta":{"content":"Hi"}}}', Delta(content="Hi")),
        (b'{"choices":[{"text":"Hi"}]}', Delta(content="Hi")),
        (b'{"choices":[{"content":"Hi"}]}', Delta(content="Hi")),
        (b'{"choices":[7,{"delta":"Hi"}]}', Delta(content="Hi")),
    ],
)
def test_a_bare_delta_is_found(payload: bytes, delta: Delta) -> None:
    """Without choices, without a delta, under `text`, as a text; what is no choice is passed over."""
    seen = RUN([payload, b'{"choices":[{"index":0,"finish_reason":"stop"}]}'], chunks(), deltas())
    assert [event.text for event in seen.values if isinstance(event, TextDelta)] == [delta.content]


def test_a_message_of_another_api_with_its_counts() -> None:
    """Ollama's own: done_reason and eval_count stand beside the message."""
    seen = RUN(
        [b'{"model":"m","message":{"content":"Hi"},"done_reason":"stop","eval_count":2,"prompt_eval_count":3}'],
        chunks(),
        deltas(),
    )
    assert seen.values == [Started(None, "m"), TextDelta("Hi"), Finish("stop"), Usage(3, 2)]


LENIENT = {
    "nan": (b'{"choices":[{"delta":{"content":"a"},"logprobs":{"content":[{"logprob":NaN}]}}]}', "a"),
    "infinity": (b'{"choices":[{"delta":{"content":"a"},"x":-Infinity}]}', "a"),
    "a raw control character": (b'{"choices":[{"delta":{"content":"a\tb"}}]}', "a\tb"),
    "a byte that is no utf-8": (b'{"choices":[{"delta":{"content":"a\xffb"}}]}', "a\ufffdb"),
    "a lone surrogate elsewhere": (b'{"choices":[{"delta":{"content":"a"},"x":"\\ud83d"}]}', "a"),
}


@pytest.mark.parametrize(("payload", "text"), LENIENT.values(), ids=LENIENT)
def test_json_that_is_a_little_wrong_loses_no_text(payload: bytes, text: str) -> None:
    """The second try is lenient."""
    found = chunk_of(payload)
    assert found.choices is not None
    assert found.choices[0].delta is not None
    assert found.choices[0].delta.content == text
    assert found.lenient


def test_values_that_are_not_finite_survive() -> None:
    """Log probabilities may be -Infinity and NaN."""
    seen = events_of(
        b'{"choices":[{"index":0,"delta":{"content":"No"},"logprobs":{"content":[{"token":"No","logprob":-Infinity,'
        b'"top_logprobs":[{"token":"#","logprob":NaN}]}]}}]}',
        chunk(finish="stop"),
        done=False,
        to=(),
    )
    (found,) = (event.content for event in seen.values if hasattr(event, "content"))
    assert found[0]["logprob"] == -math.inf
    assert math.isnan(found[0]["top_logprobs"][0]["logprob"])


BAD = [b"<upstream timeout>", b'{"id":"c', b"7", b'"text"', b"[7]", b"{" * 3000, b'{"a":' * 100_000 + b"1"]


@pytest.mark.parametrize("payload", BAD, ids=lambda payload: repr(payload[:12]))
def test_what_cannot_be_decoded_ends_the_stream(payload: bytes) -> None:
    """When more data follows; the text before it is there, the error shows the start of it and says what to do."""
    seen = RUN([b'{"id":"a"}', payload, b'{"id":"b"}'], chunks())
    assert [found.id for found in seen.values] == ["a"]
    assert isinstance(seen.end, ProtocolError)
    assert payload[:10].decode() in str(seen.end).replace("\\'", "'")
    assert "JSON" in str(seen.end)
    assert 'errors="skip"' in str(seen.end)


@pytest.mark.parametrize(("payload", "shown"), [(b"[ERROR] no memory", "'[ERROR] no memory'"), (b'{"id"' * 40, "…")])
def test_the_last_data_of_a_body_that_was_cut_is_told(payload: bytes, shown: str) -> None:
    """It may say what broke."""
    seen = RUN([b'{"id":"a"}', payload], chunks(), end=TruncatedError("the body ended"))
    assert isinstance(seen.end, TruncatedError)
    assert str(seen.end).startswith("the body ended; its last data is '")
    assert str(seen.end).endswith(shown)
    assert len(str(seen.end)) < 200


@pytest.mark.parametrize("payload", BAD, ids=lambda payload: repr(payload[:12]))
def test_what_cannot_be_decoded_can_be_left_out(payload: bytes, caplog: pytest.LogCaptureFixture) -> None:
    """With a warning in the log."""
    with caplog.at_level(logging.WARNING, "rxchat.chunks"):
        seen = RUN([b'{"id":"a"}', payload, b'{"id":"b"}'], chunks(errors="skip"))
    assert [found.id for found in seen.values] == ["a", "b"]
    assert f"left out {len(payload)} bytes" in caplog.text


def test_what_cannot_be_decoded_can_be_passed_on() -> None:
    """As an Unknown event with the bytes as they came."""
    seen = RUN([b"oops", b'{"choices":[{"delta":{"content":"Hi"}}]}'], chunks(errors="emit"), deltas())
    assert seen.values == [Unknown(b"oops"), Started(), TextDelta("Hi")]


def test_only_these_policies_are_taken() -> None:
    """A wrong one is told at subscribe."""
    seen = RUN([b"{}"], chunks(errors="ignore"))  # type: ignore[arg-type]
    assert isinstance(seen.end, ValueError)
    assert "not 'ignore'" in str(seen.end)


def test_a_cut_chunk_at_the_end_is_left_to_the_error_that_cut_it(each_way: Way) -> None:
    """A broken connection is a broken connection, not bad JSON; at a clean end it is told after all."""
    gone = ConnectionLost("gone")
    assert each_way.run([b'{"id":"a"}', b'{"id":'], chunks(), end=gone).end is gone
    assert isinstance(each_way.run([b'{"id":'], chunks()).end, ProtocolError)
    assert each_way.run([b'{"id":'], chunks(), end=None).ends == 0


def test_a_body_that_ends_in_mid_json_is_truncated() -> None:
    """Not a protocol error; the text before it is there."""
    seen = events_of(chunk({"content": "Hi"}), b'{"id":"c1","c', done=False)
    assert seen.values[-1] == TextDelta("Hi")
    assert seen.end.kind == "truncated"


def test_a_frame_with_the_next_one_glued_on_is_a_protocol_error() -> None:
    """The text before it is there."""
    seen = events_of(chunk({"content": "Hi"}), b'{"id":"c1","data: {"id":"c1"}', chunk(finish="stop"))
    assert seen.values[-1] == TextDelta("Hi")
    assert seen.end.kind == "protocol"


def test_extras_are_what_has_no_field() -> None:
    """Of the chunk when they are new, of choices and deltas always; nulls say nothing."""
    first = {
        "id": "c",
        "provider": "x",
        "choices": [{"index": 1, "delta": {"content": "a", "odd": 1, "no": None}, "native": "y", "nil": None}],
    }
    again = {"id": "c", "provider": "x", "choices": [{"index": 0, "delta": {"content": "b"}}]}
    changed = {"id": "c", "provider": "z", "choices": ["none", {"index": 0, "delta": None, "native": "y"}]}
    body = [str(value).replace("'", '"').replace("None", "null").encode() for value in (first, again, changed)]
    found = RUN(body, chunks(extras=True)).values
    assert [chunk.unknown for chunk in found] == [
        {"provider": "x", "choices": [{"index": 1, "native": "y", "delta": {"odd": 1}}]},
        None,
        {"provider": "z", "choices": ["none", {"index": 0, "native": "y"}]},
    ]
    assert [chunk.unknown for chunk in RUN(body, chunks()).values] == [None, None, {"choices": ["none"]}]
    events = RUN(body, chunks(extras=True), deltas()).values
    assert [event.data for event in events if isinstance(event, Unknown)][1]["provider"] == "z"


def test_pretty_printed_json_over_several_data_lines() -> None:
    """The lines are joined with LF."""
    text = '{\ndata:   "choices": [\ndata:     {"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}\ndata:   ]\ndata: }'
    assert answer_of(text).text == "Hi"


# ------------------------------------------------------------------------------------------------------ not a completion's

ODD = {
    "text for choices": ({"choices": "abc"}, {"choices": "abc"}),
    "text for a choice": ({"choices": ["abc"]}, {"choices": ["abc"]}),
    "a list for a delta": (
        {"choices": [{"index": 1, "delta": [{"content": "x"}]}]},
        {"choices": [{"index": 1, "delta": [{"content": "x"}]}]},
    ),
    "a number for a message": ({"choices": [{"message": 7}]}, {"choices": [{"index": 0, "delta": 7}]}),
    "beside a good one": ({"choices": [chunk()["choices"][0], 7]}, {"choices": [7]}),
}


@pytest.mark.parametrize(("odd", "told"), ODD.values(), ids=ODD)
@pytest.mark.parametrize("options", [{}, {"extras": True}])
def test_what_stands_where_choices_should_is_not_lost(odd: dict[str, Any], told: Any, options: Any) -> None:
    """It is told as Unknown; what comes after it goes on."""
    good = {"choices": [{"index": 0, "delta": {"content": "Hi"}, "finish_reason": "stop"}]}
    seen = RUN([json.dumps(odd).encode(), json.dumps(good).encode()], chunks(**options), deltas())
    assert [event.data for event in seen.values if isinstance(event, Unknown)] == [told]
    assert TextDelta("Hi") in seen.values
    assert seen.completed


@pytest.mark.parametrize(
    "nothing", [{"choices": []}, {"choices": None}, {"choices": ""}, {"choices": [None]}, {"choices": [{"delta": []}]}]
)
def test_what_is_empty_is_not_told(nothing: dict[str, Any]) -> None:
    assert [found.unknown for found in RUN([json.dumps(nothing).encode()], chunks()).values] == [None]


DIALECTS: dict[str, list[dict[str, Any]]] = {
    "responses": [
        {"type": "response.created", "response": {"id": "r", "error": None, "output": []}},
        {"type": "response.output_text.delta", "delta": "Hi"},
        {"type": "response.completed", "response": {"usage": {"input_tokens": 3}}},
    ],
    "anthropic": [
        {
            "type": "message_start",
            "message": {"id": "m", "role": "assistant", "content": [], "usage": {"input_tokens": 3}},
        },
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hi"}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 3}},
        {"type": "message_stop"},
    ],
    "gemini": [{"candidates": [{"content": {"parts": [{"text": "Hi"}]}, "finishReason": "STOP"}], "modelVersion": "g"}],
    "ollama": [
        {"model": "m", "response": "Hi", "done": False},
        {"model": "m", "response": "", "done": True, "eval_count": 2},
    ],
    "cohere": [
        {"type": "message-start", "id": "x", "delta": {"message": {"role": "assistant", "content": []}}},
        {"type": "content-delta", "index": 0, "delta": {"message": {"content": {"text": "Hi"}}}},
    ],
    "choices of another kind": [{"choices": ["Hi"]}],
}


@pytest.mark.parametrize("said", DIALECTS.values(), ids=DIALECTS)
@pytest.mark.parametrize("done", [True, False])
def test_a_stream_in_another_dialect_is_told_as_such(said: list[dict[str, Any]], done: bool) -> None:
    """Not as one that was cut, or empty, which the same request might mend; the error shows how it begins."""
    seen = events_of(*said, done=done)
    assert isinstance(seen.end, ProtocolError)
    assert not seen.end.retryable
    assert f"got none: the data begins with '{json.dumps(said[0])[:30]}" in str(seen.end)
    assert str(seen.end).endswith("does this endpoint speak another dialect?")
    assert len(str(seen.end)) < 260


def test_what_was_not_understood_is_told_of_a_stream_that_was_cut() -> None:
    """It may be the rest of it: reasoning of Anthropic's own, for one, is read."""
    thought = {"type": "content_block_delta", "index": 0, "delta": {"type": "thinking_delta", "thinking": "Hm"}}
    seen = events_of(*DIALECTS["anthropic"][:1], thought, *DIALECTS["anthropic"][1:], done=False)
    assert isinstance(seen.end, TruncatedError)
    assert '; not understood was \'{"type": "message_start"' in str(seen.end)


@pytest.mark.parametrize(
    ("said", "kind"),
    [
        ([{"type": "ping"}, chunk({"content": "Hi"})], "truncated"),
        ([{"choices": [], "prompt_filter_results": [1]}], "truncated"),
        ([{"id": "c", "object": "chat.completion.chunk", "created": 1}], "truncated"),
        ([{"usage": {"prompt_tokens": 3}, "provider": "x"}], "truncated"),
        ([{}], "truncated"),
        ([{"type": "ping"}], "truncated"),
        (
            [{"id": "c", "object": "chat.completion.chunk", "created": 1, "system_fingerprint": None, "x": 1}],
            "truncated",
        ),
        ([{"choices": True, "usage": {"prompt_tokens": 3}}], "truncated"),
    ],
)
def test_what_may_be_of_a_completion_is_no_other_dialect(said: list[dict[str, Any]], kind: str) -> None:
    assert events_of(*said, done=False).end.kind == kind


@pytest.mark.parametrize("errors", ["skip", "emit"])
def test_errors_that_are_let_pass_end_no_stream_in_another_dialect(errors: Any) -> None:
    seen = RUN([json.dumps(said).encode() for said in DIALECTS["gemini"]], chunks(errors=errors))
    assert seen.completed
    assert len(seen.values) == 1
