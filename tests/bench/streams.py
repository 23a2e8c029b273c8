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
from tests.bench.clients import ASYNC, Read
from tests.bench.measure import percentile
from tests.bench.server import Server

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


class _Delays:
    """From the write of the server, which is the text of the event, to the sink."""

    def __init__(self) -> None:
        self.seconds: list[float] = []
        self.streams = 0

    def sink(self) -> Callable[[Any], None]:
        add, monotonic = self.seconds.append, time.monotonic
        new = True

        def on_text(text: str | bytes) -> None:
            nonlocal new
            if new:
                new = False
                self.streams += 1
            now = monotonic()
            if isinstance(text, str):
                add(now - float(text))
            else:  # from those that do not parse: a read may have several events
                for event in text.split(b'"content":" ')[1:]:
                    add(now - float(event[:12]))

        return on_text


async def _started(read: Read, url: str, streams: int, sink: Callable[[], Any], begun: Callable[[], int]) -> list[Any]:
    """So many streams, each of which has had its first event."""
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
    read, _ = await next(one for one in ASYNC if one.name == client).open(streams)
    delays = _Delays()
    tasks = await _started(read, url, streams, delays.sink, lambda: delays.streams)
    server.go()
    await asyncio.sleep(0.5)
    delays.seconds.clear()
    cpu, idle, began = time.process_time(), waited(), time.monotonic()
    await asyncio.sleep(seconds)
    idle = waited() - idle
    cpu, took, found = time.process_time() - cpu, time.monotonic() - began, delays.seconds.copy()
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


async def _idle(client: str, url: str, streams: int) -> dict[str, float]:
    """Memory of streams that wait for their second event."""
    read, _ = await next(one for one in ASYNC if one.name == client).open(streams)
    count = 0

    def on_text(_: Any) -> None:
        nonlocal count
        count += 1

    await _started(read, url, 20, lambda: on_text, lambda: count)  # what is made once
    before, count = resident(), 0
    await _started(read, url, streams, lambda: on_text, lambda: count)
    return {"bytes_per_stream": (resident() - before) / streams}


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
    what = (asked["client"], asked["url"], asked["streams"])
    found = runner.run(
        _measure(Server(asked["ports"]), *what, asked["seconds"]) if asked.get("seconds") else _idle(*what)
    )
    print(json.dumps(found), flush=True)
    os._exit(0)  # the streams are left as they are


if __name__ == "__main__":
    main()
