"""The end of a terminal's text: lines that are done scroll away, those under them are drawn again and again.

The plan. A frame is one write. It goes up to where the open lines begin, writes the lines that are done over them, and
the open lines below. Lines that stand already are skipped, others are written over what stood there, and the terminal is
asked to show the frame as a whole: so nothing flickers. A row that becomes shorter is erased first, as a whole: if its end
is, tmux takes it to be as long as before, and breaks it when it becomes narrower. Between two frames the terminal is as it
was found: whatever becomes of the process, there is nothing to restore.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from rich.console import Console

from pipeline.sinks._painter import Line

_BEGIN, _END = "\x1b[?2026h\x1b[?25l", "\x1b[?25h\x1b[?2026l"  # shown as a whole, the cursor hidden on its way
_NO_WRAP, _WRAP = "\x1b[?7l", "\x1b[?7h"  # a line that is wider here than was thought is no second row
_CLEAR_LINE, _CLEAR_BELOW = "\x1b[2K", "\x1b[J"


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
        top, rows = self._top(columns)
        anew = columns < self._columns or any(line.width > columns for line in done)
        stand = [] if anew else self._open  # a row each
        frame = [_BEGIN, top, _erased(rows) if anew else ""]
        frame += [_over(stand[at : at + 1], line) + "\n" for at, line in enumerate(done)]
        frame.append(_NO_WRAP)
        stand, kept = stand[len(done) :], not done
        for at, line in enumerate(open[:-1]):
            frame.append("\n" if kept and stand[at : at + 1] == [line] else _over(stand[at : at + 1], line) + "\n")
        frame += [_erased(len(stand[max(0, len(open) - 1) :])), *(line.text for line in open[-1:]), _WRAP, _END]
        self._open, self._columns = open, columns
        self._write("".join(frame))

    def leave(self) -> None:
        """Go to the line below, if the cursor stands in one. What is shown stays."""
        if self._open:
            self._open = []
            self._write("\n")

    def _top(self, columns: int) -> tuple[str, int]:
        """The way up to where the open lines begin, and how many rows they take."""
        if not self._open:
            return "", 0
        broken = columns < self._columns and self._reflows
        rows = sum(_rows(line, columns) if broken else 1 for line in self._open)
        return "\r" + (f"\x1b[{rows - 1}A" if rows > 1 else ""), rows

    def _write(self, text: str) -> None:
        file = self._console.file
        file.write(text)
        file.flush()


def _over(stands: list[Line], line: Line) -> str:
    """A line, written over what stands in its row."""
    return (_CLEAR_LINE if stands and stands[0].width > line.width else "") + line.text


def _erased(rows: int) -> str:
    """Rows from here on, erased. Not all of them at once: from the top of a screen, that makes tmux keep them above."""
    if rows <= 0:
        return ""
    return _CLEAR_LINE if rows == 1 else f"{_CLEAR_LINE}\n{_CLEAR_BELOW}\x1b[A"


def _rows(line: Line, columns: int) -> int:
    return max(1, -(-line.width // columns))


def _reflows(environ: Mapping[str, str]) -> bool:
    """xterm, the Linux console and GNU screen cut lines off where the others break them."""
    term = environ.get("TERM", "")
    return not ("XTERM_VERSION" in environ or term == "linux" or (term.startswith("screen") and "TMUX" not in environ))
