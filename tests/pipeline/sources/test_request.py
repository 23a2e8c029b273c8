"""request(): cold, as it comes, decompressed, and what a client raises as an error of the table."""

from __future__ import annotations

import asyncio
import gzip
import itertools
import socket
import threading
import time
import traceback
import zlib
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import reactivex
from reactivex import operators as ops

from operators import ConnectionLost, HttpError, ProtocolError, StreamTimeout
from pipeline import Retry, Timeouts, completion, decode, iterate, request
from pipeline.sinks import log
from pipeline.sources._http import shared_client
from tests.pipeline.wire import (
    ANSWER,
    Call,
    Kind,
    Script,
    Sub,
    WireServer,
    answers,
    says_and_waits,
    settled,
    text,
)
from tests.support.timing import LONG, SOON, in_real_time, until


def test_nothing_is_sent_before_subscribe_and_each_subscription_is_a_request(kind: Kind) -> None:
    with WireServer(answers(b"a")) as server:
        sources: list[Any] = []

        def make(client: Any) -> Any:
            if not sources:
                sources.append(request(server.url, json={"n": 1}, client=client))
                assert server.calls == []
            return sources[0]

        subs = kind.runs(make, 2)
        assert [(sub.values, sub.completed) for sub in subs] == [([b"a"], True)] * 2
        assert [call.json for call in server.calls] == [{"n": 1}] * 2


def test_method_target_headers_and_body_are_sent_as_given(kind: Kind) -> None:
    with WireServer(answers(b"a")) as server:
        url = f"{server.url}/x?a=1"
        kind.run(lambda client: request(url, json={"é": [1]}, method="PUT", headers={"x-mine": "2"}, client=client))
        kind.run(lambda client: request(url, method="GET", client=client))
    first, second = server.calls
    assert (first.method, first.target, first.json, first.headers["x-mine"]) == ("PUT", "/v1/x?a=1", {"é": [1]}, "2")
    assert first.headers["content-type"] == "application/json"
    assert (second.method, second.raw) == ("GET", b"")


def test_reads_are_emitted_as_they_come(kind: Kind) -> None:
    go = threading.Event()

    def script(call: Call) -> None:
        call.head()
        call.send(b"first")
        assert go.wait(LONG), "the first read has not come before the second was sent"
        call.send(b"other")
        call.end()

    with WireServer(script) as server:

        def make(client: Any) -> Any:
            return request(server.url, client=client).pipe(ops.do_action(lambda _: go.set()))

        assert kind.run(make).values == [b"first", b"other"]


@pytest.mark.usefixtures("unhurried_drain")
def test_without_a_client_one_is_shared_and_keeps_its_connections() -> None:
    try:
        with WireServer(answers(b"a")) as server:
            for _ in range(2):
                sub = Sub()
                request(server.url).subscribe(sub)
                assert sub.values == [b"a"]
            assert server.connections == 1
        assert shared_client() is shared_client()
    finally:
        shared_client().close()
        shared_client.cache_clear()


@pytest.mark.parametrize("client", [object(), "client", httpx])
def test_what_is_no_client_is_told_at_once(client: object) -> None:
    with pytest.raises(
        TypeError,
        match=rf"^client is an httpx.Client or httpx.AsyncClient \(or httpx2's\), not {type(client).__name__}",
    ):
        request("http://127.0.0.1", client=client)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"client": httpx.Client}, r"not the class Client: was \(\) forgotten\?"),
        ({"url": 5}, "url is a str, not int"),
        ({"headers": 5}, "headers are a dict of names and values, both str; not int"),
        ({"headers": {"x": 1}}, "headers are a dict of names and values, both str; 'x' has int"),
    ],
)
def test_options_of_the_wrong_type_are_told_at_once(given: dict[str, Any], said: str) -> None:
    with pytest.raises(TypeError, match=said):
        request(**{"url": "http://127.0.0.1", **given})


def test_an_async_client_without_a_loop_is_told_at_once(looping: Kind) -> None:
    client = looping.client()
    with pytest.raises(
        RuntimeError,
        match=r"none is running in this thread: subscribe inside an `async def`; .* `await stream` .* a blocking client",
    ):
        request("http://127.0.0.1", client=client).subscribe()
    asyncio.run(client.aclose())


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_compressed_body_is_decompressed_as_it_comes(kind: Kind, encoding: str) -> None:
    """Each flushed piece is text before the next one is sent."""
    go = threading.Event()
    packer = zlib.compressobj(wbits=31 if encoding == "gzip" else 15)

    def script(call: Call) -> None:
        call.head(headers={"content-encoding": encoding})
        call.send(packer.compress(b"first") + packer.flush(zlib.Z_SYNC_FLUSH))
        assert go.wait(LONG), "the first piece has not come"
        call.send(packer.compress(b"other") + packer.flush())
        call.end()

    def make(client: Any) -> Any:
        return request(server.url, client=client).pipe(ops.do_action(lambda _: go.set()))

    with WireServer(script) as server:
        assert b"".join(kind.run(make).values) == b"firstother"


def test_a_body_that_cannot_be_decompressed_is_a_protocol_error(kind: Kind) -> None:
    with WireServer(answers(b"no gzip at all", headers={"content-encoding": "gzip"})) as server:
        error = kind.run(lambda client: request(server.url, client=client)).end
    assert isinstance(error, ProtocolError)
    assert error.message.startswith("the body cannot be decompressed: ")
    assert type(error.__cause__).__name__ == "DecodingError"


# ------------------------------------------------------------------------------------------------------- how it breaks


def test_a_server_that_is_not_there_is_connection_lost(kind: Kind) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    error = kind.run(lambda client: request(f"http://127.0.0.1:{port}", client=client)).end
    assert isinstance(error, ConnectionLost)
    assert error.message.startswith("the connection could not be made: ")
    assert type(error.__cause__).__name__ == "ConnectError"


def test_a_connection_that_is_reset_is_connection_lost_after_all_that_came(kind: Kind) -> None:
    read = threading.Event()

    def script(call: Call) -> None:
        call.head()
        call.send(b"first")
        assert read.wait(LONG)
        call.reset()

    def make(client: Any) -> Any:
        return request(server.url, client=client).pipe(ops.do_action(lambda _: read.set()))

    with WireServer(script) as server:
        sub = kind.run(make)
    assert sub.values == [b"first"]
    assert isinstance(sub.end, ConnectionLost)
    assert sub.end.message.startswith("the connection broke: ")
    assert type(sub.end.__cause__).__name__ in {"ReadError", "RemoteProtocolError"}


def test_a_body_that_is_cut_is_connection_lost(kind: Kind) -> None:
    """The end mark of a chunked body is missing: the connection was closed, but the body has not ended."""

    def script(call: Call) -> None:
        call.head()
        call.send(b"first")

    with WireServer(script) as server:
        sub = kind.run(lambda client: request(server.url, client=client))
    assert (sub.values, type(sub.end)) == ([b"first"], ConnectionLost)


def test_what_is_no_http_is_connection_lost(kind: Kind) -> None:
    with WireServer(lambda call: call.connection.sendall(b"SSH-2.0-OpenSSH\r\n")) as server:
        assert isinstance(kind.run(lambda client: request(server.url, client=client)).end, ConnectionLost)


def test_what_is_no_json_is_an_error_of_the_stream(kind: Kind) -> None:
    sub = kind.run(lambda client: request("http://127.0.0.1", json={1, 2}, client=client))
    assert isinstance(sub.end, TypeError)


@pytest.mark.parametrize("value", ["Bearer marked-key-4711\n", "marked-key-4711\0", "marked-key-4711 "])
def test_a_header_of_the_client_that_cannot_be_sent_is_told_without_its_value(kind: Kind, value: str) -> None:
    def sends(client: Any) -> Any:
        client.headers["authorization"] = value
        return request(server.url, client=client)

    with WireServer(answers(ANSWER)) as server:
        error = kind.run(sends).end
        assert server.connections == 0
    assert type(error) is ValueError
    assert str(error).startswith("the header authorization cannot be sent")
    assert "4711" not in "".join(traceback.format_exception(error))


@pytest.mark.parametrize("value", ["geheim-é-4711", "4711\n", "4711 ", "\t4711"])
def test_a_header_that_cannot_be_sent_is_told_at_once_without_its_value(value: str) -> None:
    for call in (request, lambda url, headers: completion({}, base_url=url, headers=headers)):
        with pytest.raises(ValueError, match=r"^the header x-api-key cannot be sent") as told:
            call("http://127.0.0.1", headers={"x-api-key": value})
        assert "4711" not in repr(told.value) + str(vars(told.value))
    with pytest.raises(ValueError, match="'x y' can be no header's name"):
        request("http://127.0.0.1", headers={"x y": "z"})


