"""2. Over a socket: what an event costs the reading process, with the server in another one."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable
from typing import Any

from tests.bench.clients import (
    ASYNC,
    BARE,
    BARE_SYNC,
    OPENAI,
    OPENAI_SYNC,
    OURS,
    OURS_AIOHTTP,
    OURS_SYNC,
    SYNC,
    AsyncClient,
    SyncClient,
)
from tests.bench.measure import Costs, in_turn, spread
from tests.bench.report import Figure, Report, Target
from tests.bench.server import Server, serving

ABOVE_BARE = Target(1.4)
UNDER_OPENAI = Target(8, at_least=True)
AIOHTTP_UNDER_OPENAI = Target(20, at_least=True)

BURST = "at once"
PACED = "one at a time"


def run(report: Report) -> None:
    with serving() as server:
        for scheme in server.ports:
            if report.quick and scheme == "https":
                continue
            for manner in (BURST,) if report.quick else (BURST, PACED):
                for looping in (True, False):
                    _compare(report, server, scheme, manner, looping=looping)
        if "https" not in server.ports:
            report.leave_out("TLS (trustme not installed)")


def _compare(report: Report, server: Server, scheme: str, manner: str, *, looping: bool) -> None:
    quick = report.quick
    clients: Iterable[Any] = [one for one in (ASYNC if looping else SYNC) if not one.missing()]
    if manner == BURST:
        events = 1_000 if quick else 3_000
        url = server.url(f"burst/{events}", scheme)
    else:
        events = 1_000
        url = server.url(f"paced/{events}/{2_000}", scheme)
    rounds = 3 if quick else 7 if manner == BURST else 5
    seconds: dict[str, list[float]] = {one.name: [] for one in clients}
    if looping:
        with asyncio.Runner() as runner:
            opened = {one.name: runner.run(one.open(1)) for one in clients}
            runs = {name: (_awaited(runner, read, url, seconds[name], events), events) for name, (read, _) in opened.items()}
            costs = in_turn(runs, rounds)
            for _, close in opened.values():
                runner.run(close())
    else:
        opened = {one.name: one.open() for one in clients}
        runs = {name: (_blocking(read, url, seconds[name], events), events) for name, (read, _) in opened.items()}
        costs = in_turn(runs, rounds)
        for _, close in opened.values():
            close()
    part = f"2. Socket: {'async' if looping else 'sync'}, {'TLS' if scheme == 'https' else 'plain'}, events {manner}"
    _tell(report, part, costs, seconds, events, looping=looping, manner=manner)


def _awaited(runner: asyncio.Runner, read: Any, url: str, seconds: list[float], events: int) -> Callable[[], None]:
    def run() -> None:
        count = _Count()
        began = time.monotonic()
        runner.run(read(url, count))
        seconds.append(time.monotonic() - began)
        count.check(events)

    return run


def _blocking(read: Any, url: str, seconds: list[float], events: int) -> Callable[[], None]:
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


def _tell(
    report: Report, part: str, costs: Costs, seconds: dict[str, list[float]], events: int, *, looping: bool, manner: str
) -> None:
    bare, ours, openai = (BARE, OURS, OPENAI) if looping else (BARE_SYNC, OURS_SYNC, OPENAI_SYNC)
    for name in costs:
        low_high = spread([cost * 1e6 for cost in costs[name]])
        report.add(Figure(part, f"{name}: CPU", low_high.median, "µs/event", low_high.low, low_high.high))
        if manner == BURST:
            report.add(Figure(part, f"{name}: throughput", events / spread(seconds[name][1:]).median, "events/s"))
    report.add(_ratio(part, costs, ours, bare, ABOVE_BARE))
    for name in (ours, OURS_AIOHTTP):
        if openai in costs and name in costs:
            target = AIOHTTP_UNDER_OPENAI if name == OURS_AIOHTTP else UNDER_OPENAI
            report.add(_ratio(part, costs, openai, name, target))
    report.curves.setdefault("socket", {})[part] = {name: costs.each(name) * 1e6 for name in costs}


def _ratio(part: str, costs: Costs, name: str, to: str, target: Target) -> Figure:
    ratio = costs.ratio(name, to)
    return Figure(part, f"{name} / {to}", ratio.median, "×", ratio.low, ratio.high, target)
