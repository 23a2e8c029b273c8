"""Responses that are errors, as HttpError, and what a response's headers say that an error should tell."""

from __future__ import annotations

import contextlib
import email.utils
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from http import HTTPStatus
from typing import Any

import anyio

from operators import HttpError, StreamError
from operators._calls import loads
from operators._inband import error_of, error_of_body
from pipeline._redact import redact_url
from pipeline.sources._blocking import cut_after

BODY_LIMIT = 64 * 1024
"""Bytes of an error's body that are read."""


def http_error(status: int, headers: Mapping[str, str], body: bytes) -> HttpError:
    """The error that a response of status 300 or more stands for: the provider's words, else the start of the body."""
    text = body.decode("utf-8", "replace").strip()
    value = loads(text) if text[:1] in {"{", "["} else None
    if isinstance(value, list):
        value = value[0] if value else None
    said = (error_of_body(value) or error_of(value)) if isinstance(value, dict) and value else None
    if said is not None:
        error = HttpError(said.message, code=said.code, type=said.type, param=said.param, retry_after=said.retry_after)
    elif 300 <= status < 400 and "location" in headers:
        error = HttpError(
            f"redirected to {redact_url(headers['location'])}; a client with follow_redirects=True goes there"
        )
    else:
        error = HttpError(text[:400] if text and not text.startswith("<") else _phrase(status))
    error.status = status
    describe(error, headers)
    return error


BODY_SECONDS = 2.0
"""How long it may take to come: longer than that, a status that is known is not kept back for what it says."""


def start_of(reads: Iterator[bytes], cut: Callable[[], object]) -> bytes:
    """The start of an error's body: as much as comes, for the status tells more than how its body broke.

    `cut` ends a read of it from another thread, when it takes too long.
    """
    start, end = bytearray(), time.monotonic() + BODY_SECONDS
    with cut_after(BODY_SECONDS, cut), contextlib.suppress(Exception):
        for read in reads:
            start += read
            if len(start) >= BODY_LIMIT or time.monotonic() > end:  # what cannot be cut may drip
                break
    return bytes(start[:BODY_LIMIT])


async def start_of_async(reads: AsyncIterator[bytes]) -> bytes:
    """The same of a body that is awaited."""
    start = bytearray()
    with anyio.move_on_after(BODY_SECONDS), contextlib.suppress(Exception):
        async for read in reads:
            start += read
            if len(start) >= BODY_LIMIT:
                break
    return bytes(start[:BODY_LIMIT])


def telling(headers: Mapping[str, str]) -> dict[str, str]:
    """Those headers of a response that an error would tell of, which are few, so that they can be kept."""
    return {name: value for name, value in headers.items() if name in _TELLING or _is_limit(name)}


_TELLING = frozenset({"x-request-id", "request-id", "retry-after", "retry-after-ms"})


def _is_limit(name: str) -> bool:
    return "ratelimit" in name.lower().replace("-", "")


def describe(error: StreamError, headers: Mapping[str, str]) -> None:
    """Add what the headers of the response say: request id, Retry-After, rate limits."""
    error.request_id = error.request_id or headers.get("x-request-id") or headers.get("request-id")
    if error.retry_after is None:
        error.retry_after = retry_after(headers)
    error.rate_limits = error.rate_limits or {name.lower(): value for name, value in headers.items() if _is_limit(name)}


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait, from `retry-after-ms`, or Retry-After in seconds or as a date (RFC 9110, 10.2.3); junk is absent.

    >>> retry_after({"retry-after": "2"}), retry_after({"retry-after": "soon"})
    (2.0, None)
    """
    for name, unit in (("retry-after-ms", 1000), ("retry-after", 1)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        if 0 <= seconds < float("inf"):
            return seconds
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
    except (ValueError, TypeError, IndexError):
        return None
    return max(0.0, date.timestamp() - time.time())


def _phrase(status: int) -> str:
    try:
        return f"HTTP {status} {HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def header_map(headers: Any) -> dict[str, str]:
    """Headers of any client as a dict with lower-case names."""
    return {str(name).lower(): str(value) for name, value in headers.items()}