def test_a_tab_inside_of_a_header_is_fine(blocking: Kind) -> None:
    with WireServer(answers(ANSWER)) as server:
        sub = blocking.run(lambda client: request(server.url, headers={"x-note": "a\tb"}, client=client))
    assert sub.completed
    assert server.calls[0].headers["x-note"] == "a\tb"


@pytest.mark.parametrize("url", ["localhost:8000/v1", "//host/v1", "v1/chat"])
def test_what_is_no_url_of_http_is_told(kind: Kind, url: str) -> None:
    error = kind.run(lambda client: request(url, client=client)).end
    assert type(error) is ValueError
    assert str(error).startswith("a url begins with http:// or https://")


def test_a_url_below_the_clients_own_is_fine(kind: Kind) -> None:
    def sends(client: Any) -> Any:
        client.base_url = server.url
        return request("v1/models", method="GET", client=client)

    with WireServer(answers(ANSWER)) as server:
        assert kind.run(sends).completed


def test_a_client_that_is_closed_is_an_error_of_the_stream(blocking: Kind) -> None:
    with blocking.client() as client:
        pass
    sub = Sub()
    request("http://127.0.0.1", client=client).subscribe(sub)
    assert isinstance(sub.end, RuntimeError)


def test_a_redirect_is_an_error_unless_the_client_follows_it(kind: Kind) -> None:
    to = answers(b"", status=307, headers={"location": "/there?api-key=hunter2-key"})
    with WireServer(to, to, answers(b"here")) as server:
        error = kind.run(lambda client: request(server.url, json=1, client=client)).end
        assert isinstance(error, HttpError)
        assert error.status == 307
        assert str(error) == "redirected to /there?api-key=***; a client with follow_redirects=True goes there"
        sub = kind.run(lambda client: request(server.url, json=1, client=client), follow_redirects=True)
        assert (sub.values, server.calls[-1].target, server.calls[-1].json) == (
            [b"here"],
            "/there?api-key=hunter2-key",
            1,
        )


# ------------------------------------------------------------------------------------------------------- its timeouts


def test_no_head_within_first_is_a_timeout_of_the_first_byte(kind: Kind) -> None:
    with WireServer(lambda call: call.until_gone()) as server:
        error = kind.run(lambda client: request(server.url, client=client, timeouts=Timeouts(first=0.05))).end
        assert server.gone.wait(SOON)
    assert (type(error), error.phase, error.kind) == (StreamTimeout, "first", "timeout")
    assert str(error) == "no response came for 0.05 s"
    assert type(error.__cause__).__name__ == "ReadTimeout"


def test_no_read_within_idle_is_an_idle_timeout(kind: Kind) -> None:
    @in_real_time
    def _(unit: float) -> None:
        limits = Timeouts(first=LONG, idle=unit)
        with WireServer(says_and_waits(b"first")) as server:
            sub = kind.run(lambda client: request(server.url, client=client, timeouts=limits))
            assert server.gone.wait(SOON)
        assert (sub.values, type(sub.end), sub.end.phase) == ([b"first"], StreamTimeout, "idle")
        assert str(sub.end) == f"nothing came for {unit:g} s"


def test_a_head_that_takes_longer_than_idle_is_waited_for(kind: Kind) -> None:
    """idle counts between reads only: a model that thinks for long before its first byte has `first`."""

    @in_real_time
    def _(unit: float) -> None:
        def script(call: Call) -> None:
            assert not call.server.gone.wait(3 * unit)
            call.answer(b"late")

        limits = Timeouts(first=LONG, idle=unit)
        with WireServer(script) as server:
            sub = kind.run(lambda client: request(server.url, client=client, timeouts=limits))
        assert sub.values == [b"late"]


