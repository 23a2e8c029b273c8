"""Leaving a request closes its connection at once; one that came to its end leaves it for the next."""

from __future__ import annotations

import asyncio
import gc
import signal
import threading
from collections.abc import Callable, Iterator
from typing import Any, Self

import httpx
import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.internal.exceptions import SequenceContainsNoElementsError
from reactivex.scheduler import NewThreadScheduler, ThreadPoolScheduler
from reactivex.testing import TestScheduler

from operators import ConnectionLost, Out, Spy, Stage, lines, operator, watched_by
from pipeline import Timeouts, completion, decode, iterate, request
from pipeline.sources._source import DRAIN_BYTES
from tests.pipeline.wire import (
    ANSWER,
    DONE,
    Call,
    Kind,
    Script,
    Sub,
    WireServer,
    answers,
    endless,
    says_and_waits,
    says_nothing,
    settled,
    text,
)
from tests.support.timing import LONG, SOON, in_real_time, soon, until, wait_while

BODY = {"model": "m", "messages": []}


def half_a_head(call: Call) -> None:
    call.connection.sendall(b"HTTP/1.1 200 OK\r\ncontent-")
    call.until_gone()


BEFORE_THE_FIRST_READ = [pytest.param(says_nothing, id="no head"), pytest.param(half_a_head, id="half a head")]
ANY_TIME = [*BEFORE_THE_FIRST_READ, pytest.param(says_and_waits(text("a")), id="in mid-stream")]


# --------------------------------------------------------------------------------------------------------------- blocking


def on_its_own_thread(source: Any, sub: Sub) -> Any:
    return source.subscribe(sub, scheduler=NewThreadScheduler())


def with_subscribe_on(source: Any, sub: Sub) -> Any:
    return source.pipe(ops.subscribe_on(NewThreadScheduler())).subscribe(sub)


@pytest.fixture
def pool() -> Iterator[ThreadPoolScheduler]:
    scheduler = ThreadPoolScheduler(4)
    yield scheduler
    scheduler.executor.shutdown()


def leaves(server: WireServer, sub: Sub, subscription: Any, script: object) -> None:
    """Dispose when the server waits; it sees that soon, and the subscriber sees nothing."""
    assert server.asked.wait(LONG)
    if script not in {says_nothing, half_a_head}:
        assert sub.came.wait(LONG)
    with soon():
        subscription.dispose()
        assert server.gone.wait(LONG)
    assert sub.ends == 0


@pytest.mark.parametrize("start", [on_its_own_thread, with_subscribe_on])
@pytest.mark.parametrize("script", ANY_TIME)
def test_dispose_from_another_thread_shuts_the_socket(
    blocking: Kind, script: Script, start: Callable[..., Any]
) -> None:
    with WireServer(script) as server, blocking.client() as client:
        sub = Sub()
        leaves(server, sub, start(request(server.url, client=client), sub), script)


@pytest.mark.parametrize("script", ANY_TIME)
def test_dispose_of_a_completion_from_another_thread_shuts_the_socket(
    blocking: Kind, script: Script, pool: ThreadPoolScheduler
) -> None:
    with WireServer(script) as server, blocking.client() as client:
        sub = Sub()
        source = completion(BODY, base_url=server.url, client=client).pipe(ops.subscribe_on(pool))
        leaves(server, sub, source.subscribe(sub), script)


def test_a_kept_connection_is_found_before_the_head_too(blocking: Kind) -> None:
    """The second request takes the connection of the first one, which makes none anew."""
    with WireServer(answers(b"a"), says_nothing) as server, blocking.client() as client:
        request(server.url, client=client).subscribe()
        sub = Sub()
        server.asked.clear()
        leaves(server, sub, on_its_own_thread(request(server.url, client=client), sub), says_nothing)
        assert server.connections == 1


