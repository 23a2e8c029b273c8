"""A stage that is put where it cannot be says what it takes and what is missing above it."""

from __future__ import annotations

from typing import Any

import pytest

from operators import (
    Chunk,
    Finish,
    ServerSentEvent,
    Started,
    TextDelta,
    arguments,
    chunks,
    cumulative,
    deltas,
    limit_bytes,
    limit_text,
    limit_tokens,
    lines,
    message,
    payloads,
    select,
    sse,
    text,
    think_tags,
    tool_calls,
)
from operators._stream_event import StreamEvent
from tests.support import Way

ITEMS: dict[str, Any] = {
    "bytes": b"data: {}\n\n",
    "str": "data: {}\n\n",
    "ServerSentEvent": ServerSentEvent(b"{}"),
    "Chunk": Chunk(id="c"),
    "TextDelta": TextDelta("Hi"),
    "Started": Started("c"),
    "int": 5,
    "dict": {"choices": []},
    "NoneType": None,
}
BEFORE: dict[str, tuple[Any, str, str]] = {
    "sse": (sse, "bytes", "sse() takes lines as bytes, got {}: is lines() missing above it?"),
    "payloads": (
        payloads,
        "ServerSentEvent",
        "payloads() takes server-sent events, got {}: is sse() missing above it?",
    ),
    "chunks": (chunks, "bytes", "chunks() takes the data of events as bytes, got {}: is payloads() missing above it?"),
    "deltas": (deltas, "Chunk", "deltas() takes chunks, got {}: is chunks() missing above it?"),
}
ON_EVENTS: dict[str, Any] = {
    "text()": text,
    "message()": message,
    "select()": lambda: select(Finish),
    "tool_calls()": tool_calls,
    "arguments()": arguments,
    "cumulative()": cumulative,
    "think_tags()": think_tags,
    "limit_text()": lambda: limit_text(99),
    "limit_tokens()": lambda: limit_tokens(99, len),
}


@pytest.mark.parametrize(("make", "takes", "said"), BEFORE.values(), ids=BEFORE)
def test_stages_above_the_events(make: Any, takes: str, said: str, each_way: Way) -> None:
    for name, item in ITEMS.items():
        if name != takes:
            seen = each_way.run([item], make())
            assert (type(seen.end), str(seen.end)) == (TypeError, said.format(name))
            assert seen.values == []


@pytest.mark.parametrize("make", [lines, lambda: limit_bytes(99)])
def test_stages_on_reads(make: Any) -> None:
    for name, item in ITEMS.items():
        seen = Way("plain").run([item], make())
        assert name == "bytes" or str(seen.end).startswith(f"a read is bytes, not {name};")


@pytest.mark.parametrize(("name", "make"), ON_EVENTS.items(), ids=ON_EVENTS)
@pytest.mark.parametrize("item", ["bytes", "str", "ServerSentEvent", "Chunk"])
def test_stages_on_events_without_a_decode(name: str, make: Any, item: str, each_way: Way) -> None:
    """Else the whole stream would go by and nothing come of it."""
    seen = each_way.run([ITEMS[item], ITEMS[item]], make())
    assert isinstance(seen.end, TypeError)
    assert str(seen.end) == f"{name} takes events, got {item}: is decode() missing above it?"


@pytest.mark.parametrize("make", ON_EVENTS.values(), ids=ON_EVENTS)
def test_events_of_another_type_pass(make: Any) -> None:
    """Of a user's own."""

    class Own(StreamEvent, frozen=True):
        pass

    assert Way("plain").run([Own(), 5, None, TextDelta("a"), Own()], make()).completed
