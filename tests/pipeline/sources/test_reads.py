"""reads(): whatever can be read, as it comes, once if it can be read only once, and closed."""

from __future__ import annotations

import asyncio
import gzip
import io
import subprocess
import sys
import threading
import urllib.request
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import reactivex
import requests
from reactivex import operators as ops
from reactivex.scheduler import NewThreadScheduler
from reactivex.testing import TestScheduler

from operators import ConnectionLost, HttpError, lines
from pipeline import decode, iterate, reads
from pipeline.sources import _http_errors
from pipeline.sources._reads import READ_SIZE
from tests.pipeline.wire import (
    ANSWER,
    DONE,
    Call,
    Kind,
    Sub,
    WireServer,
    answers,
    says_and_waits,
    settled,
    text,
)
from tests.support.timing import LONG, SOON, in_real_time, soon, until


def seen(source: Any) -> Sub:
    sub = Sub()
    reads(source).subscribe(sub)
    return sub


def breaks(_: object) -> None:
    raise ZeroDivisionError


class Given:
    """A generator that tells when it was closed."""

    def __init__(self, *values: bytes, error: Exception | None = None) -> None:
        self.closed = 0
        self.read = 0
        self.values, self.error = values, error

    def __iter__(self) -> Iterator[bytes]:
        try:
            for value in self.values:
                self.read += 1
                yield value
            if self.error is not None:
                raise self.error
        finally:
            self.closed += 1

    async def awaited(self) -> AsyncIterator[bytes]:
        for value in self:
            await asyncio.sleep(0)
            yield value


# ------------------------------------------------------------------------------------------------------------ in memory


@pytest.mark.parametrize("body", [b"abc", bytearray(b"abc"), memoryview(b"abc")])
def test_bytes_are_one_read(body: bytes) -> None:
    assert (sub := seen(body)).values == [b"abc"]
    assert sub.completed


def test_an_iterable_can_be_read_again_and_an_iterator_only_once() -> None:
    again = reads([b"a", b"b"])
    once = reads(iter([b"a", b"b"]))
    assert [*iterate(again)] == [*iterate(again)] == [*iterate(once)] == [b"a", b"b"]
    with pytest.raises(RuntimeError, match=r"^this list_iterator can be read only once, and was; make a new one"):
        once.subscribe()


def test_an_observable_is_what_it_is() -> None:
    source = reactivex.of(b"a")
    assert reads(source) is source


@pytest.mark.parametrize("ending", ["take", "dispose", "raise"])
def test_a_generator_is_closed_when_its_subscriber_leaves(ending: str) -> None:
    given = Given(b"a", b"b", b"c")
    if ending == "take":
        reads(iter(given)).pipe(ops.take(1)).subscribe()
    elif ending == "dispose":
        pull = iterate(iter(given))
        assert next(pull) == b"a"
        pull.close()
    else:
        with pytest.raises(ZeroDivisionError):
            reads(iter(given)).subscribe(breaks)
    assert (given.read, given.closed) == (1, 1)


def test_what_a_source_raises_when_it_is_closed_is_not_told() -> None:
    """It is gone, and that is what was wanted."""

    class Stubborn:
        def __iter__(self) -> Stubborn:
            return self

        def __next__(self) -> bytes:
            return b"a"

        def close(self) -> None:
            raise ZeroDivisionError

    sub = Sub()
    reads(Stubborn()).pipe(ops.take(1)).subscribe(sub)
    assert (sub.values, sub.completed) == ([b"a"], True)


def test_what_an_async_source_raises_when_it_is_closed_is_not_told() -> None:
    class Stubborn:
        def __aiter__(self) -> Stubborn:
            return self

        async def __anext__(self) -> bytes:
            return b"a"

        async def aclose(self) -> None:
            raise ZeroDivisionError

    async def main() -> Sub:
        sub = Sub()
        reads(Stubborn()).pipe(ops.take(1)).subscribe(sub)
        await settled()
        return sub

    sub = asyncio.run(main())
    assert (sub.values, sub.completed) == ([b"a"], True)


