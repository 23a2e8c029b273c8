"""A request → Observable[bytes]: the body of its response. The only file that imports an HTTP client."""

from __future__ import annotations

import contextlib
import functools
import inspect
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Any, TypeAlias

import httpx
from reactivex import Observable

from operators import Spy
from pipeline._redact import redact_headers, redact_url, secrets_of
from pipeline.sources._blocking import BlockingSource
from pipeline.sources._http_errors import header_map, http_error, start_of, start_of_async
from pipeline.sources._looping import LoopingSource
from pipeline.sources._source import Guard
from pipeline.sources._timeouts import Timeouts

Client: TypeAlias = Any
"""httpx.Client, httpx.AsyncClient, httpx2's, or what quacks like one of them: build_request() and send()."""

OnResponse: TypeAlias = Callable[[int, dict[str, str]], None]


@functools.cache
def shared_client() -> httpx.Client:
    """The client that is used where none is given. Made when it is first needed, kept for its connections."""
    return httpx.Client(limits=httpx.Limits(max_connections=None, max_keepalive_connections=20))


def endpoint(base_url: str, path: str) -> str:
    """The URL of an endpoint under a base URL, whose query string stays.

    >>> endpoint("https://host/deployments/m/?api-version=1", "chat/completions")
    'https://host/deployments/m/chat/completions?api-version=1'
    >>> endpoint("https://host/v1/chat/completions", "chat/completions")
    'https://host/v1/chat/completions'
    """
    try:
        url = httpx.URL(base_url)
    except (httpx.InvalidURL, TypeError) as error:
        raise ValueError(f"base_url is an http or https URL: {error}") from None
    if url.scheme not in {"http", "https"} or not url.host:
        raise ValueError(f"base_url begins with http:// or https:// and has a host; got {redact_url(base_url)!r}")
    base = url.path.rstrip("/").removesuffix(f"/{path}")  # of who gave the whole address
    return str(url.copy_with(path=f"{base}/{path}"))


def is_async(client: Client) -> bool:
    return inspect.iscoroutinefunction(getattr(client, "send", None))


def check_client(client: object) -> None:
    if isinstance(client, type):
        raise TypeError(
            f"client is an httpx.Client or httpx.AsyncClient, not the class {client.__name__}: was () forgotten?"
        )
    if client is not None and not (hasattr(client, "build_request") and hasattr(client, "send")):
        raise TypeError(f"client is an httpx.Client or httpx.AsyncClient (or httpx2's), not {type(client).__name__}")


_ABSOLUTE = re.compile(r"[a-z][a-z0-9+.-]*://[^/]", re.IGNORECASE).match
_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+").fullmatch  # RFC 9110, section 5.6.2
_UNSENDABLE = re.compile(r"[\x00-\x08\x0a-\x1f\x7f]|^[ \t]|[ \t]$").search  # RFC 9110, section 5.5


def check_headers(headers: object) -> None:
    """Said before anything is sent: a client says of it that the connection broke, and shows the value."""
    if not isinstance(headers, Mapping):
        raise TypeError(f"headers are a dict of names and values, both str; not {type(headers).__name__}")
    for name, value in headers.items():
        if not (isinstance(name, str) and isinstance(value, str)):
            raise TypeError(f"headers are a dict of names and values, both str; {name!r} has {type(value).__name__}")
        if not _NAME(name):
            raise ValueError(f"{name!r} can be no header's name")
        if not value.isascii() or _UNSENDABLE(value):
            raise ValueError(_cannot_be_sent(name))


def has_own_timeouts(client: Client) -> bool:
    """Does it have others than the five seconds that a client of httpx has when nobody said anything?"""
    given: Any = getattr(client, "timeout", None)
    return not hasattr(given, "as_dict") or given.as_dict() != httpx.Timeout(5.0).as_dict()


