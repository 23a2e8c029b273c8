"""An event → what a model has said in it."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from operators import (
    AudioDelta,
    Event,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    TextDelta,
    ToolCall,
    ToolCallDelta,
)
from pipeline.plots._timed import Timed


class Said(NamedTuple):
    """A piece of what a model generates, and its lane."""

    at: float
    lane: str
    text: str


def said(events: Iterable[Timed]) -> list[Said]:
    """From events to the pieces of the answer that counts: what a restart made void is left out.

    >>> said([Timed(0.1, TextDelta("no")), Timed(0.2, Restarted()), Timed(0.5, TextDelta("Hi"))])
    [Said(at=0.5, lane='text', text='Hi')]
    """
    found: list[Said] = []
    for at, event in events:
        if isinstance(event, Restarted):
            found.clear()
        lane = lane_of(event)
        if lane is not None:
            found.append(Said(at, lane, text_of(event)))
    return found


def lane_of(event: Event) -> str | None:
    """None for an event that is no content."""
    match event:
        case TextDelta():
            return "text"
        case ReasoningDelta():
            return "reasoning"
        case RefusalDelta():
            return "refusal"
        case ToolCallDelta():
            return "tool call"
        case AudioDelta():
            return "audio"
        case _:
            return None


def text_of(event: Event) -> str:
    """What it adds to a text, to arguments, to a transcript."""
    match event:
        case TextDelta(text=text) | ReasoningDelta(text=text) | RefusalDelta(text=text):
            return text
        case ToolCallDelta(name=name, arguments=arguments) | ToolCall(name=name, arguments=arguments):
            return name + arguments
        case AudioDelta(transcript=transcript):
            return transcript or ""
        case _:
            return ""


def between(pieces: list[Said]) -> list[tuple[float, float]]:
    """From pieces to the times of each and of the next one."""
    return [(one.at, next_one.at) for one, next_one in pairwise(pieces)]