def test_what_a_generator_raises_comes_after_its_reads() -> None:
    error = KeyError("mine")
    sub = seen(iter(Given(b"a", error=error)))
    assert (sub.values, sub.end) == ([b"a"], error)


def test_what_the_subscriber_raises_leaves_subscribe() -> None:
    seen_errors: list[Exception] = []
    with pytest.raises(ZeroDivisionError):
        reads([b"a"]).pipe(lines()).subscribe(breaks, seen_errors.append)
    assert seen_errors == []


def test_nothing_is_read_after_done() -> None:
    """[DONE] ends the stream: an iterator that would block after it, as a pipe does, is not read on."""
    given = Given(ANSWER, b"more")
    sub = Sub()
    reads(iter(given)).pipe(decode()).subscribe(sub)
    assert (sub.completed, given.read, given.closed) == (True, 1, 1)


@pytest.mark.parametrize("source", ["text", {"a": b"b"}, 3, None, object()])
def test_what_cannot_be_read_is_told_at_once(source: object) -> None:
    with pytest.raises(TypeError, match=f"^cannot read bytes from {type(source).__name__}: give a response, a Path"):
        reads(source)


def test_a_file_in_text_mode_is_told_at_once() -> None:
    with pytest.raises(TypeError, match=r"StringIO reads text: open it in binary mode, or give its \.buffer"):
        reads(io.StringIO("data"))


# ---------------------------------------------------------------------------------------------------------------- awaited


def test_an_async_generator_is_read_in_a_task_and_closed_at_its_end() -> None:
    given = Given(b"a", b"b")

    async def main() -> Sub:
        sub = Sub()
        reads(given.awaited()).subscribe(sub)
        assert given.read == 0
        await until(lambda: sub.ends)
        return sub

    sub = asyncio.run(main())
    assert (sub.values, sub.completed, given.closed) == ([b"a", b"b"], True, 1)


@pytest.mark.parametrize("when", ["before it begins", "inside on_next", "while it waits", "from another thread"])
def test_an_async_generator_is_closed_on_dispose(when: str) -> None:
    closed = threading.Event()

    async def given() -> AsyncGenerator[bytes]:
        try:
            yield b"a"
            await asyncio.sleep(LONG)
            yield b"b"
        finally:
            closed.set()

    async def main() -> None:
        sub = Sub()
        source = given()
        subscription = reads(source).subscribe(sub)
        if when == "before it begins":
            subscription.dispose()
            await settled()
            assert (sub.values, sub.ends) == ([], 0)
            assert await anext(source) == b"a"  # it was not touched
            await source.aclose()
            return
        if when == "inside on_next":
            sub.then = lambda _: subscription.dispose()
        await until(lambda: sub.values)
        if when == "while it waits":
            subscription.dispose()
        elif when == "from another thread":
            await asyncio.to_thread(subscription.dispose)
        await until(closed.is_set)
        await settled()
        assert (sub.values, sub.ends) == ([b"a"], 0)

    asyncio.run(main())


def test_an_async_iterable_can_be_read_again_and_an_iterator_only_once() -> None:
    class Again:
        def __aiter__(self) -> AsyncIterator[bytes]:
            return Given(b"a").awaited()

    async def main() -> None:
        again, once = reads(Again()), reads(Given(b"a").awaited())
        assert [x async for x in iterate(again)] == [x async for x in iterate(again)] == [b"a"]
        assert [x async for x in iterate(once)] == [b"a"]
        with pytest.raises(RuntimeError, match="this async_generator can be read only once"):
            once.subscribe()

    asyncio.run(main())


def test_what_an_async_iterator_raises_comes_after_its_reads() -> None:
    error = KeyError("mine")

    async def main() -> Sub:
        sub = Sub()
        reads(Given(b"a", error=error).awaited()).subscribe(sub)
        await until(lambda: sub.ends)
        return sub

    sub = asyncio.run(main())
    assert (sub.values, sub.end) == ([b"a"], error)


def test_without_a_loop_it_is_said_what_to_do() -> None:
    with pytest.raises(
        RuntimeError,
        match=r"none is running in this thread: subscribe inside an `async def`; .* `await stream` .* a blocking client",
    ):
        reads(Given().awaited()).subscribe()