def test_only_its_own_connection_is_shut(blocking: Kind) -> None:
    go = threading.Event()

    def other(call: Call) -> None:
        call.head()
        assert go.wait(LONG)
        call.send(b"other")
        call.end()

    with WireServer(other, says_nothing) as server, blocking.client() as client:
        stays, goes = Sub(), Sub()
        on_its_own_thread(request(server.url, client=client), stays)
        assert server.asked.wait(LONG)
        server.asked.clear()
        leaves(server, goes, on_its_own_thread(request(server.url, client=client), goes), says_nothing)
        go.set()
        assert stays.ended.wait(LONG)
        assert (stays.values, stays.completed) == ([b"other"], True)


def test_a_dispose_while_it_connects_sends_nothing(blocking: Kind, monkeypatch: pytest.MonkeyPatch) -> None:
    """There is no socket to shut yet: the request ends when there is one."""
    connecting, go = threading.Event(), threading.Event()
    client = blocking.client()
    backend = client._transport._pool._network_backend
    connect = backend.connect_tcp

    def slow(*args: Any, **options: Any) -> Any:
        connecting.set()
        assert go.wait(LONG)
        return connect(*args, **options)

    monkeypatch.setattr(backend, "connect_tcp", slow)
    with WireServer(answers(b"a")) as server, client:
        sub = Sub()
        finished = threading.Event()
        source = request(server.url, client=client).pipe(ops.finally_action(finished.set))
        subscription = on_its_own_thread(source, sub)
        assert connecting.wait(LONG)
        subscription.dispose()
        go.set()
        wait_while(lambda: client._transport._pool._requests)
        assert (server.calls, sub.values, sub.ends) == ([], [], 0)


def test_where_no_socket_can_be_found_it_falls_silent_at_once(blocking: Kind) -> None:
    """A transport of somebody's own: the read goes on until its timeout, and nobody hears of it."""
    waiting, go = threading.Event(), threading.Event()

    def answer(_: Any) -> Any:
        waiting.set()
        assert go.wait(LONG)
        return blocking.module.Response(200, content=b"late")

    with blocking.client(transport=blocking.module.MockTransport(answer)) as client:
        sub = Sub()
        subscription = on_its_own_thread(request("http://127.0.0.1", client=client), sub)
        assert waiting.wait(LONG)
        subscription.dispose()
        go.set()
    assert (sub.values, sub.ends) == ([], 0)


def test_dispose_while_the_subscriber_hangs_shuts_the_socket(blocking: Kind) -> None:
    """The thread that reads cannot close it before the subscriber lets it go on."""
    inside, go = threading.Event(), threading.Event()

    def hang(read: bytes) -> None:
        inside.set()
        assert go.wait(LONG)

    with WireServer(says_and_waits(text("a"))) as server, blocking.client() as client:
        left = request(server.url, client=client).subscribe(hang, scheduler=NewThreadScheduler())
        assert inside.wait(LONG)
        left.dispose()
        assert server.gone.wait(SOON)
        go.set()


def test_dispose_inside_on_next_closes_after_it(blocking: Kind) -> None:
    with WireServer(says_and_waits(text("a"), text("b"))) as server, blocking.client() as client:
        sub = Sub()
        completion(BODY, base_url=server.url, client=client).pipe(ops.take(2)).subscribe(sub)
        assert server.gone.wait(SOON)
    assert (len(sub.values), sub.completed) == (2, True)


def test_dispose_before_the_first_read_sends_nothing(blocking: Kind) -> None:
    with WireServer(answers(b"a")) as server, blocking.client() as client:
        scheduler = TestScheduler()
        request(server.url, client=client).subscribe(scheduler=scheduler).dispose()
        scheduler.start()
        assert server.calls == []


def test_dispose_may_come_twice_and_after_the_end(kind: Kind) -> None:
    with WireServer(answers(b"a")) as server:
        subscriptions: list[Any] = []

        def leave() -> None:
            for one in subscriptions:
                one.dispose()
                one.dispose()

        def make(client: Any) -> Any:
            source = request(server.url, client=client)
            return Remembering(source, subscriptions).pipe(ops.do_action(on_completed=leave))

        assert kind.run(make).values == [b"a"]


