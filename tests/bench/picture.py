"""The picture for the README."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from tests.bench.peers import COMPETITORS, FLOOR
from tests.bench.report import Report

OURS, OTHERS, FLOOR_COLOUR = "#0a7d5a", "#9aa5b1", "#3d4852"

mpl.rcParams.update({"svg.hashsalt": "bench", "font.size": 9, "axes.spines.top": False, "axes.spines.right": False})


def draw(report: Report, facts: dict[str, Any], file: Path) -> None:
    panels = [draw_one for name, draw_one in _PANELS.items() if report.curves.get(name)]
    if not panels:
        return
    figure = Figure(figsize=(4.6 * len(panels) + 1.6, 4.2), layout="constrained", facecolor="white")
    for axes, draw_one in zip(figure.subplots(1, len(panels), squeeze=False)[0], panels, strict=True):
        draw_one(axes, report.curves)
        axes.set_facecolor("white")
    versions = facts["versions"]
    shown = ", ".join(f"{name} {versions[name]}" for name in ("python", "rxchat", "httpx", "openai", "litellm") if name in versions)
    figure.supxlabel(f"{facts['date']} · {facts['machine']} · {shown}", fontsize=7, color="#555555")
    figure.savefig(file, metadata={"Date": None})


def _colour(name: str) -> str:
    return OURS if name.startswith("ours") else FLOOR_COLOUR if name.startswith(("floor", "bare")) else OTHERS


def _bars(axes: Axes, costs: dict[str, float], title: str) -> None:
    names = list(costs)[::-1]
    values = [costs[name] for name in names]
    bars = axes.barh([_short(name) for name in names], values, color=[_colour(name) for name in names])
    axes.bar_label(bars, labels=[f" {value:.2g}" if value < 100 else f" {value:.0f}" for value in values], fontsize=8)
    axes.set_xscale("log")
    axes.set_xlim(min(values) / 2, max(values) * 3)
    axes.set_title(title, fontsize=10, loc="left")
    axes.set_xlabel("CPU µs per event")


def _short(name: str) -> str:
    return name.replace("completion()", "completion").replace("floor: ", "floor: ").replace(" over iter_lines, json", "")


def _parsing(axes: Axes, curves: dict[str, Any]) -> None:
    costs = curves["parsing"]["text"]["1 event"]
    shown = [one.name for one in COMPETITORS if one.name in costs and not one.name.startswith("transport")]
    _bars(axes, {name: costs[name] for name in shown if name != "ours: decode() | tool_calls()"}, "Parsing text, one event a read")


def _sockets(axes: Axes, curves: dict[str, Any]) -> None:
    part = "2. Socket: async, plain, events at once"
    if part in curves["socket"]:
        _bars(axes, curves["socket"][part], "Over a socket, async")


def _capacity(axes: Axes, curves: dict[str, Any]) -> None:
    for name, steps in curves["capacity"].items():
        points = sorted((int(streams), delay) for streams, delay in steps.items())
        line = "-" if name.startswith("ours") else "--"
        axes.plot(*zip(*points, strict=True), line, marker="o", markersize=3, label=name, color=None if "ours" in name else _colour(name))
    axes.axhline(50, color="#cc3311", linewidth=0.8)
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xlabel("streams of 50 events/s on one core")
    axes.set_ylabel("p99 delay, ms")
    axes.set_title("Many at once", fontsize=10, loc="left")
    axes.legend(fontsize=6.5, frameon=False)


_PANELS = {"parsing": _parsing, "socket": _sockets, "capacity": _capacity}
assert FLOOR in {one.name for one in COMPETITORS}