@pytest.mark.parametrize("where", ["on_next", "on_error", "on_completed"])
def test_what_an_async_subscriber_raises_goes_to_the_loop(where: str) -> None:
    """The source is closed, and nothing of it comes back as on_error."""
    given = Given(b"a", error=KeyError("mine") if where == "on_error" else None)
    reported: list[dict[str, Any]] = []
    ended: list[str] = []

    def fails(name: str) -> Callable[..., None]:
        def callback(*_: object) -> None:
            ended.append(name)
            if name == where:
                raise ZeroDivisionError

        return callback

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(context))
        reads(given.awaited()).subscribe(fails("on_next"), fails("on_error"), fails("on_completed"))
        await settled()

    asyncio.run(main())
    assert [type(one["exception"]) for one in reported] == [ZeroDivisionError]
    assert reported[0]["message"] == "a subscriber raised; its stream was closed"
    assert given.closed == 1
    assert ended == ["on_next"] + [where] * (where != "on_next")


def test_a_loop_that_ends_closes_what_it_reads() -> None:
    given = Given(b"a", b"b")

    async def endless() -> AsyncIterator[bytes]:
        for value in given:
            yield value
            await asyncio.sleep(LONG)

    async def main() -> None:
        sub = Sub()
        reads(endless()).subscribe(sub)
        await until(lambda: sub.values)

    asyncio.run(main())
    assert given.closed == 1


def test_a_dispose_after_the_loop_has_gone_does_nothing() -> None:
    async def main() -> Any:
        return reads(Given(b"a").awaited()).subscribe()

    subscription = asyncio.run(main())
    thread = threading.Thread(target=subscription.dispose)
    thread.start()
    thread.join(LONG)
    assert not thread.is_alive()


# ------------------------------------------------------------------------------------------------------------ files, pipes


def test_a_path_is_read_anew_for_each_subscription(tmp_path: Path) -> None:
    path = tmp_path / "body.sse"
    path.write_bytes(b"x" * (READ_SIZE + 1))
    source = reads(path)
    assert [len(read) for read in iterate(source)] == [len(read) for read in iterate(source)] == [READ_SIZE, 1]


def test_a_path_that_is_not_there_is_an_error_of_the_stream(tmp_path: Path) -> None:
    assert isinstance(seen(tmp_path / "none").end, FileNotFoundError)


def test_an_open_file_is_read_once_and_closed(tmp_path: Path) -> None:
    path = tmp_path / "body.sse"
    path.write_bytes(b"abc")
    with path.open("rb") as file:
        source = reads(file)
        assert [*iterate(source)] == [b"abc"]
        assert file.closed
        with pytest.raises(RuntimeError, match="this BufferedReader can be read only once"):
            source.subscribe()


