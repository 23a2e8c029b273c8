"""What the console writes on: blocks with blank lines between them, in styles where there are any."""

from __future__ import annotations

from textwrap import wrap

from rich.console import Console
from rich.segment import Segment, Segments
from rich.style import Style

from pipeline.sinks._phrases import in_lines
from pipeline.sinks._visible import encodable, visible


class Sheet:
    """Writes text as it comes, so that nothing in it is obeyed. All that is between blocks is decided here."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.terminal = console.is_terminal
        self.styled = self.terminal and console.color_system is not None
        self._wrote = False  # anything at all
        self._opened = False  # a block whose first character has not come
        self._gap = 0  # how many line ends stand between it and what is above
        self._ends = 0  # how many line ends the sheet ends with
        self._held = ""  # a CR at the end of a piece: an LF may follow

    def open(self, *, blank: bool = True) -> None:
        """Begin a block: on a line of its own, after a blank line or without one. It is silent until it has text."""
        self._release()
        self._gap = max(self._gap, 1 + blank) if self._opened else 1 + blank
        self._opened = True

    def write(self, text: str, style: str = "") -> None:
        """Add to the block. Line ends at its very beginning are dropped: there is space above it already."""
        text = self._held + text
        self._held = ""
        if text.endswith("\r"):
            text, self._held = text[:-1], "\r"
        if self._opened and (self._wrote or self.terminal):
            text = text.lstrip("\r\n")
        if not text:
            return
        if self._opened and self._wrote:
            self._put("\n" * (self._gap - self._ends))
        self._opened = False
        self._put(visible(text), style)

    def line(self, text: str, style: str = "", *, blank: bool = True) -> None:
        """A block of one piece."""
        self.open(blank=blank)
        self.write(text, style)

    def remark(self, text: str, style: str = "") -> None:
        """A block of ours, broken at words; what a stream says is broken where the terminal breaks it."""
        self.line("\n".join(wrap(visible(text), self._console.width, break_on_hyphens=False)), style)

    def parts(self, parts: list[str], style: str = "") -> None:
        """A block of short parts, in lines that break between them."""
        lines = in_lines([visible(part) for part in parts], self._console.width)
        self.line("\n".join(lines), style)

    def end(self) -> None:
        """End the last line, if there is one."""
        self._release()
        self._opened = False
        if self._wrote and not self._ends:
            self._put("\n")

    def _release(self) -> None:
        if self._held and not self._opened:
            self._put(visible(self._held))
        self._held = ""

    def _put(self, text: str, style: str = "") -> None:
        if not text:
            return
        self._wrote = True
        rest = text.rstrip("\r\n")
        self._ends = text.count("\n", len(rest)) + (0 if rest else self._ends)
        text = encodable(text, self._console.encoding)
        if not self.terminal:  # rich would end the process when the reader of a pipe has gone
            file = self._console.file
            file.write(text)
            file.flush()
        else:
            segment = Segment(text, Style.parse(style) if style else None)
            self._console.print(Segments([segment]), soft_wrap=True)
