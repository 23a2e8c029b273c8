"""Many streams at once: CPU, memory and delay on one core, and how many it sustains."""

from __future__ import annotations

import bisect
import importlib.util
import json
import os
import statistics
import subprocess
import sys
from collections.abc import Generator
from typing import Any, NamedTuple

from tests.bench.clients import (
    ASYNC,
    BARE,
    BARE_AIOHTTP,
    BARE_ON_AIOHTTP,
    OPENAI,
    OPENAI_AIOHTTP,
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
FULL = 0.97  # of a core
SUSTAINED = 0.95  # of the events must come
STREAMS = (1, 100, 1_000)
SEARCHES = 3

DELAY, ALL_CAME = Target(LATE), Target(100 * SUSTAINED, at_least=True)
MEMORY = Target(1.3)

Found = dict[str, float]
Tries = dict[str, list[float | None]]
"""Of each number of streams, the p99 delays in ms; None where they could not be read in time."""


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
    Who(OPENAI_AIOHTTP),
)
PAIRS = {
    Who(OURS): Who(BARE),
    Who(OURS_AIOHTTP): Who(BARE_AIOHTTP),
    BEST: FLOOR,
    Who(OURS_ON_AIOHTTP): Who(BARE_ON_AIOHTTP),
    Who(OPENAI): Who(OURS),
    Who(OPENAI_AIOHTTP): Who(OURS_AIOHTTP),
}
"""Who is compared with whom. The target for many at once is for the one that a user with so many would take: of what the
others cost, most is their client's, whoever reads it."""


class Lost(Exception):
    """The streams could not be opened, or read, in time."""


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


def measure(server: Server, who: Who, streams: int, seconds: float, core: int, patience: float = 60) -> Found:
    """What so many streams cost one core for so long."""
    return _child(server, who, f"held/{RATE}", {"streams": streams, "seconds": seconds}, core, patience)


def _child(server: Server, who: Who, path: str, what: dict[str, Any], core: int, patience: float) -> Found:
    about = {"client": who.client, "loop": who.loop, "url": server.url(path), "ports": server.ports, "core": core}
    asked = about | what
    command = [sys.executable, "-m", "tests.bench.streams", json.dumps(asked)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=patience, check=True)
    except subprocess.TimeoutExpired:
        raise Lost(f"{who}, {what['streams']} streams: not done in {patience:g} s") from None
    except subprocess.CalledProcessError as failed:
        raise RuntimeError(f"{who}: {failed.stderr[-2000:]}") from None
    found: Found = json.loads(done.stdout)
    return found


def _delays(report: Report, server: Server, who: list[Who], streams: int, core: int) -> None:
    rounds: dict[Who, list[Found]] = {one: [] for one in who}
    for _ in range(1 if report.quick else 3):
        for one, found in list(rounds.items()):
            try:
                found.append(measure(server, one, streams, 1.0 if report.quick else 2.0, core))
            except Lost as lost:  # and would be again
                report.leave_out(str(lost))
                del rounds[one]
    table = f"{streams:,} {'stream' if streams == 1 else 'streams'} of {RATE} events/s"
    _cpu(report, table, rounds)
    calm = {one: _calm(found) for one, found in rounds.items()}
    came = {one: _median(found, "rate") / (streams * RATE) for one, found in calm.items()}
    for one, part in came.items():
        figure = Figure(f"{table}, what came of it", str(one), 100 * part, "%")
        report.add(figure._replace(target=ALL_CAME if one == BEST else None))
    for one, found in calm.items():
        void = came[one] < SUSTAINED
        note = _note(_median(found, "waited"), came[one])
        for share, target in (("p50", None), ("p99", DELAY if one == BEST else None)):
            figure = Figure(f"{table}, delay", f"{one}: {share}", _median(found, f"{share}_ms"), "ms", target=target)
            report.add(figure._replace(note=note, void=void))
    report.curves[table] = {str(one): _load(found, streams) for one, found in rounds.items()}


def _load(found: list[Found], streams: int) -> dict[str, Any]:
    """Of each round: what was asked for, what came, how much of the core it took."""
    return {"asked": streams * RATE, "came": [one["rate"] for one in found], "core": [one["cpu"] for one in found]}


def _note(waited: float, came: float) -> str:
    """What makes a delay say little."""
    missing = f"only {came:.0%} of the events came" if came < SUSTAINED else ""
    busy = f"others had the core for {waited:.0%} of the time" if waited > BUSY else ""
    return "; ".join(filter(None, (missing, busy)))


def _median(found: list[Found], name: str) -> float:
    return statistics.median(one[name] for one in found)


def _calm(found: list[Found]) -> list[Found]:
    """The rounds in which nobody else had the core; where there is none, the calmest."""
    return [one for one in found if one["waited"] < BUSY] or [min(found, key=lambda one: one["waited"])]


def _cpu(report: Report, table: str, rounds: dict[Who, list[Found]]) -> None:
    """What has all of the core could have used more: how that compares says nothing."""
    full = {one for one, found in rounds.items() if _median(found, "cpu") > FULL}
    costs = {one: [each["us_per_event"] for each in found] for one, found in rounds.items()}
    compared = {one: cost for one, cost in costs.items() if one not in full}
    for one, cost in costs.items():
        figure = Figure(f"{table}, CPU", str(one), statistics.median(cost), "µs/event")
        report.add(figure._replace(note="the whole core") if one in full else _with_its_pair(figure, compared, one))


