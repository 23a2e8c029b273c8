"""What a stream says, as frozen values: one closed union of events, and the Message that they make.

`choice` is the index of the choice that an event belongs to; it is 0 where a request asks for one answer.
"""

from __future__ import annotations

from typing import Any, TypeAlias

from msgspec import Struct, field

from operators._argument_events import (
    ArgumentClosed,
    ArgumentDelta,
    ArgumentOpened,
    ArgumentsChecked,
    ArgumentsInvalid,
)
from operators._stream_event import StreamEvent


class Started(StreamEvent, frozen=True, gc=False):
    """A choice begins. Comes again only if a later chunk names the id or the model that was still unknown."""

    id: str | None = None
    model: str | None = None
    role: str = "assistant"
    choice: int = 0


class TextDelta(StreamEvent, frozen=True, gc=False):
    """The answer grew by `text`, which is never empty and can always be written as UTF-8."""

    text: str
    choice: int = 0


class ReasoningDelta(StreamEvent, frozen=True):
    """The reasoning grew by `text`, under whichever key the provider sends it.

    `extra` holds what the provider wants back in the next turn (`reasoning_details`, `thought_signature` …); `text` may
    be "" where only that came.
    """

    text: str
    choice: int = 0
    extra: dict[str, Any] | None = None


class RefusalDelta(StreamEvent, frozen=True, gc=False):
    """The refusal grew by `text`."""

    text: str
    choice: int = 0


class ToolCallDelta(StreamEvent, frozen=True):
    """A tool call opened or grew.

    `key` is ours: 0, 1, 2 … in order of opening within the choice. `index` is the provider's, and gives the order.
    `id` is the call's id as far as it is known. `name` and `arguments` are what is new of them; most often one is "".
    `extra` holds the keys of the provider's piece that have no field here.
    """

    key: int
    index: int | None = None
    id: str | None = None
    name: str = ""
    arguments: str = ""
    choice: int = 0
    extra: dict[str, Any] | None = None


class ToolCall(StreamEvent, frozen=True):
    """A tool call as a whole. `arguments` is JSON text; `complete` says that it may be run."""

    key: int
    index: int | None
    id: str
    name: str
    arguments: str
    complete: bool
    choice: int = 0
    extra: dict[str, Any] | None = None

    def to_dict(self) -> dict[str, Any]:
        """The call as a request sends it back: empty arguments as "{}", with its type and the provider's own keys.

        >>> ToolCall(0, 0, "call_1", "now", "", complete=True).to_dict()
        {'id': 'call_1', 'type': 'function', 'function': {'name': 'now', 'arguments': '{}'}}
        """
        extra = dict(self.extra or {})
        if extra.pop("type", None) == "custom":
            return {"id": self.id, "type": "custom", "custom": {"name": self.name, "input": self.arguments}} | extra
        function = {"name": self.name, "arguments": self.arguments if self.arguments.strip() else "{}"}
        return {"id": self.id, "type": "function", "function": function | extra.pop("function", {})} | extra


class ToolCallSnapshot:
    """A tool call while it grows: a view that joins its arguments only when they are asked for."""

    __slots__ = ("_count", "_parts", "choice", "id", "index", "key", "name")
    complete = False

    def __init__(
        self, key: int, index: int | None, id: str | None, name: str, parts: list[str], count: int, choice: int = 0
    ) -> None:
        self.key, self.index, self.id, self.name, self.choice = key, index, id, name, choice
        self._parts, self._count = parts, count

    @property
    def arguments(self) -> str:
        return "".join(self._parts[: self._count])

    def __repr__(self) -> str:
        return f"ToolCallSnapshot(key={self.key}, id={self.id!r}, name={self.name!r}, arguments={self.arguments!r})"


class AudioDelta(StreamEvent, frozen=True, gc=False):
    """The spoken answer grew: `data` is base64, `transcript` text, `expires_at` seconds since 1970."""

    id: str | None = None
    data: str | None = None
    transcript: str | None = None
    expires_at: int | None = None
    choice: int = 0


