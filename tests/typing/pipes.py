"""What type checkers infer of pipes, and what they must refuse. Checked by mypy --strict and pyright; never run."""

# pyright: reportUnnecessaryTypeIgnoreComment=error

from __future__ import annotations

from typing import Any, assert_type

import httpx
from reactivex import Observable
from reactivex import operators as ops

from operators import (
    Chunk,
    Event,
    Finish,
    Message,
    Operator,
    Out,
    ReasoningDelta,
    ServerSentEvent,
    Stage,
    TextDelta,
    ToolCall,
    Usage,
    chunks,
    deltas,
    event_stream,
    lines,
    message,
    operator,
    payloads,
    select,
    sse,
    text,
    tool_calls,
)
from pipeline import Pull, decode, iterate, replay

body: Observable[bytes] = replay(b"")

# ------------------------------------------------------------------ each operator says what it takes and gives

assert_type(event_stream(), Operator[bytes, bytes])
assert_type(lines(), Operator[bytes, bytes])
assert_type(lines(limit=None), Operator[bytes, bytes])
assert_type(sse(flush=False), Operator[bytes, ServerSentEvent])
assert_type(payloads(b"end"), Operator[ServerSentEvent, bytes])
assert_type(chunks(errors="skip"), Operator[bytes, Chunk])
assert_type(deltas(choices=2), Operator[Chunk, Event])
assert_type(tool_calls(snapshots=True), Operator[Event, Event])
assert_type(message(), Operator[Event, Message])
assert_type(text(), Operator[Event, str])
assert_type(decode(), Operator[bytes, Event])

# ------------------------------------------------------------------ a pipe is inferred through all its stages

assert_type(body.pipe(lines()), Observable[bytes])
assert_type(body.pipe(lines(), sse()), Observable[ServerSentEvent])
assert_type(body.pipe(lines(), sse(), payloads()), Observable[bytes])
assert_type(body.pipe(lines(), sse(), payloads(), chunks()), Observable[Chunk])
assert_type(body.pipe(lines(), sse(), payloads(), chunks(), deltas()), Observable[Event])
assert_type(body.pipe(lines(), sse(), payloads(), chunks(), deltas(), tool_calls()), Observable[Event])
assert_type(body.pipe(lines(), sse(), payloads(), chunks(), deltas(), tool_calls(), message()), Observable[Message])
assert_type(body.pipe(decode(), text()), Observable[str])
assert_type(lines().then(sse()).then(payloads()), Operator[bytes, bytes])

# ------------------------------------------------------------------ select gives what it was asked for

events = body.pipe(decode())
assert_type(events.pipe(select(TextDelta)), Observable[TextDelta])
assert_type(events.pipe(select(TextDelta, Finish)), Observable[TextDelta | Finish])
assert_type(events.pipe(select(TextDelta, ReasoningDelta, Usage)), Observable[TextDelta | ReasoningDelta | Usage])
assert_type(
    events.pipe(select(TextDelta, ReasoningDelta, Usage, Finish)),
    Observable[TextDelta | ReasoningDelta | Usage | Finish],
)
assert_type(
    events.pipe(select(TextDelta, ReasoningDelta, Usage, Finish, ToolCall)),
    Observable[TextDelta | ReasoningDelta | Usage | Finish | ToolCall],
)


def text_of(delta: TextDelta) -> str:
    return delta.text


assert_type(events.pipe(select(TextDelta), ops.map(text_of)), Observable[str])

# ------------------------------------------------------------------ a user's own operator


@operator
def shouted(out: Out[str], mark: str = "!", *, times: int = 1) -> Stage[TextDelta]:
    def on_next(delta: TextDelta) -> None:
        out.on_next(delta.text.upper() + mark * times)

    yield on_next


assert_type(shouted(), Operator[TextDelta, str])
assert_type(events.pipe(select(TextDelta), shouted("?", times=2)), Observable[str])


@operator
def wrongly_typed(out: Out[str]) -> Stage[bytes]:
    def on_next(read: bytes) -> None:
        out.on_next(read)  # type: ignore[arg-type]  # bytes are no str

    yield on_next


@operator
def wrong_step(out: Out[str]) -> Stage[bytes]:
    def on_next(line: str) -> None:
        out.on_next(line)

    yield on_next  # type: ignore[misc]  # the step takes another type than the stage says


# ------------------------------------------------------------------ pulled

assert_type(iterate(body), Pull[bytes])
assert_type(iterate(events, message()), Pull[Message])
assert_type(iterate([b"data: x"], lines(), sse()), Pull[ServerSentEvent])
assert_type(iterate(httpx.get("http://localhost"), decode()), Pull[Event])

# ------------------------------------------------------------------ what must be refused

iterate(events, lines())  # type: ignore[arg-type]  # events are no bytes
iterate(["data: x"])  # type: ignore[list-item]  # nor is text
iterate([b"data: x"], deltas())  # type: ignore[arg-type]  # bytes are no chunks

body.pipe(sse(), lines())  # type: ignore[misc]  # swapped
body.pipe(lines(), payloads())  # type: ignore[misc]  # one is missing
body.pipe(lines(), sse(), chunks())  # type: ignore[misc]  # events are no bytes
body.pipe(decode(), deltas())  # type: ignore[misc]  # events are no chunks
body.pipe(message())  # type: ignore[arg-type]  # bytes are no events
events.pipe(shouted())  # type: ignore[arg-type]  # not every event is a TextDelta
lines().then(deltas())  # type: ignore[arg-type]

lines(limits=3)  # type: ignore[call-arg]  # misspelt
lines(3)  # type: ignore[call-arg]  # an option by keyword only
lines(limit="3")  # type: ignore[arg-type]
chunks(errors="ignore")  # type: ignore[arg-type]  # no such policy
decode(error="skip")  # type: ignore[call-arg]  # misspelt
select(TextDelta("x"))  # type: ignore[call-overload]  # a value is no type
shouted(1)  # type: ignore[arg-type]
shouted(time=2)  # type: ignore[call-arg]

swapped: Operator[bytes, Event] = sse()  # type: ignore[assignment]
unknown: Any = lines()(b"data: x")  # type: ignore[arg-type]  # bytes are no Observable
