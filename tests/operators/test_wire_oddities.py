"""Provider habits in further combinations: the rules, not the cases, must give the answer."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest

from operators import (
    ApiError,
    AudioDelta,
    ConnectionLost,
    EmptyStream,
    Finish,
    LogprobsDelta,
    NotEventStream,
    ReasoningDelta,
    StreamError,
    TextDelta,
    TruncatedError,
    Unknown,
    Usage,
    message,
)
from pipeline import decode
from tests.support import DECODE, FINISHED, WAYS, answer_of, body_of, call, calls_of, chunk, cuts, events_of

STOP = chunk(finish="stop")
F, G = ("f", '{"x":1}', True), ("g", '{"y":2}', True)
A, B = ("a", *F), ("b", *G)


def pieces(*found: Any) -> dict[str, Any]:
    """Several pieces of tool calls in one delta."""
    return chunk({"tool_calls": [piece["choices"][0]["delta"]["tool_calls"][0] for piece in found]})


def raw(body: bytes) -> Any:
    """A body as it is, in every cut: its message, or the error that ends it."""
    seen: list[Any] = []
    for reads in ([body], cuts(body, 1), cuts(body, 3)):
        end = WAYS[0].run(reads, *DECODE, message())
        seen.append(end.values[0] if end.values else end.end)
    first = seen[0]
    for other in seen[1:]:
        assert (type(other), str(other)) == (type(first), str(first))
    return first


# ---------------------------------------------------------------------------------------------------------- tool calls

CALLS: dict[str, tuple[list[Any], list[tuple[str, str, str, bool]]]] = {
    "index on the first piece only": (
        [call(0, "a", "f", ""), call(None, arguments='{"x"'), call(None, arguments=":1}")],
        [A],
    ),
    "index on all but the first piece": (
        [call(None, "a", "f", ""), call(0, arguments='{"x"'), call(0, arguments=":1}")],
        [A],
    ),
    "index on all but the openers, two in one list": (
        [
            pieces(call(None, "a", "f", ""), call(None, "b", "g", "")),
            call(0, arguments='{"x"'),
            call(1, arguments='{"y"'),
            call(0, arguments=":1}"),
            call(1, arguments=":2}"),
        ],
        [A, B],
    ),
    "index null on the opener, known later": ([call(..., "a", "f", '{"x"'), call(0, arguments=":1}")], [A]),
    "index counts pieces, without ids": (
        [call(0, "a", "f", ""), call(1, arguments='{"x"'), call(2, arguments=":1}")],
        [A],
    ),
    "index from one in the opener, from zero after": ([call(1, "a", "f", ""), call(0, arguments='{"x":1}')], [A]),
    "index negative for all, two calls with ids": (
        [call(-1, "a", "f", '{"x":1}'), call(-1, "b", "g", '{"y":2}')],
        [A, B],
    ),
    "index as a float in the opener, as text after": ([call(1.0, "a", "f", '{"x"'), call("1", arguments=":1}")], [A]),
    "index as text of a float": ([call("0.0", "a", "f", '{"x"'), call(0, arguments=":1}")], [A]),
    "index as huge as can be": ([call(10**30, "a", "f", '{"x"'), call(10**30, arguments=":1}")], [A]),
    "index starts again after the finish": (
        [call(0, "a", "f", '{"x":1}'), FINISHED, call(0, "b", "g", '{"y":2}')],
        [A, B],
    ),
    "index in the wrong order and interleaved without ids": (
        [call(3, None, "g", '{"y"'), call(1, None, "f", '{"x"'), call(3, arguments=":2}"), call(1, arguments=":1}")],
        [("*", *F), ("*", *G)],
    ),
    "index missing, text between the pieces": (
        [call(None, "a", "f", '{"x"'), chunk({"content": "hm"}), call(None, arguments=":1}")],
        [A],
    ),
    "index 0 for all, the second call named late": (
        [call(0, "a", "f", '{"x":1}'), call(0, "b", None, '{"y"'), call(0, name="g", arguments=":2}")],
        [A, B],
    ),
    "index 0 for all, three calls in one list with ids": (
        [pieces(call(0, "a", "f", '{"x":1}'), call(0, "b", "g", '{"y":2}'), call(0, "c", "h", "{}"))],
        [A, B, ("c", "h", "{}", True)],
    ),
    "index missing, no ids, two calls without arguments in one list": (
        [pieces(call(None, None, "f", {}), call(None, None, "f", {}))],
        [("*", "f", "{}", True), ("*", "f", "{}", True)],
    ),
    "index missing, id changes before the arguments": (
        [
            call(None, "a", "f", ""),
            call(None, "z", arguments='{"x"'),
            call(None, "z", arguments=":1}"),
            call(None, "z", arguments=""),
        ],
        [A],
    ),
    "id another one on every piece": (
        [
            call(0, "a", "f", ""),
            call(0, "y", arguments='{"x"'),
            call(0, "z", arguments=":1}"),
            call(0, "w", arguments=""),
        ],
        [A],
    ),
    "id the same for two calls, pieces by both": (
        [
            call(0, "a", "f", '{"x"'),
            call(1, "a", "g", '{"y"'),
            call(0, "a", arguments=":1}"),
            call(1, "a", arguments=":2}"),
        ],
        [A, ("*", *G)],
    ),
    "id null on the opener, empty after, real at last": (
        [call(0, ..., "f", ""), call(0, "", arguments='{"x"'), call(0, "a", arguments=":1}")],
        [A],
    ),
    "id on the last piece only, after the arguments": ([call(0, None, "f", '{"x":1}'), call(0, "a")], [A]),
    "id as 0": ([call(0, 0, "f", '{"x"'), call(0, 0, arguments=":1}")], [("0", *F)]),
    "id alone, then the name alone, then arguments": (
        [call(0, "a"), call(0, name="f"), call(0, arguments='{"x":1}')],
        [A],
    ),
    "name repeated with blank noise after whole arguments": (
        [call(0, "a", "f", '{"x":1}'), call(0, "a", "f", "\n"), call(0, None, "f", " ")],
        [("a", "f", '{"x":1}\n ', True)],
    ),
    "name repeated, no id, arguments in pieces": (
        [call(0, None, "f", ""), call(0, None, "f", '{"x"'), call(0, None, "f", ":1}")],
        [("*", *F)],
    ),
    "name repeated with the placeholder of an object": ([call(0, "a", "f", {}), call(0, "a", "f", {"x": 1})], [A]),
    "name in three pieces": (
        [call(0, "a", "get"), call(0, name="_we"), call(0, name="ather", arguments="{}")],
        [("a", "get_weather", "{}", True)],
    ),
    "name after the arguments": ([call(0, "a", arguments='{"x":1}'), call(0, name="f")], [A]),
    "name after the arguments, no index": (
        [call(None, "a", arguments='{"x":1}'), call(None, name="f"), call(None, "b", "g", '{"y":2}')],
        [A, B],
    ),
    "name after the arguments with the id and all of them again": (
        [call(0, "a", arguments='{"x":1}'), call(0, "a", "f", '{"x":1}')],
        [A],
    ),
    "name the same for two calls at index 0, no ids, arguments after the openers": (
        [
            call(0, None, "f", ""),
            call(0, arguments='{"x":1}'),
            call(0, None, "f", ""),
            call(0, arguments='{"x"'),
            call(0, arguments=":2}"),
        ],
        [("*", *F), ("*", "f", '{"x":2}', True)],
    ),
    "name the same for two calls, no index, no ids, arguments after the openers": (
        [
            call(None, None, "f"),
            call(None, arguments='{"x":1}'),
            call(None, None, "f"),
            call(None, arguments='{"x":2}'),
        ],
        [("*", *F), ("*", "f", '{"x":2}', True)],
    ),
    "name once more at the end, and noise after it": (
        [call(0, None, "f", '{"x":1}'), call(0, None, "f", ""), call(0, arguments="\n")],
        [("*", "f", '{"x":1}\n', True)],
    ),
    "name empty on every piece but the opener": (
        [call(0, "a", "f", ""), call(0, "", "", '{"x"'), call(0, "", "", ":1}")],
        [A],
    ),
    "arguments absent, then null, then empty": (
        [call(0, "a", "f"), call(0, arguments=...), call(0, arguments="")],
        [("a", "f", "", True)],
    ),
    "arguments as two empty objects": ([call(0, "a", "f", {}), call(0, arguments={})], [("a", "f", "{}", True)]),
    "arguments as an object with text after null": ([call(0, "a", "f", ...), call(0, arguments={"x": 1})], [A]),
    "arguments repeated whole at the end": (
        [call(0, "a", "f", '{"x"'), call(0, arguments=":1}"), call(0, "a", "f", '{"x":1}')],
        [A],
    ),
    "arguments that are a list": ([call(0, "a", "f", [1])], [("a", "f", "[1]", False)]),
    "arguments that are the word null": ([call(0, "a", "f", "null")], [("a", "f", "null", False)]),
    "arguments with a key twice": ([call(0, "a", "f", '{"x":1,"x":2}')], [("a", "f", '{"x":1,"x":2}', True)]),
    "arguments with braces in text": (
        [call(0, "a", "f", '{"x":"}'), call(0, arguments='{\\"'), call(0, arguments='"}')],
        [("a", "f", '{"x":"}{\\""}', True)],
    ),
    "a call that stands in the piece itself": (
        [chunk({"tool_calls": [{"id": "a", "name": "f", "arguments": {"x": 1}}]})],
        [A],
    ),
    "null among the calls": (
        [chunk({"tool_calls": [None, *call(0, "a", "f", '{"x":1}')["choices"][0]["delta"]["tool_calls"]]})],
        [A],
    ),
    "the type in every form": (
        [call(0, "a", "f", "", type="FUNCTION"), call(0, arguments='{"x":1}', type=""), call(0, type=...)],
        [A],
    ),
}


@pytest.mark.parametrize(("said", "wanted"), CALLS.values(), ids=CALLS)
def test_tool_calls(said: list[Any], wanted: list[tuple[str, str, str, bool]]) -> None:
    """The same in every cut; `*` is an id that was made up."""
    found = calls_of(*said, FINISHED)
    shown = [("*" if want[0] == "*" else id_, *rest) for (id_, *rest), want in zip(found, wanted, strict=False)]
    assert [*shown, *found[len(wanted) :]] == wanted
    ids = [id_ for id_, *_ in found]
    assert all(ids)
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize(
    "reason", ["length", "LENGTH", "max_tokens", "MAX_TOKENS", "content_filter", "SAFETY", "error"]
)
def test_no_call_is_complete_after_a_cut(reason: str) -> None:
    """Whatever the case of the word, and also when the finish comes before the call."""
    said = call(0, "a", "f", '{"x":1}')
    for order in ([said, chunk(finish=reason)], [chunk(finish=reason), said]):
        assert calls_of(*order) == [("a", *F[:2], False)]


@pytest.mark.parametrize(
    "reason", ["stop", "tool_calls", "function_call", "TOOL_CALL", "tool_use", "end_turn", "eos", "unknown"]
)
def test_a_call_is_complete_after_any_other_word(reason: str) -> None:
    """The calls decide, not the word."""
    assert calls_of(call(0, "a", "f", '{"x":1}'), chunk(finish=reason)) == [A]


def test_arguments_as_an_object_are_there_when_an_error_follows() -> None:
    """They are held for more to merge, and an error in the same stream ends that too."""
    for error in ({"error": {"message": "bad"}}, {"choices": [{"index": 0, "error": {"message": "bad"}}]}):
        found = answer_of(call(0, "a", "f", {"x": 1}), error, done=False)
        assert [(made.arguments, made.complete) for made in found.tool_calls] == [('{"x":1}', False)]


def test_each_choice_has_its_own_calls_under_the_same_index_and_id() -> None:
    """n=2: pieces in one chunk, and usage after both."""

    def both(*found: Any) -> dict[str, Any]:
        deltas = [given["choices"][0] | {"index": n} for n, given in enumerate(found)]
        return {"id": "c1", "model": "m", "choices": deltas}

    seen = events_of(
        both(call(0, "a", "f", '{"x"'), call(0, "a", "g", '{"y"')),
        both(call(0, arguments=":1}"), call(0, arguments=":2}")),
        chunk(finish="tool_calls"),
        chunk(finish="length", choice=1),
        {"choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}},
        to=(message(),),
    )
    assert [[(c.id, c.name, c.arguments, c.complete) for c in made.tool_calls] for made in seen.values] == [
        [A],
        [("a", *G[:2], False)],
    ]
    assert [made.usage for made in seen.values] == [Usage(1, 2)] * 2


def test_choices_without_an_index_in_one_chunk_are_told_by_their_place() -> None:
    """In a list of two, the second is another one; index null and a text for a number are read too."""
    seen = events_of(
        {"id": "c", "choices": [{"delta": {"content": "A"}}, {"delta": {"content": "B"}}]}, to=(message(),)
    )
    assert [made.text for made in seen.values] == ["A", "B"]
    seen = events_of(
        {"id": "c", "choices": [{"index": None, "delta": {"content": "A"}}, {"index": "1", "delta": {"content": "B"}}]},
        to=(message(),),
    )
    assert [made.text for made in seen.values] == ["A", "B"]


# ----------------------------------------------------------------------------------------------------------- reasoning


@pytest.mark.parametrize(
    "delta",
    [
        {"reasoning_content": "", "reasoning": "hm"},
        {"reasoning_content": None, "reasoning": "", "reasoning_text": "hm"},
        {"content": "", "reasoning": {"content": "hm"}},
        {"content": None, "reasoning": {"text": "hm"}},
        {"content": None, "reasoning": {"summary": "hm"}},
        {"reasoning": [{"type": "text", "text": "h"}, {"type": "text", "text": "m"}]},
        {"reasoning": "", "reasoning_details": [{"type": "reasoning.summary", "summary": "hm"}]},
        {"reasoning_details": [{"type": "reasoning.summary", "summary": [{"type": "summary_text", "text": "hm"}]}]},
        {"reasoning_details": [{"type": "thinking", "thinking": "hm"}]},
        {"reasoning_details": {"text": "hm"}},
        {"reasoning_details": "hm"},
        {"thinking": "hm"},
        {"thinking": {"content": "hm"}},
        {"thinking_blocks": [{"type": "thinking", "thinking": "hm", "signature": "s"}]},
        {"content": [{"type": "thinking", "thinking": "hm"}]},
        {"content": [{"type": "reasoning", "reasoning": "hm"}]},
        {"content": [{"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]}]},
        {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": "hm"}], "closed": True}]},
        {"content": {"type": "thinking", "thinking": "hm"}},
        {"reasoning_content": "hm", "content": [{"type": "thinking", "thinking": "hm"}]},
        {"reasoning_content": "hm", "thinking_blocks": [{"type": "thinking", "thinking": "hm"}]},
        {"reasoning_content": "hm", "reasoning": "hm", "reasoning_text": "hm", "thinking": "hm"},
    ],
)
def test_reasoning_wherever_it_stands_counts_once(delta: dict[str, Any]) -> None:
    """And the text after it is text."""
    found = answer_of(chunk(delta), chunk({"content": "4", "reasoning_content": "", "reasoning": None}), STOP)
    assert (found.reasoning, found.text) == ("hm", "4")


def test_reasoning_and_text_in_one_delta() -> None:
    """Both, reasoning first."""
    said = chunk({"content": "4", "reasoning_content": "hm"})
    assert events_of(said).values[1:] == [ReasoningDelta("hm"), TextDelta("4")]
    said = chunk({"content": [{"type": "text", "text": "4"}, {"type": "thinking", "thinking": "hm"}]})
    assert events_of(said).values[1:] == [ReasoningDelta("hm"), TextDelta("4")]


@pytest.mark.parametrize(
    "part",
    [
        {},
        {"type": "text"},
        {"type": "text", "text": ""},
        {"type": "text", "text": None},
        {"type": "thinking", "thinking": None},
        None,
        "",
    ],
)
def test_a_content_part_that_says_nothing(part: Any) -> None:
    """No event, neither known nor unknown."""
    assert events_of(chunk({"content": [part]}), STOP).values[1:] == [Finish("stop")]


def test_a_content_part_that_nobody_knows_is_passed_on() -> None:
    """As it came."""
    part = {"type": "image_url", "image_url": {"url": "u"}}
    assert events_of(chunk({"content": [part, {"type": "output_text", "text": "Hi"}]}), STOP).values[1:3] == [
        TextDelta("Hi"),
        Unknown(part),
    ]


# --------------------------------------------------------------------------------------------------------------- usage

COUNTS = {"prompt_tokens": 4, "completion_tokens": 1, "total_tokens": 5}
WHOLE = Usage(4, 1, 5)


@pytest.mark.parametrize(
    "said",
    [
        [chunk({"content": "Hi"}, usage=COUNTS), STOP],
        [{"id": "c1", "choices": [], "usage": COUNTS}, chunk({"content": "Hi"}), STOP],
        [chunk({"content": "Hi"}), STOP, {"choices": None, "usage": COUNTS}],
        [chunk({"content": "Hi"}), STOP, {"usage": COUNTS}],
        [chunk({"content": "Hi"}), {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop", "usage": COUNTS}]}],
        [
            chunk({"content": "Hi"}),
            {"choices": [{"index": 0, "finish_reason": "stop", "usage": COUNTS}], "usage": None},
        ],
        [chunk({"content": "Hi"}, usage={}), chunk(finish="stop", x_groq={"usage": COUNTS}, usage=None)],
        [chunk({"content": "Hi"}), STOP, {"choices": [], "x_groq": {"id": "r", "usage": COUNTS}}],
        [chunk({"content": "Hi"}, x_groq={"id": "r"}), chunk(finish="stop", x_groq=None, usage=COUNTS)],
        [
            chunk({"content": "Hi"}, usage={"prompt_tokens": 4}),
            chunk(finish="stop", usage={"completion_tokens": 1, "total_tokens": 5}),
        ],
        [chunk({"content": "Hi"}, usage=COUNTS), chunk(finish="stop", usage=dict.fromkeys(COUNTS))],
        [chunk({"content": "Hi"}, usage=COUNTS), chunk(finish="stop", usage=dict.fromkeys(COUNTS) | {"details": None})],
        [chunk({"content": "Hi"}), STOP, {"choices": [], "usage": {name: str(n) for name, n in COUNTS.items()}}],
        [chunk({"content": "Hi"}), STOP, {"choices": [], "usage": {name: float(n) for name, n in COUNTS.items()}}],
    ],
)
def test_usage_in_every_place(said: list[Any]) -> None:
    """The last that is known counts, and nothing is summed."""
    found = answer_of(*said)
    assert (found.text, found.finish_reason, found.usage) == ("Hi", "stop", WHOLE)


def test_usage_alone_is_something_said() -> None:
    """No text, no finish: but no empty stream either."""
    assert answer_of({"choices": [], "usage": COUNTS}).usage == WHOLE


# --------------------------------------------------------------------------------------------------------------- errors

ERRORS: dict[str, tuple[Any, dict[str, Any]]] = {
    "a list": ({"error": [{"message": "bad", "code": 1}]}, {"code": 1}),
    "a string": ({"error": "bad"}, {}),
    "beside a message": ({"error": True, "message": "bad"}, {}),
    "a kind beside a message": ({"error": "Bad Request", "message": "bad", "statusCode": 400}, {}),
    "nested three times": ({"error": {"error": {"error": {"message": "bad", "code": "c"}}}}, {"code": "c"}),
    "nested, the code outside": ({"error": {"code": 429, "error": {"message": "bad"}}}, {"code": 429}),
    "nested in detail": ({"detail": {"error": {"message": "bad", "type": "t"}}}, {"type": "t"}),
    "detail as an object": ({"detail": {"message": "bad", "code": 7}}, {"code": 7}),
    "detail as a list of two": ({"detail": [{"loc": ["a"], "msg": "bad"}, {"loc": ["b"], "msg": "worse"}]}, {}),
    "errors": ({"errors": [{"message": "bad", "code": 3}]}, {"code": 3}),
    "errors of text": ({"errors": ["bad", "worse"]}, {}),
    "errors as an object": ({"errors": {"message": "bad"}}, {}),
    "choices empty beside it": ({"choices": [], "error": {"message": "bad"}}, {}),
    "choices null beside it": ({"choices": None, "error": {"message": "bad"}}, {}),
    "code as text": ({"error": {"message": "bad", "code": "429"}}, {"code": "429", "retryable": True}),
    "code as a number": ({"error": {"message": "bad", "code": 503}}, {"code": 503, "retryable": True}),
    "status as text": ({"error": {"message": "bad", "status": "503"}}, {"status": 503, "retryable": True}),
    "google's": (
        {"error": {"code": 429, "message": "bad", "status": "RESOURCE_EXHAUSTED"}},
        {"code": 429, "retryable": True},
    ),
    "google's, in a list": ([{"error": {"code": 429, "message": "bad"}}], {"code": 429}),
    "anthropic's": (
        {"type": "error", "error": {"type": "overloaded_error", "message": "bad"}},
        {"type": "overloaded_error", "retryable": True},
    ),
    "vllm's": (
        {"object": "error", "message": "bad", "type": "BadRequestError", "param": None, "code": 400},
        {"code": 400, "retryable": False},
    ),
    "flat": ({"code": 500, "message": "bad"}, {"code": 500}),
    "flat, msg": ({"code": "InvalidParameter", "msg": "bad"}, {"code": "InvalidParameter"}),
    "error_msg": ({"error_code": 17, "error_msg": "bad"}, {"code": 17}),
    "in a choice": ({"choices": [{"index": 0, "delta": {}, "error": {"message": "bad", "code": 502}}]}, {"code": 502}),
    "in a choice as text": ({"choices": [{"index": 0, "error": "bad"}]}, {}),
    "in x_groq": ({"choices": [], "x_groq": {"error": "bad"}}, {}),
    "without a message": ({"error": {"description": "bad"}}, {}),
    "message as an object": ({"error": {"message": {"text": "bad"}}}, {}),
}


@pytest.mark.parametrize(("value", "wanted"), ERRORS.values(), ids=ERRORS)
def test_errors_in_the_stream(value: Any, wanted: dict[str, Any]) -> None:
    """In mid-stream, first, and as `event: error`; with what came before in the partial."""
    payload = msgspec.json.encode(value)
    bodies = {
        "late": body_of(chunk({"content": "Hi"}), payload, done=False),
        "first": body_of(payload),
        "error event": b"event: error\ndata: " + payload + b"\n\n",
        "json": payload,
    }
    if isinstance(value, dict) and value.get("choices"):
        del bodies["error event"], bodies["json"]
    for name, body in bodies.items():
        error = raw(body)
        assert isinstance(error, ApiError), (name, error)
        assert "bad" in error.message
        assert {key: getattr(error, key) for key in wanted} == wanted
        assert "".join(made.text for made in error.partial) == ("Hi" if name == "late" else "")


@pytest.mark.parametrize(
    "data",
    [
        b'["bad"]',
        b'[{"message":"bad"}]',
        b'"bad"',
        b"bad",
        b'{"msg":"bad"}',
        b'{"message":"bad","v":NaN}',
        b'{"error":{"detail":"bad"}}',
    ],
)
def test_error_events(data: bytes) -> None:
    """An array, a text, an object that is not quite JSON: the provider's words, not the JSON around them."""
    error = raw(b"event:error\ndata:" + data + b"\n\n")
    assert isinstance(error, ApiError)
    assert error.message == "bad"


