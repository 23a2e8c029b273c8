"""Messages put together from events, readable at any time."""

from __future__ import annotations

from typing import Any

from operators._calls import CallFold
from operators._events import (
    AnnotationDelta,
    AudioDelta,
    Event,
    Finish,
    LogprobsDelta,
    Message,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    RoundStarted,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    Usage,
)
from operators._extras import Extras
from operators._no_events import NO_EVENTS, no_event


class _Choice:
    """What one has said. Most say nothing but text, so the rest is made when something comes for it."""

    __slots__ = ("calls", "finish_reason", "rare", "reasoning", "role", "text")

    def __init__(self) -> None:
        self.role = "assistant"
        self.text: list[str] = []
        self.reasoning: list[str] = []
        self.finish_reason: str | None = None
        self.calls: CallFold | None = None
        self.rare: _Rare | None = None


class _Rare:
    __slots__ = ("annotations", "audio", "content", "extras", "refusal", "refusals")

    def __init__(self) -> None:
        self.refusal: list[str] = []
        self.content: list[Any] = []  # log probabilities of the text
        self.refusals: list[Any] = []  # and of the refusal
        self.annotations: list[Any] = []
        self.audio: list[AudioDelta] = []
        self.extras = Extras()


class Assembly:
    """Keeps fragments and joins them when asked: an event costs the same whatever came before."""

    def __init__(self, stage: str | None = None) -> None:
        self._stage = stage  # for which this is, where what is no event is an error
        self._clear()

    def _clear(self) -> None:
        self._choices: dict[int, _Choice] = {}
        self._id: str | None = None
        self._model: str | None = None
        self._usage: Usage | None = None

    def add(self, event: Event) -> None:
        """Take an event in. A new round or a restart begins afresh; what belongs to no message is passed over."""
        if isinstance(event, TextDelta):
            (self._choices.get(event.choice) or self._choice(event.choice)).text.append(event.text)
        elif isinstance(event, ToolCallDelta):
            self._calls(event.choice).add(event)
        elif isinstance(event, ReasoningDelta):
            choice = self._choice(event.choice)
            choice.reasoning.append(event.text)
            if event.extra:
                self._rare(event.choice).extras.add(event.extra)
        elif isinstance(event, LogprobsDelta):
            rare = self._rare(event.choice)
            rare.content.extend(event.content or ())
            rare.refusals.extend(event.refusal or ())
        elif isinstance(event, Started):
            self._choice(event.choice).role = event.role
            self._id, self._model = self._id or event.id, self._model or event.model
        elif isinstance(event, Finish):
            choice = self._choice(event.choice)
            choice.finish_reason = choice.finish_reason or event.reason
        elif isinstance(event, Usage):
            self._usage = event
        elif isinstance(event, RefusalDelta):
            self._rare(event.choice).refusal.append(event.text)
        elif isinstance(event, ToolCall):
            self._calls(event.choice).give(event)
        elif isinstance(event, AudioDelta):
            self._rare(event.choice).audio.append(event)
        elif isinstance(event, AnnotationDelta):
            self._rare(event.choice).annotations.extend(event.annotations)
        elif isinstance(event, (RoundStarted, Restarted)):
            self._clear()
        elif self._stage is not None and type(event) in NO_EVENTS:
            raise no_event(self._stage, event)

    def _choice(self, number: int) -> _Choice:
        choice = self._choices.get(number)
        if choice is None:
            choice = self._choices[number] = _Choice()
        return choice

    def _calls(self, number: int) -> CallFold:
        choice = self._choice(number)
        if choice.calls is None:
            choice.calls = CallFold()
        return choice.calls

    def _rare(self, number: int) -> _Rare:
        choice = self._choice(number)
        if choice.rare is None:
            choice.rare = _Rare()
        return choice.rare

    @property
    def stream_id(self) -> str | None:
        """As the provider has named the stream."""
        return self._id

    def messages(self, *, ended: bool) -> tuple[Message, ...]:
        """One Message a choice, in choice order; no tool call is complete unless the stream has `ended` well."""
        if not self._choices and self._usage is not None:
            self._choice(0)
        return tuple(self._message(number, choice, ended=ended) for number, choice in sorted(self._choices.items()))

    def _message(self, number: int, choice: _Choice, *, ended: bool) -> Message:
        calls, rare = choice.calls or CallFold(), choice.rare or _Rare()
        return Message(
            choice=number,
            role=choice.role,
            text=_joined(choice.text),
            reasoning=_joined(choice.reasoning),
            refusal=_joined(rare.refusal),
            tool_calls=tuple(calls.wholes(self._id, choice.finish_reason, ended=ended)),
            finish_reason=choice.finish_reason,
            usage=self._usage,
            id=self._id,
            model=self._model,
            logprobs=LogprobsDelta(list(rare.content) or None, list(rare.refusals) or None, number)
            if rare.content or rare.refusals
            else None,
            annotations=tuple(rare.annotations),
            audio=_whole_audio(rare.audio, number),
            extra=rare.extras.merged(),
        )


def _joined(parts: list[str]) -> str:
    """The text, kept joined: asking again costs only what has come since."""
    if len(parts) > 1:
        parts[:] = ["".join(parts)]
    return parts[0] if parts else ""


def _whole_audio(parts: list[AudioDelta], choice: int) -> AudioDelta | None:
    if not parts:
        return None
    data, transcript = (
        "".join(text for part in parts if (text := getattr(part, name))) for name in ("data", "transcript")
    )
    return AudioDelta(
        next((part.id for part in parts if part.id), None),
        data or None,
        transcript or None,
        next((part.expires_at for part in reversed(parts) if part.expires_at is not None), None),
        choice,
    )
