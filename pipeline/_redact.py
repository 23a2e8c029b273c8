"""What may be shown of headers, URLs and texts: secrets become `***`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from operators import StreamError

MASK = "***"

_NAME = r"api[-_]?key|key|token|secret|passw(?:or)?d|passphrase|credential|signature|authorization|cookie"
_SECRET_NAME = re.compile(_NAME + r"|^(?:sig|pwd|auth|code)$", re.IGNORECASE)
_HARMLESS_NAME = re.compile(r"rate-?limit|^max[-_]", re.IGNORECASE)  # token counts are no tokens

_USERINFO = re.compile(r"(?<=//)[^/?#\s\"'<>]*@")
_QUERY_VALUE = re.compile(r"(?<=[?&#;])([^=&#;\s\"']+)=([^&#;\s\"'<>]*)")
_IS = r"\\*[\"']?\s*[:=]\s*(?:b(?=[\"']))?\\*[\"']?"  # between name and value, in a header, in JSON, and in JSON within JSON
_BY_NAME = (
    # `Authorization: Bearer x`, `"api_key": "x"`, `password=x`; the scheme stays
    re.compile(
        r"((?<![A-Za-z])(?:(?:proxy-)?authorization|(?:x-)?api[-_]?key|(?:access|auth)[-_]token"
        r"|client[-_]secret|secret[-_]key|secret|password|passwd)"
        rf"{_IS}(?:(?:bearer|basic|token)\s+)?)[^\s\"'\\,;&}}\]]+",
        re.IGNORECASE,
    ),
    re.compile(rf"((?<![A-Za-z])(?:set-)?cookie{_IS})[^\r\n\"'\\]+", re.IGNORECASE),
)
_BY_FORM = (
    re.compile(r"(\bbearer\s+)[\w.~+/=-]+", re.IGNORECASE),
    # keys that are known by how they begin
    re.compile(
        r"()\b(?:sk-[\w*-]{4,}"
        r"|(?:sk|rk|pk|gsk|hf|r8|fw|tgp|ghp|gho|ghs|github_pat)_\w{12,}"
        r"|(?:xai|pplx|nvapi|csk|xox[abprs])-[\w-]{12,}"
        r"|AIza[\w-]{20,}|AKIA[A-Z0-9]{12,}|ya29\.[\w-]{12,}"
        r"|eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]+)"
    ),
)


def redact_keys(text: str) -> str:
    """From a text to the same with `***` for what looks like a key or stands in a URL; its plain words stay as they are.

    >>> redact_keys("api_key: field required, tried https://h/?key=abc with Bearer abc and sk-1234abcd")
    'api_key: field required, tried https://h/?key=*** with Bearer *** and ***'
    """
    text = _QUERY_VALUE.sub(_query_value, _USERINFO.sub(MASK + "@", text))
    for pattern in _BY_FORM:
        text = pattern.sub(rf"\1{MASK}", text)
    return text


def redact_headers(headers: Mapping[str, str]) -> dict[str, str]:
    """From headers to the same headers with `***` for what is secret.

    Secret is the value of each header that has key, token, secret, password, credential, signature, authorization or
    cookie in its name, but for rate limits, which count tokens; in all others, what `redact_text` finds.

    >>> redact_headers({"Authorization": "Bearer abc", "x-ratelimit-remaining-tokens": "9", "accept": "*/*"})
    {'Authorization': '***', 'x-ratelimit-remaining-tokens': '9', 'accept': '*/*'}
    """
    return {name: MASK if is_secret(name) else redact_text(value) for name, value in headers.items()}


def redact_url(url: object) -> str:
    """From a URL to the same with `***` for user and password, and for values in query and fragment with secret names.

    >>> redact_url("https://me:pass@host/v1?api-version=2&api-key=abc")
    'https://***@host/v1?api-version=2&api-key=***'
    """
    return redact_text(str(url))


def redact_text(text: str, secrets: Iterable[str] = ()) -> str:
    """From a text to the same with `***` for the given secrets, and for all that looks like one.

    A secret is found as it is and as it stands in a URL. What looks like one: bearer tokens, keys that begin as those of
    the known providers do (`sk-…`, `gsk_…`), user and password in a URL, and values after names like `api_key`.

    >>> redact_text("Incorrect API key provided: sk-proj-1234. Sent as Bearer sk-proj-1234 with hunter2", ["hunter2"])
    'Incorrect API key provided: ***. Sent as Bearer *** with ***'
    """
    for secret in sorted({form for given in secrets if given for form in (given, quote(given, safe=""))}, key=len)[
        ::-1
    ]:
        text = text.replace(secret, MASK)
    for pattern in _BY_NAME:
        text = pattern.sub(rf"\1{MASK}", text)
    return redact_keys(text)


def secrets_of(url: str, headers: Mapping[str, str]) -> tuple[str, ...]:
    """What a request carries that nothing may show, should the server repeat it.

    A value of less than six characters is none: it is a part of any word.

    >>> secrets_of("https://me:pass-word@host/?api-key=abcdef&v=1", {"authorization": "Bearer 123456", "accept": "*/*"})
    ('abcdef', 'pass-word', '123456')
    """
    parts = urlsplit(url)
    found = [value for name, value in parse_qsl(parts.query) if is_secret(name)]
    found += [unquote(parts.password)] if parts.password else []
    found += [value.strip().rpartition(" ")[2] for name, value in headers.items() if is_secret(name)]
    return tuple(value for value in found if len(value) >= 6)


def redact_body(value: Any, secrets: tuple[str, ...] = ()) -> Any:
    """From the body of a request to the same with `***` for texts under secret names, and for what looks like a secret.

    >>> redact_body({"model": "m", "user": {"api_key": "abc"}, "messages": [{"content": "I use sk-1234abcd"}]})
    {'model': 'm', 'user': {'api_key': '***'}, 'messages': [{'content': 'I use ***'}]}
    """
    if isinstance(value, str):
        return redact_text(value, secrets)
    if isinstance(value, Mapping):
        return {
            redact_text(str(name), secrets): MASK
            if isinstance(inner, str) and is_secret(str(name))
            else redact_body(inner, secrets)
            for name, inner in value.items()
        }
    if isinstance(value, (list, tuple)):
        return [redact_body(inner, secrets) for inner in value]
    return value


def redact_error(error: StreamError, secrets: Iterable[str]) -> None:
    """Take the secrets out of what an error says, and out of what stands behind it in a traceback."""
    secrets = tuple(secrets)
    error.message = redact_text(error.message, secrets)
    error.args = (error.message,)
    for name in ("code", "type", "param", "request_id", "rate_limits"):
        setattr(error, name, redact_body(getattr(error, name), secrets))
    _redact_behind(error, secrets, {id(error)})


def _redact_behind(error: BaseException, secrets: tuple[str, ...], seen: set[int]) -> None:
    """A client's own error has the header that it could not send, or the line that it could not read."""
    for link in ("__cause__", "__context__"):
        behind = getattr(error, link)
        if behind is None:
            continue
        if _shows(behind, secrets):
            behind.args = tuple(redact_text(arg, secrets) if isinstance(arg, str) else arg for arg in behind.args)
        if _shows(behind, secrets):  # its words are not made of its arguments
            setattr(error, link, None)
        elif id(behind) not in seen:
            seen.add(id(behind))
            _redact_behind(behind, secrets, seen)


def _shows(error: BaseException, secrets: tuple[str, ...]) -> bool:
    try:
        said = f"{error} {error!r}"
    except Exception:
        return True
    return redact_text(said, secrets) != said


def is_secret(name: str) -> bool:
    """Is the value of a header or a query parameter of this name secret?"""
    return _SECRET_NAME.search(name) is not None and _HARMLESS_NAME.search(name) is None


def _query_value(found: re.Match[str]) -> str:
    return f"{found[1]}={MASK}" if is_secret(found[1]) else found[0]
