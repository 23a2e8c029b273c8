"""The ways in which a stream can break: one base class, one class a kind."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

if TYPE_CHECKING:
    from operators._events import Message


_CONTROLS = {code: "\ufffd" for code in (*range(32), *range(127, 160)) if chr(code) not in "\n\t"}
"""What moves a cursor or colours a screen: a provider's words go to terminals, through tracebacks too."""


class StreamError(Exception):
    """A stream broke. `kind` says how, `message` says what happened, `partial` holds everything that came before.

    What came is kept by `completion()`, `run_tools()`, `message()` and `text()`; a chain without any of them has passed it
    on and kept nothing, so `partial` is empty.

    `retryable` is a property of the kind of failure: would the same request have a chance? Where they are known: the
    provider's `code`, `type` and `param`, the HTTP `status`, `retry_after` in seconds, `request_id`, the `headers` of
    the response that speak of rate limits, and `conversation`, the messages of a tool conversation so far. The cause
    is kept as `__cause__`.

    >>> error = TruncatedError("the body ended without a finish_reason and without [DONE]")
    >>> error.kind, error.retryable, error.partial
    ('truncated', True, ())
    """

    kind: ClassVar[str] = "stream"
    _retryable: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        partial: tuple[Message, ...] = (),
        code: str | int | None = None,
        type: str | None = None,  # noqa: A002  # the provider's word
        param: Any = None,
        status: int | None = None,
        retry_after: float | None = None,
        request_id: str | None = None,
        rate_limits: dict[str, str] | None = None,
    ) -> None:
        message = message.replace("\r\n", "\n").translate(_CONTROLS)
        super().__init__(message)
        self.message = message
        self.partial = partial
        self.code, self.type, self.param = code, type, param
        self.status, self.retry_after, self.request_id = status, retry_after, request_id
        self.rate_limits = rate_limits or {}
        self.conversation: list[dict[str, Any]] | None = None

    @property
    def retryable(self) -> bool:
        return self._retryable

    def __str__(self) -> str:
        return self.message

    def __repr__(self) -> str:
        known = {"code": self.code, "status": self.status, "retry_after": self.retry_after}
        rest = "".join(f", {name}={value!r}" for name, value in known.items() if value is not None)
        shown = self.message if len(self.message) <= 200 else self.message[:199] + "…"
        return f"{type(self).__name__}({shown!r}{rest})"

    def __reduce__(self) -> tuple[Any, ...]:
        return _restored, (type(self), self.message, self.__dict__)


def _restored(kind: type[StreamError], message: str, state: dict[str, Any]) -> StreamError:
    error = kind(message)
    error.__dict__.update(state)
    return error


def _worth_a_retry(status: object) -> bool:
    """408 (timeout), 409 (conflict), 429 (rate limit) and 5xx may pass; any other 4xx will not."""
    text = str(status)
    return text in {"408", "409", "429"} or (len(text) == 3 and text.startswith("5") and text.isdecimal())


class ApiError(StreamError):
    """An error object or an `event: error` inside the stream, whatever the status line said."""

    kind = "api"

    @property
    def retryable(self) -> bool:
        """As the status would be: by `code` or `status` where it is a number, else by the words that providers use."""
        words = f"{self.code} {self.type}".lower()
        return (
            _worth_a_retry(self.code)
            or _worth_a_retry(self.status)
            or any(word in words for word in ("rate_limit", "overloaded", "server_error", "timeout", "unavailable"))
        )


class HttpError(StreamError):
    """The response has a status of 300 or more; `message` is the body's own."""

    kind = "http"

    @property
    def retryable(self) -> bool:
        return _worth_a_retry(self.status)


class TruncatedError(StreamError):
    """The body ended cleanly, but without a finish_reason and without [DONE]."""

    kind = "truncated"
    _retryable = True


class ConnectionLost(StreamError):
    """The connection could not be made, or broke."""

    kind = "connection"
    _retryable = True


class StreamTimeout(StreamError):
    """Nothing came for too long. `phase` says which limit: connect, first, idle, first_content or idle_content."""

    kind = "timeout"
    _retryable = True
    phase: str | None = None


class ProtocolError(StreamError):
    """Data came that cannot be decoded, or that is of another dialect than chat completions."""

    kind = "protocol"


class NotEventStream(StreamError):
    """A good status, but a body that is neither an event stream nor a JSON completion."""

    kind = "not_sse"


class EmptyStream(StreamError):
    """A good status, and a stream that never said anything."""

    kind = "empty"
    _retryable = True


class LimitExceeded(StreamError):
    """A guard that the caller has set: length of a line, of an event, of the text; rounds; time."""

    kind = "limit"
