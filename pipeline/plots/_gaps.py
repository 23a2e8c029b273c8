"""Streams → how long it takes from one piece to the next."""

from __future__ import annotations

import math
from itertools import accumulate
from typing import TYPE_CHECKING, Any

from pipeline.plots._canvas import canvas, plain, seconds, tidy
from pipeline.plots._named import Compared, named
from pipeline.plots._said import between, said

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SHORTEST = 1e-4
"""In seconds; what is shorter came with the same read, and stands at the left edge."""

_BINS = 8  # in each decade


def gaps(*sources: Compared, ax: Axes | None = None, stream: int = 1) -> Axes:
    r"""From one or several streams to a picture of the times between one piece of content and the next.

    Bars are the histogram (the share of all gaps in each step of time), the line is their running sum (the ECDF: the share of
    gaps that are no longer than this); both on one scale, over a logarithm of the time. The legend has the median and the
    99th percentile. Text, reasoning, refusals, arguments and audio count as content; what was void after a restart does not.

    Sources are recordings, their paths, answers that were shown, pairs of time and event, or a dict of these by name.
    `stream` is which one of each recording. Drawn on `ax`, or on a figure of its own, in the colours of the current style.
    Raises ImportError without matplotlib (extra `plots`), and what `Recording.load` raises.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from operators import TextDelta
    >>> ax = gaps({"m": [(0.1, TextDelta("a")), (0.2, TextDelta("b")), (0.4, TextDelta("c"))]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['m · p50 100 ms · p99 200 ms']
    """
    streams = named(sources, stream)
    axes, ink = canvas(ax, size=(7.5, 3.6))
    found = {name: sorted(max(SHORTEST, b - a) for a, b in between(said(events))) for name, events in streams.items()}
    edges = _edges([gap for one in found.values() for gap in one])
    for number, (name, one) in enumerate(found.items()):
        colour = ink.colour(number)
        label = _label(name, one)
        if not one:
            axes.plot([], [], color=colour, linestyle=ink.dash(number), label=label)
            continue
        shares = [count / len(one) for count in _counts(one, edges)]
        axes.stairs(shares, edges, fill=True, color=colour, alpha=0.3, linewidth=0)
        axes.stairs(shares, edges, color=colour, alpha=0.75, linewidth=1)
        so_far = list(accumulate([1 / len(one)] * len(one)))
        axes.step(
            [edges[0], *one, edges[-1]],
            [0, *so_far, 1],
            where="post",
            color=colour,
            linestyle=ink.dash(number),
            linewidth=1.8,
            label=label,
        )
    _dress(axes, edges)
    tidy(axes, ink, grid="both")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False, ncols=1 if len(found) > 2 else len(found))
    return axes


def _label(name: str, gaps: list[float]) -> str:
    if not gaps:
        return f"{plain(name)} · no gaps"
    p50, p99 = (gaps[math.ceil(part * len(gaps)) - 1] for part in (0.5, 0.99))
    return f"{plain(name)} · p50 {seconds(p50)} · p99 {seconds(p99)}"


def _edges(gaps: list[float]) -> list[float]:
    """Steps of equal width on a logarithmic scale, from below the shortest to above the longest.

    >>> _edges([0.02, 0.9])[0], _edges([0.02, 0.9])[-1]
    (0.01778279410038923, 1.0)
    """
    first = math.floor(math.log10(min(gaps, default=0.01)) * _BINS)
    last = math.floor(math.log10(max(gaps, default=1)) * _BINS) + 1
    return [10 ** (step / _BINS) for step in range(first, last + 1)]


def _counts(gaps: list[float], edges: list[float]) -> list[int]:
    counts = [0] * (len(edges) - 1)
    first = round(math.log10(edges[0]) * _BINS)
    for gap in gaps:
        counts[math.floor(math.log10(gap) * _BINS) - first] += 1
    return counts


def _dress(axes: Any, edges: list[float]) -> None:
    from matplotlib.ticker import FuncFormatter, NullFormatter, PercentFormatter

    axes.set_xscale("log")
    axes.set_xlim(edges[0], edges[-1])
    axes.set_ylim(0, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1))
    ticks = [
        part * 10.0**decade
        for decade in range(math.floor(math.log10(edges[0])), math.ceil(math.log10(edges[-1])) + 1)
        for part in ((1, 2, 5) if len(edges) <= 3 * _BINS else (1,))
    ]
    axes.set_xticks([tick for tick in ticks if edges[0] <= tick <= edges[-1]])
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _tick(value)))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.set_xlabel("time from one piece to the next")
    axes.set_ylabel("share of the gaps")


def _tick(value: float) -> str:
    """
    >>> _tick(0.0001), _tick(0.002), _tick(0.5), _tick(2.0)
    ('≤0.1 ms', '2 ms', '500 ms', '2 s')
    """
    if value < SHORTEST * 1.01:
        return "≤0.1 ms"
    return f"{value * 1000:g} ms" if value < 0.999 else f"{value:g} s"