@pytest.mark.parametrize("nothing", [None, False, "", {}, [], {"error": None}, {"message": "", "code": None}])
def test_an_error_that_says_nothing_is_none(nothing: Any) -> None:
    """On every chunk of a good answer."""
    found = answer_of(chunk({"content": "Hi"}, error=nothing), chunk(finish="stop", error=nothing))
    assert (found.text, found.finish_reason) == ("Hi", "stop")


def test_the_words_of_an_error_can_be_written() -> None:
    """Half a surrogate pair in a message becomes U+FFFD."""
    for data in (b'{"error":{"message":"bad \\ud83d"}}', b'{"message":"bad \\ud83d"}'):
        for before in (b"", b"event: error\n"):
            error = raw(before + b"data: " + data.replace(b'{"m', b'{"object":"error","m') + b"\n\n")
            assert isinstance(error, ApiError)
            assert error.message == "bad \ufffd"


# ------------------------------------------------------------------------------------------------------------- framing

ONE_EVENT = b'{"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}'

FRAMINGS = {
    "no space after the colon": b"data:" + ONE_EVENT + b"\n\ndata:[DONE]\n\n",
    "crlf": b"data: " + ONE_EVENT + b"\r\n\r\ndata: [DONE]\r\n\r\n",
    "cr": b"data: " + ONE_EVENT + b"\r\rdata: [DONE]\r\r",
    "a byte order mark": b"\xef\xbb\xbfdata: " + ONE_EVENT + b"\n\ndata: [DONE]\n\n",
    "a byte order mark and a comment": b"\xef\xbb\xbf: hello\n\ndata: " + ONE_EVENT + b"\n\n",
    "one object over several lines": b"data: " + ONE_EVENT.replace(b",", b",\ndata:\ndata:   ") + b"\n\n",
    "comments alone, glued before and inside": b": a\n\n:b\ndata: " + ONE_EVENT + b"\n:\n\n: c\n\ndata: [DONE]\n\n",
    "blocks without data": b"retry: 9\n\nid: 7\n\nevent: ping\n\n\n\ndata: " + ONE_EVENT + b"\n\ndata: [DONE]\n\n",
    "events with empty data": b"data:\n\ndata\n\nevent: ping\ndata: \n\ndata: " + ONE_EVENT + b"\n\ndata\n\n",
    "white space around the payload and the mark": b"data:  \t" + ONE_EVENT + b" \n\ndata:  [DONE] \n\n",
    "names, ids and fields that nobody knows": b"event: chunk\nid: 7\nx: y\nfoo\ndata: " + ONE_EVENT + b"\n\n",
    "something after the mark": b"data: " + ONE_EVENT + b"\n\ndata: [DONE]\n\ndata: <html>\n\n",
}


