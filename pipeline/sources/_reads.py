"""Anything that can be read → Observable[bytes]."""

from __future__ import annotations

import contextlib
import inspect
import io
import socket
import threading
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from reactivex import Observable

from operators import Spy
from pipeline.sources._blocking import BlockingSource
from pipeline.sources._http_errors import header_map, http_error, start_of, start_of_async
from pipeline.sources._looping import LoopingSource
from pipeline.sources._replay import replay

READ_SIZE = 64 * 1024


def reads(source: Any) -> Observable[bytes]:
    """From what can be read to its reads.

    `source` is an open response of httpx, httpx2, requests, aiohttp or urllib (its status is looked at, its body read as it
    comes, and closed), a Path, an open binary file or pipe such as `sys.stdin.buffer`, bytes, an iterable or an async
    iterable of bytes. What is awaited is read in a task on the running loop, all else on the scheduler given to
    subscribe, or the subscribing thread.

    An iterator, a response and a file can be read once: a second subscription raises RuntimeError. Raises HttpError
    for a response of status 300 or more, StreamTimeout or ConnectionLost for what a client raises, TypeError for what
    cannot be read.

    >>> reads(iter([b"a", b"b"])).subscribe(print) and None
    b'a'
    b'b'
    """
    if isinstance(source, Observable):
        return source
    if isinstance(source, (bytes, bytearray, memoryview)):
        return replay(bytes(source))
    if isinstance(source, Path):
        return BlockingSource(lambda: _Opened(lambda: _file_reads(source.open("rb"))))
    if hasattr(source, "headers") and (hasattr(source, "status_code") or hasattr(source, "status")):
        return _response(source)
    if isinstance(source, io.TextIOBase):
        raise TypeError(f"{type(source).__name__} reads text: open it in binary mode, or give its .buffer")
    if callable(getattr(source, "read", None)) and not hasattr(source, "__aiter__"):
        return BlockingSource(_once(lambda: _Opened(lambda: _file_reads(source)), source))
    if isinstance(source, AsyncIterable):
        once = isinstance(source, AsyncIterator)
        make: Callable[[], Any] = partial(_Awaited, partial(aiter, source))
        return LoopingSource(_once(make, source) if once else make)
    if isinstance(source, Iterable) and not isinstance(source, (str, dict)):
        make = partial(_Opened, partial(iter, source))
        return BlockingSource(_once(make, source) if isinstance(source, Iterator) else make)
    raise TypeError(
        f"cannot read bytes from {type(source).__name__}: give a response, a Path, an open binary file, bytes, or an "
        "iterable or async iterable of bytes"
    )


def _once(make: Callable[[], Any], source: object) -> Callable[[], Any]:
    """The same, but it can be called only once: what it reads is used up then."""
    lock = threading.Lock()

    def make_once() -> Any:
        if not lock.acquire(blocking=False):
            raise RuntimeError(
                f"this {type(source).__name__} can be read only once, and was; make a new one to read again"
            )
        return make()

    return make_once


def _file_reads(file: Any) -> Iterator[bytes]:
    """What a file or a pipe has, as soon as it has it."""
    read = getattr(file, "read1", file.read)
    with file:
        while chunk := read(READ_SIZE):
            yield chunk


class _Opened:
    """An iterator as a body."""

    phase = "idle"
    idle = None
    client = None

    def __init__(self, begin: Callable[[], Iterator[bytes]]) -> None:
        self._begin = begin
        self._iterator: Iterator[bytes] | None = None

    def open(self, _spy: Spy | None, /) -> Iterator[bytes]:
        self._iterator = self._begin()
        return self._iterator

    def close(self) -> None:
        close = getattr(self._iterator, "close", None)
        if close is not None:
            close()

    def cut(self) -> None: ...


