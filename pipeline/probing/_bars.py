"""A tool call → a bar that fills up as its arguments come, with a tail while its tool runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pipeline.probing._calls import Call
from pipeline.probing._ink import LEFT, Ink, n, with_tooltip
from pipeline.probing._seen import ToolRun
from pipeline.probing._shown import number, seconds, shown
from pipeline.probing._shown import width as cells

BAR = 26.0
"""What a bar takes of the height."""


_CELL = 5.6  # the width of a cell of the words beside it


def bar(call: Call, y: float, places: Mapping[int, float], ink: Ink, right: float, edge: float) -> str:
    """The bar at this height. `right` is where the stream ends, `edge` where the picture does."""
    hue = ink.hue("ToolCallDelta" if call.key % 2 == 0 else "ToolCall")
    xs = [LEFT + places[item.seq] for item in call.items]
    filled = call.filled()
    start, end = xs[0] - 4, max(xs[-1] + 4, xs[0] + 12)
    top, height = y - 9, 18.0
    name = call.name or "a call"
    state = "whole" if call.done is not None else "never whole"
    told = f"{name}\n{shown(call.arguments)}\n{number(len(call.pieces), 'piece')}, {state}"
    steps = [f"M{n(start)} {n(top + height)}"]
    for x, part in zip(xs, filled, strict=False):
        steps.append(f"H{n(x - 4)}V{n(top + height * (1 - part))}")
    steps.append(f"H{n(end)}V{n(top + height)}Z")
    dash = "" if call.done is not None else ' stroke-dasharray="4 3"'
    body = [
        ink.words(16, y + 4, f"{shown(name, 22)}", hue.ink, mono=True, bold=True),
        f'<rect x="{n(start)}" y="{n(top)}" width="{n(end - start)}" height="{n(height)}" rx="4" fill="{ink.colours.panel}"/>',
        f'<path d="{"".join(steps)}" fill="{hue.solid}" fill-opacity="0.2"/>',
        (
            f'<rect x="{n(start)}" y="{n(top)}" width="{n(end - start)}" height="{n(height)}" rx="4" fill="none" '
            f'stroke="{hue.solid}"{dash}/>'
        ),
    ]
    if call.done is not None:
        body.append(ink.words(end - 4, y + 4, "✓", hue.ink, size=10, anchor="end", bold=True))
    after = end + 8
    for run in call.runs:
        if run.began.seq not in places:
            continue
        began = LEFT + places[run.began.seq]
        done = max(_done(run, places, right), began + 6)
        colour = ink.colours.bad if run.error else ink.hue("ToolResult").solid
        text = _told(run)
        body.append(
            f'<rect x="{n(began)}" y="{n(y - 4)}" width="{n(done - began)}" height="8" rx="4" fill="{colour}"/>'
            + ink.words(done + 6, y + 4, text, ink.colours.muted, size=9.5)
        )
        after = done + 16 + cells(text) * _CELL
    arguments = shown(call.arguments)
    inside, beside = int((end - start - 22) / 5.4), int((edge - 14 - after) / 5.4)
    if inside < min(cells(arguments), 24) and beside > max(inside, 6):
        body.append(ink.words(after, y + 3.5, shown(arguments, beside), ink.colours.text, size=9, mono=True))
    elif inside > 3:
        body.append(ink.words(start + 5, y + 3.5, shown(arguments, inside), ink.colours.text, size=9, mono=True))
    return with_tooltip(told, *body)


def beyond(calls: Iterable[Call], places: Mapping[int, float], right: float) -> float:
    """How far beyond the end of the stream the words beside the runs of tools reach."""
    return (
        max((_done(run, places, right) + 6 + cells(_told(run)) * _CELL for c in calls for run in c.runs), default=right)
        - right
    )


def _done(run: ToolRun, places: Mapping[int, float], right: float) -> float:
    return LEFT + places[run.ended.seq] if run.ended is not None and run.ended.seq in places else right


def _told(run: ToolRun) -> str:
    took = f"ran {seconds(run.ended.at - run.began.at)}" if run.ended is not None else "still running"
    return shown(f"{took}, {run.error}" if run.error else took, 32)