@pytest.mark.parametrize("body", FRAMINGS.values(), ids=FRAMINGS)
def test_framing_is_never_text(body: bytes) -> None:
    """One answer, however it is wrapped."""
    found = raw(body)
    assert not isinstance(found, Exception), found
    assert (found.text, found.finish_reason) == ("Hi", "stop")


def test_what_only_looks_like_framing_is_text() -> None:
    """Line ends of Unicode, a second byte order mark, a sentinel and a field inside a JSON string, an escaped NUL."""
    text = "a\u2028b\u2029c\x85d\x7f\ufeff[DONE]data: {}"
    body = "\ufeffdata: " + ONE_EVENT.decode().replace("Hi", text + "\\u0000") + "\n\n"
    assert raw(body.encode()).text == text + "\0"


def test_a_line_of_a_mebibyte() -> None:
    """No limit of lines or events stands in its way."""
    body = body_of(chunk({"content": "x" * 2**20}), STOP)
    (found,) = WAYS[0].run(cuts(body, 2**14), *DECODE, message()).values
    assert (found.text, found.finish_reason) == ("x" * 2**20, "stop")


# ------------------------------------------------------------------------------------------------------------- endings


@pytest.mark.parametrize("roles", [("assistant", "assistant"), ("assistant", None), ("", "assistant"), (None, None)])
def test_a_role_is_set_and_never_appended(roles: tuple[Any, Any]) -> None:
    """In every chunk, in one, or in none: an answer is the assistant's."""
    found = answer_of(chunk({"role": roles[0], "content": "H"}), chunk({"role": roles[1], "content": "i"}), STOP)
    assert (found.role, found.text) == ("assistant", "Hi")


