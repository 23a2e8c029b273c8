"""Errors that a provider puts into the body: every shape that was met, read by one rule."""

from __future__ import annotations

import json
import sys
from typing import Any

from operators._calls import loads
from operators._errors import ApiError
from operators._surrogates import scrubbed

SAYS = (
    "message",
    "detail",
    "msg",
    "error_message",
    "error_msg",
    "errorMessage",
    "description",
    "title",
    "error",
    "errors",
)
_WRAPS = ("error", "errors", "detail")


def error_of(value: Any) -> ApiError | None:
    """The error that the value of an `error` key stands for; None if there is nothing in it: null, false, "", {}, [].

    One wrapped in another, or in a list, is unwrapped; what the inner one does not say, the outer one may.

    >>> error_of({"message": "no credit left", "code": "quota"})
    ApiError('no credit left', code='quota')
    >>> error_of("upstream gone")
    ApiError('upstream gone')
    """
    if isinstance(value, list):
        value = next(filter(None, value), None)
    if not value or (isinstance(value, dict) and not any(value.values())):
        return None
    if not isinstance(value, dict):
        return ApiError(_words(value))
    while wrapped := _wrapped(value):
        value = wrapped
    said = next((value[name] for name in SAYS if value.get(name)), value)
    return ApiError(
        _words(said),
        code=_simple(next((value[name] for name in ("code", "error_code") if value.get(name) is not None), None)),
        type=_text(value.get("type") or value.get("error_type")),
        param=value.get("param"),
        status=_status(value),
        retry_after=_seconds(value.get("retry_after")),
    )


def error_of_event(data: bytes) -> ApiError:
    """The error that an event named "error" stands for, whatever its data is: an object, nested or flat, or text."""
    text = data.decode("utf-8", "replace").strip()
    value = scrubbed(loads(text))
    return error_of(text if value is None else value) or ApiError("the provider sent an error event that says nothing")


def error_of_body(value: dict[str, Any]) -> ApiError | None:
    """The error that a JSON object without choices stands for, or None if it says nothing of the kind.

    `{"error": …}` (OpenAI and most), `{"error_type": …, "error_message": …}` (gateways), `{"detail": …}` (FastAPI),
    `{"object": "error", "message": …}` (vLLM), `{"type": "error", …}` (Anthropic), `{"code": 400, "message": …}`.
    """
    given = value.get("error")
    if error_of(given):
        return error_of(given if isinstance(given, (dict, list)) and not value.get("error_code") else value)
    if value.get("choices"):
        return None
    named = "error" in (value.get("object"), value.get("type"))
    spelt = any(name.lower().startswith("error") and item for name, item in value.items())
    coded = any(value.get(name) for name in ("code", "status", "status_code"))
    told = isinstance(value.get("message"), str) or isinstance(value.get("msg"), str)
    return error_of(value) if named or spelt or value.get("detail") or (coded and told) else None


def _wrapped(value: dict[str, Any]) -> dict[str, Any] | None:
    """The value with the object in it unwrapped, the first one if it is a list of them; None if there is none."""
    for name in _WRAPS:
        inner = value.get(name)
        if isinstance(inner, list) and inner:
            inner = inner[0]
        if isinstance(inner, dict) and any(inner.values()):
            return {key: item for key, item in value.items() if key != name} | inner
    return None


def _words(said: Any) -> str:
    text: str = scrubbed(said if isinstance(said, str) else json.dumps(said, ensure_ascii=False, default=repr))
    return text


def _simple(value: Any) -> str | int | None:
    return value if isinstance(value, (str, int)) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _status(value: dict[str, Any]) -> int | None:
    for name in ("status", "status_code", "http_status"):
        found = str(value.get(name))
        if len(found) == 3 and found.isdecimal() and "100" <= found < "600":
            return int(found)
    return None


def _seconds(value: Any) -> float | None:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not value >= 0:
        return None
    return float(min(value, sys.maxsize))  # an int may be larger than any float
