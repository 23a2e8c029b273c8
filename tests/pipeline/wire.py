"""A server on loopback that does what a test says, byte by byte, and every kind of client to talk to it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import select
import socket
import ssl
import struct
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Any, Self

import httpx
import httpx2
from reactivex import Observable

from operators import TextDelta
from tests.support import Seen
from tests.support.timing import LONG, until


def event(data: object) -> bytes:
    return b"data: " + json.dumps(data, ensure_ascii=False).encode() + b"\n\n"


def text(content: str | None, finish: str | None = None, index: int = 0) -> bytes:
    """An event with a piece of text."""
    delta = {} if content is None else {"content": content}
    choice = {"index": index, "delta": delta, "finish_reason": finish}
    return event({"id": "c1", "model": "m", "choices": [choice]})


DONE = b"data: [DONE]\n\n"
HEARTBEAT = b": still here\n\n"
ANSWER = text("Hel") + text("lo", "stop") + DONE
STREAM = {"content-type": "text/event-stream"}


def said(events: list[Any]) -> str:
    return "".join(found.text for found in events if isinstance(found, TextDelta))


# ------------------------------------------------------------------------------------------------------------ the server


@dataclass
class Call:
    """One request, and the connection that waits for its answer."""

    server: WireServer
    connection: socket.socket
    method: str
    target: str
    headers: dict[str, str]
    raw: bytes
    whole: bool = False
    _chunked: bool = False

    @property
    def json(self) -> Any:
        return json.loads(self.raw)

    def head(self, status: int = 200, headers: dict[str, str] | None = None, *, length: int | None = None) -> None:
        """The head of the answer. Its body is chunked, or has that length; with length -1 it ends with the connection."""
        lines = [f"HTTP/1.1 {status} Whatever", *(f"{name}: {value}" for name, value in (headers or STREAM).items())]
        self._chunked = length is None
        if length is None:
            lines.append("transfer-encoding: chunked")
        elif length >= 0:
            lines.append(f"content-length: {length}")
        self.connection.sendall("\r\n".join([*lines, "", ""]).encode())

    def send(self, *reads: bytes) -> None:
        for read in filter(None, reads):
            self.connection.sendall(b"%x\r\n%s\r\n" % (len(read), read) if self._chunked else read)

    def end(self) -> None:
        """The end of the body; the connection may be used again."""
        if self._chunked:
            self.connection.sendall(b"0\r\n\r\n")
        self.whole = True

    def answer(self, *reads: bytes, status: int = 200, headers: dict[str, str] | None = None) -> None:
        self.head(status, headers)
        self.send(*reads)
        self.end()

    def until_gone(self) -> None:
        """Wait until the client has closed the connection."""
        readable, _, _ = select.select([self.connection], [], [], LONG)
        try:
            gone = bool(readable) and not self.connection.recv(1)
        except ConnectionError:
            gone = True
        assert gone, "the client has not left"
        self.server.gone.set()

    def reset(self) -> None:
        """Break the connection, as a crash or a firewall would."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()


Script = Callable[[Call], None]


class WireServer:
    """Answers the n-th request as the n-th script does, and all further ones as the last."""

    def __init__(self, *scripts: Script) -> None:
        self.scripts = scripts
        self.calls: list[Call] = []
        self.connections = 0
        self.gone = threading.Event()
        self.asked = threading.Event()
        self._wrong: list[BaseException] = []
        self._open: list[socket.socket] = []
        self._threads: list[threading.Thread] = []
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self._listener.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/v1"
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        for one in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
        for thread in self._threads:
            thread.join(LONG)
        if self._wrong and kind is None:
            raise self._wrong[0]

    def _start(self, run: Callable[..., None], *args: Any) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.connections += 1
            self._open.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        try:
            with contextlib.suppress(OSError), connection, connection.makefile("rb") as reader:
                while (call := self._call(connection, reader)) is not None:
                    with self._lock:
                        self.calls.append(call)
                        script = self.scripts[min(len(self.calls), len(self.scripts)) - 1]
                    self.asked.set()
                    script(call)
                    if not call.whole:
                        return
        except BaseException as error:
            self._wrong.append(error)

    def _call(self, connection: socket.socket, reader: Any) -> Call | None:
        first = reader.readline().decode().split()
        if len(first) < 2:
            return None
        headers = {}
        while line := reader.readline().strip().decode():
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        raw = reader.read(int(headers.get("content-length", 0)))
        return Call(self, connection, first[0], first[1], headers, raw)


