"""A request body → Observable[Event]: a streamed chat completion."""

from __future__ import annotations

import functools
import inspect
import os
import time
from collections.abc import Callable, Mapping
from typing import Any

from msgspec.structs import replace
from reactivex import Observable

from operators import Event, Operator
from operators._given import check_number
from pipeline.chat._decode import chain
from pipeline.chat._patience import Patience, patient
from pipeline.chat._retry import Attempts, Retry
from pipeline.chat._story import Story, told
from pipeline.sources._http import Client, check_client, check_headers, endpoint, has_own_timeouts, is_async, request
from pipeline.sources._timeouts import Timeouts

OPENAI = "https://api.openai.com/v1"
_DEFAULT_TIMEOUTS = Timeouts()
_DEFAULT_RETRY = Retry()
_chain = functools.lru_cache(maxsize=8)(chain)


def completion(
    body: Mapping[str, Any],
    *,
    base_url: str | None = None,
    api_key: str | None = None,
    client: Client | None = None,
    timeouts: Timeouts = _DEFAULT_TIMEOUTS,
    retry: Retry = _DEFAULT_RETRY,
    headers: Mapping[str, str] | None = None,
    decoder: Operator[bytes, Event] | None = None,
    until: float | None = None,
) -> Observable[Event]:
    """From the body of a chat completion request to the events of its answer.

    Cold: each subscription sends POST `{base_url}/chat/completions`, with the body as given plus `"stream": true`, and
    nothing is sent before. `base_url` and `api_key` fall back on OPENAI_BASE_URL and OPENAI_API_KEY, then on OpenAI's
    and on none; a query string in base_url stays (Azure). With an httpx.Client, or none, it blocks the subscribing
    thread; with an httpx.AsyncClient it runs on the running loop. Timeouts that a client was given stay, unless
    `timeouts` are given too; httpx's default of 5 s, which is none for a model that thinks, does not. `decoder` replaces `decode()`. `until` is a time by time.monotonic() at which the stream
    ends with LimitExceeded.

    Started is held back until the first other event. A failed attempt is made again as `retry` says, while nothing
    visible has been emitted. Ends with completion or with one StreamError, whose `partial` holds all that came.

    Raises TypeError for a body that is no mapping and for other options of the wrong type, ValueError for a base_url that is
    no http URL, and for a key or a header that cannot be sent.

        text = completion({"model": "m", "messages": [{"role": "user", "content": "Hi"}]}).pipe(text()).run()
    """
    for name, given, kind in (("timeouts", timeouts, Timeouts), ("retry", retry, Retry)):
        if not isinstance(given, kind):
            raise TypeError(f"{name} is a {kind.__name__}(…), not {given!r}")
    if not isinstance(body, Mapping):
        raise TypeError(f"body is the request as a dict, with its model and messages; not {type(body).__name__}")
    check_client(client)
    _check_decoder(decoder)
    if until is not None:
        check_number("until", "a time by time.monotonic(), in seconds, or None", until, lambda time: time == time)  # noqa: PLR0124
    url = endpoint(base_url or os.environ.get("OPENAI_BASE_URL") or OPENAI, "chat/completions")
    sent_headers = _headers(api_key, {} if headers is None else headers)
    keep_limits = timeouts is _DEFAULT_TIMEOUTS and client is not None and has_own_timeouts(client)
    limits = None if keep_limits else timeouts
    attempt = _Attempt(url, {**body, "stream": True}, sent_headers, client, limits, decoder, until)
    return Attempts(attempt, retry, looping=attempt.looping, until=until)


class _Attempt:
    """Makes the stream of one attempt, of which many can be waiting at once: so it is small."""

    __slots__ = ("_body", "_client", "_decoder", "_headers", "_limits", "_until", "_url", "looping")

    def __init__(
        self,
        url: str,
        body: dict[str, Any],
        headers: dict[str, str],
        client: Client | None,
        limits: Timeouts | None,
        decoder: Operator[bytes, Event] | None,
        until: float | None,
    ) -> None:
        self._url, self._body, self._headers, self._client = url, body, headers, client
        self._limits, self._decoder, self._until = limits, decoder, until
        self.looping = client is not None and is_async(client)

    def __call__(self, _number: int, seen: Callable[[], None]) -> Observable[Event]:
        limits, until = self._limits, self._until
        story = Story()
        watched = until is not None or (limits and (limits.first_content or limits.idle_content))
        patience = Patience(limits or Timeouts(), until, looping=self.looping) if watched else None
        choices = self._body.get("n")
        events = request(
            self._url,
            json=self._body,
            headers=self._headers,
            client=self._client,
            timeouts=limits and _within(limits, until),
            on_response=story.answered,
            guard=patience,
        ).pipe(self._decoder or _chain(choices=choices if isinstance(choices, int) else 1))
        if patience is not None:
            events = events.pipe(patient(patience))
        return events.pipe(told(story, seen))


def _within(limits: Timeouts, until: float | None) -> Timeouts:
    """The timeouts of one attempt: while it connects, nothing can end a blocking client's wait but this limit."""
    left = None if until is None else max(0.001, until - time.monotonic())
    bounds = [bound for bound in (limits.connect, limits.first_content, left) if bound is not None]
    return replace(limits, connect=min(bounds, default=None))


def _headers(api_key: object, given: Mapping[Any, Any]) -> dict[str, str]:
    """What is sent, checked here: what a client says of a bad one comes late, and shows its value."""
    if not isinstance(api_key, str | None):
        hint = "; give its .get_secret_value()" if hasattr(api_key, "get_secret_value") else ""
        raise TypeError(f"api_key is a str, not {type(api_key).__name__}{hint}")
    check_headers(given)
    key = api_key if api_key is not None else os.environ.get("OPENAI_API_KEY", "").strip()
    sent = {"accept": "text/event-stream"} | ({"authorization": f"Bearer {key}"} if key else {})
    sent |= {name.lower(): value for name, value in given.items()}
    check_headers(sent)
    return sent


def _check_decoder(decoder: Any) -> None:
    """An operator of ours, or a function of the bytes' Observable, as stock ones are."""
    if decoder is None or isinstance(decoder, Operator):
        return
    try:
        inspect.signature(decoder).bind(Observable())
    except ValueError:  # it has none that could be read
        return
    except TypeError:
        hint = ": was () forgotten?" if inspect.isroutine(decoder) else f"; not {decoder!r}"
        raise TypeError(f"decoder is an operator from bytes to events, such as decode(){hint}") from None