def request(
    url: str,
    *,
    json: Any = None,
    method: str = "POST",
    headers: Mapping[str, str] | None = None,
    client: Client | None = None,
    timeouts: Timeouts | None = None,
    on_response: OnResponse | None = None,
    guard: Guard | None = None,
) -> Observable[bytes]:
    """From a request to the reads of its response's body, decompressed.

    Cold: each subscription sends a request, and nothing is sent before. With a blocking client it reads on the scheduler
    given to subscribe, else on the subscribing thread (`subscribe_on(NewThreadScheduler())` moves it to one of its own);
    with an async client in a task on the running loop. Disposing
    closes the response and its socket at once, also before the first byte, and from another thread; a stream that has
    come to its end is read on for at most 64 KiB and 0.1 s, so that its connection can be used again.

    Raises HttpError for a status of 300 or more (with what comes of its body in two seconds), StreamTimeout, ConnectionLost,
    ProtocolError for a body that cannot be decompressed. Options of the wrong type are a TypeError and headers that cannot
    be sent a ValueError, at once; one that the client adds, and a URL that is none, when it is subscribed. Subscribing with an
    async client where no event loop runs raises RuntimeError at once.
    """
    if not isinstance(url, str):
        raise TypeError(f"url is a str, not {type(url).__name__}")
    check_client(client)
    check_headers({} if headers is None else headers)
    use = shared_client() if client is None else client
    what = _Asked(url, json, method, dict(headers or {}), use, timeouts, on_response)
    if is_async(use):
        return LoopingSource(functools.partial(_AsyncBody, what), guard, what.secrets)
    return BlockingSource(functools.partial(_BlockingBody, what), guard, what.secrets)


class _Asked:
    """A request to be, the same for each subscription."""

    __slots__ = ("client", "headers", "json", "method", "on_response", "secrets", "timeouts", "url")

    def __init__(
        self,
        url: str,
        json: Any,
        method: str,
        headers: dict[str, str],
        client: Client,
        timeouts: Timeouts | None,
        on_response: OnResponse | None,
    ) -> None:
        self.url, self.json, self.method, self.headers, self.client = url, json, method, headers, client
        self.timeouts, self.on_response = timeouts, on_response
        self.secrets = secrets_of(url, {**header_map(getattr(client, "headers", {})), **self.headers})

    def build(self, spy: Spy | None, **extensions: Any) -> tuple[Any, dict[str, Any]]:
        """The client's request, and its timeouts as the transport looks them up: "read" is changed after the headers."""
        if self.timeouts is not None:
            extensions["timeout"] = self.timeouts.as_extension()
        built = self.client.build_request(
            self.method, self.url, json=self.json, headers=self.headers, extensions=extensions
        )
        self._check(str(getattr(built, "url", self.url)), header_map(getattr(built, "headers", {})))
        if spy is not None:
            spy.secrets(secrets_of(str(built.url), header_map(built.headers)))
            spy.request(self.method, redact_url(str(built.url)), redact_headers(header_map(built.headers)), self.json)
        return built, getattr(built, "extensions", {}).get("timeout", {})

    def _check(self, url: str, headers: Mapping[str, str]) -> None:
        """Is it a URL, and can be sent what the client has added of its own?"""
        if not _ABSOLUTE(url):
            raise ValueError(
                f"a url begins with http:// or https://, or goes on from a client's base_url; not {redact_url(self.url)!r}"
            )
        for name, value in headers.items():
            if _UNSENDABLE(value):
                raise ValueError(_cannot_be_sent(name))

    def answered(self, response: Any, spy: Spy | None) -> bool:
        """Tell of the head of a response; True if its body is a stream."""
        headers = header_map(response.headers)
        if spy is not None:
            spy.response(response.status_code, redact_headers(headers))
        if self.on_response is not None:
            self.on_response(response.status_code, headers)
        return bool(response.status_code < 300)


def _cannot_be_sent(name: str) -> str:
    return (
        f"the header {name} cannot be sent: it begins or ends with a blank, or has a line break or a character that is not "
        "ASCII; is its key empty, or was it read from a file?"
    )


def _is_raw(response: Any) -> bool:
    """Nothing to decompress, and not there already, as a mocked response is: so its stream can be read as it is."""
    return "content-encoding" not in response.headers and not response.is_stream_consumed


