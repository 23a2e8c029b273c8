"""A tool call as a panel whose arguments grow, and what came of it."""

from __future__ import annotations

from rich.segment import Segment
from rich.text import Text

from operators import ToolResult
from pipeline.sinks._argument_lines import ArgumentLines
from pipeline.sinks._painter import Painter, Row, indented
from pipeline.sinks._phrases import RESULT_SHOWN, cut
from pipeline.sinks._visible import visible


class Call:
    """A panel that is open to the right: it can be copied, and a narrower terminal does not break it to pieces."""

    def __init__(self) -> None:
        self._name: list[str] = []
        self._arguments = ArgumentLines()
        self._begun = False
        self.ended = False

    @property
    def name(self) -> str:
        return "".join(self._name)

    def grow(self, name: str, arguments: str) -> None:
        if name:
            self._name.append(name)
        self._arguments.feed(arguments)

    def settled(self, paint: Painter) -> list[Row]:
        if self.ended:
            self._arguments.end()
        if not (self.ended or self._arguments.begun):  # the name may still grow
            return []
        rows = [] if self._begun else [self._top(paint)]
        self._begun = True
        rows += [row for line in self._arguments.done() for row in self._inside(line, paint)]
        return [*rows, self._bottom(paint)] if self.ended else rows

    def open(self, paint: Painter) -> list[Row]:
        line = self._arguments.line
        rows = [] if self._begun else [self._top(paint)]
        return [*rows, *(self._inside(line, paint) if line else []), self._bottom(paint)]

    def _inside(self, line: Text, paint: Painter) -> list[Row]:
        moved = 4 if line.plain.startswith("  ") else 2
        first, *rest = paint.rows(line, paint.width - 4) or [[]]
        bar = Segment("│ ", paint.style("call.frame"))
        return [[bar, *first], *indented(indented(rest, " " * (moved - 2 or 2)), bar)]

    def _top(self, paint: Painter) -> Row:
        frame = paint.style("call.frame")
        name = Text(visible(self.name).replace("\n", "␊").replace("\t", "␉") or "…")
        name.truncate(max(1, paint.width - 5), overflow="ellipsis")
        rest = "─" * max(0, paint.width - name.cell_len - 4)
        return [Segment("╭─ ", frame), Segment(name.plain, paint.style("call.name")), Segment(f" {rest}", frame)]

    def _bottom(self, paint: Painter) -> Row:
        frame = paint.style("call.frame")
        if not self.ended or self._arguments.whole or not self._arguments.begun:
            return [Segment(f"╰{'─' * max(0, paint.width - 1)}", frame)]
        return [Segment("╰─ ", frame), Segment("unfinished", paint.style("remark.warning"))]


class Result:
    """What came of a call."""

    def __init__(self, event: ToolResult) -> None:
        self._event = event
        self.ended = True

    def settled(self, paint: Painter) -> list[Row]:
        event = self._event
        good = event.error is None
        style = "result.good" if good else "result.bad"
        said = event.content if event.error is None else f"failed: {event.error}"
        text = Text.assemble(
            (visible(event.call.name), style),
            "  ",
            (visible(cut(said, RESULT_SHOWN)).replace("\r\n", "\n"), "" if good else style),
        )
        mark = Segment("✓ " if good else "✗ ", paint.style(style))
        return indented(paint.rows(text, paint.width - 2), "  ", first=mark)

    def open(self, paint: Painter) -> list[Row]:  # noqa: ARG002 - a result comes whole
        return []