def test_a_server_that_does_not_accept_is_a_connect_timeout(kind: Kind) -> None:
    """A listening socket whose queue is full."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
        address = full.getsockname()
        waiting = []
        for _ in range(4):
            one = socket.socket()
            one.setblocking(False)
            one.connect_ex(address)
            waiting.append(one)
        url = f"http://127.0.0.1:{address[1]}"
        error = kind.run(lambda client: request(url, client=client, timeouts=Timeouts(connect=0.1))).end
        for one in waiting:
            one.close()
    assert (type(error), error.phase) == (StreamTimeout, "connect")
    assert str(error) == "no connection was made for 0.1 s"
    assert type(error.__cause__).__name__ == "ConnectTimeout"


Limits = Callable[[float], tuple[dict[str, Any], dict[str, Any]]]
"""Seconds → the options of a request and those of its client that limit it."""


def of_the_client(seconds: float) -> tuple[dict[str, Any], dict[str, Any]]:
    return {}, {"timeout": seconds}


def given_idle(seconds: float) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"timeouts": Timeouts(idle=seconds)}, {}


def given_first_content(seconds: float) -> tuple[dict[str, Any], dict[str, Any]]:
    return {"timeouts": Timeouts(first_content=seconds)}, {}


@pytest.mark.parametrize("limits", [of_the_client, given_idle])
def test_what_came_while_the_loop_was_blocked_is_in_time(looping: Kind, limits: Limits) -> None:
    """When the loop goes on, the timer is due before the read that has come is read."""

    @in_real_time
    def _(unit: float) -> None:
        blocked = threading.Event()

        def script(call: Call) -> None:
            call.head()
            call.send(b"first")
            assert blocked.wait(LONG)
            for _ in range(6):
                call.send(b".")
                assert not call.server.gone.wait(unit)
            call.end()

        def block() -> None:
            blocked.set()
            time.sleep(4 * unit)

        def soon(read: bytes) -> None:
            if read == b"first":
                asyncio.get_running_loop().call_later(unit / 2, block)

        given, client = limits(2 * unit)
        with WireServer(script) as server:
            sub = looping.run(
                lambda client: request(server.url, client=client, **given).pipe(ops.do_action(soon)), **client
            )
        assert (b"".join(sub.values), sub.completed) == (b"first......", True)


@pytest.mark.parametrize("limits", [of_the_client, given_idle])
def test_of_a_compressed_body_any_byte_counts(looping: Kind, limits: Limits) -> None:
    """Though there is nothing to decompress in the first ten."""
    body = gzip.compress(b"whole")

    @in_real_time
    def _(unit: float) -> None:
        def script(call: Call) -> None:
            call.head(headers={"content-encoding": "gzip"})
            for n in range(0, 10, 2):
                call.send(body[n : n + 2])
                assert not call.server.gone.wait(unit)
            call.send(body[10:])
            call.end()

        given, client = limits(2 * unit)
        with WireServer(script) as server:
            sub = looping.run(lambda client: request(server.url, client=client, **given), **client)
        assert (b"".join(sub.values), sub.completed) == (b"whole", True)


@pytest.mark.parametrize("limits", [of_the_client, given_idle, given_first_content])
def test_a_consumer_who_is_slow_before_the_first_read_costs_no_time(looping: Kind, limits: Limits) -> None:
    """Of two streams pulled as one, the other waits with its head read until the consumer asks."""

    @in_real_time
    def _(unit: float) -> None:
        def script(call: Call) -> None:
            if call.json["model"] == "late":
                assert began.wait(LONG)
            call.answer(text(call.json["model"], "stop"), b"data: [DONE]\n\n")

        async def work(client: Any) -> None:
            def one(model: str) -> Any:
                asked = {"model": model, "messages": []}
                return completion(asked, base_url=server.url, client=client, retry=Retry(attempts=1), **given)

            async with iterate(reactivex.merge(one("early"), one("late"))) as events:
                async for event in events:
                    said.append(getattr(event, "text", ""))
                    if not began.is_set():
                        began.set()
                        await asyncio.sleep(6 * unit)

        began = threading.Event()
        said: list[str] = []
        given, client = limits(2 * unit)
        with WireServer(script) as server:
            looping.act(work, **client)
        assert sorted(filter(None, said)) == ["early", "late"]


def test_without_timeouts_the_clients_own_count(kind: Kind) -> None:
    @in_real_time
    def _(unit: float) -> None:
        with WireServer(says_and_waits(b"first")) as server:
            sub = kind.run(lambda client: request(server.url, client=client), timeout=2 * unit)
        assert (sub.values, type(sub.end), sub.end.phase) == ([b"first"], StreamTimeout, "idle")


def test_timeouts_of_none_wait_for_ever(kind: Kind) -> None:
    """They replace the client's own."""
    never = Timeouts(connect=None, first=None, idle=None)

    def script(call: Call) -> None:
        assert not call.server.gone.wait(0.15)
        call.answer(b"late")

    with WireServer(script) as server:
        sub = kind.run(lambda client: request(server.url, client=client, timeouts=never), timeout=0.05)
    assert sub.values == [b"late"]


