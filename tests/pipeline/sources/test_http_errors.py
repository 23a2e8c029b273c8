"""What a response that is an error says, and what its headers add."""

from __future__ import annotations

import email.utils
import time
from typing import Any

import pytest

from operators import HttpError
from pipeline import request
from pipeline.sources import _http_errors
from pipeline.sources._failures import as_stream_error
from pipeline.sources._http_errors import BODY_LIMIT, http_error, retry_after
from tests.pipeline.wire import Call, Kind, WireServer, answers
from tests.support.timing import LONG, in_real_time, soon

OPENAI = b'{"error": {"message": "Bad model", "type": "invalid_request_error", "param": "model", "code": "no_model"}}'


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (OPENAI, ("Bad model", "no_model", "invalid_request_error", "model")),
        (b'{"error": "just words"}', ("just words", None, None, None)),
        (
            b'{"object": "error", "message": "vLLM says", "type": "NotFoundError", "code": 404}',
            ("vLLM says", 404, "NotFoundError", None),
        ),
        (b'[{"error": {"message": "Gemini, in a list", "code": 400}}]', ("Gemini, in a list", 400, None, None)),
        (b'{"detail": "Not authenticated"}', ("Not authenticated", None, None, None)),
        (b'{"message": "flat"}', ("flat", None, None, None)),
        (b"no such route\n", ("no such route", None, None, None)),
        (b"<html><body>Bad gateway</body></html>", ("HTTP 404 Not Found", None, None, None)),
        (b"", ("HTTP 404 Not Found", None, None, None)),
        (b"[]", ("[]", None, None, None)),
        (b"{}", ("{}", None, None, None)),
        (b'{"broken": ', ('{"broken":', None, None, None)),
        ("nicht gefunden: Zürich".encode("latin-1"), ("nicht gefunden: Z\ufffdrich", None, None, None)),
        (b"x" * 1000, ("x" * 400, None, None, None)),
    ],
)
def test_the_bodys_own_message_is_told(body: bytes, expected: tuple[object, ...]) -> None:
    error = http_error(404, {}, body)
    assert (error.message, error.code, error.type, error.param) == expected
    assert (error.status, error.kind) == (404, "http")


def test_a_status_that_nobody_knows_is_told_by_its_number() -> None:
    assert http_error(599, {}, b"").message == "HTTP 599"


def test_a_redirect_says_where_to_if_it_is_known() -> None:
    assert http_error(302, {"location": "https://me:pw@host/"}, b"moved").message.startswith(
        "redirected to https://***@host/;"
    )
    assert http_error(302, {}, b"").message == "HTTP 302 Found"
    assert http_error(304, {}, b"").message == "HTTP 304 Not Modified"


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (401, False), (404, False), (408, True), (409, True), (429, True), (500, True), (529, True)],
)
def test_an_error_over_the_wire_is_the_same_with_every_client(kind: Kind, status: int, retryable: bool) -> None:
    headers = {
        "content-type": "application/json",
        "X-Request-ID": "r1",
        "Retry-After": "3",
        "X-RateLimit-Remaining-Tokens": "7",
        "anthropic-ratelimit-reset": "soon",
        "set-cookie": "a=b",
    }
    with WireServer(answers(OPENAI, status=status, headers=headers)) as server:
        error = kind.run(lambda client: request(server.url, client=client)).end
    assert isinstance(error, HttpError)
    assert (error.status, error.message, error.retryable) == (status, "Bad model", retryable)
    assert (error.request_id, error.retry_after) == ("r1", 3.0)
    assert error.rate_limits == {"x-ratelimit-remaining-tokens": "7", "anthropic-ratelimit-reset": "soon"}


def test_the_status_is_told_even_if_its_body_breaks(kind: Kind) -> None:
    """The connection breaks inside the body of a 401: that is no reason to try again."""

    def script(call: Call) -> None:
        call.head(401, {"x-request-id": "r1"}, length=1000)
        call.send(b"you may n")

    with WireServer(script) as server:
        error = kind.run(lambda client: request(server.url, client=client)).end
    assert (type(error), error.status, error.request_id, error.retryable) == (HttpError, 401, "r1", False)


def test_of_a_long_body_only_a_part_is_read(kind: Kind) -> None:
    def script(call: Call) -> None:
        call.head(500)
        call.send(b"z" * (BODY_LIMIT + 10))
        call.until_gone()

    with WireServer(script) as server, soon():
        error = kind.run(lambda client: request(server.url, client=client)).end
        assert server.gone.wait(LONG)
    assert (error.status, error.message) == (500, "z" * 400)