@pytest.mark.parametrize("reason", ["content_filter", "length", "stop", "SAFETY"])
def test_text_of_the_last_chunk_counts_and_its_reason_is_kept(reason: str) -> None:
    """As the provider wrote it."""
    found = answer_of(chunk({"content": "H"}), chunk({"content": "i"}, reason))
    assert (found.text, found.finish_reason) == ("Hi", reason)


def test_a_second_finish_changes_nothing() -> None:
    """The first reason came with the calls; the usage beside the second one counts."""
    found = answer_of(call(0, "a", "f", '{"x":1}'), FINISHED, chunk(finish="stop", usage=COUNTS))
    assert [(made.id, made.name, made.arguments, made.complete) for made in found.tool_calls] == [A]
    assert (found.finish_reason, found.usage) == ("tool_calls", WHOLE)


def test_text_and_calls_are_apart() -> None:
    """Text before a call, amid its pieces, and after it."""
    found = answer_of(
        chunk({"content": "First."}),
        call(0, "a", "f", '{"x"'),
        chunk({"content": " Then."}),
        call(0, arguments=":1}"),
        call(1, "b", "g", '{"y":2}'),
        chunk({"content": " Done."}),
        FINISHED,
    )
    assert found.text == "First. Then. Done."
    assert [(made.id, made.name, made.arguments, made.complete) for made in found.tool_calls] == [A, B]


