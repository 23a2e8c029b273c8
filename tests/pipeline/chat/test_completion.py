"""completion(): what is sent, where to, what comes back, and that no secret is ever told."""

from __future__ import annotations

import json
import logging
import traceback
from operator import methodcaller
from typing import Any

import httpx
import pytest
import reactivex
import respx
from reactivex import operators as ops

from operators import (
    ApiError,
    ConnectionLost,
    EmptyStream,
    Finish,
    HttpError,
    NotEventStream,
    ProtocolError,
    Started,
    StreamError,
    TextDelta,
    TruncatedError,
    Usage,
    message,
    operator,
)
from pipeline import Retry, completion, decode
from tests.pipeline.wire import ANSWER, DONE, HEARTBEAT, Call, Kind, Sub, WireServer, answers, event, text

BODY = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
ONCE = Retry(attempts=1)


@pytest.fixture(autouse=True)
def no_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


@pytest.fixture
def router() -> Any:
    with respx.mock(assert_all_called=False) as mock:
        mock.post(url__regex=".*").respond(200, headers={"content-type": "text/event-stream"}, content=ANSWER)
        yield mock


def sent(router: Any, **options: Any) -> httpx.Request:
    """The request of one subscription."""
    sub = Sub()
    with httpx.Client() as client:
        completion(options.pop("body", BODY), client=client, **options).subscribe(sub)
    assert sub.text == "Hello"
    found: httpx.Request = router.calls.last.request
    return found


# ------------------------------------------------------------------------------------------------------------ what is sent


def test_the_body_is_sent_as_given_plus_stream(router: Any) -> None:
    body = {**BODY, "temperature": 0, "x": {"é": None}, "stream": False}
    request = sent(router, body=body)
    assert json.loads(request.content) == {**body, "stream": True}
    assert request.method == "POST"
    assert request.headers["accept"] == "text/event-stream"
    assert request.headers["content-type"] == "application/json"
    assert body["stream"] is False


def test_nothing_is_sent_before_subscribe_and_two_subscriptions_are_two_requests(router: Any) -> None:
    with httpx.Client() as client:
        source = completion(BODY, base_url="http://host/v1", client=client)
        assert len(router.calls) == 0
        for n in (1, 2):
            sub = Sub()
            source.subscribe(sub)
            assert (sub.text, sub.completed, len(router.calls)) == ("Hello", True, n)


@pytest.mark.parametrize(
    ("base_url", "expected"),
    [
        ("http://host/v1", "http://host/v1/chat/completions"),
        ("http://host/v1/", "http://host/v1/chat/completions"),
        ("http://host", "http://host/chat/completions"),
        (
            "https://a.azure.com/openai/deployments/m?api-version=1",
            "https://a.azure.com/openai/deployments/m/chat/completions?api-version=1",
        ),
        ("http://host/a%20b", "http://host/a%20b/chat/completions"),
        (None, "https://api.openai.com/v1/chat/completions"),
        ("", "https://api.openai.com/v1/chat/completions"),
    ],
)
def test_where_it_goes(router: Any, base_url: str | None, expected: str) -> None:
    assert str(sent(router, base_url=base_url).url) == expected


