"""The line at the foot of a live view: what is being waited for, and the numbers so far."""

from __future__ import annotations

from collections.abc import Callable

from rich.segment import Segment
from rich.text import Text

from operators import (
    Event,
    Finish,
    ReasoningDelta,
    Restarted,
    Retrying,
    RoundStarted,
    ToolCall,
    ToolResult,
)
from pipeline.sinks._painter import Painter, Row
from pipeline.sinks._tally import TOKENS, Tally
from pipeline.sinks._visible import visible

_SPINNER = "⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏"
_TURNS = 10
"""Pictures of the spinner a second."""
_STALL = 2.0
"""Seconds without an event after which that is said."""
_FREE = 3
"""Cells at the end of the line that stay free: there the terminal shows what is typed, ^C for one."""


class Status:
    """Sees events, and knows what to say of them at any time. `now` gives seconds."""

    def __init__(self, tally: Tally, now: Callable[[], float], *, thinks: bool) -> None:
        self._tally = tally
        self._now = now
        self._thinks = thinks  # is reasoning to be spoken of, as it is not shown?
        self._waits = "waiting"
        self._running: dict[tuple[int, int], str] = {}  # the tools
        self._in_rounds = False
        self._heard = now()

    def add(self, event: Event) -> None:
        self._heard = self._now()
        if isinstance(event, ToolCall):
            if event.complete and self._in_rounds:
                self._running[event.choice, event.key] = event.name
        elif isinstance(event, ToolResult):
            self._running.pop((event.call.choice, event.call.key), None)
        elif isinstance(event, Retrying):
            self._waits = "retrying"
        elif isinstance(event, RoundStarted):
            self._in_rounds = True
            self._running.clear()
            self._waits = "waiting"
        elif isinstance(event, Restarted):
            self._waits = "waiting"
        elif isinstance(event, ReasoningDelta) and self._thinks:
            self._waits = "thinking"
        elif isinstance(event, (*TOKENS, Finish)):
            self._waits = ""

    def row(self, paint: Painter, more: list[str]) -> Row:
        """The line, as much of it as there is room for."""
        now = self._now()
        waits = self._waiting_for(now)
        spinner = f"{_SPINNER[int(now * _TURNS) % len(_SPINNER)]} " if waits else ""
        room = paint.width - _FREE
        text = Text(f"{spinner}{waits}"[: max(0, room)])
        for part in [*self._tally.so_far(now), *more]:
            longer = f"{text.plain} · {part}" if text.plain else part
            if len(longer) <= room:
                text = Text(longer)
        return [Segment(text.plain, paint.style("remark.footer"))]

    def _waiting_for(self, now: float) -> str:
        if self._running:
            names = ", ".join(dict.fromkeys(self._running.values()))
            return f"running {visible(names)}".replace("\n", "␊").replace("\t", "␉")
        if self._waits or now - self._heard < _STALL:
            return self._waits
        return f"nothing for {now - self._heard:.0f} s"
