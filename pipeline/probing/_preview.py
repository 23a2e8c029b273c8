"""A value → what is kept of it: the start of what it says, and its size. Bounded, and no code of a stranger is run."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, NamedTuple

from msgspec import Struct

from operators import (
    Chunk,
    Conversation,
    Finish,
    Gap,
    Message,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Retrying,
    RoundStarted,
    ServerSentEvent,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
    Usage,
)
from pipeline.probing._seen import Piece

SHOWN = 120
"""Characters that are kept of what a value says."""


class Preview(NamedTuple):
    text: str
    size: int = 0
    piece: Piece | None = None


_PLAIN = (bool, float, complex, type(None))
_LISTS: dict[Any, tuple[str, str]] = {list: ("[", "]"), tuple: ("(", ")")}


def _short(value: Any, level: int = 3) -> str:
    """A repr of what Python's own types, structs and dataclasses hold; of anything else, the name of its type."""
    kind = type(value)
    if kind is str or kind is bytes:
        return repr(value[:40]) + ("…" if len(value) > 40 else "")
    if kind in _PLAIN or (kind is int and value.bit_length() < 200):
        return repr(value)
    if level and kind in _LISTS:
        told = [_short(item, level - 1) for item in value[:3]]
        opening, closing = _LISTS[kind]
        return f"{opening}{', '.join(told)}{', …' if len(value) > 3 else ''}{closing}"
    if level and kind is dict:
        told = [f"{_short(key, 0)}: {_short(item, level - 1)}" for key, item in itertools.islice(value.items(), 3)]
        return f"{{{', '.join(told)}{', …' if len(value) > 3 else ''}}}"
    names = value.__struct_fields__ if isinstance(value, Struct) else getattr(kind, "__dataclass_fields__", ())
    if level and names:
        said = [(name, getattr(value, name)) for name in names]
        told = [f"{name}={_short(item, level - 1)}" for name, item in said if item is not None]
        return f"{kind.__name__}({', '.join(told[:4])}{', …' if len(told) > 4 else ''})"
    return f"<{kind.__name__}>"


def preview(value: object) -> Preview:
    """From a value to what is kept of it.

    >>> preview(b"data: 1"), preview(TextDelta("Hé"))
    (Preview(text='data: 1', size=7, piece=None), Preview(text='Hé', size=3, piece=None))
    """
    of = _OF.get(type(value))
    try:
        return of(value) if of is not None else Preview(_short(value)[:SHOWN])
    except Exception:  # half made, or a trap: it is not for a probe to break on
        return Preview("")


def _text(text: str) -> Preview:
    return Preview(text[:SHOWN], len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass")))


def _bytes(data: bytes) -> Preview:
    return Preview(data[:SHOWN].decode("utf-8", "replace"), len(data))


def _sse(event: ServerSentEvent) -> Preview:
    said = _bytes(event.data)
    return said if event.event == "message" else Preview(f"{event.event[:20]}: {said.text}", said.size)


def _chunk(chunk: Chunk) -> Preview:
    told: list[str] = []
    for choice in itertools.islice(chunk.choices or (), 4):
        delta = choice.delta or choice.message
        if isinstance(delta, Struct):
            told += [f"{name}={_short(said)}" for name in delta.__struct_fields__ if (said := getattr(delta, name))]
        if choice.finish_reason:
            told.append(f"finish_reason={_short(choice.finish_reason)}")
    told += [f"{name}={_short(said)}" for name in ("usage", "error", "unknown") if (said := getattr(chunk, name))]
    return Preview(" ".join(told)[:SHOWN])


def _tool_delta(event: ToolCallDelta) -> Preview:
    said = _text(event.name + event.arguments)
    return Preview(said.text, said.size, _piece(event.choice, event.key, event.id, event.name, len(event.arguments)))


def _tool_call(event: ToolCall) -> Preview:
    said = _text(event.arguments)
    text = f"{event.name[:40]}({said.text})"[:SHOWN]
    return Preview(text, said.size, _piece(event.choice, event.key, event.id, event.name, -1))


def _piece(choice: int, key: int, id: str | None, name: str, arguments: int) -> Piece:  # noqa: A002
    return Piece(choice, key, (id or "")[:80], name[:80], arguments)


def _message(message: Message) -> Preview:
    calls = ", ".join(call.name[:40] for call in message.tool_calls[:4])
    said = _text(message.text)
    return Preview((said.text if not calls else f"{said.text[:60]} [{calls}]".strip())[:SHOWN], said.size)


def _usage(usage: Usage) -> Preview:
    counts = (usage.prompt_tokens, usage.completion_tokens)
    return Preview(" + ".join("?" if count is None else str(count) for count in counts))


_OF: dict[type, Callable[[Any], Preview]] = {
    bytes: _bytes,
    str: _text,
    ServerSentEvent: _sse,
    Chunk: _chunk,
    Started: lambda event: Preview(str(event.model or "")[:SHOWN]),
    TextDelta: lambda event: _text(event.text),
    ReasoningDelta: lambda event: _text(event.text),
    RefusalDelta: lambda event: _text(event.text),
    ToolCallDelta: _tool_delta,
    ToolCall: _tool_call,
    ToolResult: lambda event: _text(event.content if event.error is None else event.error),
    Finish: lambda event: Preview(event.reason[:SHOWN]),
    Usage: _usage,
    Message: _message,
    RoundStarted: lambda event: Preview(str(event.round)),
    Retrying: lambda event: Preview(f"attempt {event.attempt} in {event.wait:.2f} s: {event.error}"[:SHOWN]),
    Restarted: lambda _: Preview(""),
    Gap: lambda event: Preview(f"{event.dropped} dropped"),
    Conversation: lambda event: Preview(f"{len(event.messages)} messages"),
}
