"""The end of a terminal's text: lines that are done scroll away, those under them are drawn again and again.

The plan. A frame is one write. It goes up to where the open lines begin, writes the lines that are done over them, and
the open lines below. Each line is written over what stood there and only its rest is erased, lines that stand already
are skipped, and the terminal is asked to show the frame as a whole: so nothing flickers. Between two frames the terminal
is as it was found: whatever becomes of the process, there is nothing to restore.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from rich.console import Console

from pipeline.sinks._painter import Line

_BEGIN, _END = "\x1b[?2026h\x1b[?25l", "\x1b[?25h\x1b[?2026l"  # shown as a whole, the cursor hidden on its way
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"  # a line that is wider here than was thought is no second row
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[K", "\x1b[J"


class Screen:
    """Draws frames on the terminal that a `console` of rich's writes to.

    `reflows` says that the terminal breaks the lines it has anew when it becomes narrower, as nearly all do.
    """

    def __init__(self, console: Console, *, reflows: bool | None = None) -> None:
        self._console = console
        self._reflows = _reflows(os.environ) if reflows is None else reflows
        self._open: list[Line] = []
        self._columns = 0

    @property
    def size(self) -> tuple[int, int]:
        """Columns and rows, as they are now."""
        return max(1, self._console.width), max(1, self._console.height)

    def draw(self, done: list[Line], open: list[Line]) -> None:  # noqa: A002 - it is what they are
        """Let the lines that are done go, and show the open ones under them. These must fit on the screen."""
        columns, _ = self.size
        if not done and open == self._open and columns >= self._columns:
            return
        frame = [_BEGIN, self._to_top(columns)]
        if columns < self._columns:  # forget that the terminal has broken lines here: made wider, it would join ours
            frame.append(_CLEAR_BELOW)
        standing = self._open if columns >= self._columns and not done else []
        for line in done:
            # at the last column the cursor still stands on the last character, and would erase it
            frame += [line.text, "\n" if line.width and not line.width % columns else _CLEAR_LINE + "\n"]
        frame.append(_NO_WRAP)
        for at, line in enumerate(open[:-1]):
            if at >= len(standing) or line != standing[at]:
                frame += [line.text, "" if line.width >= columns else _CLEAR_LINE]
            frame.append("\n")
        frame += [_CLEAR_BELOW, *(line.text for line in open[-1:]), _WRAP, _END]
        self._open, self._columns = open, columns
        self._write("".join(frame))

    def leave(self) -> None:
        """Go to the line below, if the cursor stands in one. What is shown stays."""
        if self._open:
            self._open = []
            self._write("\n")

    def _to_top(self, columns: int) -> str:
        if not self._open:
            return ""
        narrower = columns < self._columns and self._reflows
        above = sum(_rows(line, columns) if narrower else 1 for line in self._open[:-1])
        above += (_rows(self._open[-1], columns) - 1) if narrower else 0
        return "\r" + (f"\x1b[{above}A" if above else "")

    def _write(self, text: str) -> None:
        file = self._console.file
        file.write(text)
        file.flush()


def _rows(line: Line, columns: int) -> int:
    return max(1, -(-line.width // columns))


def _reflows(environ: Mapping[str, str]) -> bool:
    """xterm, the Linux console and GNU screen cut lines off where the others break them."""
    term = environ.get("TERM", "")
    return not ("XTERM_VERSION" in environ or term == "linux" or (term.startswith("screen") and "TMUX" not in environ))
