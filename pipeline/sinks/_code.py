"""Code → rows in the terminal's own colours, and a block of code that grows.

The plan. A line of code is final as soon as it ends, so it goes at once, whole: the terminal breaks it where it must,
and whoever copies it gets it as it was. Colours want to know what stands above; some of it is looked at again for each
batch of lines, so that a line of ten thousand costs what the first one does.
"""

from __future__ import annotations

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from rich.syntax import ANSISyntaxTheme, Syntax

from pipeline.sinks._painter import Painter, Row, indented
from pipeline.sinks._visible import visible

_COLORS = ANSISyntaxTheme(
    {
        ("Comment",): Style(dim=True, italic=True),
        ("Keyword",): Style(color="magenta"),
        ("Keyword", "Constant"): Style(color="cyan"),
        ("Operator", "Word"): Style(color="magenta"),
        ("Name", "Builtin"): Style(color="cyan"),
        ("Name", "Class"): Style(bold=True),
        ("Name", "Decorator"): Style(color="magenta"),
        ("Name", "Exception"): Style(color="cyan"),
        ("Name", "Function"): Style(color="blue", bold=True),
        ("Name", "Tag"): Style(color="blue", bold=True),
        ("Name", "Attribute"): Style(color="cyan"),
        ("Literal", "String"): Style(color="green"),
        ("Literal", "Number"): Style(color="cyan"),
        ("Generic", "Deleted"): Style(color="red"),
        ("Generic", "Inserted"): Style(color="green"),
        ("Generic", "Heading"): Style(bold=True),
        ("Generic", "Subheading"): Style(bold=True),
        ("Generic", "Strong"): Style(bold=True),
        ("Generic", "Emph"): Style(italic=True),
    }
)
_CONTEXT = 2000
"""Characters above a line that its colours are told from."""
_COLORED = 500
"""Characters of a line up to which it gets colours: no highlighter is made for what is longer."""


class Code:
    """A block of code that grows, between two rules, moved in by `indent`."""

    def __init__(self, info: str, indent: int) -> None:
        self._info = info
        self._margin = " " * indent
        self._new: list[str] = []
        self.line = ""  # the one that is not whole yet
        self._above: list[str] = []
        self._begun = False
        self.ended = False

    def add(self, line: str) -> None:
        self._new.append(line)

    def settled(self, paint: Painter) -> list[Row]:
        rows = [] if self._begun else headed(paint, paint.width - len(self._margin), self._info)
        self._begun = True
        if self._new:
            rows += code_rows(paint, self._new, self._info, self._above)
            self._above = _last([*self._above, *self._new])
            self._new = []
        if self.ended:
            rows.append(rule(paint, paint.width - len(self._margin)))
        return indented(rows, self._margin) if self._margin else rows

    def open(self, paint: Painter) -> list[Row]:
        if not self.line:
            return []
        row = code_rows(paint, [self.line], self._info, self._above)[0]
        return indented(folded(row, paint.width - len(self._margin)), self._margin)


def code_rows(paint: Painter, lines: Sequence[str], info: str, above: Sequence[str] = ()) -> list[Row]:
    """Lines of code in colours, a row each, however long. `above` is the code that they go on from."""
    lines = [line.expandtabs(4) for line in lines]
    if all(len(line) <= _COLORED for line in lines):
        syntax = Syntax("", info.split(maxsplit=1)[0] if info.strip() else "text", theme=_COLORS)
        colored = paint.split(syntax.highlight("\n".join([*above, *lines])))[len(above) : len(above) + len(lines)]
        if [
            "".join(segment.text for segment in row) for row in colored
        ] == lines:  # a lexer may change what it is given
            return colored
    return [[Segment(line)] for line in lines]


def folded(row: Row, width: int) -> list[Row]:
    """A row as the terminal breaks it: where there is no more room."""
    width = max(1, width)
    cells = sum(segment.cell_length for segment in row)
    return [list(part) for part in Segment.divide(row, range(width, cells + width, width))] or [[]]


def rule(paint: Painter, width: int) -> Row:
    """A line across."""
    return [Segment("─" * width, paint.style("answer.rule"))]


def headed(paint: Painter, width: int, info: str) -> list[Row]:
    """The line above a block of code, which says what the block is: in the line, or below it where there is no room."""
    label = Segment(visible(info).strip(), paint.style("answer.label"))
    if not label.text:
        return [rule(paint, width)]
    rest = width - label.cell_length - len("──  ")
    if rest < len("──"):
        return [rule(paint, width), *folded([label], width)]
    style = paint.style("answer.rule")
    return [[Segment("── ", style), label, Segment(f" {'─' * rest}", style)]]


def _last(lines: list[str]) -> list[str]:
    size = 0
    for at in range(len(lines) - 1, -1, -1):
        size += len(lines[at])
        if size > _CONTEXT:
            return lines[at + 1 :]
    return lines