def test_any_byte_resets_idle(kind: Kind) -> None:
    """Six reads, each well within idle, that take longer than idle together."""

    @in_real_time
    def _(unit: float) -> None:
        def script(call: Call) -> None:
            call.head()
            for _ in range(6):
                assert not call.server.gone.wait(unit)
                call.send(b":\n")
            call.end()

        limits = Timeouts(idle=4 * unit)
        with WireServer(script) as server:
            sub = kind.run(lambda client: request(server.url, client=client, timeouts=limits))
        assert (len(sub.values), sub.completed) == (6, True)


def test_a_slow_consumer_does_not_make_the_stream_idle(kind: Kind) -> None:
    """The time between two reads that counts is the time that is waited for one."""

    @in_real_time
    def _(unit: float) -> None:
        handled = threading.Event()

        def script(call: Call) -> None:
            call.head()
            call.send(b"first")
            assert handled.wait(LONG)
            call.send(b"other")
            call.end()

        def slow(_: bytes) -> None:
            threading.Event().wait(3 * unit)
            handled.set()

        def make(client: Any) -> Any:
            return request(server.url, client=client, timeouts=Timeouts(idle=2 * unit)).pipe(ops.do_action(slow))

        with WireServer(script) as server:
            sub = kind.run(make)
        assert (sub.values, sub.completed) == ([b"first", b"other"], True)


@pytest.mark.parametrize("field", ["connect", "first", "idle", "first_content", "idle_content"])
@pytest.mark.parametrize("wrong", [0, -1, float("nan"), "x"])
def test_timeouts_are_above_zero(field: str, wrong: Any) -> None:
    with pytest.raises(
        ValueError, match=rf"^Timeouts\({field}=…\) is a number of seconds above 0, or None; not {wrong!r}"
    ):
        Timeouts(**{field: wrong})


# ------------------------------------------------------------------------------------------------- secrets

