"""What is to be seen → rows of a terminal, each with its escapes and its width."""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import NamedTuple, TypeAlias

from rich.cells import cell_len
from rich.color import ColorSystem
from rich.console import Console, RenderableType
from rich.segment import Segment
from rich.style import Style
from rich.text import Text
from rich.theme import Theme

from pipeline.sinks._visible import visible

MEASURE = 100
"""Longer lines are hard to read: on a wider terminal the rest stays empty."""

_COLORS = {
    "standard": ColorSystem.STANDARD,
    "256": ColorSystem.EIGHT_BIT,
    "truecolor": ColorSystem.TRUECOLOR,
    "windows": ColorSystem.WINDOWS,
}
# the terminal's own colours, and of these the ones that can be read on white and on black
_THEME = Theme(
    {
        "answer.heading": "bold",
        "answer.heading1": "bold underline",
        "answer.strong": "bold",
        "answer.em": "italic",
        "answer.s": "strike",
        "answer.code": "cyan",
        "answer.link": "underline",
        "answer.url": "dim",
        "answer.marker": "dim",
        "answer.quote": "dim",
        "answer.rule": "dim",
        "answer.label": "dim",
        "answer.reasoning": "dim",
        "call.frame": "cyan",
        "call.name": "bold cyan",
        "call.key": "cyan",
        "result.good": "green",
        "result.bad": "red",
        "remark.warning": "yellow",
        "remark.error": "bold red",
        "remark.heading": "bold",
        "remark.footer": "dim",
    }
)

Row: TypeAlias = list[Segment]


class Line(NamedTuple):
    """A row as it is written, and how many cells it takes."""

    text: str
    width: int


class Painter:
    """Lays out for a terminal of a width, which may change at any time, and in the colours that it has.

    Nothing that it paints is obeyed by a terminal, but for the colours, which are its own.
    """

    def __init__(self, console: Console) -> None:
        self._colors = _COLORS.get(console.color_system or "")
        self._plain = console.no_color
        self._console = Console(
            file=io.StringIO(),
            force_terminal=True,
            width=80,
            height=24,
            theme=_THEME,
            highlight=False,
            legacy_windows=False,
        )
        self.width = 0
        self.fit(console.width)

    def fit(self, columns: int) -> None:
        self.width = max(1, min(columns, MEASURE))

    def style(self, name: str) -> Style:
        return self._console.get_style(name)

    def rows(self, what: RenderableType, width: int | None = None) -> list[Row]:
        """Lay out. Text is broken at words; blanks at the end of rows, which no one sees, are left out."""
        options = self._console.options.update(width=max(1, self.width if width is None else width), height=None)
        return [_stripped(row) for row in self._console.render_lines(what, options, pad=False)]

    def split(self, text: Text) -> list[Row]:
        """A text as it is, a row each line, however long."""
        return [
            [segment for segment in row if segment.text]
            for row in Segment.split_lines(text.render(self._console, end="\n"))
        ]

    def line(self, row: Row) -> Line:
        """A row as it is written."""
        written, width = [], 0
        segments: Iterable[Segment] = Segment.remove_color(row) if self._plain else row
        for segment in segments:
            text = visible(segment.text).replace("\n", " ").replace("\t", " ")
            width += cell_len(text)
            style = segment.style
            written.append(
                style.render(text, color_system=self._colors) if style and self._colors is not None else text
            )
        return Line("".join(written), width)


def indented(rows: Iterable[Row], prefix: str | Segment, first: Segment | None = None) -> list[Row]:
    """The rows, behind a prefix; the first may have another one."""
    other = Segment(prefix) if isinstance(prefix, str) else prefix
    found: list[Row] = []
    for row in rows:
        before = other if found or first is None else first
        found.append([before, *row] if row else [Segment(before.text.rstrip(), before.style)])
    return found


def _stripped(row: Row) -> Row:
    while row and not row[-1].text.strip(" "):
        row = row[:-1]
    return [*row[:-1], Segment(row[-1].text.rstrip(" "), row[-1].style)] if row else row