class _Awaited:
    """An async iterator as a body."""

    phase = "idle"
    idle = None
    client = None

    def __init__(self, begin: Callable[[], AsyncIterator[bytes]]) -> None:
        self._begin = begin
        self._iterator: AsyncIterator[bytes] | None = None

    async def open(self, _spy: Spy | None, /) -> AsyncIterator[bytes]:
        self._iterator = self._begin()
        return self._iterator

    async def close(self) -> None:
        close = getattr(self._iterator, "aclose", None)
        if close is not None:
            await close()


# ------------------------------------------------------------------------------------------------------ open responses


def _response(response: Any) -> Observable[bytes]:
    if _is_async(response):
        return LoopingSource(_once(lambda: _AsyncResponse(response), response))
    return BlockingSource(_once(lambda: _BlockingResponse(response), response))


def _is_async(response: Any) -> bool:
    if hasattr(response, "iter_raw"):  # httpx: one class for both, told apart by the stream
        stream = getattr(response, "stream", None)
        return hasattr(stream, "__aiter__") and not hasattr(stream, "__iter__")
    if hasattr(response, "iter_content"):  # requests, whose .content would read it all
        return False
    return hasattr(getattr(response, "content", None), "iter_any")  # aiohttp


def _status(response: Any) -> int:
    status: int = response.status_code if hasattr(response, "status_code") else response.status
    return status


class _BlockingResponse:
    phase = "idle"
    idle = None

    def __init__(self, response: Any) -> None:
        self._response = self.client = response

    def open(self, _spy: Spy | None, /) -> Iterator[bytes]:
        response, body = self._response, _body(self._response)
        if _status(response) >= 300:
            raise http_error(_status(response), header_map(response.headers), start_of(body, self.cut))
        return body

    def close(self) -> None:
        self._response.close()

    def cut(self) -> None:
        """End a read that blocks in another thread, where the socket can be found."""
        found = _socket_of(self._response)
        if isinstance(found, socket.socket):
            with contextlib.suppress(OSError):  # it was closed already
                socket.socket.shutdown(found, socket.SHUT_RDWR)


def _body(response: Any) -> Iterator[bytes]:
    """The body as it comes, decompressed."""
    if hasattr(response, "iter_bytes"):
        return iter(response.iter_bytes())
    if not hasattr(response, "iter_content"):
        return _file_reads(response)
    raw = response.raw
    if (
        hasattr(raw, "read1")
        and not getattr(raw, "chunked", False)
        and not getattr(response, "_content_consumed", False)
    ):
        return iter(
            lambda: raw.read1(READ_SIZE, decode_content=True), b""
        )  # iter_content would wait for the body's end
    return iter(response.iter_content(chunk_size=None))


def _socket_of(response: Any) -> Any:
    """The socket that a response alone reads from."""
    extensions = getattr(response, "extensions", {})
    if "network_stream" in extensions:
        gone = response.is_closed or extensions.get("http_version") == b"HTTP/2"
        return None if gone else extensions["network_stream"].get_extra_info("socket")
    raw = getattr(response, "raw", response)
    connection = getattr(
        raw, "_connection", None
    )  # urllib3's, which is without one once a body goes on until it closes
    return getattr(connection, "sock", None) or _socket_under(getattr(raw, "_fp", raw))


def _socket_under(response: Any) -> Any:
    """The socket that an `http.client.HTTPResponse` reads from, through a buffer."""
    buffer = getattr(response, "fp", None)
    return getattr(getattr(buffer, "raw", None), "_sock", None)


class _AsyncResponse:
    phase = "idle"
    idle = None

    def __init__(self, response: Any) -> None:
        self._response = self.client = (
            response  # its client is not known; the connection is read to its end all the same
        )

    async def open(self, _spy: Spy | None, /) -> AsyncIterator[bytes]:
        response = self._response
        body: AsyncIterator[bytes] = aiter(
            response.aiter_bytes() if hasattr(response, "aiter_bytes") else response.content.iter_any()
        )
        if _status(response) >= 300:
            raise http_error(_status(response), header_map(response.headers), await start_of_async(body))
        return body

    async def close(self) -> None:
        close = getattr(self._response, "aclose", None) or self._response.close
        done = close()
        if inspect.isawaitable(done):
            await done