def test_a_whole_call_is_complete_only_if_the_server_was_done() -> None:
    """[DONE] without a finish says so; an end of the body, or of the connection, does not: more may have been on the way."""
    said = call(0, "a", "f", '{"x":1}')
    assert calls_of(said) == [A]
    assert calls_of(said, done=False) == [(*A[:3], False)]
    assert calls_of(said, done=False, end=ConnectionLost("gone")) == [(*A[:3], False)]
    assert calls_of(said, FINISHED, done=False, end=ConnectionLost("gone")) == [A]


def test_arguments_that_the_limit_cut_are_kept_as_they_are() -> None:
    """And never taken for whole."""
    assert calls_of(call(0, "a", "f", '{"x":"ab'), chunk(finish="length")) == [("a", "f", '{"x":"ab', False)]


def test_no_usage_is_not_zero() -> None:
    """Unknown is None, and so is a total that was not told."""
    assert answer_of(chunk({"content": "Hi"}), STOP).usage is None
    assert answer_of(chunk({"content": "Hi"}), STOP, {"choices": [], "usage": {"prompt_tokens": 4}}).usage == Usage(4)


# ------------------------------------------------------------------------------------------------------- ends of bodies

HI = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"}}]}'
END = b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}'


@pytest.mark.parametrize(
    "end",
    [
        b"",
        b"\n",
        b"\n\n",
        b"\r",
        b"\r\n",
        b"\r\n\r\n",
        b"\n\n\n",
        b"\n: bye",
        b"\n\ndata: [DONE]",
        b"\n\ndata:[DONE]\n",
        b"\n\ndata: [DONE]\r\n\r\n",
        b"\n\ndata:",
        b"\n\nda",
        b'\n\ndata: {"id":"c","cho',
        b"\n\nevent: done\n\n",
        b"\n\nid: 7",
    ],
)
def test_bodies_end_in_many_ways_after_a_finish(end: bytes) -> None:
    """With or without a line end, a mark, a comment, a stump: the answer is whole."""
    found = raw(HI + b"\n\n" + END + end)
    assert not isinstance(found, Exception), found
    assert (found.text, found.finish_reason) == ("Hi", "stop")


