"""Over a socket: what an event costs the reading process, with the server in another one."""

from __future__ import annotations

import asyncio
import statistics
import time
from collections.abc import Callable
from typing import Any

from tests.bench.clients import (
    ASYNC,
    BARE,
    BARE_SYNC,
    OPENAI,
    OPENAI_AIOHTTP,
    OPENAI_SYNC,
    OURS,
    OURS_AIOHTTP,
    OURS_SYNC,
    SYNC,
    OnText,
    Read,
)
from tests.bench.measure import Costs, in_turn
from tests.bench.peers import without_missing
from tests.bench.report import Figure, Report, Target
from tests.bench.server import Server, serving

ABOVE_BARE = Target(1.4)
UNDER_OPENAI = Target(8, at_least=True)
AIOHTTP_UNDER_OPENAI = Target(20, at_least=True)

BURST, PACED = "all at once", "2,000 events/s"


def run(report: Report) -> None:
    with serving() as server:
        clients: tuple[list[Any], ...] = without_missing(ASYNC, report), without_missing(SYNC, report)
        for scheme in ("http",) if report.quick else server.ports:
            for manner in (BURST,) if report.quick else (BURST, PACED):
                for kind in clients:
                    _compare(report, server, scheme, manner, kind)
        if "https" not in server.ports:
            report.leave_out("TLS (trustme not installed: pip install -e '.[bench]')")


def _compare(report: Report, server: Server, scheme: str, manner: str, clients: list[Any]) -> None:
    events = 3_000 if manner == BURST and not report.quick else 1_000
    url = server.url(f"burst/{events}" if manner == BURST else f"paced/{events}/2000", scheme)
    rounds = 3 if report.quick else 15 if manner == BURST else 5
    looping = clients[0].name == BARE
    seconds: dict[str, list[float]] = {one.name: [] for one in clients}
    with asyncio.Runner() as runner:
        runs, closes = {}, []
        for one in clients:
            read, close = runner.run(one.open(1)) if looping else one.open()
            once = _on_loop(read, runner) if looping else read
            runs[one.name] = _reading(once, url, events, seconds[one.name]), events
            closes.append(close)
        costs = in_turn(runs, rounds)
        for close in closes:
            (runner.run if looping else _done)(close())
    transfer = "TLS" if scheme == "https" else "plain"
    table = f"Over a socket, {'async' if looping else 'sync'}, {transfer}, {manner}"
    _tell(report, table, costs, looping=looping, burst=manner == BURST)
    report.curves[table] = {name: costs.each(name) for name in costs}
    if manner == BURST:
        for name, took in seconds.items():
            rate = events / statistics.median(took[1:])  # without the one that warmed up
            report.add(Figure(f"{table}: throughput", name, rate, "events/s"))


def _done(result: object) -> None: ...


def _on_loop(read: Read, runner: asyncio.Runner) -> Callable[[str, OnText], None]:
    async def whole(url: str, on_text: OnText) -> None:
        await read(url, on_text)

    return lambda url, on_text: runner.run(whole(url, on_text))


def _reading(read: Callable[[str, OnText], None], url: str, events: int, seconds: list[float]) -> Callable[[], None]:
    def run() -> None:
        count = _Count()
        began = time.monotonic()
        read(url, count)
        seconds.append(time.monotonic() - began)
        count.check(events)

    return run


class _Count:
    """A sink that knows whether all has come."""

    def __init__(self) -> None:
        self.texts = self.bytes = 0

    def __call__(self, text: str | bytes) -> None:
        if type(text) is bytes:
            self.bytes += len(text)
        else:
            self.texts += 1

    def check(self, events: int) -> None:
        if self.texts != events and self.bytes < 250 * events:
            raise RuntimeError(f"of {events} events came {self.texts}, or {self.bytes} bytes")


def _tell(report: Report, table: str, costs: Costs, *, looping: bool, burst: bool) -> None:
    """Where events come one at a time, most of what they cost is waking up, whoever reads: peers have no target there."""
    bare, ours, openai = (BARE, OURS, OPENAI) if looping else (BARE_SYNC, OURS_SYNC, OPENAI_SYNC)

    def add(name: str, to: str, target: Target | None = None) -> None:
        ratio = costs.ratio(name, to)
        report.add(Figure(table, name, costs.each(name), "µs/event", ratio, to.partition(": ")[2], target))

    report.add(Figure(table, bare, costs.each(bare), "µs/event"))
    for name in costs:
        if name == openai:
            add(name, ours, UNDER_OPENAI if burst else None)
            if OURS_AIOHTTP in costs:
                add(name, OURS_AIOHTTP, AIOHTTP_UNDER_OPENAI if burst else None)
        elif name == OPENAI_AIOHTTP:
            if OURS_AIOHTTP in costs:
                add(name, OURS_AIOHTTP)
        elif name != bare:
            add(name, bare, ABOVE_BARE if name == ours else None)
