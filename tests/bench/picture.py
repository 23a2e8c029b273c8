"""The picture for the README, from what stands in `bench.json`: an SVG that follows the reader's light or dark scheme."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from html import escape
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
from tests.bench.peers import BY_HAND, COMPETITORS, FLOOR, OURS_COMPLETION2, OURS_RESPONSE
from tests.bench.starting import BASE, OPERATORS, PIPELINE

WIDTH, PANEL, MARGIN = 1000, 462, 24
COLUMNS = (MARGIN, WIDTH - MARGIN - PANEL)
HEAD, FOOT, ROW = 62, 66, 25

STYLE = """
svg { font-family: system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, sans-serif; font-size: 13px }
.page { fill: #ffffff; stroke: #d1d9e0 } .ink { fill: #1f2328 } .faint { fill: #59636e } .grid { stroke: #d8dee4 }
.ours { --c: #0a7d5a } .floor { --c: #3d5a80 } .peer { --c: #949da7 }
@media (prefers-color-scheme: dark) {
.page { fill: #0d1117; stroke: #30363d } .ink { fill: #e6edf3 } .faint { fill: #9198a1 } .grid { stroke: #2b323b }
.ours { --c: #3fb98f } .floor { --c: #79a8e0 } .peer { --c: #7d8590 }
}
.mark { fill: var(--c) } .line { stroke: var(--c); stroke-width: 2; fill: none; stroke-linejoin: round }
.head { font-weight: 600; font-size: 18px } .title, .bold { font-weight: 600 } .title { font-size: 14.5px } .small { font-size: 11.5px }
.num { font-variant-numeric: tabular-nums }
"""

NAMES = {
    FLOOR: "plain loop, typed msgspec",
    BY_HAND: "plain loop, iter_lines and json",
    OURS: "completion(), httpx",
    OURS_RESPONSE: "decode() of a response",
    OURS_AIOHTTP: "completion(), httpx-aiohttp",
    f"{OURS_AIOHTTP}, fair_loop()": "the same, fair_loop()",
    OURS_ON_AIOHTTP: "decode() of aiohttp",
    f"{OURS_ON_AIOHTTP}, uvloop": "decode(), uvloop",
    f"{OURS_ON_AIOHTTP}, fair_loop()": "decode(), fair_loop()",
    f"{BARE_ON_AIOHTTP}, fair_loop()": "aiohttp alone, fair_loop()",
    BARE: "httpx alone",
    BARE_AIOHTTP: "httpx-aiohttp alone",
    OPENAI: "openai-python",
    OPENAI_AIOHTTP: "openai-python, its aiohttp",
}
BESIDE = ("transport", OURS_COMPLETION2)
"""What only the table has."""
SOCKETS = (BARE, OURS, BARE_AIOHTTP, OURS_AIOHTTP, OPENAI, OPENAI_AIOHTTP)
GROWING = {
    "pieces of a tool call, with arguments()": "length of arguments: decode() | arguments()",
    "text, up to message()": "events: decode() | tool_calls() | message()",
}
IMPORTS = {
    BASE: "floor: reactivex, msgspec",
    OPERATORS: "ours: operators",
    PIPELINE: "ours: pipeline",
    "import openai": "openai",
}


class Panel(NamedTuple):
    height: int
    draw: Callable[[], list[str]]


def drawn(whole: Mapping[str, Any]) -> str:
    """All that has been measured so far, in two columns."""
    curves = {name: part["curves"] for name, part in whole["parts"].items()}
    body, ends = [], [HEAD, HEAD]
    for panel in _panels(curves):
        if panel:
            column = ends.index(min(ends))
            body.append(f'<g transform="translate({COLUMNS[column]} {ends[column]})">{"".join(panel.draw())}</g>')
            ends[column] += panel.height
    height = max(ends) + FOOT
    size = f'viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img">',
            "<title>What a streamed event costs</title>",
            f"<style>{STYLE}</style>",
            f'<rect class="page" x=".5" y=".5" width="{WIDTH - 1}" height="{height - 1}" rx="8"/>',
            *_head(),
            *body,
            *_foot(whole, height),
            "</svg>\n",
        ]
    )


def _panels(curves: Mapping[str, Any]) -> Iterable[Panel | None]:
    parsing = curves.get("parsing", {}).get("text, 1 event", {})
    shown = [one.name for one in COMPETITORS if one.name in parsing and not one.name.startswith(BESIDE)]
    yield _bars(
        "Parsing text, one event a read", {name: parsing[name] for name in shown}, "CPU µs per event, log scale"
    )
    socket = curves.get("sockets", {}).get("Over a socket, async, plain, all at once", {})
    shown = [one.name for one in ASYNC if one.name in socket and one.name in SOCKETS]
    yield _bars(
        "Reading it from a socket, with asyncio", {name: socket[name] for name in shown}, "CPU µs per event, log scale"
    )
    many = curves.get("many", {})
    axis = "streams of 50 events/s, p99 delay under 50 ms"
    ranges = many.get("sustained, each search", {})
    yield _bars("Streams that one core sustains, median and range", many.get("sustained", {}), axis, ranges, log=False)
    growing = curves.get("growing", {})
    yield _flat(
        "An event costs the same, whatever came before",
        {name: growing[series] for name, series in GROWING.items() if series in growing},
        "CPU µs per event",
        "events, or bytes of arguments",
    )
    imports = curves.get("starting", {}).get("imports, ms", {})
    yield _bars(
        "Import", {name: imports[line] for line, name in IMPORTS.items() if line in imports}, "CPU ms", log=False
    )


# ------------------------------------------------------------------------------------------------------ pieces


def _text(x: float, y: float, said: str, style: str, anchor: str = "start") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{style}" text-anchor="{anchor}">{escape(said)}</text>'


def _grid(x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="grid"/>'


def _dot(x: float, y: float, radius: float, who: str) -> str:
    return f'<circle class="{who} mark" cx="{x:.1f}" cy="{y:.1f}" r="{radius}"/>'


def _who(name: str) -> str:
    return "ours" if name.startswith("ours") else "floor" if name.startswith(("floor", "bare")) else "peer"


def _shown(name: str) -> str:
    return NAMES.get(name, name.removeprefix("ours: ").removeprefix("floor: "))


def _head() -> Iterable[str]:
    yield _text(MARGIN, 34, "What a streamed event costs", "ink head")
    x = WIDTH - MARGIN - 275
    for who, said, width in (("ours", "ours", 64), ("floor", "the least it can be", 146), ("peer", "others", 0)):
        yield _dot(x + 6, 29, 5.5, who)
        yield _text(x + 18, 33.5, said, "faint")
        x += width


def _foot(whole: Mapping[str, Any], height: int) -> Iterable[str]:
    dates = sorted({part["date"] for part in whole["parts"].values()})
    packages = (
        "python", "rxchat", "reactivex", "msgspec", "httpx", "httpx2", "httpx-aiohttp", "aiohttp", "openai", "langchain-openai",
        "pydantic-ai-slim", "litellm",
    )  # fmt: skip
    versions = [f"{name} {whole['versions'][name]}" for name in packages if name in whole["versions"]]
    commits = dict.fromkeys(f"commit {part['commit']}" for part in whole["parts"].values() if part.get("commit"))
    about = " · ".join([" and ".join(dates), whole["machine"], *commits])
    half = (len(versions) + 1) // 2
    for row, said in enumerate((about, " · ".join(versions[:half]), " · ".join(versions[half:]))):
        yield _text(MARGIN, height - 54 + 18 * row, said, "faint small")


def _bars(
    title: str,
    values: Mapping[str, float],
    axis: str,
    ranges: Mapping[str, Sequence[float]] | None = None,
    *,
    log: bool = True,
) -> Panel | None:
    """A line from the left to a dot, with the figure; a thin one over the range, where there is one."""
    if not any(values.values()):
        return None
    left, right, top = 226.0, PANEL - 40.0, 28.0
    bottom = top + ROW * len(values) + 4
    scale: Callable[[float], float] = math.log10 if log else float
    low = math.floor(math.log10(min(values.values()) * 0.9)) if log else 0
    ends = {name: (min(each), max(each)) for name, each in (ranges or {}).items() if name in values}
    high = scale(max([*values.values(), *(end for _, end in ends.values())]))

    def x(value: float) -> float:
        return left + (scale(value) - low) / (high - low) * (right - left)

    def draw() -> list[str]:
        parts = [_text(0, 14, title, "ink title")]
        for tick in [10.0**n for n in range(low, math.floor(high) + 1)] if log else _round_steps(high):
            parts += [
                _grid(x(tick), top, x(tick), bottom),
                _text(x(tick), bottom + 16, f"{tick:,g}", "faint small num", "middle"),
            ]
        parts.append(_text((left + right) / 2, bottom + 34, axis, "faint small", "middle"))
        for row, (name, value) in enumerate(values.items()):
            y, who = top + ROW * (row + 0.5) + 2, _who(name)
            parts.append(_text(left - 12, y + 4.5, _shown(name), "ink bold" if who == "ours" else "ink", "end"))
            parts.append(
                f'<rect class="{who} mark" x="{left}" y="{y - 2:.1f}" width="{x(value) - left:.1f}" height="4"/>'
            )
            least, most = ends.get(name, (value, value))
            if most > least:
                ends_at = " ".join(f"M{x(end):.1f} {y - 6}v12" for end in (least, most))
                parts.append(f'<path class="{who} line" d="{ends_at} M{x(least):.1f} {y}H{x(most):.1f}"/>')
            after = max(x(value) + 11, x(most) + 6)
            parts += [_dot(x(value), y, 5.5, who), _text(after, y + 4.5, _number(value), "ink num")]
        return parts

    return Panel(round(bottom) + 62, draw)


def _flat(title: str, series: Mapping[str, Mapping[str, float]], up: str, along: str) -> Panel | None:
    """Along in decades, up from 0; each line has its name above its end."""
    if not series:
        return None
    left, right, top, bottom = 40.0, PANEL - 14.0, 46.0, 190.0
    sizes = sorted({int(size) for points in series.values() for size in points})
    low, high = math.log10(sizes[0]), math.log10(sizes[-1])
    most = max(cost for points in series.values() for cost in points.values()) * 1.15

    def at(size: float, cost: float) -> tuple[float, float]:
        return left + (math.log10(size) - low) / (high - low) * (right - left), bottom - cost / most * (bottom - top)

    def draw() -> list[str]:
        parts = [_text(0, 14, title, "ink title"), _text(0, 36, up, "faint small")]
        for tick in _round_steps(most):
            _, y = at(sizes[0], tick)
            parts += [_grid(left, y, right, y), _text(left - 10, y + 4, f"{tick:g}", "faint small num", "end")]
        for size in sizes:
            anchor = "end" if size == sizes[-1] else "middle"
            parts.append(_text(at(size, 0)[0], bottom + 18, f"{size:,}", "faint small num", anchor))
        parts.append(_text((left + right) / 2, bottom + 36, along, "faint small", "middle"))
        for name, points in series.items():
            places = [at(int(size), cost) for size, cost in points.items()]
            path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
            parts.append(f'<polyline class="ours line" points="{path}"/>')
            parts += [_dot(x, y, 3.5, "ours") for x, y in places]
            parts.append(_text(right, min(y for _, y in places[-2:]) - 10, name, "ink small", "end"))
        return parts

    return Panel(round(bottom) + 62, draw)


def _round_steps(most: float) -> list[float]:
    """From 0 on, three to six of them."""
    digit = 10.0 ** math.floor(math.log10(most))
    step = next(digit * part for part in (0.2, 0.5, 1.0, 2.0) if most / (digit * part) <= 6)
    return [n * step for n in range(math.floor(most / step) + 1)]


def _number(value: float) -> str:
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"
