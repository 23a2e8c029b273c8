"""What may be shown of bodies and errors; the other kinds of text are doctests of the module."""

from __future__ import annotations

import traceback

import pytest

from operators import ConnectionLost, StreamError
from pipeline._redact import redact_body, redact_error

KEY = "hunter2-hunter2"


def test_the_body_of_a_request_stays_what_it_was() -> None:
    body = {"model": "m", "max_tokens": 5, "stop": None, "tools": [{"type": "function"}], "n": (1, 2.5), "stream": True}
    assert redact_body(body) == {**body, "n": [1, 2.5]}


def test_nothing_that_a_provider_says_shows_a_secret() -> None:
    error = StreamError(
        f"bad {KEY}",
        code=KEY,
        type=f"a {KEY}",
        param={"api_key": "x", "seen": [KEY], "n": 1},
        request_id=KEY,
        rate_limits={"x-ratelimit": KEY},
    )
    redact_error(error, [KEY])
    assert KEY not in str(error) + repr(vars(error))
    assert error.param == {"api_key": "***", "seen": ["***"], "n": 1}


class _Stubborn(Exception):
    """Says what its arguments do not."""

    def __str__(self) -> str:
        return f"sent {KEY}"


class _Broken(Exception):
    def __str__(self) -> str:
        raise ZeroDivisionError


@pytest.mark.parametrize(
    "behind",
    [
        ValueError(f"Illegal header value b'Bearer {KEY}\\n'", 7),
        _Stubborn(),
        OSError(5, KEY),
        _Broken(),
        StreamError(KEY),
    ],
)
def test_what_stands_behind_an_error_shows_no_secret_either(behind: Exception) -> None:
    error = ConnectionLost("the connection broke")
    try:
        try:
            try:
                raise KeyError(KEY)
            except KeyError:
                raise behind from None
        except type(behind) as cause:
            raise error from cause
    except ConnectionLost:
        redact_error(error, [KEY])
        shown = traceback.format_exc()
    assert KEY not in shown
    assert "ConnectionLost: the connection broke" in shown


def test_what_shows_none_stays_as_it_is() -> None:
    error, behind = ConnectionLost("the connection broke"), ConnectionResetError(104, "reset by peer")
    error.__cause__, behind.__context__ = behind, error
    redact_error(error, [KEY])
    assert error.__cause__ is behind
    assert behind.args == (104, "reset by peer")
