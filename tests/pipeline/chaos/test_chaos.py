"""Many streams at once through a proxy that harms them: each one ends, once and honestly, and leaves nothing behind."""

from __future__ import annotations

import asyncio
import json
import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from reactivex import Observable

from operators import Conversation, Event, Restarted, RoundStarted, StreamError, TextDelta, ToolResult
from pipeline import Retry, Timeouts, completion, decode, iterate, run_tools
from tests.pipeline.chaos.proxy import FAULTS, Proxy
from tests.pipeline.chaos.upstream import Reply, Request, Upstream, calls, says
from tests.support.timing import until, wait_while

SEEDS = (20240229, 7)
WORDS = ("the ", "sun ", "été ", "東京 ", "🌤", '"q" ', "\\n\n", "{} ", "data: ", "rain, ")

HARMLESS = {"none", "drip"}
ENDS = {
    "none": set[str](),
    "drip": set[str](),
    "busy": {"http"},
    "garbage": {"protocol", "api"},
    "drop": {"connection"},
    "reset": {"connection"},
    "end": {"truncated", "empty"},
    "stall": {"timeout"},
}
"""The kinds of error that each fault may end a stream with."""


def words(seed: int, user: str) -> list[str]:
    """The text of one user's answer, in deltas."""
    chance = random.Random(f"{seed}/{user}")
    return chance.choices(WORDS, k=chance.randint(5, 60))


class Stream:
    """One stream: what is asked, what has come of it, and whether that is honest."""

    def __init__(self, seed: int, number: int, *, kind: str, patience: float) -> None:
        self.user, self.patience = f"{kind} {number}", patience
        self.sent = "".join(words(seed, self.user))
        chance = random.Random(f"{seed}/{self.user}/plan")
        self.tools = chance.random() < 0.3
        self.skips = chance.random() < 0.2
        self.pulls = chance.random() < 0.3
        self.leaves_after = chance.randint(1, 30) if chance.random() < 0.15 else None
        self.on_break: Any = "restart" if chance.random() < 0.2 else "raise"
        self.events: list[Event] = []
        self.ends: list[Exception | str] = []
        self.ran: list[str] = []
        self.left = False

    def make(self, base_url: str, client: Any) -> Observable[Event]:
        body = {"model": "m", "user": self.user, "messages": [{"role": "user", "content": "?"}]}
        options: dict[str, Any] = {
            "base_url": base_url,
            "client": client,
            "timeouts": Timeouts(connect=None, first=self.patience, idle=self.patience),
            "retry": Retry(attempts=3, backoff=0.01, on_break=self.on_break),
            "decoder": decode(errors="skip" if self.skips else "raise"),
        }
        if not self.tools:
            return completion(body, **options)
        return run_tools(body | {"tool_choice": "auto"}, [self.look, self.look_async], **options)

    def look(self, token: str) -> str:
        self.ran.append(token)
        return f"saw {token}"

    async def look_async(self, token: str) -> str:
        await asyncio.sleep(0)
        return self.look(token)

    # ------------------------------------------------------------------------------------------------ as a subscriber

    def on_next(self, event: Event) -> None:
        assert not self.ends, "an event came after the end"
        assert not self.left, "an event came after it was left"
        self.events.append(event)

    def on_error(self, error: Exception) -> None:
        self.ends.append(error)

    def on_completed(self) -> None:
        self.ends.append("completed")

    @property
    def wants_to_leave(self) -> bool:
        return self.leaves_after is not None and len(self.events) >= self.leaves_after

    # ------------------------------------------------------------------------------------------------ what must hold

    @property
    def text(self) -> str:
        found = ""
        for event in self.events:
            if isinstance(event, (RoundStarted, Restarted)):
                found = ""
            elif isinstance(event, TextDelta):
                found += event.text
        return found

    def check(self, faults: list[str]) -> str:
        """How it ended; fails if that is not honest."""
        assert self.sent.startswith(self.text), (self.text, self.sent)
        assert len(self.ran) == len(set(self.ran)), "a tool ran twice"
        assert set(self.ran) <= tokens(self.user), "a tool ran on cut arguments"
        if self.left:
            assert self.ends == []
            return "left"
        (end,) = self.ends
        if end == "completed":
            assert self.text == self.sent
            assert not self.tools or self.is_whole_conversation()
            return "completed"
        assert isinstance(end, StreamError), end
        assert end.kind in ENDS[faults[-1]], (end, faults)
        assert not (self.skips and faults[-1] == "garbage")
        assert "".join(part.text for part in end.partial) == self.text
        assert not any(call.complete for part in end.partial for call in part.tool_calls)
        assert (end.conversation is not None) == self.tools
        assert not self.ran or (end.conversation is not None and len(end.conversation) == 2 + len(tokens(self.user)))
        return end.kind

    def is_whole_conversation(self) -> bool:
        last = self.events[-1]
        assert isinstance(last, Conversation)
        assert [said["role"] for said in last.messages] == ["user", "assistant", *["tool"] * 3, "assistant"]
        assert last.messages[-1]["content"] == self.sent
        assert set(self.ran) == tokens(self.user)
        assert len([event for event in self.events if isinstance(event, ToolResult)]) == len(self.ran)
        return True


def tokens(user: str) -> set[str]:
    """What the tools of one user's conversation are called with."""
    return {f"{user} été 東京 {n}" for n in range(3)}


