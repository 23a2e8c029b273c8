"""Where the results are kept: `bench.json` with all, `bench.md` to read, `bench.svg` for the README.

Parts may be measured one at a time; what was found earlier stays as long as machine and versions are the same.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from functools import cache
from itertools import chain
from pathlib import Path
from typing import Any

from tests.bench.picture import drawn
from tests.bench.report import Report, as_json, from_json, tables, targets

PACKAGES = (
    "rxchat", "reactivex", "msgspec", "httpx", "httpx2", "httpx-aiohttp", "aiohttp", "httpx-sse", "openai",
    "langchain-openai", "pydantic-ai-slim", "litellm", "uvloop",
)  # fmt: skip
FILE = "bench.json"


class Unusable(Exception):
    """Nothing can be kept in this folder."""


def check(folder: Path) -> None:
    """Raise `Unusable` where `keep` would fail."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
        parts_in(folder)
    except OSError as error:
        raise Unusable(f"cannot write to {folder}: {error.strerror}") from None
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        raise Unusable(f"{folder / FILE} is not what an earlier run has kept ({error}): move it away") from None


def parts_in(folder: Path) -> tuple[dict[str, Any], list[str]]:
    """What an earlier run has kept, and why it cannot stand beside what is measured now."""
    try:
        before = json.loads((folder / FILE).read_text("utf-8"))
    except FileNotFoundError:
        return {}, []
    parts: dict[str, Any] = before["parts"]
    for part in parts.values():
        for figure in part["figures"]:
            from_json(figure)
    then, now = ({"machine": known["machine"], **known["versions"]} for known in (before, _known()))
    others = [name for name in {**then, **now} if then.get(name) != now.get(name)]
    return parts, [f"{name} {then.get(name, 'was not there')}" for name in others]


def _known() -> dict[str, Any]:
    return {"machine": machine(), "versions": versions()}


def keep(folder: Path, part: str, report: Report, *, seconds: float, note: str) -> None:
    """Add what a part found to what the folder has, unless that is of another machine or of other versions."""
    folder.mkdir(parents=True, exist_ok=True)
    parts, others = parts_in(folder)
    if others:
        parts = {}
    parts[part] = {
        "date": time.strftime("%Y-%m-%d"),
        "commit": commit(),
        "seconds": round(seconds),
        "load": load(),
        "note": note,
        "left_out": report.left_out,
        "figures": [as_json(figure) for figure in report.figures],
        "curves": report.curves,
    }
    whole = {**_known(), "parts": parts}
    (folder / FILE).write_text(json.dumps(_rounded(whole), indent=1, ensure_ascii=False) + "\n", "utf-8")
    (folder / "bench.md").write_text(_page(whole), "utf-8")
    (folder / "bench.svg").write_text(drawn(whole), "utf-8")


def _rounded(value: Any) -> Any:
    """To four digits: no figure here is good for more."""
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list):
        return [_rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


JUDGED = """The targets of parsing are to `decode()` alone, while peers read through the mock transport of their own client. How they compare with
ours over that same transport stands beside it."""


def _page(whole: dict[str, Any]) -> str:
    figures = {name: [from_json(one) for one in part["figures"]] for name, part in whole["parts"].items()}
    versions = ", ".join(f"{name} {version}" for name, version in whole["versions"].items())
    said = [
        "# What it costs",
        f"{whole['machine']}. {versions}.",
        "## Against the targets",
        targets(chain.from_iterable(figures.values())),
        JUDGED,
    ]
    for name, part in whole["parts"].items():
        said.append(f"## {name.capitalize()}")
        commit = f" at commit {part['commit']}" if part.get("commit") else ""
        said.append(f"{part['date']}{commit}, {part['seconds']} s, load {part['load']}. {part['note']}".strip())
        said.append(tables(figures[name]))
        if part["left_out"]:
            said.append("Left out: " + "; ".join(part["left_out"]))
    return "\n\n".join(said) + "\n"


def machine() -> str:
    """The processor and how many cores this process may use."""
    try:
        lines = Path("/proc/cpuinfo").read_text("utf-8").splitlines()
        model = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        model = platform.processor() or platform.machine()
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    return f"{model}, {cores} cores, {sys.platform}"


@cache
def commit() -> str:
    """What is measured, as git knows it; empty where there is no git."""
    command = ["git", "describe", "--always", "--dirty"]
    try:
        done = subprocess.run(command, cwd=Path(__file__).parent, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return ""
    return done.stdout.strip()


def load() -> float:
    """How many processes wanted a core in the last minute, ours among them."""
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else 0.0


def versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found
