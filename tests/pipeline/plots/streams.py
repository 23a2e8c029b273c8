"""Streams to draw."""

from __future__ import annotations

from operators import (
    AudioDelta,
    Event,
    Finish,
    ReasoningDelta,
    RefusalDelta,
    Retrying,
    RoundStarted,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    Usage,
)
from pipeline.recordings import RecordedAttempt, RecordedEnd, RecordedRead, RecordedStream, Recording

Pairs = list[tuple[float, Event]]


def steady(*, every: float = 0.1, count: int = 11, first: float = 1.0, text: str = "ab") -> Pairs:
    """Pieces of text at even times."""
    return [(first + number * every, TextDelta(text)) for number in range(count)]


CALL = ToolCall(0, 0, "c1", "get_weather", '{"city":"Paris"}', complete=True)

CONVERSATION: Pairs = [
    (0.0, RoundStarted(1)),
    (0.1, Retrying(2, 0.1, "busy")),
    (0.5, Started(model="tiny")),
    (0.5, ReasoningDelta("hmm ")),
    (0.6, ToolCallDelta(0, 0, "c1", "get_weather")),
    (0.7, ToolCallDelta(0, 0, "c1", "", '{"city":"Paris"}')),
    (0.8, Finish("tool_calls")),
    (0.8, CALL),
    (0.9, ToolResult(CALL, "sunny")),
    (0.9, RoundStarted(2)),
    (3.0, ToolCallDelta(0, 0, "c2", "get_weather")),
    (3.1, TextDelta("It is ")),
    (3.2, RefusalDelta("no", choice=1)),
    (3.3, AudioDelta(transcript="sunny")),
    (3.4, Finish("stop")),
    (3.4, Usage(10, 20, 30)),
]


def chunk(text: str) -> bytes:
    return b'data: {"model":"tiny","choices":[{"delta":{"content":"%s"}}]}\n\n' % text.encode()


def recorded(*texts: str, every: float = 0.25) -> Recording:
    """A recording that breaks after these texts."""
    reads = tuple(RecordedRead(every * number, chunk(text)) for number, text in enumerate(texts, 1))
    return Recording((RecordedStream(attempts=(RecordedAttempt(reads=reads, end=RecordedEnd(9.0)),)),))
