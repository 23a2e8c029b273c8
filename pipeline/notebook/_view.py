"""Events → the output of a cell, drawn anew as they come.

The plan. Blocks are drawn into one output, again and again. When that has become long, what is final of it stays as it is,
and the rest goes on in an output of its own below: so a frame costs the same however long the answer is.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from operators import Event, ToolCall
from pipeline.notebook._drawn import Drawn
from pipeline.notebook._frames import Frames
from pipeline.notebook._looks import ERROR, FOOTER, WARNING, WHOLE
from pipeline.notebook._outputs import Output
from pipeline.notebook._safe import escaped
from pipeline.plots._timed import Timed
from pipeline.sinks._phrases import described
from pipeline.sinks._tally import Tally
from pipeline.sinks._visible import visible
from pipeline.web._blocks import Blocks

LONG = 24_000
"""Characters of HTML that are drawn again and again."""
STALL = 2.0
"""Seconds without an event after which that is said."""
ROOM = 8_000_000
"""Characters of an answer that are shown."""


class Part(NamedTuple):
    """Some of what is seen, in both ways."""

    html: str
    plain: str


class View:
    """What is seen of one stream. Where it cannot be drawn again, it is drawn once, when it has ended."""

    def __init__(self, *, reasoning: bool, live: bool) -> None:
        self._reasoning, self._live = reasoning, live
        self._blocks, self._tally = Blocks(ROOM), Tally(time.monotonic)
        self._drawn: list[Drawn] = []
        self._above: list[Part] = []  # what stays as it is
        self._below: list[Part] = []  # how it ended
        self._ended = False
        self._heard = time.monotonic()
        self._output = Output()
        self._frames = Frames(self._draw)
        self._lock = threading.RLock()

    def begin(self, _stop: Callable[[], None]) -> None:
        if self._live:
            self._draw()
            self._frames.start()

    def add(self, timed: Timed) -> None:
        self._take(timed.event)
        self._frames.changed()

    def _take(self, event: Event) -> None:
        with self._lock:
            self._heard = time.monotonic()
            self._tally.add(event)
            self._blocks.add(event)

    def complete(self, call: ToolCall) -> None:
        """A call is whole, or never will be; said again of one that is known."""
        with self._lock:
            if any(
                (block.kind, block.choice, block.facts.get("id")) == ("call", call.choice, call.id)
                and block.facts["complete"] is None
                for block in self._blocks.all
            ):
                self._take(call)

    def end(self, error: Exception | None, mark: str) -> None:
        try:
            self._frames.end()
        finally:
            with self._lock:
                self._blocks.end(None)
                self._below = [*_how(error, mark), *_footer(self._tally.parts(took=True))]
                self._ended = True
                self._draw()

    def bundle(self) -> dict[str, str]:
        """All of it, as one output."""
        with self._lock:
            return _bundle([*self._above, *self._rest()])

    # ------------------------------------------------------------------------------------------------ a frame

    def _draw(self) -> int:
        with self._lock:
            while self._live and not self._ended and self._is_long():
                final = self._let_go()
                if not any(part.html for part in final):
                    break
                self._above += final
                self._output.show(_bundle(final))
                self._output = Output()
            return self._output.show(_bundle(self._rest()))

    def _shown(self) -> list[tuple[Drawn, bool]]:
        """The blocks that are still drawn, each with whether it is over; a result stands below its call.

        A block will not grow any more: so says its end, or for what comes in a row, what came after it.
        """
        self._drawn += map(Drawn, self._blocks.all[len(self._drawn) :])
        shown: dict[int, list[tuple[Drawn, bool]]] = {}  # by the block below which they stand
        after: set[int] = set()
        new_round = False
        for drawn in reversed(self._drawn):
            block = drawn.block
            over = block.choice in after if block.kind in _GROWING else True
            if block.kind == "call":
                over = bool(block.facts["complete"]) or new_round
            after.add(block.choice)
            new_round |= block.kind == "round"
            if not drawn.gone and (self._reasoning or block.kind != "reasoning"):
                place = block.facts["call"] if block.kind == "result" else None
                shown.setdefault(block.id if place is None else place, []).insert(0, (drawn, over or self._ended))
        return [one for place in sorted(shown) for one in shown[place]]

    def _is_long(self) -> bool:
        return sum(len(drawn.html(ended=over)) for drawn, over in self._shown()) > LONG

    def _let_go(self) -> list[Part]:
        """What stands above the first block that still grows, and what is final of that one."""
        final: list[Part] = []
        for drawn, over in self._shown():
            if not over:
                final.append(Part(*drawn.release()))
                break
            final.append(Part(drawn.html(ended=True), drawn.plain(ended=True)))
            drawn.gone = True
        return final

    def _rest(self) -> list[Part]:
        parts: list[Part] = []
        several = len({block.choice for block in self._blocks.all}) > 1
        choice = 0
        for drawn, over in self._shown():
            if several and drawn.block.choice != choice:
                choice = drawn.block.choice
                parts.append(Part(f"<div {FOOTER}>choice {choice}</div>", f"choice {choice}:"))
            parts.append(Part(drawn.html(ended=over), drawn.plain(ended=over)))
        return parts + (self._below if self._ended else _footer(["●", *self._so_far()]))

    def _so_far(self) -> list[str]:
        now = time.monotonic()
        silent = now - self._heard
        return self._tally.so_far(now) + ([f"nothing for {silent:.0f} s"] if silent >= STALL else [])


_GROWING = {"text", "reasoning", "refusal", "audio"}


def _how(error: Exception | None, mark: str) -> list[Part]:
    if error is not None:
        said = visible(described(error))
        return [Part(f"<div {ERROR}>{escaped(said)}</div>", said)]
    return [Part(f"<div {WARNING}>✂ {escaped(mark)}</div>", f"✂ {mark}")] if mark else []


def _footer(facts: list[str]) -> list[Part]:
    said = " · ".join(facts)
    return [Part(f"<div {FOOTER}>{escaped(said)}</div>", visible(said))] if said else []


def _bundle(parts: list[Part]) -> dict[str, Any]:
    html = "\n".join(part.html for part in parts if part.html)
    plain = "\n\n".join(part.plain for part in parts if part.plain)
    return {"text/html": f"<div {WHOLE}>\n{html}\n</div>", "text/plain": plain}