def test_the_environment_is_a_fallback(router: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://env/v2")
    monkeypatch.setenv("OPENAI_API_KEY", "from-env")
    request = sent(router)
    assert (str(request.url), request.headers["authorization"]) == ("http://env/v2/chat/completions", "Bearer from-env")
    request = sent(router, base_url="http://given", api_key="given-key")
    assert (str(request.url), request.headers["authorization"]) == ("http://given/chat/completions", "Bearer given-key")
    assert "authorization" not in sent(router, api_key="").headers


def test_without_a_key_there_is_no_authorization(router: Any) -> None:
    assert "authorization" not in sent(router).headers


def test_headers_are_added_and_win(router: Any) -> None:
    headers = {"Authorization": "Basic x", "X-Mine": "1", "Accept": "*/*"}
    request = sent(router, api_key="key", headers=headers)
    assert request.headers.get_list("authorization") == ["Basic x"]
    assert (request.headers["x-mine"], request.headers.get_list("accept")) == ("1", ["*/*"])


@pytest.mark.parametrize("base_url", ["host/v1", "ftp://host", "http://", "/v1", "http://host:port", 3])
def test_a_base_url_that_is_none_is_told_at_once(base_url: Any) -> None:
    with pytest.raises(ValueError, match=r"^base_url (begins with http|is an http or https URL)"):
        completion(BODY, base_url=base_url)


@pytest.mark.parametrize("body", [None, "text", [("model", "m")]])
def test_a_body_that_is_no_mapping_is_told_at_once(body: Any) -> None:
    with pytest.raises(TypeError, match=r"^body is the request as a dict, with its model and messages; not"):
        completion(body)


def test_a_decoder_of_ones_own_replaces_ours(router: Any) -> None:
    @operator
    def sizes(out: Any) -> Any:
        yield lambda read: out.on_next(TextDelta(text=str(len(read))))

    sub = Sub()
    with httpx.Client() as client:
        completion(BODY, client=client, decoder=sizes()).subscribe(sub)
    assert sub.text == str(len(ANSWER))


def test_options_of_the_decoder(router: Any) -> None:
    router.post(url__regex=".*").respond(200, content=text("<think>hm</think>Hi", "stop") + DONE)
    sub = Sub()
    with httpx.Client() as client:
        completion(BODY, client=client, decoder=decode(think_tags=True)).subscribe(sub)
    assert sub.text == "Hi"


# ------------------------------------------------------------------------------------------------------------ what comes


def test_started_comes_with_the_first_other_event(kind: Kind) -> None:
    with WireServer(answers(HEARTBEAT, text(None), HEARTBEAT, text("Hi", "stop"), DONE)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client))
    assert sub.values == [
        Started(id="c1", model="m", role="assistant"),
        TextDelta("Hi"),
        Finish("stop"),
    ]
    assert sub.completed


def test_started_is_not_lost_when_nothing_else_comes(kind: Kind) -> None:
    with WireServer(answers(text(None), text(None), DONE)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=ONCE))
    assert [type(found) for found in sub.values] in ([Started], [])


def test_the_text_alone_is_one_call_away(kind: Kind) -> None:
    with WireServer(answers(ANSWER)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client).pipe(message()))
    assert [found.text for found in sub.values] == ["Hello"]


def test_every_choice_that_was_asked_for_must_finish(kind: Kind) -> None:
    """With n=2 a stream that breaks after one of them is broken; with one finished choice of one it is whole."""
    with WireServer(answers(text("a", "stop"))) as server:
        one = kind.run(lambda client: completion(BODY, base_url=server.url, client=client))
        two = kind.run(lambda client: completion({**BODY, "n": 2}, base_url=server.url, client=client))
    assert one.completed
    assert isinstance(two.end, TruncatedError)
    assert [found.text for found in two.end.partial] == ["a"]


def test_an_answer_that_was_not_streamed_gives_the_same_events(kind: Kind) -> None:
    whole = {
        "id": "c1",
        "model": "m",
        "choices": [{"index": 0, "message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3},
    }
    with WireServer(answers(json.dumps(whole).encode(), headers={"content-type": "application/json"})) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client))
    assert sub.text == "Hi"
    assert [found.total_tokens for found in sub.values if isinstance(found, Usage)] == [3]


# --------------------------------------------------------------------------------------------------------- how it breaks


def broken(kind: Kind, *reads: bytes, **head: Any) -> StreamError:
    with WireServer(answers(*reads, **head)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=ONCE))
    assert isinstance(sub.end, StreamError)
    return sub.end


def test_a_page_is_not_an_event_stream(kind: Kind) -> None:
    error = broken(kind, b"<html>Please log in</html>", headers={"content-type": "text/html", "x-request-id": "r1"})
    assert isinstance(error, NotEventStream)
    assert error.message.endswith("(HTTP 200, text/html)")
    assert "Please log in" in error.message
    assert (error.status, error.request_id) == (200, "r1")


def test_without_a_content_type_it_is_said_so(kind: Kind) -> None:
    assert broken(kind, b"<html>", headers={"x": "y"}).message.endswith("(HTTP 200, no content-type)")


def test_an_error_inside_the_stream_is_told_with_what_the_head_says(kind: Kind) -> None:
    inside = event({"error": {"message": "overloaded", "code": 529, "type": "overloaded_error", "param": None}})
    headers = {"x-request-id": "r1", "x-ratelimit-limit": "9"}
    error = broken(kind, text("Hel"), inside, headers=headers)
    assert isinstance(error, ApiError)
    assert (error.message, error.code, error.type) == ("overloaded", 529, "overloaded_error")
    assert (error.request_id, error.rate_limits) == ("r1", {"x-ratelimit-limit": "9"})
    assert [found.text for found in error.partial] == ["Hel"]