class Remembering(Observable[bytes]):
    """A source that writes down its subscriptions."""

    def __init__(self, source: Observable[bytes], subscriptions: list[Any]) -> None:
        super().__init__()
        self.source, self.subscriptions = source, subscriptions

    def _subscribe_core(self, observer: Any, scheduler: Any = None) -> Any:
        subscription = self.source.subscribe(observer, scheduler=scheduler)
        self.subscriptions.append(subscription)
        return subscription


# --------------------------------------------------------------------------------------------------------------- awaited


@pytest.mark.parametrize("way", ["dispose", "from another thread", "cancel the task", "the loop ends"])
@pytest.mark.parametrize("script", ANY_TIME)
def test_leaving_an_async_request_closes_its_connection(looping: Kind, script: Script, way: str) -> None:
    sub = Sub()
    with WireServer(script) as server:

        async def work(client: Any) -> None:
            subscription = completion(BODY, base_url=server.url, client=client).subscribe(sub)
            await until(server.asked.is_set)
            if script not in {says_nothing, half_a_head}:
                await until(sub.came.is_set)
            if way == "dispose":
                subscription.dispose()
            elif way == "from another thread":
                await asyncio.to_thread(subscription.dispose)
            elif way == "cancel the task":
                for task in asyncio.all_tasks() - {asyncio.current_task()}:
                    task.cancel()
            else:
                return
            await until(server.gone.is_set)
            await settled()

        async def without_closing() -> None:
            await work(looping.client())

        with soon():
            asyncio.run(without_closing()) if way == "the loop ends" else looping.act(work)
            assert server.gone.wait(LONG)
    assert sub.ends == 0


def test_tasks_that_nobody_else_refers_to_are_held(looping: Kind) -> None:
    """The loop holds tasks only weakly: a stream whose subscription was thrown away goes on."""
    go = threading.Event()

    def script(call: Call) -> None:
        call.head()
        assert go.wait(LONG)
        call.send(b"late")
        call.end()

    sub = Sub()
    with WireServer(script) as server:

        async def work(client: Any) -> None:
            request(server.url, client=client).subscribe(sub)
            await until(server.asked.is_set)
            gc.collect()
            go.set()
            await until(lambda: sub.ends)

        looping.act(work)
    assert (sub.values, sub.completed) == ([b"late"], True)


# ----------------------------------------------------------------------------------------------------------------- reuse


def ends_later(call: Call) -> None:
    """The end mark of the body comes in a packet of its own, a little after [DONE]."""
    call.head()
    call.send(ANSWER)
    assert not call.server.gone.wait(0.02)
    call.end()


def says_more(call: Call) -> None:
    """More than nothing follows [DONE], and then the end."""
    call.head()
    call.send(ANSWER)
    call.send(b": bye\n\n" * 100)
    call.end()


@pytest.mark.parametrize(
    "script",
    [
        pytest.param(answers(ANSWER), id="at once"),
        pytest.param(ends_later, id="later"),
        pytest.param(says_more, id="more"),
    ],
)
@pytest.mark.usefixtures("unhurried_drain")
def test_two_streams_one_after_the_other_use_one_connection(kind: Kind, script: Script) -> None:
    with WireServer(script) as server:
        subs = kind.runs(lambda client: completion(BODY, base_url=server.url, client=client), 2)
        assert [(sub.text, sub.completed) for sub in subs] == [("Hello", True)] * 2
        assert (len(server.calls), server.connections) == (2, 1)


@pytest.mark.parametrize("run", [lambda stream: stream.run(), lambda stream: stream.pipe(ops.to_list()).run()])
@pytest.mark.usefixtures("unhurried_drain")
def test_streams_that_run_in_threads_of_their_own_use_one_connection_too(blocking: Kind, run: Any) -> None:
    """`run()` is back before the thread that reads has seen the end of the body; the next request waits for that."""
    with WireServer(ends_later) as server, blocking.client() as client:
        for _ in range(5):
            run(completion(BODY, base_url=server.url, client=client))
        assert (len(server.calls), server.connections) == (5, 1)


