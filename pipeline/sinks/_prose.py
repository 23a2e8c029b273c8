"""An answer in markdown that grows.

The plan. Lines are read once. What stands in a fence is code, and goes line by line. Of the rest, only the last block is
open, or the last item of a list: it is parsed and laid out anew for a frame in which it has grown, and all above it goes.
What stays open for too long is broken (a table goes on under its header again), so a frame costs the same at any length.

Code within a list ends the item for this purpose; what follows is moved in as far as it is in the source.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from pipeline.sinks._block import LIMIT, Unread
from pipeline.sinks._code import Code
from pipeline.sinks._markdown import Piece, apart, laid_out, pieces
from pipeline.sinks._painter import Painter, Row, indented

_FENCE = re.compile(r"( *)(`{3,}|~{3,})[ \t]*((?:(?<=~)|(?!.*`)).*)")
_UNDECIDED = re.compile(r"\s*(?:[-=*+#>_|~`]*|\d{1,9}[.)]?)\s*|\s*(?:```|~~~).*")  # as the beginning of a line


class Prose:
    """Text as markdown."""

    def __init__(self) -> None:
        self._unread = Unread()
        self._line = ""  # the one that is not whole yet
        self._lines: list[str] = []  # the whole ones of the block that is open
        self._indent = 0  # how far these are moved in
        self._code: Code | None = None
        self._fence = ""  # what that began with
        self._above = ""  # the kind of what stands above the open block, "" for nothing
        self._blank = False  # a blank line stands between them in the source
        self._goes_on = False  # the open block was broken
        self._drawn: tuple[tuple[str, int], list[Row]] = (("", 0), [])
        self.ended = False

    def add(self, text: str) -> None:
        self._unread.add(text)

    def settled(self, paint: Painter) -> list[Row]:
        lines = (self._line + self._unread.read(to_the_end=self.ended)).split("\n")
        self._line = lines.pop()
        if self.ended:
            lines.append(self._line)
            self._line = ""
        rows = [row for line in lines for row in self._read(line, paint)]
        if self._code is None:
            rows += self._let_go(paint, self._source(), whole=self.ended)
            while sum(map(len, self._lines)) + len(self._line) > LIMIT:
                rows += self._break(paint)
            return rows
        self._grow(self._code)
        self._code.ended = self.ended
        return rows + self._code.settled(paint)

    def open(self, paint: Painter) -> list[Row]:
        if self._code is not None:
            return self._code.open(paint)
        lines = self._source()
        key = "\n".join(lines), paint.width
        if self._drawn[0] != key:
            self._drawn = key, self._rows(pieces(key[0]), lines, paint)
        return self._drawn[1]

    # ------------------------------------------------------------------------------------------------ prose

    def _read(self, line: str, paint: Painter) -> list[Row]:
        if self._code is not None:
            return self._read_code(self._code, line, paint)
        rows: list[Row] = []
        if self._indent and line.strip() and _indent_of(line) < self._indent:
            rows = self._let_go(paint, self._lines, whole=True)
            self._indent = _indent_of(line)
        line = self._moved_out(line)
        fence = _FENCE.fullmatch(line)
        if fence is None:
            self._lines.append(line)
            return rows
        rows += self._let_go(paint, self._lines)
        if len(fence[1]) > 3 and not self._in_list():  # as deep as that, it is code of the other kind already
            self._lines.append(line)
            return rows
        rows += self._let_go(paint, self._lines, whole=True)
        self._fence = fence[2]
        self._indent += len(fence[1])
        self._code = Code(fence[3].strip(), self._indent)
        return [*rows, *([[]] if self._above else [])]

    def _in_list(self) -> bool:
        return [piece.kind for piece in pieces("\n".join(self._lines))][-1:] == ["list_item"]

    def _moved_out(self, line: str) -> str:
        return line[min(self._indent, _indent_of(line)) :]

    def _source(self) -> list[str]:
        """The open block, without the beginning of a line that may become anything yet."""
        return self._lines if _UNDECIDED.fullmatch(self._line) else [*self._lines, self._moved_out(self._line)]

    def _let_go(self, paint: Painter, lines: list[str], *, whole: bool = False) -> list[Row]:
        """Rows of all but the block that is open, or of that one too."""
        found = pieces("\n".join(lines))
        done = found if whole else found[:-1]
        rows = self._rows(done, lines, paint)
        begin = len(lines) if whole else found[-1].begin if done else 0
        if done:
            self._above, self._goes_on = done[-1].kind, False
        if begin:
            self._blank = not lines[begin - 1].strip() or (self._blank and not done)
            self._lines = self._lines[begin:]
        return rows

    def _rows(self, found: Sequence[Piece], lines: list[str], paint: Painter) -> list[Row]:
        rows: list[Row] = []
        above = self._above
        for piece in found:
            blank = not lines[piece.begin - 1].strip() if piece.begin else self._blank
            if above and (rows or blank or not self._goes_on) and apart(above, piece.kind, blank=blank):
                rows.append([])
            rows += indented(laid_out(piece.node, paint, paint.width - self._indent), " " * self._indent)
            above = piece.kind
        return rows

    def _break(self, paint: Painter) -> list[Row]:
        """Rows of a block that has become too long, but for its last line."""
        found = pieces("\n".join(self._lines))
        kind = found[-1].kind if found else ""
        *lines, last = self._lines[found[-1].begin if found else 0 :] or [""]
        if kind == "table" and len(lines) > 2 and len(last) < LIMIT // 2:
            rest = [*lines[:2], last]  # its header and what divides it from the rows
        elif lines:
            rest = [last]
        else:
            at = self._line.rfind(" ", 1, LIMIT) + 1 if not last else 0
            lines, rest = [last or self._line[: at or LIMIT]], []
            self._line = self._line if last else self._line[at or LIMIT :]
        self._lines = lines
        rows = self._let_go(paint, self._lines, whole=True)
        self._goes_on, self._blank = kind != "table", False
        self._lines = rest
        if kind == "list_item" and rest:
            self._indent += _indent_of(last)
            self._lines = [self._moved_out(last)]
        return rows

    # ------------------------------------------------------------------------------------------------ code

    def _read_code(self, code: Code, line: str, paint: Painter) -> list[Row]:
        if not self._closes(line):
            code.add(self._moved_out(line))
            return []
        code.ended = True
        self._code, self._above, self._blank = None, "fence", False
        return code.settled(paint)

    def _closes(self, line: str) -> bool:
        mark = line.strip()
        return len(mark) >= len(self._fence) and not mark.strip(self._fence[0])

    def _grow(self, code: Code) -> None:
        while len(self._line) > LIMIT:
            code.add(self._moved_out(self._line[:LIMIT]))
            self._line = self._line[LIMIT:]
        code.line = self._moved_out(self._line) if self._line.strip(f" {self._fence[0]}") else ""


def _indent_of(line: str) -> int:
    return len(line) - len(line.lstrip(" "))