def test_a_stream_that_is_cut_carries_what_came(kind: Kind) -> None:
    error = broken(kind, text("Hel"), text("lo"))
    assert isinstance(error, TruncatedError)
    assert [(found.text, found.id, found.finish_reason) for found in error.partial] == [("Hello", "c1", None)]


def test_a_connection_that_breaks_carries_what_came(kind: Kind) -> None:
    def script(call: Call) -> None:
        call.head()
        call.send(text("Hel"))

    with WireServer(script) as server:
        error = kind.run(lambda client: completion(BODY, base_url=server.url, client=client)).end
    assert isinstance(error, ConnectionLost)
    assert [found.text for found in error.partial] == ["Hel"]


def test_a_connection_that_breaks_after_all_was_said_is_no_error(kind: Kind) -> None:
    def script(call: Call) -> None:
        call.head()
        call.send(text("Hi", "stop"))

    with WireServer(script) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client))
    assert (sub.text, sub.completed) == ("Hi", True)


def test_a_stream_that_says_nothing_is_empty(kind: Kind) -> None:
    assert isinstance(broken(kind, HEARTBEAT), EmptyStream)
    assert isinstance(broken(kind), EmptyStream)


def test_what_is_no_json_is_a_protocol_error_with_the_partial(kind: Kind) -> None:
    error = broken(kind, text("Hel"), b"data: {nonsense\n\n", text("lo", "stop"), DONE)
    assert isinstance(error, ProtocolError)
    assert [found.text for found in error.partial] == ["Hel"]


# ----------------------------------------------------------------------------------------------------------------- secrets

KEY = "hunter2-hunter2"


def everything_told(error: BaseException, caplog: pytest.LogCaptureFixture) -> str:
    ours = [record.getMessage() for record in caplog.records if record.name.startswith("rxchat")]
    shown = [str(error), repr(error), repr(error.args), *traceback.format_exception(error), *ours]
    return "\n".join([*shown, repr(error.__dict__), repr(error.__cause__)])


def in_the_key() -> dict[str, Any]:
    return {"api_key": KEY}


def in_a_header() -> dict[str, Any]:
    return {"headers": {"Api-Key": KEY}}


def in_an_authorization() -> dict[str, Any]:
    return {"headers": {"Authorization": f"Token {KEY}"}}


@pytest.mark.parametrize("options", [in_the_key, in_a_header, in_an_authorization])
@pytest.mark.parametrize(
    "script",
    [
        pytest.param(
            answers(b'{"error":{"message":"bad %s","code":"%s"}}' % ((KEY.encode(),) * 2), status=401), id="http"
        ),
        pytest.param(answers(f"wrong key {KEY}".encode(), status=503), id="plain and retried"),
        pytest.param(answers(f"<p>{KEY}".encode()), id="page"),
        pytest.param(answers(event({"error": {"message": f"no {KEY}", "param": KEY, "type": KEY}})), id="in band"),
        pytest.param(answers(text("a"), f"data: {{{KEY}\n\n".encode(), text("b")), id="no json"),
        pytest.param(answers(status=302, headers={"location": f"http://host/?token={KEY}"}), id="redirect"),
    ],
)
def test_no_secret_is_told_even_if_the_server_repeats_it(
    kind: Kind, script: Any, options: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG, "rxchat")
    with WireServer(script) as server:
        retry = Retry(attempts=2, backoff=0)
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=retry, **options()))
        assert KEY in str(server.calls[0].headers)
    assert isinstance(sub.end, StreamError)
    assert KEY not in everything_told(sub.end, caplog)
    assert KEY not in repr(sub.values)


def test_a_secret_of_the_client_or_the_url_is_not_told_either(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    other = "another-secret"
    with WireServer(answers(f"no {KEY} and {other}".encode(), status=401)) as server:
        sub = kind.run(
            lambda client: completion(BODY, base_url=f"{server.url}?api-key={KEY}", client=client),
            headers={"x-api-key": other},
        )
        assert server.calls[0].target == f"/v1/chat/completions?api-key={KEY}"
    told = everything_told(sub.end, caplog)
    assert sub.end.message == "no *** and ***"
    assert KEY not in told
    assert other not in told


@pytest.mark.parametrize("key", [f"{KEY}\n", f"{KEY}\r\nx: y", f"{KEY}…"])
def test_a_key_that_no_header_can_hold_is_told_without_showing_it(key: str) -> None:
    """A client would raise an error with the value in it, as late as the request."""
    with pytest.raises(ValueError, match="the header authorization cannot be sent") as raised:
        completion(BODY, api_key=key)
    assert KEY not in str(raised.value)


def test_short_secrets_do_not_blank_words(kind: Kind) -> None:
    with WireServer(answers(b"a bad key", status=401)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, api_key="a"))
    assert (type(sub.end), sub.end.message) == (HttpError, "a bad key")