@pytest.mark.parametrize(
    "end",
    [
        b"",
        b"\n",
        b"\n\n",
        b"\r\n\r\n",
        b"\n\ndata:",
        b'\n\ndata: {"id":"c","cho',
        b"\n\ndata: [DO",
        b"\n\ndata: [DONE",
        b"\n\n: bye\n\n",
        b'\n\ndata: {"choices":[]}\n\n',
    ],
)
def test_bodies_end_in_many_ways_without_a_finish(end: bytes) -> None:
    """All are a cut; the text is there."""
    found = raw(HI + end)
    assert isinstance(found, TruncatedError)
    assert [made.text for made in found.partial] == ["Hi"]


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\n\n",
        b": hello\n\n",
        b"data: [DONE]\n\n",
        b"data:[DONE]",
        b"data:\n\ndata: [DONE]\n\n",
        b"retry: 1\n\n",
        b"\xef\xbb\xbf",
        b"data: null\n\ndata: [DONE]\n\n",
        b"data: {}\n\ndata: [DONE]\n\n",
        b'data: {"choices":[]}\n\ndata: [DONE]\n\n',
        b'data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\ndata: [DONE]\n\n',
    ],
)
def test_bodies_that_say_nothing_are_empty(body: bytes) -> None:
    """No chunk, or none with anything in it."""
    assert isinstance(raw(body), EmptyStream)


