"""5. Start: what importing costs, and the time from the first byte to the first thing at the sink."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Iterator
from typing import Any

from tests.bench.bodies import text_heavy
from tests.bench.measure import spread
from tests.bench.peers import COMPETITORS, FLOOR, OURS, Competitor, Sink
from tests.bench.report import Figure, Report, Target

BASE = "import reactivex, msgspec"
OPERATORS, PIPELINE = "import operators", "import pipeline"
IMPORTS = (
    BASE, OPERATORS, PIPELINE, "import httpx, reactivex, msgspec", "import openai", "import langchain_openai", "import litellm",
)  # fmt: skip
IMPORT = Target(1.3)


def run(report: Report) -> None:
    _imports(report)
    _first_event(report)


def _imports(report: Report) -> None:
    part = "5. Start: imports"
    lines = [line for line in IMPORTS if _works(line)]
    if report.quick:
        lines = [BASE, OPERATORS, PIPELINE]
    took: dict[str, list[float]] = {line: [] for line in lines}
    for _ in range(5 if report.quick else 11):
        for line in lines:
            if len(took[line]) < 5 or line in {BASE, OPERATORS, PIPELINE}:
                took[line].append(_import_seconds(line))
    for line, seconds in took.items():
        middle = spread([one * 1e3 for one in seconds])
        report.add(Figure(part, line, middle.median, "ms", middle.low, middle.high))
    for line, target in ((OPERATORS, IMPORT), (PIPELINE, None)):
        ratio = spread([mine / base for mine, base in zip(took[line], took[BASE], strict=True)])
        report.add(Figure(part, f"{line} / {BASE}", ratio.median, "×", ratio.low, ratio.high, target))


def _works(line: str) -> bool:
    return subprocess.run([sys.executable, "-c", line], capture_output=True, check=False).returncode == 0


def _import_seconds(line: str) -> float:
    """CPU time, in a process of its own whose caches of bytecode are there."""
    code = f"import time; began = time.process_time(); {line}; print(time.process_time() - began)"
    return float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True).stdout)


class _Stamped:
    """Reads that know when the first one was given."""

    def __init__(self, reads: list[bytes]) -> None:
        self._reads = reads
        self.at = 0.0

    def __iter__(self) -> Iterator[bytes]:
        self.at = time.perf_counter()
        yield from self._reads


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


def first_event(name: str, times: int) -> list[float]:
    """Seconds from the first byte to the first text: the first time in this process, then again and again."""
    competitor = next(one for one in COMPETITORS if one.name == name)
    took = []
    for _ in range(times):
        reads = _Stamped(text_heavy(10).reads(None))
        run = competitor.make(reads)  # type: ignore[arg-type]
        sink = _First(competitor)
        run(sink)
        took.append(sink.at - reads.at)
    return took


def _first_event(report: Report) -> None:
    part = "5. Start: from the first byte to the first text"
    names = [one.name for one in COMPETITORS if not one.missing() and one.channels and (one.found or one.name == FLOOR)]
    if report.quick:
        names = [FLOOR, OURS]
    for name in names:
        cold, warm = [], []
        for _ in range(1 if report.quick else 3):
            first, *again = _in_new_process(name, 100)
            cold.append(first * 1e6)
            warm.append(statistics.median(again) * 1e6)
        report.add(Figure(part, f"{name}: first stream of a process", statistics.median(cold), "µs"))
        report.add(Figure(part, f"{name}: a later one", statistics.median(warm), "µs"))


def _in_new_process(name: str, times: int) -> list[float]:
    code = f"import json; from tests.bench.starting import first_event; print(json.dumps(first_event({name!r}, {times})))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    found: list[float] = json.loads(done.stdout.splitlines()[-1])
    return found