# -------------------------------------------------------------------------------------------------------- its subscriber


def test_what_a_subscriber_raises_leaves_subscribe_and_no_other_request_is_made(blocking: Kind) -> None:
    errors: list[Exception] = []

    def wrong(_: object) -> None:
        raise ConnectionResetError("mine")

    with WireServer(answers(ANSWER)) as server, blocking.client() as client:
        with pytest.raises(ConnectionResetError, match="mine"):
            completion(BODY, base_url=server.url, client=client).subscribe(wrong, errors.append)
        assert (len(server.calls), errors) == (1, [])


def test_it_can_be_shared(kind: Kind) -> None:
    with WireServer(answers(ANSWER)) as server:

        def make(client: Any) -> Any:
            return completion(BODY, base_url=server.url, client=client).pipe(
                ops.publish(lambda one: one.pipe(ops.merge(one)))
            )

        assert kind.run(make).text == "HelHellolo"
        assert len(server.calls) == 1


@pytest.mark.parametrize(("option", "given"), [("retry", 3), ("timeouts", 5), ("timeouts", None)])
def test_options_of_the_wrong_type_are_told_at_once(option: str, given: Any) -> None:
    with pytest.raises(TypeError, match=rf"^{option} is a (Retry|Timeouts)\(…\), not {given}"):
        completion(BODY, **{option: given})


class Hidden:
    def get_secret_value(self) -> str:
        return KEY


@pytest.mark.parametrize(
    ("options", "error", "said"),
    [
        ({"api_key": KEY.encode()}, TypeError, "api_key is a str, not bytes$"),
        ({"api_key": Hidden()}, TypeError, r"api_key is a str, not Hidden; give its \.get_secret_value\(\)"),
        ({"headers": ["x"]}, TypeError, "headers are a dict of names and values, both str; not list"),
        ({"headers": {"x": 1}}, TypeError, "both str; 'x' has int"),
        ({"headers": {"x": KEY.encode()}}, TypeError, "both str; 'x' has bytes$"),
        ({"headers": {1: "x"}}, TypeError, "both str; 1 has str"),
        ({"headers": {"bad name": KEY}}, ValueError, "'bad name' can be no header's name$"),
        ({"client": "x"}, TypeError, "client is an httpx.Client .*, not str"),
        ({"client": httpx.Client}, TypeError, r"not the class Client: was \(\) forgotten\?"),
        ({"decoder": decode}, TypeError, r"from bytes to events, such as decode\(\): was \(\) forgotten\?"),
        ({"decoder": "x"}, TypeError, r"from bytes to events, such as decode\(\); not 'x'"),
        ({"until": "x"}, TypeError, r"until is a time by time.monotonic\(\), in seconds, or None; not 'x'"),
        ({"until": float("nan")}, ValueError, "until is a time"),
    ],
)
def test_wrong_options_are_told_at_once(options: Any, error: Any, said: str) -> None:
    """At the call, in our words, and never with the value of a secret."""
    with pytest.raises(error, match=said) as raised:
        completion(BODY, **options)
    assert KEY not in str(raised.value)


def test_a_decoder_may_be_any_function_of_a_stream(router: Any) -> None:
    """As `compose` makes them."""
    sent(router, decoder=lambda reads: reads.pipe(decode()))
    sent(router, decoder=reactivex.compose(decode()))
    sent(router, decoder=methodcaller("pipe", decode()))  # it has no signature


def test_another_dialect_is_not_asked_again(kind: Kind) -> None:
    said = event({"type": "message_start", "message": {"role": "assistant", "content": []}}) + event(
        {"type": "message_stop"}
    )
    with WireServer(answers(said)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client))
        assert len(server.calls) == 1
    assert isinstance(sub.end, ProtocolError)
    assert "the data begins with '{" in str(sub.end)
