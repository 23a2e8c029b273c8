"""Many streams in one process on one core, as one measurement: `python -m tests.bench.streams '{"client": …}'`. Prints JSON."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pipeline import fair_loop
from tests.bench.clients import ASYNC, AsyncClient, OnText, Read
from tests.bench.measure import percentile
from tests.bench.server import STAMP, STAMPED_AT, STAMPED_LENGTH, Server

UVLOOP, FAIR = "uvloop", "fair_loop()"
AT_ONCE = 50  # connections that are being made


def resident() -> int:
    """Bytes of memory that this process has now."""
    pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    return pages * resource.getpagesize()


def waited() -> float:
    """Seconds that this thread could have run and did not, as others had its core."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text("ascii").split()[1]) / 1e9
    except OSError:  # a kernel that does not count it
        return 0.0


class Stamps:
    """When events came, and when they were sent, which is the text of each. To tell how late they are can wait."""

    def __init__(self) -> None:
        self.came: list[float] = []
        self.sent: list[str | bytes] = []

    def __len__(self) -> int:
        return len(self.sent)

    def clear(self) -> None:
        self.came.clear()
        self.sent.clear()

    def delays(self) -> list[float]:
        """Seconds from the server's write to the sink."""
        return [came - float(sent) for came, sent in zip(self.came, self.sent, strict=True)]

    def sink_of_texts(self) -> OnText:
        came, sent, monotonic = self.came.append, self.sent.append, time.monotonic

        def on_text(text: str) -> None:
            came(monotonic())
            sent(text)

        return on_text

    def sink_of_reads(self) -> OnText:
        """The same without parsing, with the least work: all events are of one length, so that it is known where the times stand.

        A read may have several of them, and begin and end in the middle of one. A time that is cut in two is left out.
        """
        came, sent, monotonic = self.came.append, self.sent.append, time.monotonic
        ahead, time_of, one_event = STAMPED_AT, slice(STAMPED_AT, STAMPED_AT + STAMP), STAMPED_LENGTH

        def on_read(read: bytes) -> None:
            nonlocal ahead, one_event
            if len(read) == one_event:
                came(monotonic())
                sent(read[time_of])
                return
            now = monotonic()
            for at in range(ahead, len(read) - STAMP + 1, STAMPED_LENGTH):
                came(now)
                sent(read[at : at + STAMP])
            ahead = (ahead - len(read)) % STAMPED_LENGTH  # where the next time stands
            one_event = STAMPED_LENGTH if ahead == STAMPED_AT else -1

        return on_read


def _client(name: str) -> AsyncClient:
    return next(one for one in ASYNC if one.name == name)


async def _started(read: Read, url: str, streams: int, sink: Callable[[], Any], begun: Callable[[], int]) -> list[Any]:
    """So many streams, each of which has had its first event, and no other."""
    tasks = []
    for first in range(0, streams, AT_ONCE):
        tasks += [asyncio.ensure_future(read(url, sink())) for _ in range(min(AT_ONCE, streams - first))]
        while begun() < len(tasks):
            failed = next((task for task in tasks if task.done()), None)
            if failed is not None:
                failed.result()
                raise RuntimeError("a stream has ended too early")
            await asyncio.sleep(0.005)
    return tasks


async def _measure(server: Server, client: str, url: str, streams: int, seconds: float) -> dict[str, float]:
    """CPU, delays and events of so many streams for so long."""
    one, stamps = _client(client), Stamps()
    read, _ = await one.open(streams)
    sink = stamps.sink_of_reads if one.raw else stamps.sink_of_texts
    tasks = await _started(read, url, streams, sink, lambda: len(stamps))
    server.go()
    await asyncio.sleep(0.5)
    stamps.clear()
    cpu, idle, began = time.process_time(), waited(), time.monotonic()
    await asyncio.sleep(seconds)
    idle = waited() - idle
    cpu, took = time.process_time() - cpu, time.monotonic() - began
    found = stamps.delays()
    if any(task.done() for task in tasks):
        raise RuntimeError("a stream has ended too early")
    return {
        "cpu": cpu / took,
        "waited": idle / took,
        "rate": len(found) / took,
        "us_per_event": cpu / len(found) * 1e6,
        "p50_ms": percentile(found, 0.5) * 1e3,
        "p99_ms": percentile(found, 0.99) * 1e3,
        "max_ms": max(found) * 1e3,
    }


async def _idle(client: str, url: str, streams: list[int]) -> dict[str, float]:
    """Bytes of memory that the first stream takes, and, when there are so many more that wait for their second event, one of them."""
    before = resident()
    read, _ = await _client(client).open(max(streams))
    count = 0

    def on_text(_: Any) -> None:
        nonlocal count
        count += 1

    async def more(number: int) -> None:
        nonlocal count
        count = 0
        await _started(read, url, number, lambda: on_text, lambda: count)

    await more(1)
    found = {"first": float(resident() - before)}
    await more(19)  # what is made once, or now and then
    before, there = resident(), 0
    for number in streams:
        await more(number - there)
        there = number
        found[str(number)] = (resident() - before) / there
    return found


def _loop(name: str) -> Callable[[], asyncio.AbstractEventLoop] | None:
    if name == UVLOOP:
        import uvloop

        return uvloop.new_event_loop
    return fair_loop if name == FAIR else None


def main() -> None:
    asked = json.loads(sys.argv[1])
    if asked.get("core") is not None and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {asked["core"]})
    runner = asyncio.Runner(loop_factory=_loop(asked["loop"]))
    what = asked["client"], asked["url"], asked["streams"]
    found = runner.run(
        _measure(Server(asked["ports"]), *what, asked["seconds"]) if asked.get("seconds") else _idle(*what)
    )
    print(json.dumps(found), flush=True)
    os._exit(0)  # the streams are left as they are


if __name__ == "__main__":
    main()