def test_a_body_that_never_ends_keeps_the_status_back_only_for_a_while(
    kind: Kind, monkeypatch: pytest.MonkeyPatch
) -> None:
    @in_real_time
    def _(unit: float) -> None:
        monkeypatch.setattr(_http_errors, "BODY_SECONDS", 2 * unit)

        def script(call: Call) -> None:
            call.head(503)
            call.send(b"overloaded, ")
            call.until_gone()

        with WireServer(script) as server, soon():
            error = kind.run(lambda client: request(server.url, client=client)).end
            assert server.gone.wait(LONG)
        assert (type(error), error.status, error.message) == (HttpError, 503, "overloaded,")


# ------------------------------------------------------------------------------------------------------- Retry-After


@pytest.mark.parametrize(
    ("headers", "expected"),
    [
        ({}, None),
        ({"retry-after": "2"}, 2.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "1.5"}, 1.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"retry-after-ms": "junk", "retry-after": "9"}, 9.0),
        ({"retry-after": "-1"}, None),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "soon"}, None),
        ({"retry-after": ""}, None),
        ({"retry-after": "Fri, 31 Dec 1999 23:59:59 GMT"}, 0.0),
        ({"retry-after": "Fri, 99 Dec 1999 23:59:59 GMT"}, None),
    ],
)
def test_retry_after_in_all_its_forms(headers: dict[str, str], expected: float | None) -> None:
    assert retry_after(headers) == expected


def test_retry_after_as_a_date_is_counted_from_now() -> None:
    found = retry_after({"retry-after": email.utils.formatdate(time.time() + 30, usegmt=True)})
    assert found is not None
    assert 28 < found <= 30


# ------------------------------------------------------------------------------------- the errors of clients, by their names


def test_an_exception_that_is_nobodys_stays_as_it_is() -> None:
    error = ValueError("mine")
    assert as_stream_error(error) is error


def test_an_error_of_ours_stays_as_it_is() -> None:
    error = HttpError("mine")
    assert as_stream_error(error) is error


def requests_timeout() -> Exception:
    """What requests raises when a body that streams times out: a ConnectionError around urllib3's."""
    import requests
    from urllib3.exceptions import ReadTimeoutError

    return requests.ConnectionError(ReadTimeoutError(None, None, "Read timed out."))  # type: ignore[arg-type]


def errors() -> Any:
    import http.client

    import httpx
    import httpx2
    import requests
    import urllib3

    for module in (httpx, httpx2):
        for name, kind, phase in [
            ("ConnectTimeout", "timeout", "connect"),
            ("PoolTimeout", "timeout", "connect"),
            ("ReadTimeout", "timeout", "idle"),
            ("WriteTimeout", "timeout", "idle"),
            ("ConnectError", "connection", None),
            ("ReadError", "connection", None),
            ("RemoteProtocolError", "connection", None),
            ("ProxyError", "connection", None),
            ("DecodingError", "protocol", None),
        ]:
            yield pytest.param(getattr(module, name)("x"), kind, phase, id=f"{module.__name__}.{name}")
    for error, kind, phase in [
        (requests.ConnectTimeout("x"), "timeout", "connect"),
        (requests.ReadTimeout("x"), "timeout", "idle"),
        (requests_timeout(), "timeout", "idle"),
        (requests.exceptions.ChunkedEncodingError("x"), "connection", None),
        (requests.exceptions.ContentDecodingError("x"), "protocol", None),
        (urllib3.exceptions.ProtocolError("x"), "connection", None),
        (urllib3.exceptions.DecodeError("x"), "protocol", None),
        (urllib3.exceptions.ReadTimeoutError(None, None, "x"), "timeout", "idle"),  # type: ignore[arg-type]
        (http.client.IncompleteRead(b"", 3), "connection", None),
        (ConnectionResetError("x"), "connection", None),
        (TimeoutError("x"), "timeout", "idle"),
    ]:
        yield pytest.param(error, kind, phase, id=f"{type(error).__module__}.{type(error).__name__}-{kind}")


@pytest.mark.parametrize(("error", "kind", "phase"), list(errors()))
def test_what_clients_raise_is_an_error_of_the_table(error: Exception, kind: str, phase: str | None) -> None:
    found: Any = as_stream_error(error, "idle")
    assert (found.kind, getattr(found, "phase", None), found.__cause__) == (kind, phase, error)


def test_an_error_that_says_nothing_is_told_by_its_name() -> None:
    assert str(as_stream_error(TimeoutError())) == "nothing came for too long: TimeoutError"
