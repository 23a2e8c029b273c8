"""Reasoning, folded: its last lines while it grows, one line when it is done."""

from __future__ import annotations

from collections.abc import Callable

from pipeline.sinks._block import Words, remark
from pipeline.sinks._painter import Painter, Row

STYLE, PREFIX = "answer.reasoning", "┊ "
_SHOWN = 3


class Folded:
    """Shows the last few rows; when it has ended, how long it took and how many words it had."""

    def __init__(self, now: Callable[[], float] | None) -> None:
        self._now = now
        self._began = now() if now is not None else 0.0
        self._words = Words(STYLE, PREFIX)
        self._last: list[Row] = []
        self._count = 0
        self._in_word = False
        self.ended = False

    def add(self, text: str) -> None:
        self._words.add(text)
        found = text.split()
        if found:
            self._count += len(found) - (self._in_word and not text[0].isspace())
        self._in_word = bool(text) and not text[-1].isspace()

    def settled(self, paint: Painter) -> list[Row]:
        self._last = [*self._last, *self._words.settled(paint)][-_SHOWN:]
        if not self.ended:
            return []
        took = f" for {self._now() - self._began:.1f} s" if self._now is not None else ""
        words = f"{self._count:,} word{'' if self._count == 1 else 's'}"
        return remark(f"{PREFIX}thought{took}, {words}", STYLE).settled(paint)

    def open(self, paint: Painter) -> list[Row]:
        return [*self._last, *self._words.open(paint)][-_SHOWN:]
