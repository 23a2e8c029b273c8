"""Streams → when what came."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from operators import Event, Finish, Restarted, Retrying, RoundStarted, ToolCall, ToolCallDelta, ToolResult
from pipeline.plots._canvas import Ink, canvas, plain, seconds, tidy
from pipeline.plots._named import Compared, named
from pipeline.plots._said import Said, between, lane_of, said
from pipeline.plots._timed import Timed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOURS = {"text": 0, "reasoning": 3, "refusal": 4, "tool call": 1, "tool result": 2, "audio": 4, "events": 5}
_CLOSE = 0.04  # of the width; signs that are closer share a label
_LETTER = 0.0092  # of the width


def timeline(*sources: Compared, stall: float = 1.0, ax: Axes | None = None, stream: int = 1) -> Axes:
    r"""From one or several streams to a picture of when what came: a row for each kind of content and each tool call.

    A dotted line is the wait for the first piece, a stroke is an event, a band is a stall: more than `stall` seconds without
    content. How long they took stands above the rows, where there is room for it. The last row of a stream has its other
    events; rounds, retries and finish reasons are named there.

    Sources, `ax` and `stream` are as for `gaps()`. Raises ValueError for a `stall` that is not above 0, ImportError without
    matplotlib (extra `plots`), and what `Recording.load` raises.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from operators import Finish, TextDelta
    >>> ax = timeline({"m": [(0.1, TextDelta("Hi")), (0.2, Finish("stop"))]})
    >>> [text.get_text() for text in ax.get_yticklabels()], [text.get_text() for text in ax.texts]
    (['text', 'events'], ['100 ms to the first', 'stop'])
    """
    if not stall > 0:
        raise ValueError(f"timeline(stall=…) is a number of seconds above 0, not {stall!r}")
    streams = named(sources, stream)
    groups = {name: _rows(events) for name, events in streams.items()}
    headed = len(groups) > 1
    count = sum(len(rows) + headed for rows in groups.values())
    axes, ink = canvas(ax, size=(7.5, 0.7 + 0.36 * max(2, count)))
    end = max((events[-1].at for events in streams.values() if events), default=0.0) or 1.0
    ticks: dict[float, str] = {}
    top = 0.0
    for name, rows in groups.items():
        if headed:
            axes.text(0, top - 0.15, plain(name), transform=axes.get_yaxis_transform(), va="center", weight="bold")
            top += 1
        ticks |= {top + number: plain(row.label) for number, row in enumerate(rows)}
        _draw(axes, ink, rows, streams[name], top, stall=stall, end=end)
        top += len(rows)
    axes.set_yticks(list(ticks), list(ticks.values()))
    axes.set_ylim(top - 0.4, -0.6 if headed else -0.8)
    axes.set_xlim(0, end * 1.03)
    axes.set_xlabel("seconds since the subscription")
    tidy(axes, ink, grid="x")
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    return axes


class _Row(NamedTuple):
    lane: str
    label: str
    times: list[float]


def _rows(events: Iterable[Timed]) -> list[_Row]:
    """From events to rows, in the order in which they opened; that of other events is the last."""
    rows: dict[tuple[Any, ...], _Row] = {}
    others = _Row("events", "events", [])
    part = 0
    for at, event in events:
        if isinstance(event, (RoundStarted, Restarted)):
            part += 1
        lane = "tool result" if isinstance(event, ToolResult) else lane_of(event)
        if lane is None:
            if not isinstance(event, ToolCall):
                others.times.append(at)
            continue
        choice = getattr(event, "choice", 0)
        key: tuple[Any, ...] = (lane, choice)
        label = lane
        if isinstance(event, ToolCallDelta):
            key, label = (lane, choice, event.key, part), event.name or lane
        rows.setdefault(key, _Row(lane, label + (f" [{choice}]" if choice else ""), [])).times.append(at)
    return [*rows.values(), *([others] if others.times else [])]


def _draw(axes: Any, ink: Ink, rows: list[_Row], events: list[Timed], top: float, *, stall: float, end: float) -> None:
    pieces = said(events)
    for a, b in between(pieces):
        if b - a > stall:
            axes.fill_between([a, b], top - 0.4, top + len(rows) - 0.6, color=ink.band, linewidth=0, zorder=0)
    for number, row in enumerate(rows):
        y, colour = top + number, ink.colour(_COLOURS[row.lane])
        if row.lane != "events":
            axes.hlines(y, row.times[0], row.times[-1], color=colour, alpha=0.35, linewidth=5)
        axes.vlines(row.times, y - 0.3, y + 0.3, color=colour, linewidth=1.3)
    if pieces:
        first = next(number for number, row in enumerate(rows) if row.lane == pieces[0].lane)
        axes.hlines(top + first, 0, pieces[0].at, color=ink.muted, linewidth=1, linestyle=":")
    for at, label, align in _spans(pieces, stall, end):
        axes.text(at, top - 0.56, label, ha=align, va="center", size="small", color=ink.muted)
    for at, label in _signs(events, end * _CLOSE):
        y = top + len(rows) - 1
        right = at > end * 0.75
        axes.annotate(
            plain(label), (at, y), (-5 if right else 5, 0), textcoords="offset points", ha="right" if right else "left",
            va="center", size="small", color=ink.muted,
        )  # fmt: skip


def _spans(pieces: list[Said], stall: float, end: float) -> Iterator[tuple[float, str, str]]:
    """From pieces to how long the wait for the first and each stall took: where to say so, what, and how it is aligned.

    >>> [*_spans([Said(0.5, "text", "a"), Said(4, "text", "b"), Said(5.5, "text", "c"), Said(6, "text", "d")], 1, 20)]
    [(0, '500 ms to the first', 'left'), (4.75, '1.5 s', 'center')]
    """
    letter = end * _LETTER
    taken = 0.0
    if pieces:
        first = pieces[0].at
        label = f"{seconds(first)} to the first"
        left = max(0.0, (first - len(label) * letter) / 2)
        yield (first / 2, label, "center") if left else (0, label, "left")
        taken = left + len(label) * letter
    for a, b in between(pieces):
        label = seconds(b - a)
        width = len(label) * letter
        left = max((a + b - width) / 2, taken + letter / 2)
        if b - a > stall and left + width <= max(b, (a + b + width) / 2):
            yield left + width / 2, label, "center"
            taken = left + width


def _signs(events: Iterable[Timed], close: float) -> list[tuple[float, str]]:
    signs: list[tuple[float, str]] = []
    for at, event in events:
        sign = _sign(event)
        if sign and signs and at - signs[-1][0] < close:
            signs[-1] = (signs[-1][0], f"{signs[-1][1]} · {sign}")
        elif sign:
            signs.append((at, sign))
    return signs


def _sign(event: Event) -> str:
    match event:
        case RoundStarted(round=number):
            return f"round {number}" if number > 1 else ""
        case Retrying(attempt=attempt):
            return f"attempt {attempt}"
        case Finish(reason=reason):
            return reason
        case _:
            return ""