@operator
def noted(out: Out[bytes], came: threading.Event) -> Stage[bytes]:
    def on_next(read: bytes) -> None:
        came.set()
        out.on_next(read)

    yield on_next


@pytest.mark.parametrize("script", ANY_TIME)
def test_ctrl_c_in_run_closes_the_connection(blocking: Kind, script: Script) -> None:
    with WireServer(script) as server, blocking.client() as client:
        came = server.asked if script in {says_nothing, half_a_head} else threading.Event()

        def interrupt() -> None:
            assert came.wait(LONG)
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

        interrupting = threading.Thread(target=interrupt)
        interrupting.start()
        with pytest.raises(KeyboardInterrupt):
            request(server.url, client=client).pipe(noted(came)).run()
        interrupting.join()
        assert server.gone.wait(SOON)


def test_run_gives_the_last_item_or_raises(blocking: Kind) -> None:
    with WireServer(answers(b"one\n", b"two\n")) as server, blocking.client() as client:
        assert request(server.url, client=client).pipe(lines()).run() == b"two"
    with pytest.raises(ConnectionLost):
        request(server.url).run()
    with pytest.raises(SequenceContainsNoElementsError):
        request(server.url).pipe(ops.catch(reactivex.empty()), lines()).run()
    with pytest.raises(RuntimeError, match="event loop"):
        request(server.url, client=httpx.AsyncClient()).run()


@pytest.mark.usefixtures("unhurried_drain")
def test_an_answer_in_json_leaves_its_connection_too(kind: Kind) -> None:
    whole = b'{"id":"c1","model":"m","choices":[{"index":0,"message":{"content":"Hello"},"finish_reason":"stop"}]}'
    with WireServer(answers(whole, headers={"content-type": "application/json"})) as server:
        subs = kind.runs(lambda client: completion(BODY, base_url=server.url, client=client), 2)
        assert [sub.text for sub in subs] == ["Hello"] * 2
        assert server.connections == 1


@pytest.mark.usefixtures("unhurried_drain")
def test_an_error_with_a_short_body_leaves_its_connection(kind: Kind) -> None:
    with WireServer(answers(b"{}", status=400)) as server:
        subs = kind.runs(lambda client: completion(BODY, base_url=server.url, client=client), 2)
        assert [sub.end.status for sub in subs] == [400, 400]
        assert server.connections == 1


def test_a_body_that_does_not_end_after_done_is_left_soon(kind: Kind) -> None:
    """The stream completes at [DONE]; the source waits for the end of the body for a moment, then drops the connection."""
    with WireServer(says_and_waits(ANSWER)) as server, soon():
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client))
        assert server.gone.wait(LONG)
    assert (sub.text, sub.completed) == ("Hello", True)


def test_a_body_that_goes_on_after_done_is_cut(kind: Kind) -> None:
    """At most 64 KiB are read of it (and what the buffers of two sockets hold is sent)."""
    read = 0

    def count(data: bytes) -> None:
        nonlocal read
        read += len(data)

    def script(call: Call) -> None:
        call.head()
        call.send(ANSWER)
        try:
            while True:
                call.send(b":" + b"x" * 1000 + b"\n")
        except OSError:
            call.server.gone.set()

    class Counting(Spy):
        def read(self, data: bytes) -> None:
            count(data)

    with WireServer(script) as server:

        def make(client: Any) -> Any:
            return completion(BODY, base_url=server.url, client=client)

        with soon(), watched_by(Counting()):
            sub = kind.run(make)
            assert server.gone.wait(LONG)
        assert server.connections == 1
    assert (sub.text, sub.completed) == ("Hello", True)
    assert read <= 2 * DRAIN_BYTES


def test_an_async_completion_is_told_before_the_source_has_drained(looping: Kind) -> None:
    with WireServer(says_and_waits(ANSWER)) as server:

        async def work(client: Any) -> None:
            sub = Sub()
            completion(BODY, base_url=server.url, client=client).subscribe(sub)
            await until(lambda: sub.ends)
            assert not server.gone.is_set()
            await settled()

        looping.act(work)


