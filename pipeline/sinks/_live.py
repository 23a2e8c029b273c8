"""Event → a live view on a terminal: what is done scrolls away as ordinary text, what grows is drawn again under it."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Literal

from rich.console import Console

from operators import (
    AudioDelta,
    Event,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    RoundStarted,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
)
from operators._no_events import NO_EVENTS, no_event
from pipeline.sinks._block import Words, remark
from pipeline.sinks._call import Call, Result
from pipeline.sinks._one_stream import OneStream
from pipeline.sinks._page import Page
from pipeline.sinks._painter import Painter, Row
from pipeline.sinks._phrases import Remarkable, described, in_lines
from pipeline.sinks._phrases import remark as remark_on
from pipeline.sinks._prose import Prose
from pipeline.sinks._reasoning import PREFIX, STYLE, Folded
from pipeline.sinks._screen import Screen
from pipeline.sinks._status import Status
from pipeline.sinks._tally import Prices, Tally
from pipeline.sinks._ticker import Ticker
from pipeline.sinks._turns import Turns
from pipeline.sinks._visible import visible

INTERVAL = 1 / 15
"""Seconds between two frames: more of them no one can read."""


class LiveConsole(OneStream):
    """Keeps a page of blocks and draws it now and then, from the thread that brings the events or from a ticker's."""

    made_by = "console()"

    def __init__(
        self,
        console: Console,
        *,
        show_reasoning: bool | Literal["folded"] = True,
        show_calls: bool = True,
        show_footer: bool = True,
        clock: Callable[[], float] | None = time.monotonic,
        prices: Prices | None = None,
        ticks: bool = True,
        reflows: bool | None = None,
    ) -> None:
        super().__init__()
        self._clock = clock
        self._now = clock or time.monotonic
        self._shows_reasoning, self._shows_calls, self._shows_footer = show_reasoning, show_calls, show_footer
        self._painter = Painter(console)
        self._screen = Screen(console, reflows=reflows)
        self._page = Page(self._screen, self._painter)
        self._tally = Tally(clock, prices)
        self._status = Status(self._tally, self._now, thinks=show_reasoning is not True)
        self._turns = Turns(self._show, calls=False)
        self._block: Prose | Words | Folded | None = None  # the text that grows
        self._kind: tuple[str, int] | None = None  # what it is, and of which choice
        self._calls: dict[tuple[int, int], Call] = {}
        self._called: set[tuple[int, int]] = set()
        self._tight = ""  # what stands above, if its like goes on without a blank line
        self._choice: int | None = None  # the choice whose heading stands above
        self._drawn = self._now()
        self._lock = threading.RLock()
        self._failed: BaseException | None = None
        self._finalizer = weakref.finalize(self, self._screen.leave)
        self._ticker = Ticker(self._tick, INTERVAL) if ticks else None

    # ------------------------------------------------------------------------------------------------ as an observer

    def _on_next_core(self, value: Event) -> None:
        try:
            with self._lock:
                if self._failed is not None:
                    raise self._failed
                self._tally.add(value)
                self._status.add(value)
                self._turns.add(value)
                if self._now() - self._drawn >= INTERVAL:
                    self._draw()
        except BaseException:
            self._leave()
            raise

    def _on_error_core(self, error: Exception) -> None:
        self._end(described(error), "remark.error")

    def _on_completed_core(self) -> None:
        self._end()

    def dispose(self) -> None:
        """Say that the stream was left before its end, after what had come."""
        if not self.is_stopped:
            super().dispose()
            self._end("cancelled", "remark.warning")

    def _end(self, said: str = "", style: str = "") -> None:
        try:
            with self._lock:
                self._turns.end()
                self._close()
                if said:
                    self._page.add(remark(said, style))
                parts = [visible(part) for part in self._tally.parts(took=not said)]
                if self._shows_footer and len(parts) > bool(said):  # a time alone says nothing about what broke
                    self._painter.fit(self._screen.size[0])
                    lines = in_lines(parts, self._painter.width)
                    self._page.add(remark("\n".join(lines), "remark.footer"))
                self._page.end()
        finally:
            self._leave()

    def _leave(self) -> None:
        """Let the thread end; the terminal is at the beginning of a line then."""
        self.is_stopped = True
        if self._ticker is not None:
            self._ticker.stop()
        self._finalizer()

    # ------------------------------------------------------------------------------------------------ frames

    def _tick(self) -> bool:
        with self._lock:
            if self.is_stopped or self._failed is not None:
                return False
            try:
                self._draw()
            except Exception as failed:  # the one who brings the next event is told
                self._failed = failed
            return self._failed is None

    def _draw(self) -> None:
        waiting = self._turns.waiting
        more = [f"{waiting} more choice{'' if waiting == 1 else 's'}"] if waiting else []
        status: list[Row] = [self._status.row(self._painter, more)] if self._shows_footer else []
        self._page.draw(status)
        self._drawn = self._now()

    # ------------------------------------------------------------------------------------------------ what is shown

    def _show(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._say(Prose, "text", event.choice, event.text)
        elif isinstance(event, ReasoningDelta):
            if self._shows_reasoning:
                self._say(self._reasoning, "reasoning", event.choice, event.text)
        elif isinstance(event, ToolCallDelta):
            if self._shows_calls:
                self._call(event.choice, event.key, event.name, event.arguments)
        elif isinstance(event, ToolCall):
            if self._shows_calls and (event.choice, event.key) not in self._called:
                self._call(event.choice, event.key, event.name, event.arguments)
        elif isinstance(event, ToolResult):
            if self._shows_calls:
                self._close()
                self._page.add(Result(event), blank=self._tight != "result")
                self._tight = "result"
        elif isinstance(event, RefusalDelta):
            self._say(lambda: Words("remark.warning"), "refusal", event.choice, event.text)
        elif isinstance(event, AudioDelta):
            self._say(Prose, "text", event.choice, event.transcript or "")
        elif isinstance(event, RoundStarted):
            self._new_round()
        elif isinstance(event, Remarkable):
            self._remark(remark_on(event), "remark.warning")
            if isinstance(event, Restarted):
                self._new_round()
        elif type(event) in NO_EVENTS:
            raise no_event("console()", event)

    def _say(self, block: Callable[[], Prose | Words | Folded], kind: str, choice: int, text: str) -> None:
        if not text:
            return
        if self._block is None or self._kind != (kind, choice):
            self._close()
            self._head(choice)
            self._block, self._kind = block(), (kind, choice)
            self._page.add(self._block)
        self._block.add(text)

    def _reasoning(self) -> Words | Folded:
        return Folded(self._clock) if self._shows_reasoning == "folded" else Words(STYLE, PREFIX)

    def _call(self, choice: int, key: int, name: str, arguments: str) -> None:
        call = self._calls.get((choice, key))
        if call is None:
            self._close(calls=False)
            self._head(choice)
            call = self._calls[choice, key] = Call()
            self._called.add((choice, key))
            self._page.add(call, blank=self._tight != "call")
            self._tight = "call"
        call.grow(name, arguments)

    def _head(self, choice: int) -> None:
        """The heading of a choice, where there are several."""
        if self._choice != choice:
            if self._choice is not None or self._turns.several:
                self._remark(f"choice {choice}", "remark.heading")
            self._choice = choice

    def _remark(self, text: str, style: str) -> None:
        if text:
            self._close()
            self._page.add(remark(text, style))

    def _new_round(self) -> None:
        self._close()
        self._choice = None
        self._called.clear()

    def _close(self, *, calls: bool = True) -> None:
        """What comes next is something else."""
        if self._block is not None:
            self._block.ended = True
            self._block = None
            self._tight = ""
        if calls and self._calls:
            for call in self._calls.values():
                call.ended = True
            self._calls.clear()
