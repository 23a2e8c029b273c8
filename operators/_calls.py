"""Tool calls as wholes, folded from their deltas: shared by all that reduce."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import msgspec

from operators._events import ToolCall, ToolCallDelta, ToolCallSnapshot
from operators._extras import Extras
from operators._json_depth import too_deep

CUT = frozenset(
    {
        "length",
        "max_tokens",
        "max_output_tokens",
        "incomplete",
        "model_length",  # Mistral
        "content_filter",
        "safety",  # Gemini, with the next four
        "recitation",
        "blocklist",
        "prohibited_content",
        "spii",
        "sensitive",  # Zhipu
        "error",
        "network_error",
        "insufficient_system_resource",  # DeepSeek
        "abort",
        "aborted",
        "cancelled",
    }
)
"""The finish reasons, in lower case, after which no call is complete."""


class GrowingCall:
    """One tool call and its fragments. `parts` only ever grows, so that snapshots can share it."""

    __slots__ = ("choice", "extras", "id", "index", "key", "name", "parts")

    def __init__(self, key: int, choice: int) -> None:
        self.key, self.choice = key, choice
        self.index: int | None = None
        self.id: str | None = None
        self.name = ""
        self.parts: list[str] = []
        self.extras = Extras()

    def add(self, delta: ToolCallDelta) -> None:
        if delta.arguments:
            self.parts.append(delta.arguments)
        if delta.name:
            self.name += delta.name
        self.id = delta.id or self.id
        if delta.index is not None:
            self.index = delta.index
        if delta.extra:
            self.extras.add(delta.extra)

    def snapshot(self) -> ToolCallSnapshot:
        return ToolCallSnapshot(self.key, self.index, self.id, self.name, self.parts, len(self.parts), self.choice)

    def whole(self, stream_id: str | None, *, ended: bool) -> ToolCall:
        """The call as it stands. It is complete if the stream `ended` well and its arguments are a JSON object."""
        arguments, extra = "".join(self.parts), self.extras.merged()
        complete = ended and bool(self.name) and (extra.get("type") == "custom" or is_object(arguments))
        id_ = self.id or made_up_id(stream_id, self.choice, self.key)
        return ToolCall(self.key, self.index, id_, self.name, arguments, complete, self.choice, extra or None)


class CallFold:
    """The tool calls of one choice."""

    __slots__ = ("calls", "given")

    def __init__(self) -> None:
        self.calls: dict[int, GrowingCall] = {}
        self.given: dict[int, ToolCall] = {}  # calls that came as wholes

    def add(self, delta: ToolCallDelta) -> GrowingCall:
        call = self.calls.get(delta.key)
        if call is None:
            call = self.calls[delta.key] = GrowingCall(delta.key, delta.choice)
        call.add(delta)
        return call

    def give(self, whole: ToolCall) -> None:
        """Take in a call that came as a whole; if its pieces came too, and had no id, it has been given one."""
        self.given[whole.key] = whole
        if (call := self.calls.get(whole.key)) is not None and not call.id:
            call.id = whole.id

    def wholes(self, stream_id: str | None, finish_reason: str | None, *, ended: bool) -> Iterator[ToolCall]:
        """All calls, in the provider's order where every call has an index, else in order of opening."""
        ended = ended and (finish_reason or "").lower() not in CUT
        wholes = {key: call.whole(stream_id, ended=ended) for key, call in self.calls.items()}
        found = list((self.given | wholes).values())
        if all(call.index is not None for call in found):
            yield from sorted(found, key=lambda call: (call.index, call.key))
        else:
            yield from sorted(found, key=lambda call: call.key)


def made_up_id(stream_id: str | None, choice: int, key: int) -> str:
    """An id for a call that has none: the same for the same stream, choice and place, however the bytes were cut."""
    seed = f"{stream_id or ''}/{choice}/{key}"
    return "call_" + hashlib.blake2b(seed.encode("utf-8", "replace"), digest_size=12).hexdigest()


def is_object(arguments: str) -> bool:
    """Are these arguments a JSON object? None at all are an empty one."""
    return not arguments.strip() or isinstance(loads(arguments), dict)


def loads(text: str) -> Any:
    """JSON, with NaN, lone surrogates and raw control characters let through; None if it is none, or nested too deeply."""
    if too_deep(text):
        return None
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        try:
            return json.loads(text, strict=False)
        except (ValueError, RecursionError):
            return None
