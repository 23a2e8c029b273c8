"""Errors that a provider puts into the body: every shape that was met, read by one rule."""

from __future__ import annotations

import json
from typing import Any

import msgspec

from operators._errors import ApiError

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


def error_of(value: Any) -> ApiError | None:
    """The error that the value of an `error` key stands for; None for null, false, "", {} and [], which are none.

    >>> error_of({"message": "no credit left", "code": "quota"})
    ApiError('no credit left', code='quota')
    >>> error_of("upstream gone")
    ApiError('upstream gone')
    """
    if not value:
        return None
    if isinstance(value, list):
        value = value[0]
    if not isinstance(value, dict):
        return ApiError(_words(value))
    if isinstance(inner := value.get("error"), dict) and inner:  # one wrapped in another
        value = value | inner
    said = next((value[name] for name in SAYS if value.get(name)), value)
    return ApiError(
        _words(said),
        code=_simple(value.get("code", value.get("error_code"))),
        type=_text(value.get("type", value.get("error_type"))),
        param=value.get("param"),
        status=_status(value),
        retry_after=_seconds(value.get("retry_after")),
    )


def error_of_event(data: bytes) -> ApiError:
    """The error that an event named "error" stands for, whatever its data is: an object, nested or flat, or text."""
    try:
        value = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError):
        value = data.decode("utf-8", "replace").strip()
    return error_of(value) or ApiError("the provider sent an error event that says nothing")


def error_of_body(value: dict[str, Any]) -> ApiError | None:
    """The error that a JSON object without choices stands for, or None if it says nothing of the kind.

    `{"error": …}` (OpenAI and most), `{"error_type": …, "error_message": …}` (gateways), `{"detail": …}` (FastAPI),
    `{"object": "error", "message": …}` (vLLM), `{"type": "error", …}` (Anthropic), `{"code": 400, "message": …}`.
    """
    if error := error_of(value.get("error")):
        error.code = _simple(value.get("error_code")) if error.code is None else error.code
        return error
    if value.get("choices"):
        return None
    named = "error" in (value.get("object"), value.get("type"))
    spelt = any(name.lower().startswith("error") and item for name, item in value.items())
    coded = any(value.get(name) for name in ("code", "status", "status_code"))
    told = isinstance(value.get("message"), str) or isinstance(value.get("msg"), str)
    return error_of(value) if named or spelt or value.get("detail") or (coded and told) else None


def _words(said: Any) -> str:
    if isinstance(said, str):
        return said
    if isinstance(said, list) and len(said) == 1 and isinstance(said[0], dict) and isinstance(said[0].get("msg"), str):
        return str(said[0]["msg"])  # FastAPI's list of what is wrong with a request
    return json.dumps(said, ensure_ascii=False, default=repr)


def _simple(value: Any) -> str | int | None:
    return value if isinstance(value, (str, int)) else None


def _text(value: Any) -> str | None:
    return value if isinstance(value, str) else None


def _status(value: dict[str, Any]) -> int | None:
    for name in ("status", "status_code", "http_status"):
        if isinstance(found := value.get(name), int) and 100 <= found < 600:
            return found
    return None


def _seconds(value: Any) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) and value >= 0 else None