def test_a_stream_that_is_disposed_does_not_drain(kind: Kind) -> None:
    """take(1) is a dispose: the rest of the answer is not wanted, and is not read."""
    with WireServer(endless) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client).pipe(ops.take(1)))
        assert server.gone.wait(SOON)
    assert sub.completed


def test_many_streams_side_by_side_with_a_blocking_client(blocking: Kind) -> None:
    with WireServer(answers(ANSWER)) as server, blocking.client() as client:
        subs = [Sub() for _ in range(20)]
        for sub in subs:
            on_its_own_thread(completion(BODY, base_url=server.url, client=client), sub)
        assert all(sub.ended.wait(LONG) for sub in subs)
        assert [sub.text for sub in subs] == ["Hello"] * 20


# ---------------------------------------------------------------------------------------------------------------- HTTP/2


class H2Server:
    """HTTP/2 in clear text, as a client with prior knowledge speaks it: answers every request, or leaves it open."""

    def __init__(self, *bodies: bytes | None) -> None:
        self.bodies = list(bodies)
        self.connections = 0
        self._server: asyncio.Server | None = None
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        self._server = asyncio.run_coroutine_threadsafe(
            asyncio.start_server(self._serve, "127.0.0.1", 0), self._loop
        ).result()
        self.url = f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}/v1"
        return self

    def __exit__(self, *error: object) -> None:
        async def stop() -> None:
            assert self._server is not None
            self._server.close()
            for task in asyncio.all_tasks() - {asyncio.current_task()}:
                task.cancel()
            await asyncio.sleep(0.01)

        asyncio.run_coroutine_threadsafe(stop(), self._loop).result()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        from h2.config import H2Configuration
        from h2.connection import H2Connection
        from h2.events import RequestReceived

        self.connections += 1
        connection = H2Connection(H2Configuration(client_side=False))
        connection.initiate_connection()
        writer.write(connection.data_to_send())
        try:
            while data := await reader.read(65536):
                for found in connection.receive_data(data):
                    if isinstance(found, RequestReceived):
                        body = self.bodies.pop(0)
                        connection.send_headers(
                            found.stream_id, [(":status", "200"), ("content-type", "text/event-stream")]
                        )
                        connection.send_data(found.stream_id, body or text("a"), end_stream=body is not None)
                writer.write(connection.data_to_send())
        finally:
            writer.close()


@pytest.fixture
def http2() -> None:
    pytest.importorskip("h2")


@pytest.mark.usefixtures("http2", "unhurried_drain")
def test_over_http2_two_streams_use_one_connection(kind: Kind) -> None:
    with H2Server(ANSWER, ANSWER) as server:
        subs = kind.runs(
            lambda client: completion(BODY, base_url=server.url, client=client),
            2,
            http1=False,
            http2=True,
            timeout=LONG,
        )
        assert [(sub.text, sub.completed) for sub in subs] == [("Hello", True)] * 2
        assert server.connections == 1


@pytest.mark.usefixtures("http2")
def test_over_http2_leaving_one_stream_does_not_break_another(blocking: Kind) -> None:
    """The connection carries others too, so it is not shut: the stream that is left falls silent at once."""

    @in_real_time
    def _(unit: float) -> None:
        with H2Server(None, ANSWER) as server, blocking.client(http1=False, http2=True) as client:
            goes, stays = Sub(), Sub()
            source = completion(BODY, base_url=server.url, client=client, timeouts=Timeouts(idle=6 * unit))
            subscription = on_its_own_thread(source, goes)
            assert goes.came.wait(LONG)
            subscription.dispose()
            completion(BODY, base_url=server.url, client=client).subscribe(stays)
            assert (stays.text, stays.completed, goes.ends) == ("Hello", True, 0)
            wait_while(lambda: client._transport._pool._requests)


# ------------------------------------------------------------------------------------------------------- other transports