class LogprobsDelta(StreamEvent, frozen=True):
    """Log probabilities of the tokens that came, as the provider's own objects."""

    content: list[Any] | None = None
    refusal: list[Any] | None = None
    choice: int = 0


class AnnotationDelta(StreamEvent, frozen=True):
    """Annotations (citations, for one) that came, as the provider's own objects."""

    annotations: list[Any]
    choice: int = 0


class Finish(StreamEvent, frozen=True, gc=False):
    """A choice has its finish_reason: the first that was not empty, once a choice. More may still come after it."""

    reason: str
    choice: int = 0


class Usage(StreamEvent, frozen=True):
    """Token counts of the request. A later one replaces an earlier one; None is unknown, which is not zero.

    `details` holds all else that the provider counts, under its own keys.
    """

    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    total_tokens: int | None = None
    details: dict[str, Any] | None = None


class ToolResult(StreamEvent, frozen=True):
    """A tool call was answered with `content`; `error` says what went wrong, None when all went well."""

    call: ToolCall
    content: str
    error: str | None = None


class RoundStarted(StreamEvent, frozen=True, gc=False):
    """A request of a tool conversation begins; rounds are counted from 1."""

    round: int


class Retrying(StreamEvent, frozen=True):
    """Attempt number `attempt` (from 2) is made in `wait` seconds, because of `error`."""

    attempt: int
    wait: float
    error: str


class Restarted(StreamEvent, frozen=True, gc=False):
    """What came so far is void: the answer begins anew."""


class Gap(StreamEvent, frozen=True, gc=False):
    """`dropped` events were left out here, for a sink that could not keep up."""

    dropped: int


class Conversation(StreamEvent, frozen=True):
    """The end of a tool conversation: every message, ready to be sent again, and the sum of the usage."""

    messages: list[dict[str, Any]]
    usage: Usage | None = None


class Unknown(StreamEvent, frozen=True):
    """Something that has no event of its own: unknown keys (`decode(extras=True)`) or undecodable data, as bytes."""

    data: Any


Event: TypeAlias = (
    Started
    | TextDelta
    | ReasoningDelta
    | RefusalDelta
    | ToolCallDelta
    | ToolCall
    | ToolCallSnapshot
    | AudioDelta
    | LogprobsDelta
    | AnnotationDelta
    | Finish
    | Usage
    | ToolResult
    | RoundStarted
    | Retrying
    | Restarted
    | Gap
    | Conversation
    | Unknown
    | ArgumentOpened
    | ArgumentDelta
    | ArgumentClosed
    | ArgumentsInvalid
    | ArgumentsChecked
)


class Message(Struct, frozen=True):
    """One choice as a whole: the answer, or as much of it as came."""

    choice: int = 0
    role: str = "assistant"
    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    finish_reason: str | None = None
    usage: Usage | None = None
    id: str | None = None
    model: str | None = None
    logprobs: LogprobsDelta | None = None
    annotations: tuple[Any, ...] = ()
    audio: AudioDelta | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    def to_dict(self, *, reasoning_key: str | None = None) -> dict[str, Any]:
        """The assistant message to append to a conversation.

        Some providers want the reasoning back during a tool conversation (DeepSeek and Moonshot under
        "reasoning_content"), others refuse it: `reasoning_key` names the key, None leaves it out.

        >>> Message(text="Hi").to_dict()
        {'role': 'assistant', 'content': 'Hi'}
        """
        said: dict[str, Any] = {"role": self.role, "content": self.text or (None if self._says_otherwise() else "")}
        if self.refusal:
            said["refusal"] = self.refusal
        if self.audio is not None and self.audio.id:
            said["audio"] = {"id": self.audio.id}
        if self.tool_calls:
            said["tool_calls"] = [call.to_dict() for call in self.tool_calls]
        if reasoning_key is not None and self.reasoning:
            said[reasoning_key] = self.reasoning
        return said | self.extra

    def _says_otherwise(self) -> bool:
        return bool(self.tool_calls or self.refusal or self.audio)
