"""Errors that providers put into the body, in every shape that was met."""

from __future__ import annotations

from typing import Any

import pytest

from operators import ApiError, Finish, TextDelta
from operators._inband import error_of, error_of_body, error_of_event
from tests.support import chunk, events_of

OBJECTS: dict[str, tuple[Any, dict[str, Any]]] = {
    "openai": (
        {"error": {"message": "no credit", "type": "insufficient_quota", "param": "model", "code": "quota"}},
        {"message": "no credit", "type": "insufficient_quota", "param": "model", "code": "quota"},
    ),
    "a string": ({"error": "upstream gone"}, {"message": "upstream gone"}),
    "a number": ({"error": 7}, {"message": "7"}),
    "a list": ({"error": [{"message": "first"}]}, {"message": "first"}),
    "wrapped twice": (
        {"error": {"error": {"message": "inner", "code": 429}, "code": 1}},
        {"message": "inner", "code": 429},
    ),
    "with a status": ({"error": {"message": "x", "status": 503}}, {"status": 503}),
    "with http_status": ({"error": {"message": "x", "http_status": 429}}, {"status": 429}),
    "with a status that is a word": ({"error": {"message": "x", "status": "UNAVAILABLE"}}, {"status": None}),
    "with retry_after": ({"error": {"message": "x", "retry_after": 3}}, {"retry_after": 3.0}),
    "with a bad retry_after": ({"error": {"message": "x", "retry_after": True}}, {"retry_after": None}),
    "without words": ({"error": {"reason": "é"}}, {"message": '{"reason": "é"}'}),
    "with a code beside it": ({"error": "slow down", "error_code": 429}, {"message": "slow down", "code": 429}),
    "with a code that is none": ({"error": {"message": "x", "code": [1]}}, {"code": None}),
    "vllm": ({"object": "error", "message": "too long", "code": 400}, {"message": "too long", "code": 400}),
    "anthropic": (
        {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
        {"message": "Overloaded", "type": "overloaded_error"},
    ),
    "flat, of type error": ({"type": "error", "msg": "bad"}, {"message": "bad"}),
    "fastapi": ({"detail": "Not Found"}, {"message": "Not Found"}),
    "fastapi's list": ({"detail": [{"loc": ["body"], "msg": "field required"}]}, {"message": "field required"}),
    "fastapi's longer list": ({"detail": [1, 2]}, {"message": "[1, 2]"}),
    "error_type and error_message": (
        {"error_type": "BadRequestError", "error_message": "context too long"},
        {"message": "context too long", "type": "BadRequestError"},
    ),
    "errorMessage": ({"errorMessage": "nope"}, {"message": "nope"}),
    "errors": ({"errors": ["nope"]}, {"message": '["nope"]'}),
    "code and message": ({"code": 400, "message": "bad"}, {"message": "bad", "code": 400}),
    "status and msg": ({"status": 500, "msg": "bad"}, {"message": "bad", "status": 500}),
}


@pytest.mark.parametrize(("value", "wanted"), OBJECTS.values(), ids=OBJECTS)
def test_an_error_in_a_body_is_found_and_read(value: dict[str, Any], wanted: dict[str, Any]) -> None:
    """As an event of a stream, and as a whole JSON body."""
    for seen in (events_of(value), events_of(chunk({"content": "Hi"}), value, done=False)):
        assert isinstance(seen.end, ApiError)
        assert {name: getattr(seen.end, name) for name in wanted} == wanted


@pytest.mark.parametrize("nothing", [None, {}, "", False, [], 0])
def test_an_empty_error_is_none(nothing: Any) -> None:
    """Some providers send `error: null` with every chunk."""
    assert error_of(nothing) is None
    assert error_of_body({"error": nothing}) is None
    seen = events_of(chunk({"content": "Hi"}, error=nothing), chunk(finish="stop", error=nothing))
    assert seen.completed


@pytest.mark.parametrize("value", [{"choices": []}, {"message": "hi"}, {"code": 1}, {"id": "x", "object": "list"}])
def test_what_is_no_error(value: dict[str, Any]) -> None:
    """A message without a code may be anything."""
    assert error_of_body(value) is None


def test_choices_beside_the_words_of_an_error_are_no_error() -> None:
    """Only `error` itself counts beside choices."""
    assert error_of_body({"choices": [{}], "detail": "x"}) is None
    assert error_of_body({"choices": [{}], "error": "x"}) is not None


@pytest.mark.parametrize(
    ("data", "message", "code"),
    [
        (b'{"error":{"message":"nested","code":"e"}}', "nested", "e"),
        (b'{"type":"error","code":"503","message":"flat"}', "flat", "503"),
        (b" upstream gone ", "upstream gone", None),
        (b"\xff", "\ufffd", None),
        (b"", "the provider sent an error event that says nothing", None),
        (b"{}", "the provider sent an error event that says nothing", None),
    ],
)
def test_error_events_nested_flat_or_plain_text(data: bytes, message: str, code: Any) -> None:
    """`event: error` is an error whatever its data is."""
    error = error_of_event(data)
    assert (error.message, error.code) == (message, code)


def test_an_error_beside_choices_comes_after_what_they_say() -> None:
    """OpenRouter's: the chunk with the error has a finish_reason too."""
    seen = events_of(
        chunk({"content": "Hi"}), chunk({"content": ""}, "error", error={"code": 502, "message": "upstream left"})
    )
    assert seen.values[-2:] == [TextDelta("Hi"), Finish("error")]
    assert isinstance(seen.end, ApiError)
    assert (seen.end.message, seen.end.code, seen.end.retryable) == ("upstream left", 502, True)


def test_an_error_inside_a_choice() -> None:
    """It belongs to the stream as a whole."""
    seen = events_of({"choices": [{"index": 0, "delta": {"content": "Hi"}, "error": {"message": "boom"}}]})
    assert seen.values[-1] == TextDelta("Hi")
    assert str(seen.end) == "boom"


def test_an_error_inside_x_groq() -> None:
    """Groq's place for it."""
    seen = events_of(chunk({"content": "Hi"}, x_groq={"error": "tool call failed"}))
    assert isinstance(seen.end, ApiError)
    assert seen.end.message == "tool call failed"


def test_a_json_body_that_is_an_error() -> None:
    """HTTP 200, application/json."""
    from tests.support import DECODE, WAYS, cuts

    body = b' {"error":{"message":"invalid key","code":401}}'
    for reads in ([body], cuts(body, 1)):
        seen = WAYS[0].run(reads, *DECODE)
        assert (seen.end.message, seen.end.code, seen.end.retryable) == ("invalid key", 401, False)
