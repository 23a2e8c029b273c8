"""Events with their times → what a timeline shows of them."""

from __future__ import annotations

from typing import Any, NamedTuple

import msgspec

from operators import (
    AudioDelta,
    Event,
    Finish,
    Gap,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Retrying,
    RoundStarted,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    Usage,
)
from pipeline.sinks._phrases import cut, described
from pipeline.sinks._visible import visible

SHOWN = 2000
"""Characters of an event that are shown."""
MOST = 100_000
"""Events that are shown."""

COLORS = {
    "text": "#3b82c4",
    "reasoning": "#9a6bc9",
    "refusal": "#c98a12",
    "call": "#2f8f9d",
    "result": "#3a9a52",
    "audio": "#b8679a",
    "other": "#8a8a8a",
    "cut": "#c98a12",
    "error": "#d04a4a",
}
"""Of each kind of lane: neither too dark for a dark page nor too light for a light one."""


class Lane(NamedTuple):
    """A row of the timeline."""

    kind: str
    name: str


class Item(NamedTuple):
    """One event: `grows` says that its text is a piece of the lane's text."""

    at: float
    lane: int
    event: str
    text: str
    grows: bool


class Items:
    """Takes events in; has them as items, and their lanes in the order in which they opened.

    >>> items = Items()
    >>> items.add(0.25, TextDelta("Hi"))
    >>> items.all, items.lanes
    ([Item(at=0.25, lane=0, event='TextDelta', text='Hi', grows=True)], [Lane(kind='text', name='text')])
    """

    def __init__(self) -> None:
        self.all: list[Item] = []
        self.lanes: list[Lane] = []
        self.ended = False
        self._numbers: dict[tuple[Any, ...], int] = {}
        self._round = 0

    def add(self, at: float, event: Event) -> None:
        if len(self.all) >= MOST:
            return
        if isinstance(event, (RoundStarted, Restarted)):
            self._round += 1
        kind, text, grows = _said(event)
        lane = self._lane(kind, event)
        self.all.append(Item(round(at, 4), lane, type(event).__name__, visible(cut(text, SHOWN)), grows))

    def end(self, error: Exception | None, mark: str) -> None:
        """The stream broke, or was left as `mark` says; nothing is added where it completed."""
        self.ended = True
        if error is not None or mark:
            said = mark if error is None else described(error)
            self.lanes.append(Lane("cut" if error is None else "error", "end"))
            at = self.all[-1].at if self.all else 0.0
            self.all.append(Item(at, len(self.lanes) - 1, "end", visible(said), grows=False))

    def _lane(self, kind: str, event: Event) -> int:
        choice = getattr(event, "choice", 0)
        key: tuple[Any, ...] = (kind, choice)
        name = kind if kind != "other" else "events"
        if isinstance(event, (ToolCallDelta, ToolCall)):
            key = (kind, choice, event.key, self._round)
            name = event.name or "call"
        number = self._numbers.get(key)
        if number is None:
            number = self._numbers[key] = len(self.lanes)
            self.lanes.append(Lane(kind, visible(name[:40]) + (f" [{choice}]" if choice and kind != "other" else "")))
        return number


def _said(event: Event) -> tuple[str, str, bool]:
    match event:
        case TextDelta(text=text):
            return "text", text, True
        case ReasoningDelta(text=text):
            return "reasoning", text, True
        case RefusalDelta(text=text):
            return "refusal", text, True
        case AudioDelta(transcript=transcript):
            return "audio", transcript or "", True
        case ToolCallDelta(arguments=arguments):
            return "call", arguments, True
        case ToolCall(name=name, arguments=arguments):
            return "call", f"{name}({arguments})", False
        case ToolResult(content=content, error=error):
            return "result", content if error is None else error, False
        case Started(model=model):
            return "other", model or "", False
        case Finish(reason=reason):
            return "other", reason, False
        case Usage(prompt_tokens=given, completion_tokens=made):
            return "other", f"{'?' if given is None else given} tokens in, {'?' if made is None else made} out", False
        case RoundStarted(round=number):
            return "other", f"round {number}", False
        case Retrying(attempt=attempt, wait=wait, error=error):
            return "other", f"attempt {attempt} in {wait:.2f} s: {error}", False
        case Gap(dropped=dropped):
            return "other", f"{dropped} left out", False
        case _:
            return "other", _as_json(event), False


def _as_json(event: Event) -> str:
    try:
        return msgspec.json.encode(event, enc_hook=repr)[:SHOWN].decode("utf-8", "replace")
    except Exception:
        return type(event).__name__
