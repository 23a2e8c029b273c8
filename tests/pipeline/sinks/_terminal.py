"""A terminal to look at: what a live view writes goes through an emulator."""

from __future__ import annotations

import io
from typing import Any

import pyte
from rich.console import Console

from operators import Event
from pipeline.sinks._live import LiveConsole


class Emulated(io.StringIO):
    """A file that is a terminal. It has no reflow: what is too wide for it is cut off when it becomes narrower."""

    encoding = "utf-8"

    def __init__(self, columns: int = 60, rows: int = 20) -> None:
        super().__init__()
        self.screen = pyte.HistoryScreen(columns, rows, history=100_000, ratio=1)
        self._stream = pyte.Stream(self.screen)
        self.frames: list[str] = []

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        self.frames.append(text)
        self._stream.feed(text.replace("\n", "\r\n"))  # as the line discipline does
        assert not self.screen.cursor.hidden
        return super().write(text)

    @property
    def shown(self) -> list[str]:
        """The screen, without the blank rows below."""
        rows = [row.rstrip() for row in self.screen.display]
        while rows and not rows[-1]:
            rows.pop()
        return rows

    @property
    def text(self) -> str:
        """All there is, from the first line that has scrolled away."""
        columns = self.screen.columns
        gone = ["".join(row[at].data for at in range(columns)).rstrip() for row in self.screen.history.top]
        return "\n".join([*gone, *self.shown])


class View:
    """A live view on an emulated terminal, with a clock of its own and no thread."""

    def __init__(
        self, columns: int = 60, rows: int = 20, *, timed: bool = True, environ: Any = None, **options: Any
    ) -> None:
        self.now = 0.0
        self.file = Emulated(columns, rows)
        self.console = Console(
            file=self.file,
            force_terminal=True,
            color_system="standard",
            width=columns,
            height=rows,
            _environ=environ or {},
            legacy_windows=False,
        )
        clock = {"clock": lambda: self.now} if timed else {"clock": None}
        self.sink = LiveConsole(self.console, ticks=False, reflows=False, **clock | options)

    def show(self, *events: Event, pace: float = 0.1) -> View:
        """Bring events, one each `pace` seconds; with the default, each is followed by a frame."""
        for event in events:
            self.now += pace
            self.sink.on_next(event)
        return self

    def tick(self, seconds: float = 0.1) -> View:
        """Let time pass, then draw as the ticker would."""
        self.now += seconds
        self.sink._tick()
        return self

    def resize(self, columns: int, rows: int) -> None:
        self.console.size = columns, rows
        self.file.screen.resize(rows, columns)

    def end(self) -> str:
        self.sink.on_completed()
        return self.text

    @property
    def shown(self) -> list[str]:
        return self.file.shown

    @property
    def text(self) -> str:
        return self.file.text

    @property
    def raw(self) -> str:
        return self.file.getvalue()