def script(seed: int) -> Any:
    def reply(request: Request) -> Reply:
        body = request.body
        if "tools" not in body or any(said["role"] == "tool" for said in body["messages"]):
            return says(*words(seed, body["user"]), usage=(1, 1))
        names = ("look", "look_async", "look")
        made = zip(names, sorted(tokens(body["user"])), strict=True)
        return calls(*((token, name, json.dumps({"token": token}, ensure_ascii=False)) for name, token in made))

    return reply


# ------------------------------------------------------------------------------------------------------------ the running


async def run_async(streams: list[Stream], base_url: str) -> None:
    """All streams at once on one loop, half of them with each kind of async client."""
    unbounded = {"max_connections": None, "max_keepalive_connections": 50}
    async with (
        httpx.AsyncClient(limits=httpx.Limits(**unbounded), verify=False) as one,
        httpx2.AsyncClient(limits=httpx2.Limits(**unbounded), verify=False) as other,
    ):
        await asyncio.gather(*(run_one(stream, base_url, (one, other)[n % 2]) for n, stream in enumerate(streams)))
        await until(lambda: len(asyncio.all_tasks()) == 1)
        assert not in_use(one, other)


async def run_one(stream: Stream, base_url: str, client: Any) -> None:
    made = stream.make(base_url, client)
    if stream.pulls:
        async with iterate(made) as pulled:
            try:
                async for event in pulled:
                    stream.on_next(event)
                    if stream.wants_to_leave:
                        stream.left = True
                        return
                stream.on_completed()
            except StreamError as error:
                stream.on_error(error)
        return
    over = asyncio.Event()
    subscription: Any = None

    def on_next(event: Event) -> None:
        stream.on_next(event)
        if stream.wants_to_leave and subscription is not None:
            stream.left = True
            subscription.dispose()
            over.set()

    def on_error(error: Exception) -> None:
        stream.on_error(error)
        over.set()

    def on_completed() -> None:
        stream.on_completed()
        over.set()

    subscription = made.subscribe(on_next, on_error, on_completed)
    await over.wait()


def run_blocking(streams: list[Stream], base_url: str) -> None:
    """Each stream in a thread of its own, half of them with each kind of blocking client."""

    def run(stream: Stream, client: Any) -> None:
        made = stream.make(base_url, client)
        if stream.leaves_after is None and not stream.pulls:
            made.subscribe(stream.on_next, stream.on_error, stream.on_completed)
            return
        with iterate(made) as pulled:
            try:
                for event in pulled:
                    stream.on_next(event)
                    if stream.wants_to_leave:
                        stream.left = True
                        return
                stream.on_completed()
            except StreamError as error:
                stream.on_error(error)

    with httpx.Client(verify=False) as one, httpx2.Client(verify=False) as other:
        threads = [
            threading.Thread(target=run, args=(stream, (one, other)[n % 2]), name="chaos")
            for n, stream in enumerate(streams)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert not [thread for thread in threads if thread.is_alive()]
        assert not in_use(one, other)


def in_use(*clients: Any) -> list[Any]:
    """The connections that somebody still reads from."""
    return [one for client in clients for one in client._transport._pool.connections if not one.is_idle()]


def open_files() -> int | None:
    """How many file descriptors this process has, where the system tells."""
    listed = Path("/proc/self/fd")
    return len(list(listed.iterdir())) if listed.exists() else None


@contextmanager
def nothing_is_left() -> Iterator[None]:
    before, threads = open_files(), set(threading.enumerate())
    yield
    wait_while(lambda: set(threading.enumerate()) - threads)
    if before is not None:
        wait_while(lambda: (open_files() or 0) > before)


def storm(seed: int, count: int, *, blocking: bool) -> Counter[str]:
    """So many streams at once; how they ended."""
    kind, patience = "blocking" if blocking else "async", max(1.5, count / 80)  # all share one interpreter
    streams = [Stream(seed, n, kind=kind, patience=patience) for n in range(count)]
    began = time.monotonic()
    with nothing_is_left(), Upstream(script(seed)) as upstream, Proxy(upstream.port, seed) as proxy:
        if blocking:
            run_blocking(streams, proxy.url)
        else:
            asyncio.run(run_async(streams, proxy.url))
        took = time.monotonic() - began
        wait_while(lambda: proxy.open or upstream.open)
    ended: Counter[str] = Counter()
    for stream in streams:
        faults = proxy.faults[stream.user]
        try:
            ended[stream.check(faults)] += 1
        except (AssertionError, ValueError) as error:
            error.add_note(f"seed {seed}, {stream.user}: faults {faults}, ends {stream.ends}")
            raise
        if set(faults) <= HARMLESS and not stream.left:
            assert stream.ends == ["completed"], f"seed {seed}, {stream.user}: {stream.ends}"
    done = Counter(fault for faults in proxy.faults.values() for fault in faults)
    requests, connections = sum(done.values()), proxy.connections
    print(f"seed {seed}: {count} streams, {requests} requests, {connections} connections, {took:.1f} s")
    print(f"  ended: {dict(ended.most_common())}")
    print(f"  faults: {dict(done.most_common())}")
    assert count < 100 or set(done) == set(FAULTS)
    return ended


@pytest.mark.slow
@pytest.mark.parametrize("seed", SEEDS[:1])
def test_a_storm_of_async_streams(seed: int) -> None:
    ended = storm(seed, 200, blocking=False)
    assert {"completed", "left", "http", "protocol", "connection"} <= set(ended)


def test_a_storm_of_blocking_streams() -> None:
    storm(SEEDS[0], 40, blocking=True)


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_great_storm(seed: int) -> None:
    storm(seed, 500, blocking=False)
    storm(seed, 80, blocking=True)
