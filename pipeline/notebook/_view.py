"""Events → the output of a cell, drawn anew as they come.

The plan. Blocks are drawn into one output, again and again. When that has become long, what is final of it stays as it is,
and the rest goes on in an output of its own below: so a frame costs the same however long the answer is.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from operators import Event
from pipeline.notebook._drawn import Drawn
from pipeline.notebook._looks import ERROR, FOOTER, WARNING, WHOLE
from pipeline.notebook._outputs import Output
from pipeline.notebook._safe import escaped
from pipeline.sinks._phrases import described
from pipeline.sinks._tally import Tally
from pipeline.sinks._visible import visible
from pipeline.web._blocks import Blocks

LONG = 24_000
"""Characters of HTML that are drawn again and again."""
ROOM = 8_000_000
"""Characters of an answer that are shown."""


class View:
    """What is seen of one stream."""

    def __init__(self, *, reasoning: bool, live: bool) -> None:
        self._reasoning, self._live = reasoning, live
        self._blocks, self._tally = Blocks(ROOM), Tally(time.monotonic)
        self._drawn: list[Drawn] = []
        self._first = 0  # the first one that is still drawn
        self._above: list[tuple[str, str]] = []  # what stays as it is, as HTML and as text
        self._output = Output()
        self._lock = threading.RLock()
        self._mark = ""  # how it was left
        self._error: Exception | None = None
        self._footer: str | None = None  # that at the end
        self.ended = False

    def add(self, event: Event) -> None:
        with self._lock:
            self._tally.add(event)
            self._blocks.add(event)

    def end(self, error: Exception | None = None, mark: str = "") -> None:
        """Draw what stays: all that came, and how it ended; `mark` says that it was left."""
        with self._lock:
            self.ended, self._error, self._mark = True, error, mark
            self._blocks.end(None)
            self._footer = " · ".join(self._tally.parts(took=True))
            self.draw()

    def draw(self) -> None:
        """Draw a frame."""
        with self._lock:
            if not (self._live or self.ended):
                return
            while self._live and not self.ended and self._is_long():
                html, plain = self._let_go()
                if not html:
                    break
                self._above.append((html, plain))
                self._output.show(_bundle(html, plain))
                self._output = Output()
            html, plain = self._rest()
            self._output.show(_bundle(html, plain))

    def bundle(self) -> dict[str, str]:
        """All of it, as one output."""
        with self._lock:
            parts = [*self._above, self._rest()]
            return _bundle("\n".join(html for html, _ in parts), "\n\n".join(plain for _, plain in parts if plain))

    # ------------------------------------------------------------------------------------------------ parts

    def _shown(self) -> list[Drawn]:
        """The blocks that are still drawn."""
        for block in self._blocks.all[len(self._drawn) :]:
            self._drawn.append(Drawn(block))
        return [drawn for drawn in self._drawn[self._first :] if self._reasoning or drawn.block.kind != "reasoning"]

    def _is_over(self, drawn: Drawn) -> bool:
        """It will not grow any more: so says its end, or for what comes in a row, what came after it."""
        if self.ended or drawn.block.kind not in {"text", "reasoning", "refusal", "audio", "call"}:
            return True
        after = self._drawn[self._drawn.index(drawn) + 1 :]
        if drawn.block.kind == "call":
            return bool(drawn.block.facts["complete"]) or any(other.block.kind == "round" for other in after)
        return any(other.block.choice == drawn.block.choice for other in after)

    def _is_long(self) -> bool:
        return sum(len(drawn.html(ended=self._is_over(drawn))) for drawn in self._shown()) > LONG

    def _let_go(self) -> tuple[str, str]:
        """What stands above the first block that still grows, and what is final of that one."""
        html: list[str] = []
        plain: list[str] = []
        for drawn in self._shown():
            if not self._is_over(drawn):
                final, source = drawn.release()
                html.append(final)
                plain.append(source)
                break
            html.append(drawn.html(ended=True))
            plain.append(drawn.plain(ended=True))
            self._first = self._drawn.index(drawn) + 1
        return "\n".join(filter(None, html)), "\n\n".join(filter(None, plain))

    def _rest(self) -> tuple[str, str]:
        html: list[str] = []
        plain: list[str] = []
        shown = self._shown()
        several = len({drawn.block.choice for drawn in self._drawn}) > 1
        choice = 0
        for drawn in shown:
            over = self._is_over(drawn)
            if several and drawn.block.choice != choice:
                choice = drawn.block.choice
                html.append(f"<div {FOOTER}>choice {choice}</div>")
                plain.append(f"choice {choice}:")
            html.append(drawn.html(ended=over))
            plain.append(drawn.plain(ended=over))
        if self._error is not None:
            said = visible(described(self._error))
            html.append(f"<div {ERROR}>{escaped(said)}</div>")
            plain.append(said)
        if self._mark:
            html.append(f"<div {WARNING}>✂ {escaped(self._mark)}</div>")
            plain.append(f"✂ {self._mark}")
        footer = self._footer if self._footer is not None else " · ".join(["●", *self._tally.so_far(time.monotonic())])
        if footer:
            html.append(f"<div {FOOTER}>{escaped(footer)}</div>")
            plain.append(visible(footer))
        return "\n".join(filter(None, html)), "\n\n".join(filter(None, plain))


def _bundle(html: str, plain: str) -> dict[str, Any]:
    return {"text/html": f"<div {WHOLE}>\n{html}\n</div>", "text/plain": plain}
