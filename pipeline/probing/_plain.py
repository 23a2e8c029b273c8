"""A scene → text, for terminals."""

from __future__ import annotations

import textwrap
from collections import Counter
from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from pipeline.probing._looks import look
from pipeline.probing._place import Room
from pipeline.probing._scene import Metrics, Scene, scene_of
from pipeline.probing._shown import seconds, shown, size, stage_name
from pipeline.probing._shown import width as cells_of

if TYPE_CHECKING:
    from pipeline.probing._probe import Probe

COLUMNS = 100
_LEAST = 20  # columns for the streams
_ENDS = {"completed": "|", "error": "✕", "left": ")"}


def plain_of(seen: Probe, *, stages: Collection[str] | Literal["all"] | None, width: int | None) -> str:
    """The picture as text: a row for each stage, a sign for each item, a digit where several of them are one.

    Raises ValueError for stages that are not there.
    """
    columns = width or COLUMNS
    scene = scene_of(seen, _metrics(columns - 36), stages)
    lines = _lines(scene, columns)
    over = max(map(cells_of, lines)) - columns
    if over > 0 and scene.width > _LEAST:  # what stands beside the rows needs more
        scene = scene_of(seen, _metrics(max(int(scene.width) - over, _LEAST)), stages)
        lines = _lines(scene, columns)
    return "\n".join(lines)


def _metrics(width: int) -> Metrics:
    room = Room(width, longest_gap=9, usual_gap=1, column=1)
    return Metrics(room, (2,), 1, lambda item, detail: 1, end=1, words=lambda words: 0, more=1, sign=cells_of)  # noqa: ARG005


def _lines(scene: Scene, columns: int) -> list[str]:
    if not scene.rows:
        return ["nothing was subscribed"]
    names = [stage_name(row.name, 22) for row in scene.rows]
    left = max(map(cells_of, names)) + 2
    right = int(scene.width) + 1
    lines: list[str] = []
    if scene.breaks or any(tick.at for tick in scene.ticks):
        lines.append(" " * left + _axis(scene, right))
    for number, (row, name) in enumerate(zip(scene.rows, names, strict=True)):
        if row.foreign:
            lines.append("⋮")
        elif row.first and number:
            lines.append("")
        scopes = [scope.text for scope in scene.scopes if scope.row == number]
        lines += [f"{' ' * left}{shown(', '.join(scopes), columns - left)}"] if scopes else []
        counts = f"{row.count:,}" + (f" · {size(row.size)}" if row.size else "")
        same = f"  = {', '.join(stage_name(one) for one in row.same)}" if row.same else ""
        ends = dict.fromkeys(f"  {ended.words}" for ended in scene.ends if ended.row == number and ended.words)
        lines.append(
            f"{name}{' ' * (left - cells_of(name))}{_row(scene, number, right)}  {counts}{same}{''.join(ends)}"
        )
    for call in scene.calls:
        name = shown(call.name or "a call", 22)
        state = "" if call.done is not None else "  never whole"
        lines.append(f"{name}{' ' * max(left - cells_of(name), 1)}{shown(call.arguments, columns - left - 13)}{state}")
    lines += textwrap.wrap(_legend(scene), columns)
    return [line.rstrip() for line in lines]


def _cell(x: float) -> int:
    return int(x)


def _row(scene: Scene, number: int, right: int) -> str:
    cells = [" "] * right
    for span in scene.spans:
        if span.row == number:
            end = right if span.end is None else _cell(span.end)
            cells[_cell(span.start) : end] = "─" * (end - _cell(span.start))
            if span.end is None:
                cells[-1] = "▷"
    free = right
    for sign in reversed([sign for sign in scene.signs if sign.row == number]):
        at = max(_cell(sign.x - len(sign.text) / 2), 0)
        if at + len(sign.text) <= free:
            cells[at : at + len(sign.text)] = sign.text
            free = at
    for mark in scene.marks:
        if mark.row == number:
            count = len(mark.items)
            cells[_cell(mark.x)] = look(mark.items[0].kind).sign if count == 1 else str(count) if count < 10 else "#"
    for more in scene.more:
        if more.row == number:
            cells[_cell(more.x)] = "…"
    for ended in scene.ends:
        if ended.row == number:
            cells[min(_cell(ended.x), right - 1)] = _ENDS[ended.end.how]
    return "".join(cells)


def _axis(scene: Scene, right: int) -> str:
    cells = [" "] * (right + 8)
    free = 0
    for gap in scene.breaks:
        text = f"≈{seconds(gap.seconds)}≈"
        at = max(_cell((gap.start + gap.end) / 2) - len(text) // 2, free)
        if at + len(text) <= len(cells):
            cells[at : at + len(text)] = text
            free = at + len(text) + 1
    for tick in scene.ticks:
        text, at = seconds(tick.at), _cell(tick.x)
        if at + len(text) <= len(cells) and not "".join(cells[max(at - 1, 0) : at + len(text) + 1]).strip():
            cells[at : at + len(text)] = text
    return "".join(cells)


def _legend(scene: Scene) -> str:
    kinds = Counter(item.kind for mark in scene.marks for item in mark.items)
    told = [f"{look(kind).sign} {shown(kind, 24)}" for kind in sorted(kinds, key=lambda kind: (look(kind).sign, kind))]
    if any(len(mark.items) > 1 for mark in scene.marks):
        told.append("2-9, # several")
    if scene.left_out:
        told.append(f"{scene.left_out:,} subscriptions left out")
    return ", ".join(told)