def answers(*reads: bytes, status: int = 200, headers: dict[str, str] | None = None) -> Script:
    """A script: this answer, in these chunks."""
    return lambda call: call.answer(*reads, status=status, headers=headers)


def says_and_waits(*reads: bytes) -> Script:
    """A script: the beginning of an answer, then nothing until the client leaves."""

    def script(call: Call) -> None:
        call.head()
        call.send(*reads)
        call.until_gone()

    return script


def says_nothing(call: Call) -> None:
    """A script: not even a head, until the client leaves."""
    call.until_gone()


def endless(call: Call) -> None:
    """A script: events without end, until the client leaves."""
    call.head()
    sent = 0
    try:
        while True:
            call.send(text("x" * 1000))
            sent += 1000
    except OSError:
        call.server.gone.set()


# ----------------------------------------------------------------------------------------------------------- the clients

_TRUST = ssl.create_default_context()  # once: reading the certificates takes longer than most tests


@dataclass
class Sub(Seen):
    """A subscriber that can be waited for, from another thread or on a loop."""

    ended: threading.Event = field(default_factory=threading.Event)
    came: threading.Event = field(default_factory=threading.Event)
    then: Callable[[Any], None] | None = None

    def on_next(self, value: Any) -> None:
        super().on_next(value)
        self.came.set()
        if self.then is not None:
            self.then(value)

    def on_error(self, error: Exception) -> None:
        super().on_error(error)
        self.ended.set()

    def on_completed(self) -> None:
        super().on_completed()
        self.ended.set()

    @property
    def text(self) -> str:
        return said(self.values)


@dataclass(frozen=True)
class Kind:
    """A kind of client."""

    name: str
    module: Any
    looping: bool

    def client(self, **options: Any) -> Any:
        make = self.module.AsyncClient if self.looping else self.module.Client
        return make(**{"verify": _TRUST, "trust_env": False, "timeout": LONG} | options)

    def run(self, make: Callable[[Any], Observable[Any]], **options: Any) -> Sub:
        """Subscribe to what is made with a client, and wait for its end."""
        return self.runs(make, 1, **options)[0]

    def runs(self, make: Callable[[Any], Observable[Any]], times: int, **options: Any) -> list[Sub]:
        """The same several times, one after the other, with one client."""
        subs = [Sub() for _ in range(times)]
        if not self.looping:
            with self.client(**options) as client:
                for sub in subs:
                    make(client).subscribe(sub)
                    assert sub.ends == 1
            return subs

        async def main() -> None:
            async with self.client(**options) as client:
                for sub in subs:
                    make(client).subscribe(sub)
                    await until(lambda sub=sub: sub.ends)  # type: ignore[misc]
                await settled()

        asyncio.run(main())
        return subs

    def act(self, work: Callable[[Any], Awaitable[None]], **options: Any) -> None:
        """Run async work with an async client."""

        async def main() -> None:
            async with self.client(**options) as client:
                await work(client)

        asyncio.run(main())


async def settled() -> None:
    """Wait until no task but this one runs."""
    await until(lambda: len(asyncio.all_tasks()) == 1)


KINDS = (
    Kind("httpx.Client", httpx, looping=False),
    Kind("httpx.AsyncClient", httpx, looping=True),
    Kind("httpx2.Client", httpx2, looping=False),
    Kind("httpx2.AsyncClient", httpx2, looping=True),
)
