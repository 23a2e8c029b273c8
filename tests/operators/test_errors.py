"""The errors: one base, one class a kind."""

from __future__ import annotations

import copy
import inspect
import pickle
from typing import Any

import pytest

import operators
from operators import ApiError, ConnectionLost, HttpError, Message, StreamError, TruncatedError

KINDS = {
    "api": "ApiError",
    "http": "HttpError",
    "truncated": "TruncatedError",
    "connection": "ConnectionLost",
    "timeout": "StreamTimeout",
    "protocol": "ProtocolError",
    "not_sse": "NotEventStream",
    "empty": "EmptyStream",
    "limit": "LimitExceeded",
}


def test_the_table_of_kinds_is_complete() -> None:
    """Every error that is exported is in it, and is a StreamError."""
    public = [getattr(operators, name) for name in operators.__all__]
    errors: list[Any] = [value for value in public if inspect.isclass(value) and issubclass(value, Exception)]
    assert {kind.kind: kind.__name__ for kind in errors} == KINDS | {"stream": "StreamError"}
    assert all(issubclass(kind, StreamError) for kind in errors)
    assert {kind.kind for kind in errors if kind("x").retryable} == {"truncated", "connection", "timeout", "empty"}


@pytest.mark.parametrize("status", [408, 409, 429, 500, 503, 599, "503"])
def test_statuses_that_may_pass(status: Any) -> None:
    """As a status, or as the code of an error inside the stream."""
    assert HttpError("x", status=status).retryable
    assert ApiError("x", code=status).retryable
    assert ApiError("x", status=status).retryable


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422, "5xx", "50", "quota", None])
def test_statuses_that_will_not_pass(status: Any) -> None:
    """A request that is wrong stays wrong."""
    assert not HttpError("x", status=status).retryable
    assert not ApiError("x", code=status).retryable


@pytest.mark.parametrize("word", ["rate_limit_exceeded", "overloaded_error", "server_error", "Timeout", "unavailable"])
def test_words_of_providers_for_what_may_pass(word: str) -> None:
    """Where there is no number."""
    assert ApiError("x", code=word).retryable
    assert ApiError("x", type=word).retryable
    assert not ApiError("x", type="insufficient_quota").retryable


def test_what_is_known_can_be_read() -> None:
    """And is empty where nothing is known."""
    bare = StreamError("x")
    assert (bare.partial, bare.rate_limits, bare.conversation, bare.code, bare.status) == ((), {}, None, None, None)
    assert (str(bare), bare.message, bare.args) == ("x", "x", ("x",))


def test_the_repr_is_short() -> None:
    """The start of a long message, and what helps; no headers, no partial."""
    error = HttpError("y" * 500, status=429, retry_after=2.0, request_id="r", partial=(Message(text="secret"),))
    assert repr(error) == f"HttpError('{'y' * 199}…', status=429, retry_after=2.0)"
    assert repr(ApiError("x", code="c")) == "ApiError('x', code='c')"


def test_what_a_provider_says_moves_no_cursor() -> None:
    """It reaches terminals, through tracebacks too."""
    error = ApiError("red \x1b[31m, back\b, \x9b2J,\r\n\tnext: Zürich")
    assert str(error) == error.message == error.args[0] == "red \ufffd[31m, back\ufffd, \ufffd2J,\n\tnext: Zürich"


@pytest.mark.parametrize("remake", [copy.copy, lambda error: pickle.loads(pickle.dumps(error))])
def test_errors_can_be_copied_and_pickled(remake: Any) -> None:
    """With all that they hold."""
    error = TruncatedError("x", partial=(Message(text="Hi"),), code=1)
    error.conversation = [{"role": "user"}]
    again = remake(error)
    assert type(again) is TruncatedError
    assert (str(again), again.__dict__) == ("x", error.__dict__)


def test_the_cause_is_kept() -> None:
    """As Python keeps it."""
    cause = OSError("reset")
    with pytest.raises(ConnectionLost) as caught:
        raise ConnectionLost("gone") from cause
    assert caught.value.__cause__ is cause
