"""Event → the parts of an answer, in the order in which they opened.

The plan. A block is a run of one kind: text, reasoning, a refusal, a tool call, its result, and what is said in between
(a new round, a retry, an error). Each choice has one block that is open and grows as long as the same kind comes; calls
grow by their key, as they may come interleaved. A block has facts, which are replaced as a whole, and a text, which only
grows: so what a page has of it is told by one version and one length.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from operators import (
    AudioDelta,
    Event,
    Gap,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Retrying,
    RoundStarted,
    StreamError,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    ToolResult,
)
from pipeline._redact import redact_text
from pipeline.web._growing import Growing, units
from pipeline.web._mask import Mask

MOST = 2000
"""Blocks of one stream. Beyond, what comes goes to the last block of its kind."""


class Span(NamedTuple):
    """Where in the text of a block the text of an event stands, in units of UTF-16."""

    block: int | None
    at: int
    size: int


class Block:
    """One part of an answer."""

    __slots__ = ("_mask", "came", "choice", "facts", "id", "kind", "revision", "text", "version")

    def __init__(self, id: int, kind: str, choice: int, facts: dict[str, Any], secrets: Sequence[str]) -> None:  # noqa: A002
        self.id, self.kind, self.choice, self.facts = id, kind, choice, facts
        self.version = 1  # of the facts
        self.revision = 0  # of the stream, when this block last changed
        self.text = Growing()
        self.came = 0  # units, those that were not kept too
        self._mask = Mask(secrets) if secrets else None

    def grow(self, text: str, room: int) -> Span:
        at = self.came
        if self._mask is None:
            size = self.text.add(text, room)
        else:  # which may hold something back
            size = units(text)
            self.text.add(self._mask.feed(text), room)
        self.came += size
        return Span(self.id, at, size)

    def settle(self, room: int) -> None:
        """Nothing more comes: let go of what was held back."""
        if self._mask:
            self.text.add(self._mask.rest(), room)

    def tell(self, **facts: Any) -> None:
        """Change the facts."""
        self.facts = self.facts | facts
        self.version += 1


class Blocks:
    """The blocks of one stream. `room` is how many units of text are kept; In none of them is a secret.

    >>> blocks = Blocks(room=1000)
    >>> for event in (ReasoningDelta("Hm"), TextDelta("H"), TextDelta("i")):
    ...     _ = blocks.add(event)
    >>> [(block.kind, block.text.part(0, 10)) for block in blocks.all]
    [('reasoning', 'Hm'), ('text', 'Hi')]
    """

    def __init__(self, room: int, secrets: Sequence[str] = ()) -> None:
        self.all: list[Block] = []
        self.revision = 0
        self._room, self._secrets = room, secrets
        self._open: dict[int, Block] = {}
        self._calls: dict[tuple[int, int], Block] = {}
        self._round = 0  # where in `all` the round begins
        self._last: dict[str, Block] = {}  # of each kind

    def add(self, event: Event) -> Span | None:
        """Take an event in, and say where its text went if it is one of those that grow something."""
        if isinstance(event, (TextDelta, ReasoningDelta, RefusalDelta)):
            return self._say(_KINDS[type(event)], event.choice, event.text)
        match event:
            case AudioDelta(transcript=str(text), choice=choice):
                return self._say("audio", choice, text)
            case ToolCallDelta():
                return self._call(event)
            case ToolCall():
                self._whole_call(event)
            case ToolResult():
                self._result(event)
            case RoundStarted(round=number):
                self._begin()
                self._note("round", f"Round {number}", round=number)
            case Restarted():
                for block in self.all[self._round :]:
                    block.tell(void=True)
                    self._changed(block)
                self._begin()
                self._note("note", "The answer began anew; what came before is void.")
            case Retrying(attempt=attempt, wait=wait, error=error):
                self._note(
                    "retry", f"Attempt {attempt} in {wait:.1f} s, because of: {redact_text(error, self._secrets)}"
                )
            case Gap(dropped=dropped):
                self._note("note", f"{dropped:,} events were left out here: this page was given what it could take.")
        return None

    def end(self, error: Exception | None) -> None:
        """Nothing more comes."""
        self._begin()
        if error is not None:
            told = {name: value for name in _TOLD if (value := getattr(error, name, None)) is not None}
            shown = {name: redact_text(str(value), self._secrets) for name, value in told.items()}
            self._note("error", redact_text(str(error), self._secrets), kind=kind_of(error), **shown)

    def _begin(self) -> None:
        """All that is open is closed, and what comes belongs to a new round."""
        for choice in list(self._open):
            self._close(choice)
        for call in self._calls.values():
            call.tell(ended=True)
            self._settle(call)
            self._changed(call)
        self._calls.clear()
        self._round = len(self.all)

    def _say(self, kind: str, choice: int, text: str) -> Span:
        block = self._open.get(choice)
        if block is None or block.kind != kind:
            self._close(choice)
            block = self._open[choice] = self._new(kind, choice)
        return self._grow(block, text)

    def _call(self, delta: ToolCallDelta) -> Span:
        block = self._call_of(delta)
        name, id = block.facts["name"], block.facts["id"]  # noqa: A001
        if delta.name or delta.id not in {None, id}:
            block.tell(name=(name + delta.name)[:_NAME], id=delta.id or id)
        return self._grow(block, delta.arguments)

    def _whole_call(self, call: ToolCall) -> None:
        block = self._call_of(call)
        block.tell(name=call.name[:_NAME], id=call.id, complete=call.complete)
        self._grow(block, "" if block.came else call.arguments)

    def _call_of(self, call: ToolCallDelta | ToolCall) -> Block:
        block = self._calls.get((call.choice, call.key))
        if block is None:
            self._close(call.choice)
            block = self._new("call", call.choice, name="", id=None, complete=None)
            self._calls[call.choice, call.key] = block
        return block

    def _result(self, result: ToolResult) -> None:
        call = self._calls.get((result.call.choice, result.call.key))
        error = None if result.error is None else redact_text(result.error, self._secrets)
        facts = {"call": call and call.id, "name": result.call.name[:_NAME], "error": error}
        self._close(result.call.choice)
        if call is not None:
            call.tell(complete=result.call.complete)
            self._changed(call)
        answer = self._new("result", result.call.choice, **facts)
        self._grow(answer, result.content)
        self._settle(answer)

    def _note(self, kind: str, text: str, /, **facts: Any) -> None:
        block = self._new(kind, 0, **facts)
        self._grow(block, text)
        self._settle(block)

    def _new(self, kind: str, choice: int, /, **facts: Any) -> Block:
        if len(self.all) >= MOST and kind in self._last:
            return self._last[kind]
        block = self._last[kind] = Block(len(self.all), kind, choice, facts, self._secrets)
        self.all.append(block)
        return block

    def _grow(self, block: Block, text: str) -> Span:
        before = len(block.text)
        span = block.grow(text, self._room)
        self._room -= len(block.text) - before
        self._changed(block)
        return span

    def _close(self, choice: int) -> None:
        block = self._open.pop(choice, None)
        if block is not None:
            self._settle(block)

    def _settle(self, block: Block) -> None:
        before = len(block.text)
        block.settle(self._room)
        if len(block.text) > before:
            self._room -= len(block.text) - before
            self._changed(block)

    def _changed(self, block: Block) -> None:
        self.revision += 1
        block.revision = self.revision


def kind_of(error: Exception) -> str:
    """The kind of a stream's error, as its class says it; of any other, the name of its class."""
    return error.kind if isinstance(error, StreamError) else type(error).__name__


_KINDS: dict[type, str] = {TextDelta: "text", ReasoningDelta: "reasoning", RefusalDelta: "refusal"}
_TOLD = ("status", "code", "type", "param", "retry_after", "request_id")
_NAME = 200  # characters of a tool's name; a longer one is no name