def test_a_pipe_is_read_as_it_comes() -> None:
    """Each piece arrives before the next one is written: the child writes when it is told to."""
    child = subprocess.Popen(
        [sys.executable, "-c", "import sys\nfor l in sys.stdin: print('got', l, end='', flush=True)"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    assert child.stdin is not None
    assert child.stdout is not None
    with child, iterate(child.stdout, lines()) as found:
        for word in (b"one", b"two"):
            child.stdin.write(word + b"\n")
            child.stdin.flush()
            assert next(found) == b"got " + word
        child.stdin.close()
        assert [*found] == []


def test_stdin_is_read_as_it_comes() -> None:
    """`… | python`, with the pipe still open after [DONE]: the reader is done all the same."""
    code = (
        "import sys\nfrom pipeline import decode, reads\n"
        "reads(sys.stdin.buffer).pipe(decode()).subscribe(lambda e: print(type(e).__name__, flush=True))"
    )
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert child.stdin is not None
    assert child.stdout is not None
    with child:
        child.stdin.write(text("a"))
        child.stdin.flush()
        assert child.stdout.readline() == b"Started\n"
        child.stdin.write(text("b", "stop") + DONE)
        child.stdin.flush()
        assert child.stdout.read() == b"TextDelta\nTextDelta\nFinish\n"
        assert child.wait(LONG) == 0


# ------------------------------------------------------------------------------------------------------------ responses


@pytest.fixture(params=["chunked", "a length", "until it closes"])
def framing(request: pytest.FixtureRequest) -> int | None:
    return {"chunked": None, "a length": 10, "until it closes": -1}[str(request.param)]


def step_by_step(framing: int | None, go: threading.Event) -> Callable[[Call], None]:
    def script(call: Call) -> None:
        call.head(length=framing)
        call.send(b"first")
        assert go.wait(LONG), "the first read has not come before the second was sent"
        call.send(b"other")
        if framing != -1:
            call.end()

    return script


def opened(how: str, url: str) -> Any:
    if how == "requests":
        return requests.get(url, stream=True, timeout=LONG)
    return urllib.request.urlopen(url, timeout=LONG)


@pytest.mark.parametrize("how", ["requests", "urllib"])
def test_a_response_of_requests_or_urllib_is_read_as_it_comes_and_closed(how: str, framing: int | None) -> None:
    go = threading.Event()
    sub = Sub(then=lambda _: go.set())
    with WireServer(step_by_step(framing, go)) as server:
        response = opened(how, server.url)
        reads(response).subscribe(sub)
        assert (sub.values, sub.completed) == ([b"first", b"other"], True)
        assert response.raw.closed if how == "requests" else response.closed


def test_a_response_of_httpx_is_read_as_it_comes_and_closed(kind: Kind, framing: int | None) -> None:
    go = threading.Event()
    sub = Sub(then=lambda _: go.set())
    with WireServer(step_by_step(framing, go)) as server:
        if not kind.looping:
            with kind.client() as client:
                response = client.send(client.build_request("GET", server.url), stream=True)
                reads(response).subscribe(sub)
                assert response.is_closed
        else:

            async def work(client: Any) -> None:
                response = await client.send(client.build_request("GET", server.url), stream=True)
                reads(response).subscribe(sub)
                await until(lambda: sub.ends)
                assert response.is_closed

            kind.act(work)
    assert (sub.values, sub.completed) == ([b"first", b"other"], True)


def test_a_response_that_was_read_already_is_emitted_whole() -> None:
    with WireServer(answers(b"whole")) as server, requests.get(server.url, timeout=LONG) as response:
        assert seen(response).values == [b"whole"]


def test_a_compressed_response_is_decompressed() -> None:
    packed = answers(gzip.compress(b"words"), headers={"content-encoding": "gzip"})
    with WireServer(packed) as server, requests.get(server.url, stream=True, timeout=LONG) as response:
        assert b"".join(seen(response).values) == b"words"


@pytest.mark.parametrize("how", ["requests", "urllib"])
def test_a_response_can_be_read_only_once(how: str) -> None:
    with WireServer(answers(b"whole")) as server, opened(how, server.url) as response:
        source = reads(response)
        source.subscribe()
        with pytest.raises(RuntimeError, match="Response can be read only once, and was"):
            source.subscribe()


def test_a_response_that_is_an_error_ends_in_http_error(kind: Kind) -> None:
    body = b'{"error": {"message": "no such model", "code": "model_not_found"}}'
    sub = Sub()
    with WireServer(answers(body, status=404, headers={"x-request-id": "r1"})) as server:
        if not kind.looping:
            with kind.client() as client:
                reads(client.send(client.build_request("GET", server.url), stream=True)).subscribe(sub)
        else:

            async def work(client: Any) -> None:
                reads(await client.send(client.build_request("GET", server.url), stream=True)).subscribe(sub)
                await until(lambda: sub.ends)

            kind.act(work)
    error = sub.end
    assert isinstance(error, HttpError)
    assert (error.status, error.message, error.code, error.request_id) == (
        404,
        "no such model",
        "model_not_found",
        "r1",
    )


def test_a_long_error_of_requests_is_read_in_part() -> None:
    long = answers(b"z" * 200_000, status=500)
    with WireServer(long) as server, requests.get(server.url, stream=True, timeout=LONG) as response:
        error = seen(response).end
    assert (type(error), error.status, error.message) == (HttpError, 500, "z" * 400)


def test_an_error_of_requests_that_never_ends_keeps_the_status_back_only_for_a_while(
    framing: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    @in_real_time
    def _(unit: float) -> None:
        monkeypatch.setattr(_http_errors, "BODY_SECONDS", 2 * unit)

        def script(call: Call) -> None:
            call.head(503, length=framing)
            call.send(b"too much")
            call.until_gone()

        with WireServer(script) as server, requests.get(server.url, stream=True, timeout=LONG) as response, soon():
            error = seen(response).end
        assert (type(error), error.status, error.message) == (HttpError, 503, "too much")


def test_a_response_that_breaks_ends_in_connection_lost(framing: int | None) -> None:
    def script(call: Call) -> None:
        call.head(length=framing)
        call.send(b"first")
        assert go.wait(LONG)
        call.reset()

    go = threading.Event()
    sub = Sub(then=lambda _: go.set())
    with WireServer(script) as server, requests.get(server.url, stream=True, timeout=LONG) as response:
        reads(response).subscribe(sub)
    assert sub.values == [b"first"]
    assert isinstance(sub.end, ConnectionLost)
    assert sub.end.__cause__ is not None


@pytest.mark.parametrize("library", ["httpx", "requests", "urllib"])
def test_dispose_from_another_thread_shuts_the_socket_of_a_response(
    library: str, framing: int | None, blocking: Kind
) -> None:
    def script(call: Call) -> None:
        call.head(length=framing)
        call.send(b"first")
        call.until_gone()

    sub = Sub()
    with WireServer(script) as server, blocking.client() as client:
        if library == "httpx":
            response = client.send(client.build_request("GET", server.url), stream=True)
        else:
            response = opened(library, server.url)
        with_own_thread = reads(response).pipe(ops.subscribe_on(NewThreadScheduler()))
        subscription = with_own_thread.subscribe(sub)
        assert sub.came.wait(LONG)
        subscription.dispose()
        assert server.gone.wait(SOON)
    assert (sub.values, sub.ends) == ([b"first"], 0)


def test_a_response_is_closed_when_it_was_left_before_its_first_read(kind: Kind) -> None:
    with WireServer(says_and_waits(b"first")) as server:
        if not kind.looping:
            with kind.client() as client:
                response = client.send(client.build_request("GET", server.url), stream=True)
                reads(response).subscribe(scheduler=TestScheduler()).dispose()
                assert response.is_closed
        else:

            async def work(client: Any) -> None:
                response = await client.send(client.build_request("GET", server.url), stream=True)
                reads(response).subscribe().dispose()
                await settled()
                assert response.is_closed

            kind.act(work)
        assert server.gone.wait(SOON)


def test_an_async_response_of_aiohttp_is_read_and_closed() -> None:
    aiohttp = pytest.importorskip("aiohttp")

    async def main() -> Sub:
        sub = Sub()
        async with aiohttp.ClientSession() as session:
            reads(await session.get(server.url)).subscribe(sub)
            await until(lambda: sub.ends)
        return sub

    with WireServer(answers(b"first")) as server:
        assert asyncio.run(main()).values == [b"first"]


def test_a_response_that_quacks_like_aiohttps_is_read_and_closed() -> None:
    """Known by `status` and `content.iter_any()`; its close() is no coroutine function."""

    class Content:
        def iter_any(self) -> AsyncIterator[bytes]:
            return Given(b"a", b"b").awaited()

    class Quacks:
        def __init__(self, status: int) -> None:
            self.status, self.headers, self.content, self.closed = status, {"X-Request-Id": "r1"}, Content(), False

        def close(self) -> None:
            self.closed = True

    async def main() -> None:
        for status in (200, 500):
            sub, response = Sub(), Quacks(status)
            reads(response).subscribe(sub)
            await until(lambda sub=sub: sub.ends)  # type: ignore[misc]
            assert response.closed
            if status == 200:
                assert (sub.values, sub.completed) == ([b"a", b"b"], True)
            else:
                assert (sub.end.status, sub.end.message, sub.end.request_id) == (500, "ab", "r1")

    asyncio.run(main())
