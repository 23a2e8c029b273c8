"""A scene → SVG: nothing but shapes with their colours on them.

No script, no ids (they would collide with another picture's), no links. A panel of its own stands behind it all, as the page
may be light or dark. The one style sheet turns each colour into that of the dark theme where that is preferred; it knows
its own pictures by their class, as it may land in a page, and where it is dropped, the picture is light.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby, zip_longest
from typing import TYPE_CHECKING, Literal

from pipeline.probing._bars import BAR, bar, beyond
from pipeline.probing._ink import CELL, LEFT, SANS, Ink, n, with_tooltip
from pipeline.probing._looks import DARKENED, SAID, THEMES, Colours, Theme
from pipeline.probing._marble import COLUMN, LEAST, marble, room_of
from pipeline.probing._place import Room
from pipeline.probing._rows import base
from pipeline.probing._scene import GROUPED, Ended, Mark, Metrics, Scene, scene_of
from pipeline.probing._seen import Item
from pipeline.probing._shown import escaped, seconds, shown, size, stage_name
from pipeline.probing._shown import width as cells
from pipeline.probing._summary import summary

if TYPE_CHECKING:
    from collections.abc import Collection

    from pipeline.probing._probe import Probe

WIDTH = 920
_TOP = 84.0
_ROW, _SUBTITLE = 36.0, 14.0
_STALL = 1.0  # seconds; a gap as long as that is shown as one that somebody waited for
_FAN = 12  # threads from one marble, from which on they are drawn fainter


def svg_of(seen: Probe, *, stages: Collection[str] | Literal["all"] | None, width: int | None, theme: Theme) -> str:
    """The picture as SVG. Raises ValueError for stages that are not there."""
    room = Room((width or WIDTH) - LEFT - 60, longest_gap=2 * COLUMN, usual_gap=26, column=COLUMN)
    metrics = Metrics(room, (0, 1, 2, 3), LEAST, room_of, end=14, words=_room_beside, more=90, sign=_room_of_sign)
    return _Picture(seen, scene_of(seen, metrics, stages), theme).svg()


def _room_beside(words: str) -> float:
    return 10 + cells(words) * 6.6 if words else 0.0


def _room_of_sign(text: str) -> float:
    return cells(text) * CELL + 14


class _Picture:
    def __init__(self, seen: Probe, scene: Scene, theme: Theme) -> None:
        colours: Colours = THEMES[theme]
        self._seen, self._scene, self._theme, self._colours, self._ink = seen, scene, theme, colours, Ink(colours)
        self._parts: list[str] = []
        self._ys: list[float] = []
        scoped = {scope.row for scope in scene.scopes}
        y = _TOP
        self._texts = {number: _has_text(row.items) and scene.detail >= 1 for number, row in enumerate(scene.rows)}
        for number, row in enumerate(scene.rows):
            y += (12 if row.first and number else 0) + (14 if number in scoped else 0)
            self._ys.append(y)
            y += _ROW + (_SUBTITLE if self._texts[number] else 0)
        self._bars = y - 4
        self._bottom = self._bars + len(scene.calls) * BAR + (6 if scene.calls else 0)
        self._right = LEFT + max(scene.width, 200.0)
        words = max((_room_beside(ended.words) for ended in scene.ends), default=0.0)
        self._margin = 28 + max(words, beyond(scene.calls, scene.places, self._right))
        counts = ((mark.row, len(mark.items)) for mark in scene.marks)
        self._marks = sorted(scene.marks, key=lambda mark: (mark.row, mark.x))
        self._most: dict[int, int] = {}  # items in one marble, by row
        for row_number, count in counts:
            self._most[row_number] = max(count, self._most.get(row_number, 0))

    # ------------------------------------------------------------------------------------------------ the whole

    def svg(self) -> str:
        colours = self._colours
        legend = self._legend()
        width, height = round(self._right + self._margin), round(self._bottom + 22 + 18 * len(legend))
        told = summary(self._seen, self._scene.strands, self._scene.left_out)
        self._axis()
        for break_ in self._scene.breaks:
            self._break(break_.start, break_.end, break_.seconds)
        self._rows()
        threads = Counter(above for above, _ in self._scene.links)
        for above, below in self._scene.links:
            self._thread(above, below, faint=threads[above] > _FAN)
        for mark in self._marks:
            self._parts.append(
                marble(
                    mark.items,
                    LEFT + mark.x,
                    self._ys[mark.row],
                    self._ink,
                    detail=self._scene.detail,
                    most=self._most[mark.row],
                    began=self._seen.began,
                )
            )
        self._more()
        for ended in self._scene.ends:
            self._end(ended)
        self._subtitles()
        for number, call in enumerate(self._scene.calls):
            y, edge = self._bars + number * BAR, self._right + self._margin
            self._parts.append(bar(call, y, self._scene.places, self._ink, self._right, edge))
        for number, line in enumerate(legend):
            self._legend_line(line, self._bottom + 18 + 18 * number)
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
            f'role="img" aria-label="{escaped("Marbles of a stream: " + told.words)}" font-family="{SANS}" '
            f'font-size="11" xml:space="preserve" class="rxmarbles-{self._theme}" style="max-width:100%;height:auto">'
        )
        panel = (
            f'<rect x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="10" '
            f'fill="{colours.panel}" stroke="{colours.edge}"/>'
        )
        state = {"completed": colours.good, "error": colours.bad}.get(told.state, colours.muted)
        title = (
            f'<circle cx="20" cy="23" r="4.5" fill="{state}"/>'
            f'<text x="32" y="27" fill="{colours.text}" font-size="13" font-weight="600">{escaped(told.state_words)}'
            f'<tspan dx="12" fill="{colours.muted}" font-size="11" font-weight="400">{escaped(told.counts)}</tspan></text>'
        )
        parts = [panel, title, *self._parts]
        style = [_darkened(parts)] if self._theme == "auto" else []
        return "\n".join([head, *style, *parts, "</svg>", ""])

    def _axis(self) -> None:
        if not self._scene.rows:
            return
        colours, y = self._colours, 50.0
        self._parts.append(self._ink.line(LEFT - 6, y, self._right, y, colours.line))
        free, before = 0.0, ""
        busy = [(LEFT + b.start, LEFT + b.end) for b in self._scene.breaks]
        for tick in self._scene.ticks:
            x = LEFT + tick.x
            if any(start + 2 < x < end - 2 for start, end in busy):
                continue
            self._parts.append(self._ink.line(x, y - 3, x, y, colours.line))
            text = seconds(tick.at)
            half = len(text) * 2.9
            if (
                text != before
                and x - half >= free
                and not any(start - half < x < end + half - 7 for start, end in busy)
            ):
                self._parts.append(self._ink.words(x, y - 7, text, colours.muted, size=9.5, anchor="middle"))
                free, before = x + half + 14, text

    def _break(self, start: float, end: float, wait: float) -> None:
        colours = self._colours
        long = wait >= _STALL
        ink, band = (colours.stall, colours.stall_band) if long else (colours.muted, colours.gap_band)
        left, right = LEFT + start + 4, LEFT + end - 4
        middle, top, bottom = (left + right) / 2, 44.0, self._bottom - 6
        body = (
            f'<rect x="{n(left)}" y="{n(top)}" width="{n(right - left)}" height="{n(bottom - top)}" rx="4" fill="{band}"/>'
            f'<path d="M{n(middle - 5)} 55l4 -10M{n(middle + 1)} 55l4 -10" stroke="{ink}" stroke-width="1.4" fill="none"/>'
        )
        words = self._ink.words(middle, 67, seconds(wait), ink, size=10, anchor="middle", bold=True)
        self._parts.append(with_tooltip(f"nothing for {seconds(wait)}", body, words))

    # ------------------------------------------------------------------------------------------------ the rows

    def _rows(self) -> None:
        colours, scene = self._colours, self._scene
        for number, row in enumerate(scene.rows):
            y = self._ys[number]
            if row.foreign:
                self._foreign(number)
            elif row.first and number:
                self._parts.append(
                    self._ink.line(14, y - 24, self._right + self._margin - 14, y - 24, colours.line, dash="1 4")
                )
            name = stage_name(row.name, 22)
            counts = f"{row.count:,}" + (f" · {size(row.size)}" if row.size else "")
            same = f"  = {', '.join(base(same) for same in row.same)}" if row.same else ""
            told = "\n".join([shown(row.name), *(shown(f"{one} emits just the same") for one in row.same)])
            words = self._ink.words(16, y - 1, name, colours.text, mono=True, bold=True)
            below = self._ink.words(16, y + 11, shown(counts + same, 33), colours.muted, size=9.5)
            self._parts.append(with_tooltip(told, words, below))
        for span in scene.spans:
            y = self._ys[span.row]
            start, end = LEFT + span.start, LEFT + span.end if span.end is not None else self._right + 12
            self._parts.append(self._ink.line(start - 6, y, end, y, colours.line, width=1.5))
            if span.end is None:
                self._parts.append(
                    f'<path d="M{n(end - 5)} {n(y - 4)}L{n(end)} {n(y)}L{n(end - 5)} {n(y + 4)}" '
                    f'stroke="{colours.muted}" stroke-width="1.4" fill="none"/>'
                )
        for sign in scene.signs:
            x, y = LEFT + sign.x, self._ys[sign.row]
            half = cells(sign.text) * CELL / 2 + 4
            self._parts.append(
                f'<rect x="{n(x - half)}" y="{n(y - 8)}" width="{n(2 * half)}" height="16" rx="3" fill="{colours.panel}" '
                f'stroke="{colours.muted}"/>'
                + self._ink.words(x, y + 3.5, sign.text, colours.muted, size=10, anchor="middle", mono=True)
            )
        for scope, following in zip_longest(scene.scopes, scene.scopes[1:]):
            until = following.x if following is not None and following.row == scope.row else scene.width
            room = max(int((until - scope.x - 6) / 5.6), 3)
            text = scope.text if cells(scope.text) <= room else shown(scope.text.partition(" · ")[0], room)
            y = self._ys[scope.row] - 15
            self._parts.append(self._ink.words(LEFT + scope.x - 6, y, text, colours.muted, size=9.5, bold=True))

    def _more(self) -> None:
        colours = self._colours
        for more in self._scene.more:
            x, y = LEFT + more.x, self._ys[more.row]
            self._parts.append(
                f'<rect x="{n(x - 44)}" y="{n(y - 7)}" width="88" height="14" rx="7" fill="{colours.panel}" '
                f'stroke="{colours.muted}" stroke-dasharray="2 3"/>'
                + self._ink.words(x, y + 3.5, more.text, colours.muted, size=9.5, anchor="middle")
            )

    def _foreign(self, number: int) -> None:
        """Operators that are not ours: the edge between what they took and what they gave."""
        colours = self._colours
        y = self._ys[number]
        middle = (self._ys[number - 1] + y) / 2 + (_SUBTITLE / 2 if self._texts[number - 1] else 0)
        self._parts.append(
            self._ink.line(LEFT - 6, middle, self._right, middle, colours.muted, dash="2 5")
            + self._ink.words(28, middle + 3.5, "⋮ other operators", colours.muted, size=10)
        )

    # ------------------------------------------------------------------------------------------------ the marbles

    def _thread(self, above: Mark | Ended, below: Mark | Ended, *, faint: bool) -> None:
        """From a cause to what came of it."""
        x, y, to_x, to_y = LEFT + above.x, self._ys[above.row], LEFT + below.x, self._ys[below.row]
        if isinstance(below, Mark):
            colour = self._ink.hue(below.items[0].kind).solid
        else:
            colour, to_y = self._colours.muted, to_y - 9
        dense = faint or self._scene.detail == GROUPED
        if abs(to_x - x) < 0.5:
            path = f"M{n(x)} {n(y)}V{n(to_y)}"
        else:
            bend = (to_y - y) * 0.55
            path = f"M{n(x)} {n(y)}C{n(x)} {n(y + bend)} {n(to_x)} {n(to_y - bend)} {n(to_x)} {n(to_y)}"
        self._parts.append(
            f'<path d="{path}" fill="none" stroke="{colour}" stroke-opacity="{0.25 if dense else 0.45}" '
            f'stroke-width="{1 if dense else 1.2}"/>'
        )

    def _end(self, ended: Ended) -> None:
        colours = self._colours
        x, y, end = LEFT + ended.x, self._ys[ended.row], ended.end
        if end.how == "completed":
            told = f"completed at {self._time(end.at)}"
            body = f'<path d="M{n(x)} {n(y - 9)}V{n(y + 9)}" stroke="{colours.text}" stroke-width="2.4" stroke-linecap="round"/>'
        elif end.how == "error":
            told = f"{end.error} at {self._time(end.at)}\n{shown(end.message)}"
            body = f'<path d="M{n(x - 5)} {n(y - 5)}l10 10m0 -10l-10 10" stroke="{colours.bad}" stroke-width="2.4" stroke-linecap="round"/>'
            body += self._ink.words(x + 11, y + 4, ended.words, colours.bad, bold=True)
        else:
            told = f"{f'left by {end.error}' if end.error else 'left by who was below'} at {self._time(end.at)}"
            body = f'<path d="M{n(x - 3)} {n(y - 6)}h3v12h-3" stroke="{colours.muted}" stroke-width="1.4" fill="none"/>'
            body += self._ink.words(x + 9, y + 4, ended.words, colours.muted)
        self._parts.append(with_tooltip(told, body))

    def _subtitles(self) -> None:
        """What the texts say, below the marbles that have no room for it."""
        for number, row in enumerate(self._scene.rows):
            if not self._texts[number]:
                continue
            free = 0.0
            said = [item for item in row.items if item.kind in SAID]
            runs = [list(run) for _, run in groupby(said, self._run_of)]
            for run in runs:
                last = self._scene.places[run[-1].seq] + 8
                until = last if run is not runs[-1] else self._right - LEFT + self._margin - 16
                free = self._say(run, number, free, until)

    def _say(self, run: list[Item], row: int, free: float, until: float) -> float:
        """What a run says, and how it goes on as often as there is room; answers where there is room again."""
        for at, item in enumerate(run):
            x = self._scene.places[item.seq]
            if x < free:
                continue
            room = max(min(until - x, 128.0 if len(run) > 40 else until), 40.0)
            whole = shown("".join(item.text for item in run[at : at + 80]).strip())
            text = shown(whole, int(room / 5.1))
            ink, y = self._ink.hue(item.kind).ink, self._ys[row] + 21
            self._parts.append(self._ink.words(LEFT + x - 4, y, text, ink, size=8.5, mono=True))
            free = x + cells(text) * 5.1 + 10
            if text == whole and at + 80 >= len(run):
                break
        return free

    def _run_of(self, item: Item) -> tuple[str, int]:
        """What is read as one: texts of one kind, without a break in them."""
        x = self._scene.places[item.seq]
        return item.kind, sum(gap.end <= x for gap in self._scene.breaks)

    # ------------------------------------------------------------------------------------------------ the legend

    def _legend(self) -> list[list[tuple[str, float]]]:
        kinds = dict.fromkeys(item.kind for mark in self._marks for item in mark.items)
        lines: list[list[tuple[str, float]]] = [[]]
        x = 20.0
        for kind in list(kinds)[:24]:
            text = shown(kind, 24)
            if x + len(text) * 6 + 26 > self._right + self._margin - 12 and lines[-1]:
                lines.append([])
                x = 20.0
            lines[-1].append((kind, x))
            x += len(text) * 6.0 + 30
        return lines if lines[0] else []

    def _legend_line(self, line: Iterable[tuple[str, float]], y: float) -> None:
        for kind, x in line:
            shape = (
                f'<rect x="{n(x - 4)}" y="{n(y - 4)}" width="8" height="8" rx="2" fill="{self._ink.hue(kind).solid}"/>'
                if kind == "read"
                else f'<circle cx="{n(x)}" cy="{n(y)}" r="4" fill="{self._ink.hue(kind).solid}"/>'
            )
            self._parts.append(shape + self._ink.words(x + 9, y + 3.5, shown(kind, 24), self._colours.muted, size=10))

    # ------------------------------------------------------------------------------------------------ the small things

    def _time(self, at: float) -> str:
        return seconds(max(0.0, at - self._seen.began))


def _darkened(parts: Iterable[str]) -> str:
    """The style sheet for dark pages, with a rule for each colour that is there."""
    rules = [
        f'.rxmarbles-auto [{how}="{light}"]{{{how}:{dark}}}'
        for light, dark in DARKENED.items()
        for how in ("fill", "stroke")
        if any(f'{how}="{light}"' in part for part in parts)
    ]
    return f"<style>@media (prefers-color-scheme:dark){{{''.join(rules)}}}</style>"


def _has_text(items: Iterable[Item]) -> bool:
    return any(item.kind in SAID for item in items)