MARKED = "marked-key-4711"


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(answers(MARKED.encode(), status=401), id="HttpError"),
        pytest.param(
            answers(b'data: {"error":{"message":"%b","code":"%b"}}\n\n' % ((MARKED.encode(),) * 2)), id="ApiError"
        ),
        pytest.param(answers(b"<html>%b</html>" % MARKED.encode()), id="NotEventStream"),
    ],
)
@pytest.mark.parametrize("where", ["header", "client", "url", "user"])
def test_no_error_shows_a_key_that_the_server_repeats(
    kind: Kind, script: Script, where: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Nor does a stage below that logs it, in a chain that was put together by hand."""
    sink = log()
    with WireServer(script) as server:
        url = server.url.replace("http://", f"http://me:{MARKED}@") if where == "user" else server.url
        url += f"?api-key={MARKED}" if where == "url" else ""
        headers = {"authorization": f"Bearer {MARKED}"} if where == "header" else {}
        options: Any = {"headers": {"x-api-key": MARKED}} if where == "client" else {}
        error = kind.run(
            lambda client: request(url, client=client, headers=headers).pipe(
                decode(), ops.do_action(on_error=sink.on_error)
            ),
            **options,
        ).end
    shown = [str(error), repr(error), error.message, str(error.code), *traceback.format_exception(error), caplog.text]
    assert MARKED not in "".join(shown)
    assert "***" in str(error)


def test_nor_does_a_bare_request(kind: Kind) -> None:
    with WireServer(answers(MARKED.encode(), status=401)) as server:
        url = f"{server.url}?api-key={MARKED}"
        error = kind.run(lambda client: request(url, client=client)).end
    assert (str(error), error.status) == ("***", 401)


# ------------------------------------------------------------------------------------------------- its subscriber's errors


def test_what_a_subscriber_raises_leaves_subscribe_and_closes_the_response(blocking: Kind) -> None:
    errors: list[Exception] = []

    def wrong(_: bytes) -> None:
        raise ZeroDivisionError

    with WireServer(says_and_waits(b"first")) as server, blocking.client() as client:
        with pytest.raises(ZeroDivisionError):
            request(server.url, client=client).subscribe(wrong, errors.append)
        assert server.gone.wait(SOON)
    assert errors == []


def test_what_an_async_subscriber_raises_goes_to_the_loop_and_closes_the_response(looping: Kind) -> None:
    reported: list[Any] = []
    errors: list[Exception] = []

    def wrong(_: bytes) -> None:
        raise ZeroDivisionError

    with WireServer(says_and_waits(b"first")) as server:

        async def work(client: Any) -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context["exception"]))
            request(server.url, client=client).subscribe(wrong, errors.append)
            await settled()
            assert server.gone.wait(SOON)

        looping.act(work)
    assert ([type(error) for error in reported], errors) == ([ZeroDivisionError], [])


@pytest.mark.parametrize(
    ("script", "error"),
    [(answers(b"no", status=404), HttpError), (answers(b"data: {oops}\n\n" + ANSWER), ProtocolError)],
    ids=["of the source", "of a stage"],
)
def test_an_error_for_want_of_on_error_is_told_as_what_it_is(
    looping: Kind, script: Script, error: type[Exception]
) -> None:
    """No subscriber raised it, and the frames of our own inside help nobody."""
    reported: list[Any] = []

    with WireServer(script) as server:

        async def work(client: Any) -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
            request(server.url, client=client).pipe(decode()).subscribe(lambda _: None)
            await until(lambda: reported)

        looping.act(work)
    (told,) = reported
    assert (type(told["exception"]), told["exception"].__traceback__) == (error, None)
    assert told["message"] == "a stream ended with an error, and was subscribed without on_error"


def test_a_stream_error_that_a_subscriber_raises_is_its_own(looping: Kind) -> None:
    """As one that runs another stream inside does."""
    reported: list[Any] = []

    def wrong(_: bytes) -> None:
        raise HttpError("mine")

    with WireServer(says_and_waits(b"first")) as server:

        async def work(client: Any) -> None:
            asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
            request(server.url, client=client).subscribe(wrong, lambda _: None)
            await until(lambda: reported)

        looping.act(work)
    assert reported[0]["message"] == "a subscriber raised; its stream was closed"
    assert reported[0]["exception"].__traceback__ is not None


# ------------------------------------------------------------------------------------------------------------- its guard


class Watchman:
    """A guard that tries to break the stream at every turn but a wait."""

    def __init__(self) -> None:
        self.told: list[str] = []
        self.abort: Callable[[Exception], bool] | None = None

    def started(self, abort: Callable[[Exception], bool]) -> None:
        self.told.append("started")
        self.abort = abort

    def waiting(self) -> None:
        self.told.append("waiting")

    def came(self) -> None:
        self.told.append("came")
        self.in_vain()

    def stopped(self) -> None:
        self.told.append("stopped")

    def in_vain(self) -> None:
        assert self.abort is not None
        assert self.abort(ZeroDivisionError()) is False


def test_a_guard_is_told_of_every_wait_and_can_break_only_one(kind: Kind) -> None:
    guard = Watchman()
    with WireServer(answers(b"a")) as server:
        sub = kind.run(
            lambda client: request(server.url, client=client, guard=guard).pipe(
                ops.do_action(lambda _: guard.in_vain())
            )
        )
    guard.in_vain()
    assert (sub.values, sub.completed) == ([b"a"], True)
    assert [one for one, _ in itertools.groupby(guard.told)] == ["started", *["waiting", "came"] * 2, "stopped"]


def test_a_guard_breaks_a_wait_with_its_own_error(kind: Kind) -> None:
    class Impatient(Watchman):
        def came(self) -> None:
            self.told.append("came")

        def waiting(self) -> None:
            super().waiting()
            if "came" in self.told:
                assert self.abort is not None
                assert self.abort(ZeroDivisionError("enough")) is True

    with WireServer(says_and_waits(b"a")) as server:
        sub = kind.run(lambda client: request(server.url, client=client, guard=Impatient()))
        assert server.gone.wait(SOON)
    assert (sub.values, str(sub.end)) == ([b"a"], "enough")
