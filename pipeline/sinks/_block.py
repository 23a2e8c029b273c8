"""The parts of what is shown that grow: text, and what the others have in common."""

from __future__ import annotations

from typing import Protocol

from rich.segment import Segment
from rich.text import Text

from pipeline.sinks._painter import Painter, Row, indented
from pipeline.sinks._visible import visible

LIMIT = 2048
"""Characters of a line or a paragraph that are laid out again and again; what is longer is broken there."""


class Block(Protocol):
    """A part that grows, and becomes final from the top down.

    `settled` gives the rows that will not change any more, each once; `open`, asked for after it, those that still may.
    Both cost what is new and what is open, never what came before. Once it has `ended`, `settled` is asked for once more.
    """

    ended: bool

    def settled(self, paint: Painter) -> list[Row]: ...

    def open(self, paint: Painter) -> list[Row]: ...


class Unread:
    """Text as it comes, made visible: CR LF is a line end, and a CR at the end of a piece waits for what follows."""

    def __init__(self) -> None:
        self._parts: list[str] = []

    def add(self, text: str) -> None:
        self._parts.append(text)

    def read(self, *, to_the_end: bool) -> str:
        text = "".join(self._parts)
        self._parts.clear()
        if text.endswith("\r") and not to_the_end:
            text = text[:-1]
            self._parts.append("\r")
        return visible(text).replace("\r\n", "\n")


class Words:
    """Text that is broken at words, in one style, behind a prefix. Blank lines around it are left out."""

    def __init__(self, style: str, prefix: str = "") -> None:
        self._style, self._prefix = style, prefix
        self._unread = Unread()
        self._line = ""  # the one that is not whole yet
        self._blanks = 0  # lines that are blank, as far as is known at the end
        self._begun = False
        self.ended = False

    def add(self, text: str) -> None:
        self._unread.add(text)

    def settled(self, paint: Painter) -> list[Row]:
        lines = (self._line + self._unread.read(to_the_end=self.ended)).split("\n")
        self._line = lines.pop()
        if self.ended:
            lines.append(self._line)
            self._line = ""
        while len(self._line) > LIMIT:
            at = self._line.rfind(" ", 1, LIMIT) + 1 or LIMIT
            lines.append(self._line[:at])
            self._line = self._line[at:]
        return [row for line in lines for row in self._rows(line, paint)]

    def _rows(self, line: str, paint: Painter) -> list[Row]:
        if not line.strip():
            self._blanks += self._begun
            return []
        blank: list[Row] = [[]] * self._blanks
        self._begun, self._blanks = True, 0
        return self._behind(blank + self._broken(line, paint), paint)

    def open(self, paint: Painter) -> list[Row]:
        if not self._line.strip():
            return []
        blank: list[Row] = [[]] * self._blanks
        return self._behind(blank + self._broken(self._line, paint), paint)

    def _broken(self, line: str, paint: Painter) -> list[Row]:
        return paint.rows(Text(line.rstrip(), style=self._style), paint.width - len(self._prefix))

    def _behind(self, rows: list[Row], paint: Painter) -> list[Row]:
        return indented(rows, Segment(self._prefix, paint.style(self._style))) if self._prefix else rows


def remark(text: str, style: str) -> Words:
    """A few words of ours, as a block."""
    words = Words(style)
    words.add(text)
    words.ended = True
    return words
