"""Many streams at once: CPU, memory and delay on one core, and how many it sustains."""

from __future__ import annotations

import importlib.util
import json
import os
import statistics
import subprocess
import sys
from typing import NamedTuple

from tests.bench.clients import (
    ASYNC,
    BARE,
    BARE_AIOHTTP,
    BARE_ON_AIOHTTP,
    OPENAI,
    OURS,
    OURS_AIOHTTP,
    OURS_ON_AIOHTTP,
)
from tests.bench.measure import spread
from tests.bench.peers import without_missing
from tests.bench.report import Figure, Report, Target
from tests.bench.server import Server, serving
from tests.bench.streams import FAIR, UVLOOP

RATE = 50  # events a second of each stream
LATE = 50.0  # ms
BUSY = 0.02  # of the time that others had the core: a delay that was measured then says little
STREAMS = (1, 100, 1_000)

DELAY = Target(LATE)
MEMORY = Target(1.3)

Found = dict[str, float]


class Who(NamedTuple):
    client: str
    loop: str = ""  # of asyncio

    def __str__(self) -> str:
        return ", ".join(filter(None, self))


FLOOR, BEST = Who(BARE_ON_AIOHTTP, FAIR), Who(OURS_ON_AIOHTTP, FAIR)
ALL = (
    Who(BARE),
    Who(OURS),
    Who(BARE_AIOHTTP),
    Who(OURS_AIOHTTP),
    Who(OURS_AIOHTTP, FAIR),
    Who(OURS_ON_AIOHTTP),
    Who(OURS_ON_AIOHTTP, UVLOOP),
    FLOOR,
    BEST,
    Who(OPENAI),
)
PAIRS = {
    Who(OURS): Who(BARE),
    Who(OURS_AIOHTTP): Who(BARE_AIOHTTP),
    BEST: FLOOR,
    Who(OURS_ON_AIOHTTP): Who(BARE_ON_AIOHTTP),
    Who(OPENAI): Who(OURS),
}
"""Who is compared with whom. The target for many at once is for the one that a user with so many would take: of what the
others cost, most is their client's, whoever reads it."""


class Lost(Exception):
    """The streams could not be opened, or read, in a minute."""


def run(report: Report) -> None:
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2 or not sys.platform.startswith("linux"):
        report.leave_out("many streams at once (they need Linux and two cores, one of them for the server)")
        return
    installed = {one.name for one in without_missing(ASYNC, report)}
    who = [one for one in ALL if one.client in installed]
    if importlib.util.find_spec("uvloop") is None:
        report.leave_out("uvloop (not installed: pip install -e '.[bench]')")
        who = [one for one in who if one.loop != UVLOOP]
    if report.quick:
        who = [one for one in who if one.client in {BARE, OURS}]
    with serving(core=cores[1]) as server:
        for streams in (100,) if report.quick else STREAMS:
            _delays(report, server, who, streams, cores[0])
        if not report.quick:
            _capacity(report, server, who, cores[0])
        _memory(report, server, who, cores[0])


def measure(server: Server, who: Who, streams: int, seconds: float, core: int) -> Found:
    """What so many streams cost one core for so long."""
    return _child(server, who, f"held/{RATE}", streams, core, seconds)


def _child(server: Server, who: Who, path: str, streams: int, core: int, seconds: float | None) -> Found:
    asked = {
        "client": who.client,
        "loop": who.loop,
        "url": server.url(path),
        "ports": server.ports,
        "streams": streams,
        "core": core,
        "seconds": seconds,
    }
    command = [sys.executable, "-m", "tests.bench.streams", json.dumps(asked)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=True)
    except subprocess.TimeoutExpired:
        raise Lost(f"{who}, {streams} streams: not done in a minute") from None
    except subprocess.CalledProcessError as failed:
        raise RuntimeError(f"{who}: {failed.stderr[-2000:]}") from None
    found: Found = json.loads(done.stdout)
    return found


