"""What the console says of a stream, in words of its own."""

from __future__ import annotations

from operators import Gap, Restarted, Retrying, StreamError, Unknown
from pipeline._redact import redact_text

RESULT_SHOWN = 400
ERROR_SHOWN = 2000

Remarkable = Retrying | Restarted | Gap | Unknown


def remark(event: Remarkable) -> str:
    """What an event says of the stream as such; "" if it is nothing to speak of.

    >>> remark(Gap(1234))
    '1,234 events left out here'
    >>> remark(Unknown(b"{oops"))
    "not decoded: b'{oops'"
    """
    if isinstance(event, Retrying):
        why = cut(redact_text(event.error), ERROR_SHOWN)
        return f"retrying in {event.wait:.3g} s, attempt {event.attempt}: {why}"
    if isinstance(event, Restarted):
        return "starting again: what stands above is void"
    if isinstance(event, Gap):
        return f"{event.dropped:,} events left out here"
    # keys that no event has a field for come with every chunk: too many to speak of
    return f"not decoded: {cut(repr(event.data), RESULT_SHOWN)}" if isinstance(event.data, bytes) else ""


def described(error: Exception) -> str:
    """From an error to one sentence, without secrets.

    >>> described(ValueError("Bearer abc is wrong"))
    'error: ValueError: Bearer *** is wrong'
    """
    if not isinstance(error, StreamError):
        return "error: " + cut(redact_text(f"{type(error).__name__}: {error}"), ERROR_SHOWN)
    known = {
        "status": error.status,
        "code": error.code,
        "retry after": error.retry_after,
        "request id": error.request_id,
    }
    details = "".join(f", {name} {value}" for name, value in known.items() if value is not None)
    return "error: " + cut(redact_text(f"{error.message} ({error.kind}{details}){noted(error)}"), ERROR_SHOWN)


def noted(error: Exception) -> str:
    """The notes of an error, as they go on after what it says."""
    return "".join(f"; {note}" for note in getattr(error, "__notes__", ()))


def cut(text: str, length: int) -> str:
    """The beginning of a text, with its whole length if something is missing.

    >>> cut("abcdef", 3)
    'abc… (6 characters)'
    """
    return text if len(text) <= length else f"{text[:length]}… ({len(text):,} characters)"


def in_lines(parts: list[str], width: int) -> list[str]:
    """Short parts, in lines that break between them.

    >>> in_lines(["stop", "12 tokens in, 3 out", "9.0 tokens/s"], 30)
    ['stop · 12 tokens in, 3 out', '9.0 tokens/s']
    """
    lines: list[str] = []
    for part in parts:
        longer = f"{lines[-1]} · {part}" if lines else part
        if lines and len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines
