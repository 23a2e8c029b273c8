"""A timeline → SVG, for where no kernel and no script runs."""

from __future__ import annotations

import html
from collections.abc import Sequence

from pipeline.notebook._items import COLORS, Item, Lane

WIDTH, LABEL, ROW, FOOT = 740, 130, 26, 26
_GREY = "#808080"  # can be read on white and on black


def picture(items: Sequence[Item], lanes: Sequence[Lane]) -> str:
    """Items on their lanes, from left to right in the order of time, as SVG without scripts.

    >>> picture([], [])[:4]
    '<svg'
    """
    end = max((item.at for item in items), default=0.0) or 1.0
    across = WIDTH - LABEL - 20
    height = max(1, len(lanes)) * ROW + FOOT
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" width="{WIDTH}" height="{height}"',
        ' font-family="ui-sans-serif,system-ui,sans-serif" font-size="12" role="img"',
        ' style="max-width:100%;height:auto"',
        f' aria-label="timeline of {len(items)} events">',
    ]
    for number, lane in enumerate(lanes):
        y = number * ROW + ROW // 2
        name = lane.name if len(lane.name) <= 18 else lane.name[:17] + "…"
        drawn.append(f'<text x="{LABEL - 10}" y="{y + 4}" text-anchor="end" fill="{_GREY}">{html.escape(name)}</text>')
        drawn.append(f'<path d="M{LABEL} {y}H{LABEL + across}" stroke="{_GREY}" stroke-opacity=".35"/>')
    columns: dict[tuple[int, int], list[Item]] = {}
    for item in items:  # what falls on one pixel is one mark: so it is legible, and small, at any number
        columns.setdefault((item.lane, round(item.at / end * across)), []).append(item)
    for (lane_number, x), found in columns.items():
        y, color = lane_number * ROW + ROW // 2, COLORS[lanes[lane_number].kind]
        tall = 5 + min(len(found) - 1, 5)
        more = f" (+{len(found) - 1})" if len(found) > 1 else ""
        told = html.escape(f"{found[0].at:.3f} s {found[0].event} {found[0].text[:60]}{more}")
        mark = (
            f'<rect x="{LABEL + x - 1.5}" y="{y - tall}" width="3" height="{2 * tall}" rx="1.5" fill="{color}">'
            if found[0].grows
            else f'<circle cx="{LABEL + x}" cy="{y}" r="4.5" fill="{color}">'
        )
        drawn.append(f"{mark}<title>{told}</title></{'rect' if found[0].grows else 'circle'}>")
    drawn += _axis(end, across, height)
    return "".join([*drawn, "</svg>"])


def _axis(end: float, across: int, height: int) -> list[str]:
    step = next((s for s in (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 60, 120, 300, 600) if end / s <= 8), end)
    drawn, y = [], height - FOOT + 4
    for number in range(int(end / step + 1e-9) + 1):
        x = LABEL + number * step / end * across
        label = f"{number * step:g} s"
        drawn.append(f'<path d="M{x:.1f} {y}v4" stroke="{_GREY}"/>')
        drawn.append(f'<text x="{x:.1f}" y="{y + 16}" text-anchor="middle" fill="{_GREY}">{label}</text>')
    return drawn
