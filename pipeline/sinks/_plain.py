"""Event → text as it comes, for pipes and for terminals that only scroll."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import TextIO

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
from pipeline.sinks._one_stream import OneStream
from pipeline.sinks._phrases import RESULT_SHOWN, Remarkable, cut, described, remark
from pipeline.sinks._sheet import Sheet
from pipeline.sinks._tally import Prices, Tally
from pipeline.sinks._turns import Turns
from pipeline.sinks._visible import visible


class PlainConsole(OneStream):
    """Writes each piece as it comes and takes nothing back."""

    made_by = "console()"

    def __init__(
        self,
        console: Console,
        *,
        show_reasoning: bool | None,
        show_calls: bool | None,
        show_footer: bool | None,
        errors: TextIO | None,
        clock: Callable[[], float] | None,
        prices: Prices | None = None,
    ) -> None:
        super().__init__()
        self._sheet = sheet = Sheet(console)
        self._errors = errors
        self._shows_reasoning, self._shows_calls, self._shows_footer = (
            sheet.terminal if asked is None else asked for asked in (show_reasoning, show_calls, show_footer)
        )
        self._tally = Tally(clock, prices)
        self._turns = Turns(self._show)
        self._block: tuple[str, int, int] | None = None  # what is being written: kind, choice, key of the call
        self._choice: int | None = None  # the choice whose heading stands above
        self._reasoned = False  # reasoning stands above that no style sets apart
        self._arguments = False  # the call that is being written has its bracket open
        self._called: set[tuple[int, int]] = set()

    # ------------------------------------------------------------------------------------------------ as an observer

    def _on_next_core(self, value: Event) -> None:
        self._tally.add(value)
        self._turns.add(value)

    def _on_error_core(self, error: Exception) -> None:
        self._turns.end()
        self._close_block()
        self._remark(described(error), "bold red")
        self._finish(broken=True)

    def _on_completed_core(self) -> None:
        self._turns.end()
        self._close_block()
        self._finish()

    def dispose(self) -> None:
        """Say that the stream was left before its end, after what had come."""
        if not self.is_stopped:
            super().dispose()
            self._turns.end()
            self._close_block()
            self._remark("cancelled", "yellow")
            self._finish(broken=True)

    def _finish(self, *, broken: bool = False) -> None:
        parts = self._tally.parts()
        if self._shows_footer and len(parts) > broken:  # a time alone says nothing about what broke
            self._sheet.parts(parts, "dim")
        self._sheet.end()

    # ------------------------------------------------------------------------------------------------ what is shown

    def _show(self, event: Event) -> None:
        if isinstance(event, TextDelta):
            self._say(event.text, event.choice)
        elif isinstance(event, ReasoningDelta):
            self._think(event)
        elif isinstance(event, ToolCallDelta):
            if self._shows_calls:
                self._call(event.key, event.choice, event.name, event.arguments)
        elif isinstance(event, ToolCall):
            if self._shows_calls and (event.choice, event.key) not in self._called:
                self._call(event.key, event.choice, event.name, event.arguments)
        elif isinstance(event, ToolResult):
            if self._shows_calls:
                self._answer(event)
        elif isinstance(event, RefusalDelta):
            self._say(event.text, event.choice, "refusal", "yellow")
        elif isinstance(event, AudioDelta):
            self._say(event.transcript or "", event.choice)
        elif isinstance(event, RoundStarted):
            self._new_round()
        elif isinstance(event, Remarkable):
            self._remark(remark(event), "yellow")
            if isinstance(event, Restarted):
                self._new_round()
        elif type(event) in NO_EVENTS:
            raise no_event("console()", event)

    def _say(self, text: str, choice: int, kind: str = "text", style: str = "") -> None:
        if not text:
            return
        if self._open(kind, choice) and self._reasoned:
            self._sheet.line("[answer]")
            self._sheet.open(blank=False)
            self._reasoned = False
        self._sheet.write(text, style)

    def _think(self, event: ReasoningDelta) -> None:
        if not self._shows_reasoning or not event.text:
            return
        if self._open("reasoning", event.choice) and not self._sheet.styled:
            self._sheet.line("[reasoning]")
            self._sheet.open(blank=False)
            self._reasoned = True
        self._sheet.write(event.text, "dim")

    def _call(self, key: int, choice: int, name: str, arguments: str) -> None:
        after_call = self._block is not None and self._block[0] == "call"
        if self._open("call", choice, key, blank=not after_call):
            self._called.add((choice, key))
            self._sheet.write("→ ", "cyan")
        if name:
            self._sheet.write(name, "bold cyan")
        if arguments:
            if not self._arguments:
                self._sheet.write("(", "cyan")
                self._arguments = True
            self._sheet.write(arguments)

    def _answer(self, event: ToolResult) -> None:
        after_call = self._block is not None and self._block[0] in {"call", "result"}
        self._close_block()
        self._sheet.open(blank=not after_call)
        self._sheet.write("← ", "green" if event.error is None else "red")
        self._sheet.write(event.call.name, "bold green" if event.error is None else "bold red")
        if event.error is None:
            self._sheet.write(f": {cut(event.content, RESULT_SHOWN)}")
        else:
            self._sheet.write(f" failed: {cut(event.error, RESULT_SHOWN)}", "red")
        self._block = ("result", event.call.choice, event.call.key)

    def _new_round(self) -> None:
        self._close_block()
        self._sheet.open()
        self._choice = None
        self._called.clear()

    # ------------------------------------------------------------------------------------------------ blocks

    def _open(self, kind: str, choice: int, key: int = 0, *, blank: bool = True) -> bool:
        """Is this a new block? Then it is begun, under the heading of its choice where there are several."""
        if self._block == (kind, choice, key):
            return False
        self._close_block()
        if self._choice != choice:
            if self._choice is not None or self._turns.several:
                self._sheet.line(f"[choice {choice}]", "bold")
                blank = False
            self._choice = choice
        self._sheet.open(blank=blank)
        self._block = (kind, choice, key)
        return True

    def _close_block(self) -> None:
        if self._block is not None and self._block[0] == "call":
            self._sheet.write(")" if self._arguments else "()", "cyan")
        self._arguments = False
        self._block = None

    def _remark(self, text: str, style: str) -> None:
        """A line about the stream, not of it: below it in a terminal, on stderr otherwise."""
        if not text:
            return
        self._close_block()
        if self._sheet.terminal:
            self._sheet.remark(text, style)
            self._sheet.open()
            return
        self._sheet.end()
        remarks = self._errors or sys.stderr
        remarks.write(f"{visible(text)}\n")
        remarks.flush()