# --------------------------------------------------------------------------------------------------- not streamed at all


@pytest.mark.parametrize(
    "body",
    [
        b'{"id":"c","choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}',
        b' \r\n\t{"choices":[{"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]}\n',
        b'\xef\xbb\xbf{"choices":[{"index":0,"message":{"content":[{"type":"text","text":"Hi"}]},"finish_reason":"stop"}]}',
        b'{"choices":[{"index":0,"text":"Hi","finish_reason":"stop"}]}',
        b'{"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}',
        b'{"choices":{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}}',
        b'{"message":{"role":"assistant","content":"Hi"},"done":true,"done_reason":"stop"}',
        b'{"error":null,"choices":[{"index":0,"message":{"content":"Hi","refusal":null},"finish_reason":"stop"}]}',
        b'[{"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}]',
        b'[{"choices":[{"index":0,"delta":{"content":"H"}}]},{"choices":[{"index":0,"delta":{"content":"i"},"finish_reason":"stop"}]}]',
        b'data: {"choices":[{"index":0,"message":{"content":"Hi"},"finish_reason":"stop"}]}',
        b'data: [{"choices":[{"delta":{"content":"H"}}]},{"choices":[{"delta":{"content":"i"},"finish_reason":"stop"}]}]\n\n',
    ],
)
def test_answers_that_are_not_streamed(body: bytes) -> None:
    """One JSON body, or one event: the events that a stream would have given."""
    found = raw(body)
    assert not isinstance(found, Exception), found
    assert (found.text, found.finish_reason) == ("Hi", "stop")


@pytest.mark.parametrize(
    "body",
    [
        b"<html>",
        b" \n<!doctype html>",
        b"Service Unavailable",
        b'"busy"',
        b"null",
        b"[]",
        b"{}",
        b'{"status":"ok"}',
        b"\x1f\x8b\x08\x00",
        HI[6:] + b"\n" + END[6:] + b"\n",
        HI[6:] + b"\n\n" + END[6:],
        b"dat: x\n\n",
    ],
)
def test_bodies_that_are_neither(body: bytes) -> None:
    """A page, text, another API's JSON, JSON lines."""
    assert isinstance(raw(body), NotEventStream)


@pytest.mark.parametrize("body", [b"{", b'{"choices":[{"message":{"content":"Hi', b'[{"choices":'])
def test_json_that_was_cut(body: bytes) -> None:
    """It has not come whole."""
    assert isinstance(raw(body), TruncatedError)


# ------------------------------------------------------------------------------------------------------- finish, logprobs


@pytest.mark.parametrize("nothing", [None, "", False, "null"])
def test_a_finish_that_is_none(nothing: Any) -> None:
    """The word null is null too."""
    seen = events_of(chunk({"content": "H"}, nothing), chunk({"content": "i"}, nothing), STOP)
    assert seen.values[1:] == [TextDelta("H"), TextDelta("i"), Finish("stop")]


@pytest.mark.parametrize(
    ("given", "wanted"),
    [
        (None, []),
        ([], []),
        ({}, []),
        ({"content": None}, []),
        ({"content": [], "refusal": []}, []),
        ({"content": [{"token": "H"}]}, [LogprobsDelta([{"token": "H"}])]),
        ({"content": None, "refusal": [{"token": "N"}]}, [LogprobsDelta(None, [{"token": "N"}])]),
        ({"tokens": ["H"], "token_logprobs": [None]}, [LogprobsDelta([{"tokens": ["H"], "token_logprobs": [None]}])]),
    ],
)
def test_logprobs(given: Any, wanted: list[Any]) -> None:
    """Null, empty, of the old kind."""
    said = {"id": "c", "choices": [{"index": 0, "delta": {"content": "H"}, "logprobs": given}]}
    assert events_of(said).values[2:] == wanted


# -------------------------------------------------------------------------------------------------------------- unicode

HALF, REST = "\ud83d", "\ude00"


