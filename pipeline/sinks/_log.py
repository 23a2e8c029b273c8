"""Event → the log."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from typing import Any

import msgspec
from reactivex import abc

from operators import (
    AnnotationDelta,
    AudioDelta,
    Conversation,
    Event,
    Gap,
    LogprobsDelta,
    ReasoningDelta,
    RefusalDelta,
    Restarted,
    Retrying,
    StreamError,
    TextDelta,
    ToolCallDelta,
    ToolCallSnapshot,
    ToolResult,
    Unknown,
)
from pipeline._makes_sink import makes_sink
from pipeline._redact import MASK, is_secret, redact_text

_DEBUG = (
    TextDelta,
    ReasoningDelta,
    RefusalDelta,
    ToolCallDelta,
    ToolCallSnapshot,
    AudioDelta,
    LogprobsDelta,
    AnnotationDelta,
    Unknown,
)
_WARNING = (Retrying, Restarted, Gap)
_LIMIT = 1000


@makes_sink
def log(logger: logging.Logger | str | None = None, *, limit: int = _LIMIT, secrets: Iterable[str] = ()) -> LogSink:
    r"""From events to a log, one line each: the name of the event, then its fields.

    Logs to "rxchat", or to the logger given. What a stream says piece by piece is at DEBUG; its start, its end, usage, tool
    calls and their results, rounds and completion at INFO; retries, gaps and failed tools at WARNING; the error that
    ends it at ERROR, with its traceback if it is no StreamError. The fields are on the record too, as a dict:
    `record.rxchat`.

    Keys, tokens and the given `secrets` become `***`; a text of more than `limit` characters is cut. For the raw lines,
    see `tap()`.

    >>> import reactivex, sys
    >>> from operators import Finish, TextDelta
    >>> handler = logging.StreamHandler(sys.stdout)
    >>> logger = logging.Logger("example", logging.INFO)
    >>> logger.addHandler(handler)
    >>> reactivex.of(TextDelta("Hi"), Finish("stop")).subscribe(log(logger)) and None
    Finish reason='stop' choice=0
    completed events=2
    """
    return LogSink(logger_of(logger), limit, tuple(secrets))


def logger_of(logger: logging.Logger | str | None) -> logging.Logger:
    return logger if isinstance(logger, logging.Logger) else logging.getLogger(logger or "rxchat")


class LogSink(abc.ObserverBase[Event]):
    """The observer that `log()` makes. It keeps nothing of a stream but a count, and takes what comes."""

    def __init__(self, logger: logging.Logger, limit: int, secrets: tuple[str, ...]) -> None:
        self._logger, self._limit, self._secrets = logger, limit, secrets
        self._events = 0

    def on_next(self, value: Event) -> None:
        self._events += 1
        level = _level(value)
        if self._logger.isEnabledFor(level):
            self._write(level, type(value).__name__, _fields(value))

    def on_error(self, error: Exception) -> None:
        self._events = 0
        if isinstance(error, StreamError):
            known = ("status", "code", "type", "param", "retry_after", "request_id")
            fields = {"kind": error.kind, "message": error.message, "retryable": error.retryable}
            self._write(logging.ERROR, type(error).__name__, fields | {name: getattr(error, name) for name in known})
        else:
            self._write(logging.ERROR, type(error).__name__, {"message": str(error)}, error)

    def on_completed(self) -> None:
        self._write(logging.INFO, "completed", {"events": self._events})
        self._events = 0

    def _write(self, level: int, name: str, fields: dict[str, Any], error: Exception | None = None) -> None:
        clean = {field: self._clean(value) for field, value in fields.items() if value is not None}
        line = " ".join([name, *(f"{field}={_shown(value, self._limit)}" for field, value in clean.items())])
        self._logger.log(level, "%s", line, extra={"rxchat": {"event": name} | clean}, exc_info=error)

    def _clean(self, value: Any) -> Any:
        if isinstance(value, str):
            return shortened(value, self._limit, self._secrets)
        if isinstance(value, dict):
            return {name: MASK if _hides(name, inner) else self._clean(inner) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._clean(inner) for inner in value]
        return value


def shortened(text: str, limit: int, secrets: Iterable[str]) -> str:
    """The text without secrets, cut to `limit` characters; a secret on the edge of the cut is not shown in part."""
    margin = 4096  # more than a key has, and no more than can be searched for each line of a stream
    for secret in secrets:
        text = text.replace(secret, MASK) if secret else text
    clean = redact_text(text[: limit + margin], secrets)
    return clean if len(text) <= limit else f"{clean[:limit]}… ({len(text)} characters)"


def _hides(name: object, value: object) -> bool:
    return isinstance(value, str) and name != "token" and is_secret(str(name))  # a token of the model's is none


def _level(event: Event) -> int:
    if isinstance(event, _DEBUG):
        return logging.DEBUG
    failed = isinstance(event, ToolResult) and event.error is not None
    return logging.WARNING if failed or isinstance(event, _WARNING) else logging.INFO


def _fields(event: Event) -> dict[str, Any]:
    if isinstance(event, ToolResult):
        call = event.call
        return {"name": call.name, "id": call.id, "choice": call.choice, "content": event.content, "error": event.error}
    if isinstance(event, ToolCallSnapshot):
        names = ("key", "index", "id", "name", "arguments", "choice")
        return {name: getattr(event, name) for name in names}
    if isinstance(event, Conversation):
        usage = None if event.usage is None else _fields(event.usage)
        return {"messages": len(event.messages), "usage": usage}
    if not isinstance(event, msgspec.Struct):
        return {"value": repr(event)}
    return {name: value for name, value in msgspec.structs.asdict(event).items() if value is not None}


def _shown(value: Any, limit: int) -> str:
    """As Python writes it, so that a line stays one line and nothing in it is obeyed by a terminal."""
    shown = repr(value)
    return shown if isinstance(value, str) or len(shown) <= limit else f"{shown[:limit]}…"
