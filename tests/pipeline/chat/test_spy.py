"""A spy over completion(): requests, heads, reads with their times, attempts, stages, and what is subscribed later."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest
from reactivex import operators as ops
from reactivex.testing import TestScheduler

from operators import Finish, Lanes, Spy, TextDelta, current_spy, lines, select, watched_by
from pipeline import Retry, completion, iterate, reads, replay, request
from tests.pipeline.wire import ANSWER, DONE, Kind, Sub, WireServer, answers, says_and_waits, text
from tests.support.timing import SOON

BODY = {"model": "m", "messages": []}


@dataclass
class Seen(Spy, Lanes):
    """Writes down everything, with the scope it was seen in."""

    path: str = ""
    log: list[tuple[Any, ...]] = field(default_factory=list)

    def scope(self, kind: str, number: int) -> Spy:
        if kind == "source":
            return self
        shown = "" if kind == "stream" else number  # streams are counted over the whole process
        return Seen(f"{self.path}/{kind}{shown}", self.log)

    def chain(self, stages: tuple[str, ...]) -> Lanes:
        self.log.append((self.path, "chain", tuple(stage.partition("(")[0] for stage in stages)))
        return self

    def request(self, method: str, url: str, headers: Mapping[str, str], body: object) -> None:
        self.log.append((self.path, "request", method, url, dict(headers), body))

    def response(self, status: int, headers: Mapping[str, str]) -> None:
        self.log.append((self.path, "response", status, dict(headers)))

    def read(self, data: bytes) -> None:
        self.log.append((self.path, "read", data, time.monotonic()))

    def closed(self, error: Exception | None) -> None:
        self.log.append((self.path, "closed", error))

    def of(self, what: str) -> list[tuple[Any, ...]]:
        return [found for found in self.log if found[1] == what]

    def names(self) -> list[str]:
        return [f"{found[0]} {found[1]}" for found in self.log if found[1] != "chain"]


def watched(kind: Kind, make: Callable[[Any], Any]) -> tuple[Seen, Sub]:
    spy = Seen()
    with watched_by(spy):
        sub = kind.run(make)
    return spy, sub


def test_it_sees_the_request_the_head_the_reads_and_the_end_in_this_order(kind: Kind) -> None:
    with WireServer(
        answers(text("Hel"), text("lo", "stop"), DONE, headers={"x-request-id": "r1", "set-cookie": "s=1"})
    ) as server:
        began = time.monotonic()
        spy, sub = watched(
            kind,
            lambda client: completion(
                BODY, base_url=f"{server.url}?api-key=hunter2", client=client, api_key="sk-12345678"
            ),
        )
        ended = time.monotonic()
    assert sub.text == "Hello"
    path = "/stream/attempt1"
    assert list(dict.fromkeys(spy.names())) == [f"{path} {what}" for what in ("request", "response", "read", "closed")]
    _, _, method, url, headers, body = spy.of("request")[0]
    assert (method, url, body) == ("POST", f"{server.url}/chat/completions?api-key=***", {**BODY, "stream": True})
    assert (headers["authorization"], headers["accept"]) == ("***", "text/event-stream")
    _, _, status, response_headers = spy.of("response")[0]
    assert (status, response_headers["x-request-id"], response_headers["set-cookie"]) == (200, "r1", "***")
    assert b"".join(found[2] for found in spy.of("read")) == ANSWER
    times = [found[3] for found in spy.of("read")]
    assert began <= times[0] <= times[-1] <= ended
    assert times == sorted(times)
    assert spy.of("closed") == [(path, "closed", None)]


def test_it_sees_the_stages_inside(kind: Kind) -> None:
    with WireServer(answers(ANSWER)) as server:
        spy, _ = watched(
            kind, lambda client: completion(BODY, base_url=server.url, client=client).pipe(select(TextDelta))
        )
    chains = spy.of("chain")
    assert chains[0] == ("", "chain", ("select",))
    path, _, stages = chains[1]
    assert path == "/stream/attempt1"
    for stage in ("lines", "sse", "payloads", "chunks", "deltas"):
        assert stage in stages


def test_it_tells_attempts_apart(kind: Kind) -> None:
    with WireServer(answers(b"busy", status=503), answers(ANSWER)) as server:
        spy, _ = watched(
            kind, lambda client: completion(BODY, base_url=server.url, client=client, retry=Retry(backoff=0))
        )
    first, second = "/stream/attempt1", "/stream/attempt2"
    assert [found[0] for found in spy.of("request")] == [first, second]
    assert [(found[0], found[2]) for found in spy.of("response")] == [(first, 503), (second, 200)]
    assert [(found[0], getattr(found[2], "status", None)) for found in spy.of("closed")] == [
        (first, 503),
        (second, None),
    ]


def test_it_sees_what_is_subscribed_later(kind: Kind) -> None:
    """A completion() inside flat_map is subscribed from a callback, when the `with` has long been left."""
    with WireServer(answers(text("a", "stop"), DONE), answers(text("b", "stop"), DONE)) as server:

        def make(client: Any) -> Any:
            def ask() -> Any:
                return completion(BODY, base_url=server.url, client=client)

            return ask().pipe(ops.filter(lambda found: isinstance(found, Finish)), ops.flat_map(lambda _: ask()))

        spy, sub = watched(kind, make)
    assert sub.text == "b"
    assert [found[2] for found in spy.of("response")] == [200, 200]
    assert len(spy.of("closed")) == 2


def test_it_is_not_in_force_outside(kind: Kind) -> None:
    with WireServer(answers(ANSWER)) as server:
        spy, _ = watched(kind, lambda client: completion(BODY, base_url=server.url, client=client))
        seen = len(spy.log)
        assert current_spy() is None
        assert kind.run(lambda client: completion(BODY, base_url=server.url, client=client)).text == "Hello"
    assert len(spy.log) == seen


@pytest.mark.parametrize("how", ["take", "broken"])
def test_it_sees_how_the_source_was_left(kind: Kind, how: str) -> None:
    script = says_and_waits(text("a")) if how == "take" else answers(b"{}", status=404)
    with WireServer(script) as server:
        spy, sub = watched(kind, lambda client: request(server.url, client=client).pipe(ops.take(1)))
    assert len(spy.of("closed")) == 1
    assert spy.of("closed")[0][2] is (None if how == "take" else sub.end)


def test_a_pull_is_seen_too(kind: Kind) -> None:
    spy = Seen()
    with WireServer(answers(ANSWER)) as server:
        if kind.looping:

            async def work(client: Any) -> None:
                with watched_by(spy):
                    found = iterate(completion(BODY, base_url=server.url, client=client))
                    await anext(found)
                assert len([one async for one in found]) == 3

            kind.act(work)
        else:
            with kind.client() as client, watched_by(spy):
                assert len([*iterate(completion(BODY, base_url=server.url, client=client))]) == 4
    assert b"".join(found[2] for found in spy.of("read")) == ANSWER


def test_other_sources_show_their_reads_and_their_end() -> None:
    spy = Seen()
    with watched_by(spy):
        replay([b"a\n", b"b"]).pipe(lines()).subscribe()
        reads([b"c"]).subscribe()
    assert [found[2] for found in spy.of("read")] == [b"a\n", b"b", b"c"]
    assert [found[2] for found in spy.of("closed")] == [None, None]


def test_a_source_that_was_never_opened_shows_nothing() -> None:
    spy = Seen()
    with watched_by(spy):
        replay(b"a").subscribe(scheduler=TestScheduler()).dispose()
    assert spy.log == []


def test_what_a_spy_raises_reaches_the_producer(blocking: Kind) -> None:
    class Wrong(Spy):
        def read(self, data: bytes) -> None:
            raise ZeroDivisionError

    with WireServer(says_and_waits(b"a")) as server, blocking.client() as client:
        with watched_by(Wrong()), pytest.raises(ZeroDivisionError):
            request(server.url, client=client).subscribe()
        assert server.gone.wait(SOON)