@pytest.mark.parametrize("key", ["content", "reasoning_content", "reasoning", "refusal"])
def test_a_character_cut_in_two_in_every_channel(key: str) -> None:
    """With other events between the halves."""
    said = [
        chunk({key: "a" + HALF}),
        chunk({}, usage=COUNTS),
        chunk({"role": "assistant"}),
        chunk({key: REST + "b"}),
        STOP,
    ]
    found = answer_of(*said)
    assert found.text + found.reasoning + found.refusal == "a😀b"


@pytest.mark.parametrize("index", [0, None, ...])
def test_arguments_cut_in_two(index: Any) -> None:
    """By index, or without; a half that stays alone is not joined to the next call's."""
    assert calls_of(call(index, "a", "f", '{"x":"' + HALF), call(index, arguments=REST + '"}'), FINISHED) == [
        ("a", "f", '{"x":"😀"}', True)
    ]
    found = calls_of(call(index, "a", "f", '{"x":"' + HALF), call(index, "b", "g", REST + "{}"), FINISHED)
    assert found[1] == ("b", "g", "\ufffd{}", False)


@pytest.mark.parametrize(
    "said",
    [
        chunk({"annotations": [{"text": HALF, "content": HALF}]}),
        chunk({"content": [{"type": "x", "reasoning": HALF}]}),
        chunk({"reasoning_details": [{"text": HALF, "data": HALF}]}),
        chunk({"reasoning_details": {"content": HALF}}),
        chunk({"audio": {"id": HALF, "data": HALF, "transcript": HALF}}),
        chunk({"tool_calls": [{"id": HALF, "function": {"name": HALF, "text": HALF, "arguments": HALF}}]}),
        chunk({"tool_calls": [{"id": HALF, "content": HALF, "function": {"arguments": {"text": HALF, HALF: 1}}}]}),
        chunk({"function_call": {"name": HALF, "arguments": HALF}}),
        chunk({}, HALF),
        chunk({"content": "x"}, usage={"text": HALF, "prompt_tokens": 1}),
        {
            "id": HALF,
            "model": HALF,
            "choices": [{"delta": {"content": HALF, "role": HALF}, "logprobs": {"content": [{"text": HALF}]}}],
        },
        {"choices": [{"delta": {"content": "x"}, "logprobs": {"text": HALF, "tokens": [HALF]}}]},
        {"choices": [{"delta": {"content": "x"}, "text": HALF, "content": HALF}], "refusal": HALF},
    ],
)
def test_everything_can_be_written_as_utf_8(said: Any) -> None:
    """A half anywhere, in what is read and in what is handed on as it came."""
    body = b"data: " + json.dumps(said).encode() + b"\n\n"
    for chain in (decode(), decode(extras=True)):
        for reads in ([body], cuts(body, 1)):
            seen = WAYS[0].run(reads, chain)
            assert isinstance(seen.end, (StreamError, str))
            for event in seen.values:
                msgspec.json.encode(event)
                repr(event).encode()


@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_bytes_that_are_no_utf_8_across_reads(size: int) -> None:
    """One bad byte costs one character, wherever the reads are cut; a character cut by a read costs none."""
    body = 'data: {"choices":[{"delta":{"content":"é😀|~~|ü"},"finish_reason":"stop"}]}\n\n'.encode().replace(
        b"~~", b"\xf0\xff"
    )
    found = WAYS[0].run(cuts(body, size), *DECODE, message()).values[0]
    assert found.text == "é😀|\ufffd\ufffd|ü"


# ----------------------------------------------------------------------------------------------------- what is nested deep


@pytest.mark.parametrize(
    "place",
    [
        '{"choices":[{"delta":{"content":%s}}]}',
        '{"error":%s}',
        '{"usage":{"x":%s}}',
        '{"choices":[{"delta":{"tool_calls":[{"function":{"name":"f","arguments":{"x":%s}}}]}}]}',
        '{"choices":[{"delta":{"reasoning_details":%s}}]}',
    ],
)
@pytest.mark.parametrize("depth", [300, 900, 5000, 100_000])
def test_nesting_without_end_is_no_chunk(place: str, depth: int) -> None:
    """It ends the stream as bad data does, and does not exhaust the stack, as an event, an error event or a body."""
    for nested in ("[" * depth + "1" + "]" * depth, '{"error":' * depth + "1" + "}" * depth):
        payload = (place % nested).encode()
        for body in (
            b"data: " + payload + b"\n\ndata: [DONE]\n\n",
            b"event: error\ndata: " + payload + b"\n\n",
            payload,
        ):
            seen = WAYS[0].run([body], *DECODE)
            assert isinstance(seen.end, StreamError), seen.end
            for event in seen.values:
                msgspec.json.encode(event)


@pytest.mark.parametrize(
    ("audio", "wanted"),
    [
        ({"id": "au", "data": 5}, AudioDelta("au")),
        ({"id": 5, "data": ["x"], "transcript": "Hi"}, AudioDelta(transcript="Hi")),
        ({"data": "QQ==", "transcript": {"a": 1}}, AudioDelta(data="QQ==")),
        ({"id": "au", "data": True, "expires_at": "9"}, AudioDelta("au", expires_at=9)),
    ],
)
def test_audio_of_odd_types(audio: dict[str, Any], wanted: AudioDelta) -> None:
    """What is no text is none."""
    assert events_of(chunk({"audio": audio}), STOP).values[1:] == [wanted, Finish("stop")]