def _with_its_pair(figure: Figure, costs: dict[Who, list[float]], one: Who, target: Target | None = None) -> Figure:
    """Compared round by round, where there is a pair and no round was lost."""
    pair = PAIRS.get(one)
    if pair is None or pair not in costs or len(costs[pair]) != len(costs[one]):
        return figure
    ratio = spread([mine / theirs for mine, theirs in zip(costs[one], costs[pair], strict=True)])
    return figure.against(ratio, str(pair).partition(": ")[2], target)


def _capacity(report: Report, server: Server, who: list[Who], core: int) -> None:
    """How many streams a core sustains: the most with p99 delay under the limit and all events there.

    Each is searched several times; the searches of all take turns, a try of each.
    """
    curves: dict[str, Tries] = {str(one): {} for one in who}
    found: dict[Who, list[int]] = {one: [] for one in who}
    for number in range(SEARCHES):
        searches = {}
        for one in who:
            start = found[one][-1] if number else _guess(server, one, core)
            searches[one] = search(start)
        tried: dict[Who, bool | None] = dict.fromkeys(searches)
        while searches:
            for one, tries in list(searches.items()):
                try:
                    streams = tries.send(tried[one])
                except StopIteration as ended:
                    found[one].append(ended.value)
                    del searches[one]
                else:
                    tried[one] = _sustains(server, one, streams, core, curves[str(one)])
        print(
            f"\nSearch {number + 1} of {SEARCHES}:",
            ", ".join(f"{one}: {most[-1]}" for one, most in found.items()),
            flush=True,
        )
    report.curves["p99, ms"] = curves
    report.curves["sustained, each search"] = {str(one): most for one, most in found.items()}
    report.curves["sustained"] = {str(one): statistics.median(most) for one, most in found.items()}
    theirs = found.get(Who(OPENAI), [0])
    table = f"Streams that one core sustains, p99 delay under {LATE:g} ms, the median of {SEARCHES} searches and their range"
    for one, most in found.items():
        figure = Figure(table, str(one), statistics.median(most), "", note=f"{min(most):,} … {max(most):,}")
        if all(theirs) and one != Who(OPENAI):
            figure = figure.against(spread([mine / other for mine, other in zip(most, theirs, strict=True)]), OPENAI)
        report.add(figure)


LADDER = [round(step * 10.0**power) for power in range(1, 4) for step in (
    1.0, 1.1, 1.2, 1.3, 1.5, 1.6, 1.8, 2.0, 2.2, 2.4, 2.7, 3.0, 3.3, 3.6, 3.9, 4.3, 4.7, 5.1, 5.6, 6.2, 6.8, 7.5, 8.2, 9.1,
)]  # fmt: skip
"""Numbers of streams, each a tenth more than the one before: what is measured is good for no more."""


def search(start: int) -> Generator[int, bool | None, int]:
    """The highest rung that is sustained, by the majority of three tries at it; 0 where none is.

    Yields each number of streams to try, and is sent whether they were sustained. From the rung at the start it goes up, or down, in steps that
    double until the answer is between two rungs; then it halves what is between them. What has failed once is never climbed past.
    """
    rung = max(0, bisect.bisect_right(LADDER, start) - 1)
    holds, fails, step = -1, len(LADDER), 1
    while fails - holds > 1:
        if (yield from _majority(LADDER[rung])):
            holds = rung
        else:
            fails = rung
        if fails == len(LADDER):
            rung, step = min(holds + step, fails - 1), 2 * step
        elif holds == -1:
            rung, step = max(fails - step, 0), 2 * step
        else:
            rung = (holds + fails) // 2
    return LADDER[holds] if holds >= 0 else 0


def _majority(streams: int) -> Generator[int, bool | None, bool]:
    tries: list[bool] = []
    while max(tries.count(True), tries.count(False)) < 2:
        tries.append(bool((yield streams)))
    return tries.count(True) == 2


def _guess(server: Server, one: Who, core: int) -> int:
    """Where to begin: busy streams cost less each, as more comes at once."""
    few = 50 if one.client in {OPENAI, OPENAI_AIOHTTP} else 200
    try:
        return int(1.4 * few / measure(server, one, few, 1.0, core)["cpu"])
    except Lost:
        return few


def _sustains(server: Server, one: Who, streams: int, core: int, tries: Tries) -> bool:
    try:
        found = measure(server, one, streams, 1.5, core, patience=20)
    except Lost:
        tries.setdefault(str(streams), []).append(None)
        return False
    tries.setdefault(str(streams), []).append(found["p99_ms"])
    return found["p99_ms"] <= LATE and found["rate"] >= SUSTAINED * streams * RATE


def _memory(report: Report, server: Server, who: list[Who], core: int) -> None:
    streams = [300] if report.quick else [100, 1_000]
    clients = [Who(name) for name in dict.fromkeys(one.client for one in who)]
    found: dict[Who, list[Found]] = {one: [] for one in clients}
    for _ in range(1 if report.quick else 3):
        for one, rounds in found.items():
            rounds.append(_child(server, one, "idle", {"streams": streams}, core, 60))
    for name in ("first", *map(str, streams)):
        kib = {one: [each[name] / 1024 for each in rounds] for one, rounds in found.items()}
        table = (
            "Memory of the first stream, with its client"
            if name == "first"
            else f"Memory of an idle stream, of {int(name):,}"
        )
        target = MEMORY if name == str(streams[-1]) else None
        for one, values in kib.items():
            figure = Figure(table, str(one), statistics.median(values), "KiB")
            report.add(_with_its_pair(figure, kib, one, target if one.client == OURS else None))
