"""3. Many streams at once: CPU, memory and delay on one core, and how many it sustains."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from typing import Any, NamedTuple

from tests.bench.clients import ASYNC, BARE, OPENAI, OURS, OURS_AIOHTTP
from tests.bench.measure import Ratio, spread
from tests.bench.report import Figure, Report, Target
from tests.bench.server import Server, serving

RATE = 50  # events a second of each stream
LATE = 50.0  # ms
STREAMS = (1, 100, 1_000)

DELAY = Target(LATE)
MEMORY = Target(1.3)


class Who(NamedTuple):
    client: str
    uvloop: bool = False

    def __str__(self) -> str:
        return f"{self.client}, uvloop" if self.uvloop else self.client


BEST = Who(OURS_AIOHTTP, uvloop=True)
ALL = (Who(BARE), Who(OURS), Who("bare: httpx-aiohttp aiter_raw"), Who(OURS_AIOHTTP), BEST, Who(OPENAI))


class Lost(Exception):
    """The streams could not even be opened."""


def run(report: Report) -> None:
    missing = {one.name for one in ASYNC if one.missing()}
    cores = sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []
    if len(cores) < 2 or not sys.platform.startswith("linux"):
        report.leave_out("many streams at once (need Linux and two cores, one of them for the server)")
        return
    who = [one for one in ALL if one.client not in missing and not (one.uvloop and _no_uvloop())]
    if report.quick:
        who = [one for one in who if one.client in {BARE, OURS}]
    with serving(core=cores[1]) as server:
        if not report.quick:
            _ladder_of_three(report, server, who, cores[0])
            _capacity(report, server, who, cores[0])
        else:
            found = measure(server, Who(OURS), 100, 1.0, cores[0])
            report.add(Figure("3. Many: 100 streams", f"{OURS}: p99 delay", found["p99_ms"], "ms", target=DELAY))
        _memory(report, server, who, cores[0])


def _no_uvloop() -> bool:
    try:
        import uvloop  # noqa: F401
    except ImportError:
        return True
    return False


def measure(server: Server, who: Who, streams: int, seconds: float, core: int) -> dict[str, float]:
    """What so many streams cost one core for so long."""
    return _child(server, who, f"held/{RATE}", streams, core, seconds)


def _child(server: Server, who: Who, path: str, streams: int, core: int, seconds: float | None) -> dict[str, float]:
    asked = {
        "client": who.client,
        "uvloop": who.uvloop,
        "url": server.url(path),
        "ports": server.ports,
        "streams": streams,
        "core": core,
        "seconds": seconds,
    }
    command = [sys.executable, "-m", "tests.bench.streams", json.dumps(asked)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=True)
    except subprocess.TimeoutExpired:
        raise Lost from None
    except subprocess.CalledProcessError as failed:
        raise RuntimeError(f"{who}: {failed.stderr[-2000:]}") from None
    found: dict[str, float] = json.loads(done.stdout)
    return found


def _ladder_of_three(report: Report, server: Server, who: list[Who], core: int) -> None:
    curves: dict[str, Any] = report.curves.setdefault("many", {})
    for streams in STREAMS:
        part = f"3. Many: {streams:,} streams of {RATE} events/s on one core"
        rounds: dict[Who, list[dict[str, float]]] = {one: [] for one in who}
        for _ in range(2):
            for one in who:
                try:
                    rounds[one].append(measure(server, one, streams, 2.0, core))
                except Lost:
                    continue
        for one, found in rounds.items():
            if not found:
                report.leave_out(f"{one} with {streams} streams: it could not open them in half a minute")
                continue
            for name, what, unit in (
                ("cpu", "share of the core", ""),
                ("us_per_event", "CPU", "µs/event"),
                ("rate", "events that came", "events/s"),
                ("p50_ms", "p50 delay", "ms"),
                ("p99_ms", "p99 delay", "ms"),
            ):
                middle = spread([each[name] for each in found])
                aimed = DELAY if name == "p99_ms" and one in {Who(OURS), Who(OURS_AIOHTTP), BEST} else None
                report.add(Figure(part, f"{one}: {what}", middle.median, unit, middle.low, middle.high, aimed))
                curves.setdefault(str(one), {}).setdefault(name, {})[str(streams)] = middle.median


def _capacity(report: Report, server: Server, who: list[Who], core: int) -> None:
    """How many streams a core sustains: the most with p99 delay under the limit and all events there."""
    part = f"3. Many: streams that one core sustains with p99 delay under {LATE:g} ms"
    curves: dict[str, Any] = report.curves.setdefault("capacity", {})
    most: dict[Who, int] = {}
    for one in who:
        known = measure(server, one, 50, 1.5, core)
        streams = max(50, int(0.5 * 50 / known["cpu"]))
        steps = curves.setdefault(str(one), {})
        best = 0
        while streams < 6_000:
            if not _sustains(server, one, streams, core, steps):
                if best:
                    break
                streams = int(streams / 1.5)  # it had not even begun well
                if streams < 25:
                    break
                continue
            best = streams
            streams = int(streams * 1.2)
        most[one] = best
        report.add(Figure(part, str(one), best, "streams"))
    if Who(OPENAI) in most and most[Who(OPENAI)]:
        for one in who:
            if one.client != OPENAI:
                report.add(Figure(part, f"{one} / {OPENAI}", most[one] / most[Who(OPENAI)], "×"))


def _sustains(server: Server, one: Who, streams: int, core: int, steps: dict[str, float]) -> bool:
    for _ in range(2):  # once more, as the machine may have been busy
        try:
            found = measure(server, one, streams, 2.5, core)
        except Lost:
            return False
        steps[str(streams)] = min(found["p99_ms"], steps.get(str(streams), 1e9))
        if found["p99_ms"] <= LATE and found["rate"] >= 0.95 * streams * RATE:
            return True
    return False


def _memory(report: Report, server: Server, who: list[Who], core: int) -> None:
    streams = 300 if report.quick else 1_000
    part = f"3. Many: memory of an idle stream, of {streams:,}"
    who = [one for one in who if not one.uvloop]
    found: dict[Who, list[float]] = {one: [] for one in who}
    for _ in range(1 if report.quick else 3):
        for one in who:
            found[one].append(_child(server, one, "idle", streams, core, None)["bytes_per_stream"] / 1024)
    for one, kib in found.items():
        report.add(Figure(part, str(one), statistics.median(kib), "KiB"))
    for one, other in ((Who(OURS), Who(BARE)), (Who(OURS_AIOHTTP), Who("bare: httpx-aiohttp aiter_raw"))):
        if one in found and other in found:
            ratio: Ratio = spread([mine / bare for mine, bare in zip(found[one], found[other], strict=True)])
            report.add(Figure(part, f"{one} / {other}", ratio.median, "×", ratio.low, ratio.high, MEMORY))