_STEPS = (
    "connect_tcp.started",
    "start_tls.started",
    "send_request_headers.started",
    "receive_response_headers.started",
)
"""Where a request that was cut goes no further."""


class _BlockingBody:
    def __init__(self, asked: _Asked) -> None:
        self.phase: str | None = "first"
        self.idle: float | None = None
        self.client = asked.client
        self._asked = asked
        self._response: Any = None
        self._was_cut = False

    def open(self, spy: Spy | None, /) -> Iterator[bytes]:
        asked = self._asked
        built, limits = asked.build(spy, trace=self._traced)
        self._response = response = asked.client.send(built, stream=True)
        self.phase = "idle"
        if asked.timeouts is not None:
            limits["read"] = asked.timeouts.idle
        self.idle = limits.get("read")
        reads: Iterator[bytes] = iter(response.stream if _is_raw(response) else response.iter_bytes())
        if not asked.answered(response, spy):
            raise http_error(response.status_code, header_map(response.headers), start_of(reads, self.cut))
        return reads

    def _traced(self, name: str, _info: object, /) -> None:
        """Told by the transport what it is about to do."""
        if self._was_cut and name.endswith(_STEPS):
            raise ConnectionAbortedError("the stream was left")

    def close(self) -> None:
        if self._response is not None:
            self._response.close()

    def cut(self) -> None:
        """Shut the socket down: the read that blocks on it ends at once, where closing it would wait for the timeout."""
        self._was_cut = True  # first, so that a connection that is not made yet is seen here or there
        stream = self._network_stream()
        found = stream and stream.get_extra_info("socket")
        if found is not None:
            with contextlib.suppress(OSError):  # it was closed already
                socket.socket.shutdown(found, socket.SHUT_RDWR)  # not SSLSocket's, which first drops its TLS state

    def _network_stream(self) -> Any:
        """The stream of the request's connection: from the response, or while it waits for one, from the client's pool.

        None where it cannot be found, where it carries other requests too (HTTP/2), or serves another one already.
        """
        response, client = self._response, self._asked.client
        if response is not None:
            gone = response.is_closed or response.extensions.get("http_version") == b"HTTP/2"
            return None if gone else response.extensions.get("network_stream")
        with contextlib.suppress(
            AttributeError
        ):  # not connected yet, HTTP/2, another transport, or another version of this one
            pool = client._transport_for_url(httpx.URL(self._asked.url))._pool  # noqa: SLF001
            for waiting in list(pool._requests):  # noqa: SLF001
                if waiting.request.extensions.get("trace") == self._traced:
                    found = waiting.connection
                    while not hasattr(found, "_h11_state"):  # inside what makes connections, through proxies or not
                        found = found._connection  # noqa: SLF001
                    return found._network_stream  # noqa: SLF001
        return None


class _AsyncBody:
    __slots__ = ("_asked", "_response", "client", "idle", "phase")

    def __init__(self, asked: _Asked) -> None:
        self.phase: str | None = "first"
        self.client = asked.client
        self.idle: float | None = None
        self._asked = asked
        self._response: Any = None

    async def open(self, spy: Spy | None, /) -> AsyncIterator[bytes]:
        asked = self._asked
        built, limits = asked.build(spy)
        self._response = response = await asked.client.send(built, stream=True)
        self.phase = "idle"
        if asked.timeouts is not None:
            limits["read"] = asked.timeouts.idle
        reads: AsyncIterator[bytes] = aiter(response.stream if _is_raw(response) else response.aiter_bytes())
        if not asked.answered(response, spy):
            raise http_error(response.status_code, header_map(response.headers), await start_of_async(reads))
        if _is_raw(response):  # else a read that comes may yet give nothing that is decompressed
            # Whoever reads has one timer for all reads; the client would make one, and a scope, for each.
            self.idle, limits["read"] = limits.get("read"), None
        return reads

    async def close(self) -> None:
        if self._response is not None:
            await self._response.aclose()
