"""An item, or several of one column → a marble."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from pipeline.probing._ink import CELL, Ink, n, with_tooltip
from pipeline.probing._looks import SAID, label
from pipeline.probing._seen import Item
from pipeline.probing._shown import seconds, shown, size
from pipeline.probing._shown import width as cells

LEAST = 5.8
"""The room of the smallest marble, that of no bytes."""

COLUMN = 26.0
"""The width of a column in which several items are one marble."""


def marble(items: Sequence[Item], x: float, y: float, ink: Ink, *, detail: int, most: int, began: float) -> str:
    """The marble at this place. `most` is how many items a marble of its row has at most."""
    body = _single(items[0], x, y, detail, ink) if len(items) == 1 else _group(items, x, y, most, ink)
    return with_tooltip(_tooltip(items, began), body)


def room_of(item: Item, detail: int) -> float:
    text = label(item, detail)
    if text:
        return cells(text) * CELL + 12
    return 2 * radius(item) + (3 if item.kind == "bytes" else 4)


def radius(item: Item) -> float:
    if item.kind == "bytes":
        return 1.4 if item.size == 0 else 2.6
    return min(3.0 + len(str(item.size)) * 0.8, 7.0) if item.kind == "read" else 4.2


def _single(item: Item, x: float, y: float, detail: int, ink: Ink) -> str:
    hue = ink.hue(item.kind)
    text = label(item, detail)
    if text:
        half = cells(text) * CELL / 2 + 4.5
        return (
            f'<rect x="{n(x - half)}" y="{n(y - 9)}" width="{n(2 * half)}" height="18" rx="9" fill="{ink.colours.panel}"/>'
            f'<rect x="{n(x - half)}" y="{n(y - 9)}" width="{n(2 * half)}" height="18" rx="9" fill="{hue.solid}" '
            f'fill-opacity="0.16" stroke="{hue.solid}"/>'
            + ink.words(x, y + 3.5, text, hue.ink, size=10, anchor="middle", mono=True)
        )
    r = radius(item)
    if item.kind == "read":
        return f'<rect x="{n(x - r)}" y="{n(y - r)}" width="{n(2 * r)}" height="{n(2 * r)}" rx="2" fill="{hue.solid}"/>'
    if item.kind == "bytes" and item.text.startswith(":"):  # a comment of the event stream: a heartbeat
        return f'<circle cx="{n(x)}" cy="{n(y)}" r="3" fill="{ink.colours.panel}" stroke="{ink.hue("Gap").solid}" stroke-width="1.4"/>'
    return f'<circle cx="{n(x)}" cy="{n(y)}" r="{n(r)}" fill="{hue.solid}"/>'


def _group(items: Sequence[Item], x: float, y: float, most: int, ink: Ink) -> str:
    kinds = Counter(item.kind for item in items)
    half = (COLUMN - 3) / 2
    parts = [
        f'<rect x="{n(x - half)}" y="{n(y - 9)}" width="{n(2 * half)}" height="18" rx="5" fill="{ink.colours.panel}"/>'
    ]
    widths = _shares(list(kinds.values()), 2 * half)
    level = max(18 * len(items) / most, 2.0)
    at = x - half
    for kind, share in zip(kinds, widths, strict=True):
        parts.append(
            f'<rect x="{n(at)}" y="{n(y - 9)}" width="{n(share)}" height="18" rx="{2 if len(kinds) > 1 else 4}" '
            f'fill="{ink.hue(kind).solid}" fill-opacity="0.16"/>'
            f'<rect x="{n(at)}" y="{n(y + 9 - level)}" width="{n(share)}" height="{n(level)}" '
            f'rx="{2 if len(kinds) > 1 else 4}" fill="{ink.hue(kind).solid}" fill-opacity="0.4"/>'
        )
        at += share
    parts.append(ink.words(x, y + 3, _short(len(items)), ink.colours.text, size=9.5, anchor="middle", mono=True))
    return "".join(parts)


def _shares(counts: Sequence[int], room: float) -> list[float]:
    """Widths for counts; each is seen, if there are not too many."""
    least = min(4.0, room / len(counts))
    free = room - least * len(counts)
    return [least + free * count / sum(counts) for count in counts]


def _short(count: int) -> str:
    return str(count) if count < 1000 else f"{count / 1000:.0f}k" if count >= 9950 else f"{count / 1000:.1f}k"


def _tooltip(items: Sequence[Item], began: float) -> str:
    first = items[0]
    at = seconds(max(0.0, first.at - began))
    if len(items) == 1:
        sized = f", {size(first.size)}" if first.size else ""
        return f"{first.kind} at {at}{sized}\n{shown(first.text)}"
    kinds = Counter(item.kind for item in items)
    told = ", ".join(f"{count} {kind}" for kind, count in kinds.items())
    said = "".join(item.text for item in items[:40] if item.kind in SAID) or " ".join(item.text for item in items[:3])
    last = seconds(max(0.0, items[-1].at - began))
    return f"{told}\n{at} to {last}\n{shown(said, 160)}"