def test_a_transport_without_sockets_works(kind: Kind) -> None:
    def answer(_: Any) -> Any:
        return kind.module.Response(200, headers={"content-type": "text/event-stream"}, content=ANSWER)

    sub = kind.run(
        lambda client: completion(BODY, base_url="http://nowhere", client=client),
        transport=kind.module.MockTransport(answer),
    )
    assert (sub.text, sub.completed) == ("Hello", True)


def test_a_request_through_a_proxy_can_be_left_before_its_head(blocking: Kind) -> None:
    with WireServer(says_nothing) as proxy, blocking.client(proxy=f"http://127.0.0.1:{proxy.port}") as client:
        sub = Sub()
        leaves(proxy, sub, on_its_own_thread(request("http://nowhere.test/v1", client=client), sub), says_nothing)
        assert proxy.calls[0].target == "http://nowhere.test/v1"


# ------------------------------------------------------------------------------------------------------------------ pull


@pytest.mark.parametrize("way", ["close", "with", "break", "forget", "raise"])
def test_a_pull_that_is_left_closes_the_connection(blocking: Kind, way: str) -> None:
    with WireServer(says_and_waits(text("a"), text("b"))) as server, blocking.client() as client:
        stream = completion(BODY, base_url=server.url, client=client)
        if way == "close":
            pull = iterate(stream)
            next(pull)
            pull.close()
        elif way == "with":
            with iterate(stream) as pull:
                next(pull)
        elif way == "break":
            for _ in iterate(stream):
                break
        elif way == "forget":
            pull = iterate(stream)
            next(pull)
            del pull
        else:
            with pytest.raises(ZeroDivisionError), iterate(stream) as pull:
                1 / len([*zip(pull, range(1), strict=False)][1:])
        assert server.gone.wait(SOON)


@pytest.mark.parametrize("way", ["aclose", "with", "break", "forget", "cancel", "cancel before the head"])
def test_an_async_pull_that_is_left_closes_the_connection(looping: Kind, way: str) -> None:
    script = says_nothing if way == "cancel before the head" else says_and_waits(text("a"), text("b"))
    with WireServer(script) as server:

        async def work(client: Any) -> None:
            stream = completion(BODY, base_url=server.url, client=client)
            if way == "aclose":
                pull = iterate(stream)
                await anext(pull)
                await pull.aclose()
                assert await anext(pull, None) is None
            elif way == "with":
                async with iterate(stream) as pull:
                    await anext(pull)
            elif way == "break":
                async for _ in iterate(stream):
                    break
            elif way == "forget":
                pull = iterate(stream)
                await anext(pull)
                del pull
            else:

                async def consume() -> None:
                    async for _ in iterate(stream):
                        pass

                task = asyncio.create_task(consume())
                await until(server.asked.is_set)
                await asyncio.sleep(0.02)
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
            await until(server.gone.is_set)
            await settled()

        with soon():
            looping.act(work)


def test_a_forgotten_pull_in_a_cycle_is_closed_by_the_collector(blocking: Kind) -> None:
    with WireServer(says_and_waits(text("a"))) as server, blocking.client() as client:
        pull: Any = iterate(request(server.url, client=client), decode())
        next(pull)
        holder = [pull]
        holder.append(holder)
        del pull, holder
        gc.collect()
        assert server.gone.wait(SOON)


@pytest.mark.usefixtures("unhurried_drain")
def test_after_the_last_event_a_pull_leaves_the_connection_for_the_next(kind: Kind) -> None:
    with WireServer(answers(text("Hel"), text("lo", "stop"), DONE)) as server:
        if kind.looping:

            async def work(client: Any) -> None:
                for _ in range(2):
                    async with iterate(completion(BODY, base_url=server.url, client=client)) as events:
                        assert len([event async for event in events]) == 4
                    await settled()

            kind.act(work)
        else:
            with kind.client() as client:
                for _ in range(2):
                    assert len([*iterate(completion(BODY, base_url=server.url, client=client))]) == 4
        assert server.connections == 1
