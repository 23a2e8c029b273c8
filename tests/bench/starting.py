"""Start: what importing costs, and the time from the first byte to the first text at the sink."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from typing import Any

from tests.bench.bodies import text_heavy
from tests.bench.measure import spread
from tests.bench.peers import COMPETITORS, FLOOR, OURS, Competitor, Sink, without_missing
from tests.bench.report import Figure, Report, Target

BASE = "import reactivex, msgspec"
OPERATORS, PIPELINE = "import operators", "import pipeline"
OURS_AND_THEIRS: tuple[str, ...] = (BASE, OPERATORS, PIPELINE, "import reactivex, msgspec, httpx")
PEERS: tuple[str, ...] = ("import openai", "import langchain_openai", "import litellm")
IMPORT = Target(1.3)


def run(report: Report) -> None:
    with tempfile.TemporaryDirectory() as compiled:
        _imports(report, compiled)
    _first_text(report)


def _imports(report: Report, compiled: str) -> None:
    wanted = OURS_AND_THEIRS if report.quick else OURS_AND_THEIRS + PEERS
    lines = [line for line in wanted if _import_seconds(line, compiled)]
    if absent := [line for line in wanted if line not in lines]:
        report.leave_out(f"{'; '.join(absent)} (not installed: pip install -e '.[bench]')")
    took: dict[str, list[float]] = {line: [] for line in lines}
    for round_ in range(5 if report.quick else 11):
        for line in lines:
            if line not in PEERS or round_ < 3:  # theirs take seconds
                took[line].append(_import_seconds(line, compiled))
    for line, seconds in took.items():
        ratio = spread([mine / base for mine, base in zip(seconds, took[BASE], strict=False)])
        figure = Figure("Imports", line, statistics.median(seconds) * 1e3, "ms")
        report.add(figure if line == BASE else figure.against(ratio, BASE, IMPORT if line == OPERATORS else None))
    report.curves["imports, ms"] = {line: statistics.median(seconds) * 1e3 for line, seconds in took.items()}


def _import_seconds(line: str, compiled: str) -> float:
    """CPU time, in a process of its own; 0 for what is not installed.

    The bytecode of all modules is kept in a folder, which the first import fills: an environment may have none of some.
    """
    code = f"import time; began = time.process_time(); {line}; print(time.process_time() - began)"
    environment = os.environ | {"PYTHONPYCACHEPREFIX": compiled, "PYTHONDONTWRITEBYTECODE": ""}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, capture_output=True, check=False, text=True, env=environment)
    if done.returncode and line not in PEERS:
        raise RuntimeError(done.stderr[-2000:])
    return float(done.stdout or 0)


class _Stamped(list[bytes]):
    """Reads that know when the first one was given."""

    at = 0.0

    def __iter__(self) -> Iterator[bytes]:
        self.at = time.perf_counter()
        yield from super().__iter__()


class _First(Sink):
    """Keeps when the first text came."""

    def __init__(self, competitor: Competitor) -> None:
        self._found = competitor.found
        self.at = 0.0

    def item(self, item: Any, /) -> None:
        if not self.at and self._found is not None and any(text for _, text in self._found(item)):
            self.at = time.perf_counter()

    def text(self, text: str, /) -> None:
        self.at = self.at or time.perf_counter()


def first_text(name: str, times: int) -> list[float]:
    """Seconds from the first byte to the first text: the first time in this process, then again and again."""
    competitor = next(one for one in COMPETITORS if one.name == name)
    took = []
    for _ in range(times):
        reads = _Stamped(text_heavy(10).reads(None))
        run = competitor.make(reads)
        sink = _First(competitor)
        run(sink)
        took.append(sink.at - reads.at)
    return took


def _first_text(report: Report) -> None:
    wanted = [one for one in COMPETITORS if one.channels and (one.name in {FLOOR, OURS} or not report.quick)]
    names = [one.name for one in without_missing(wanted, report)]
    cold: dict[str, list[float]] = {name: [] for name in names}
    warm: dict[str, list[float]] = {name: [] for name in names}
    for _ in range(1 if report.quick else 5):
        for name in names:
            first, *again = _in_new_process(name, 50)
            cold[name].append(first * 1e6)
            warm[name].append(statistics.median(again) * 1e6)
    for table, found in (("the first stream of a process", cold), ("a later stream", warm)):
        for name in names:
            ratio = spread([mine / floor for mine, floor in zip(found[name], found[FLOOR], strict=True)])
            title = f"From the first byte to the first text, {table}"
            figure = Figure(title, name, statistics.median(found[name]), "µs")
            report.add(figure if name == FLOOR else figure.against(ratio, "floor"))


def _in_new_process(name: str, times: int) -> list[float]:
    code = f"import json; from tests.bench.starting import first_text; print(json.dumps(first_text({name!r}, {times})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found
