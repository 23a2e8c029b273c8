"""What a run found, as a table, as JSON and as a picture."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import sys
import time
from pathlib import Path
from typing import Any, NamedTuple

PACKAGES = (
    "rxchat", "reactivex", "msgspec", "httpx", "httpx2", "httpx-aiohttp", "aiohttp", "httpx-sse", "openai",
    "langchain-openai", "pydantic-ai-slim", "litellm", "uvloop",
)  # fmt: skip


class Target(NamedTuple):
    """What a figure must be: at most, or at least."""

    limit: float
    at_least: bool = False

    def missed_by(self, value: float) -> float:
        """How many times worse than the target; at most 1 when it is met."""
        return self.limit / value if self.at_least else value / self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:g}"


class Figure(NamedTuple):
    """One line of the table."""

    part: str
    what: str
    value: float
    unit: str
    low: float | None = None  # quartiles, where there are several rounds
    high: float | None = None
    target: Target | None = None

    @property
    def holds(self) -> bool | None:
        return None if self.target is None else self.target.missed_by(self.value) <= 1


class Report:
    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.figures: list[Figure] = []
        self.left_out: list[str] = []
        self.curves: dict[str, Any] = {}  # for the picture
        self._began = time.monotonic()

    def add(self, figure: Figure) -> None:
        if figure.part not in {known.part for known in self.figures}:
            print(f"\n{figure.part}")
        self.figures.append(figure)
        print(_line(figure), flush=True)

    def leave_out(self, what: str) -> None:
        self.left_out.append(what)
        print(f"  left out: {what}", flush=True)

    def missed(self) -> list[Figure]:
        return [figure for figure in self.figures if figure.holds is False]

    def far_off(self) -> list[Figure]:
        """Worse than twice the target."""
        return [figure for figure in self.figures if figure.target and figure.target.missed_by(figure.value) > 2]

    # ------------------------------------------------------------------------------------------------ written

    def write(self, folder: Path, note: str = "") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        facts = self._facts(note)
        whole = {
            **facts,
            "left_out": self.left_out,
            "figures": [
                {
                    **{name: value for name, value in figure._asdict().items() if name != "target" and value is not None},
                    **({"target": str(figure.target), "holds": figure.holds} if figure.target else {}),
                }
                for figure in self.figures
            ],
            "curves": self.curves,
        }
        (folder / "bench.json").write_text(json.dumps(whole, indent=1, ensure_ascii=False) + "\n", "utf-8")
        (folder / "bench.md").write_text(self._markdown(facts), "utf-8")
        try:
            from tests.bench.picture import draw
        except ImportError as missing:
            print(f"no picture: {missing.name} is not installed")
        else:
            draw(self, facts, folder / "bench.svg")
        print(f"\nwritten: bench.json, bench.md, bench.svg in {folder.name}")

    def _facts(self, note: str) -> dict[str, Any]:
        return {
            "date": time.strftime("%Y-%m-%d"),
            "seconds": round(time.monotonic() - self._began),
            "machine": machine(),
            "versions": {"python": platform.python_version(), **versions()},
            "note": note,
        }

    def _markdown(self, facts: dict[str, Any]) -> str:
        versions = ", ".join(f"{name} {version}" for name, version in facts["versions"].items())
        parts = [f"{facts['date']} · {facts['machine']} · {versions}", facts["note"]]
        part = None
        for figure in self.figures:
            if figure.part != part:
                part = figure.part
                parts.append(f"\n## {part}\n\n| what | value | spread | target |\n|---|---:|---:|---|")
            around = "" if figure.low is None or figure.high is None else f"{figure.low:.3g} … {figure.high:.3g}"
            target = "" if figure.target is None else f"{figure.target} {'✓' if figure.holds else '✗'}"
            parts.append(f"| {figure.what} | {_number(figure)} | {around} | {target} |")
        if self.left_out:
            parts.append("\nLeft out: " + "; ".join(self.left_out))
        return "\n".join(part for part in parts if part).replace("\n\n\n", "\n\n") + "\n"


def _number(figure: Figure) -> str:
    value = f"{figure.value:,.0f}" if figure.value >= 100 else f"{figure.value:.3g}"
    return f"{value} {figure.unit}"


def _line(figure: Figure) -> str:
    around = "" if figure.low is None or figure.high is None else f"({figure.low:.3g} … {figure.high:.3g})"
    target = "" if figure.target is None else f"{figure.target} {'holds' if figure.holds else 'MISSED'}"
    return f"  {figure.what:<62} {_number(figure):>14}  {around:<18} {target}".rstrip()


def machine() -> str:
    """The processor and how many cores this process may use."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores, {sys.platform}"


def versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