def _delays(report: Report, server: Server, who: list[Who], streams: int, core: int) -> None:
    rounds: dict[Who, list[Found]] = {one: [] for one in who}
    for _ in range(1 if report.quick else 3):
        for one in who:
            try:
                rounds[one].append(measure(server, one, streams, 1.0 if report.quick else 2.0, core))
            except Lost as lost:
                report.leave_out(str(lost))
    table = f"{streams:,} {'stream' if streams == 1 else 'streams'} of {RATE} events/s"
    _cpu(report, table, rounds)
    for one, found in rounds.items():
        if found:
            calm = _calm(found)
            waited = statistics.median(each["waited"] for each in calm)
            busy = f" (others had the core for {waited:.0%} of the time)" if waited > BUSY else ""
            target = DELAY if one == BEST else None
            for share, limit in (("p50", None), ("p99", target)):
                delay = statistics.median(each[f"{share}_ms"] for each in calm)
                report.add(Figure(f"{table}, delay", f"{one}: {share}{busy}", delay, "ms", target=limit))


def _calm(found: list[Found]) -> list[Found]:
    """The rounds in which nobody else had the core; where there is none, the calmest."""
    return [one for one in found if one["waited"] < BUSY] or [min(found, key=lambda one: one["waited"])]


def _cpu(report: Report, table: str, rounds: dict[Who, list[Found]]) -> None:
    costs = {one: [each["us_per_event"] for each in found] for one, found in rounds.items() if found}
    for one, cost in costs.items():
        figure = Figure(f"{table}, CPU", str(one), statistics.median(cost), "µs/event")
        report.add(_with_its_pair(figure, costs, one))


def _with_its_pair(figure: Figure, costs: dict[Who, list[float]], one: Who, target: Target | None = None) -> Figure:
    """Compared round by round, where there is a pair and no round was lost."""
    pair = PAIRS.get(one)
    if pair is None or pair not in costs or len(costs[pair]) != len(costs[one]):
        return figure
    ratio = spread([mine / theirs for mine, theirs in zip(costs[one], costs[pair], strict=True)])
    return figure.against(ratio, str(pair).partition(": ")[2], target)


def _capacity(report: Report, server: Server, who: list[Who], core: int) -> None:
    """How many streams a core sustains: the most with p99 delay under the limit and all events there."""
    curves = report.curves.setdefault("p99, ms", {})
    most = {one: _most(server, one, core, curves.setdefault(str(one), {})) for one in who}
    report.curves["sustained"] = {str(one): streams for one, streams in most.items()}
    theirs = most.get(Who(OPENAI), 0)
    for one, streams in most.items():
        figure = Figure(f"Streams that one core sustains, p99 delay under {LATE:g} ms", str(one), streams, "")
        report.add(figure.against(spread([streams / theirs]), OPENAI) if theirs and one.client != OPENAI else figure)


def _most(server: Server, one: Who, core: int, steps: dict[str, float]) -> int:
    begin = 50 if one.client == OPENAI else 200
    try:
        busy = measure(server, one, begin, 1.5, core)["cpu"]
    except Lost:
        return 0
    streams = max(50, int(0.6 * begin / busy))
    while streams >= 25 and not _sustains(server, one, streams, core, steps):
        streams = int(streams / 1.4)  # it had not even begun well
    best = streams if streams >= 25 else 0
    for step in (1.15, 1.05):
        while best and best < 6_000 and _sustains(server, one, streams := int(best * step), core, steps):
            best = streams
    return best


def _sustains(server: Server, one: Who, streams: int, core: int, steps: dict[str, float]) -> bool:
    for _ in range(3):
        try:
            found = measure(server, one, streams, 2.0, core)
        except Lost:
            return False
        steps[str(streams)] = min(found["p99_ms"], steps.get(str(streams), 1e9))
        if found["p99_ms"] <= LATE and found["rate"] >= 0.95 * streams * RATE:
            return True
    return False


def _memory(report: Report, server: Server, who: list[Who], core: int) -> None:
    streams = 300 if report.quick else 1_000
    found: dict[Who, list[float]] = {Who(one.client): [] for one in who}
    for _ in range(1 if report.quick else 3):
        for one, kib in found.items():
            kib.append(_child(server, one, "idle", streams, core, None)["bytes_per_stream"] / 1024)
    for one, kib in found.items():
        figure = Figure(f"Memory of an idle stream, of {streams:,}", str(one), statistics.median(kib), "KiB")
        report.add(_with_its_pair(figure, found, one, MEMORY if one.client == OURS else None))
