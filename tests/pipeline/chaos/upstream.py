"""A chat server on loopback that says what a script tells it to say, byte by byte."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Self

from tests.support.timing import LONG

Part = bytes | float | None
"""Bytes to send as one chunk, seconds to wait, or None: drop the connection here, without an end."""


@dataclass(frozen=True)
class Request:
    """What a client asked for. `number` counts from 0, over all connections."""

    number: int
    connection: int
    path: str
    headers: dict[str, str]
    body: Any


@dataclass(frozen=True)
class Reply:
    parts: Sequence[Part] = ()
    status: int = 200
    headers: dict[str, str] = field(default_factory=lambda: {"content-type": "text/event-stream"})


GLANCE = 0.02
"""Seconds after which a server that waits looks whether its client has gone."""

END = b"0\r\n\r\n"

Script = Callable[[Request], Reply]


def event(**chunk: Any) -> bytes:
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


def delta(finish_reason: str | None = None, **said: Any) -> bytes:
    return event(id="r", model="m", choices=[{"index": 0, "delta": said, "finish_reason": finish_reason}])


DONE = b"data: [DONE]\n\n"


def says(*texts: str, finish: str | None = "stop", usage: tuple[int, int] | None = None, done: bytes = DONE) -> Reply:
    """A text, in as many deltas as are given."""
    return Reply([*(delta(content=text) for text in texts), *_end(finish, usage), done])


def calls(
    *made: tuple[str, str, str], finish: str | None = "tool_calls", usage: tuple[int, int] | None = None
) -> Reply:
    """Tool calls, each (id, name, arguments), the arguments in two deltas."""
    parts = []
    for index, (id_, name, arguments) in enumerate(made):
        half = len(arguments) // 2
        opened = {"index": index, "id": id_, "type": "function", "function": {"name": name, "arguments": ""}}
        parts.append(delta(tool_calls=[opened]))
        parts += [
            delta(tool_calls=[{"index": index, "function": {"arguments": part}}])
            for part in (arguments[:half], arguments[half:])
        ]
    return Reply([*parts, *_end(finish, usage), DONE])


def _end(finish: str | None, usage: tuple[int, int] | None) -> list[bytes]:
    counts = usage and {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}
    return ([delta(finish)] if finish else []) + ([event(choices=[], usage=counts)] if counts else [])


class Loopback:
    """A server in an event loop in a thread of its own, up inside its `with`. `open` counts the connections that stand."""

    def __init__(self) -> None:
        self.connections = self.open = 0
        self._tasks: set[asyncio.Task[Any]] = set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        raise NotImplementedError

    def __enter__(self) -> Self:
        started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event, int]] = Future()
        self._thread = threading.Thread(target=asyncio.run, args=(self._main(started),), name="loopback")
        self._thread.start()
        self._loop, self._over, self.port = started.result(LONG)
        self.url = f"http://127.0.0.1:{self.port}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join(LONG)
        assert not self._thread.is_alive()

    async def _main(self, started: Future[Any]) -> None:
        over = asyncio.Event()
        server = await asyncio.start_server(self._connected, "127.0.0.1", 0, backlog=1024)
        started.set_result((asyncio.get_running_loop(), over, server.sockets[0].getsockname()[1]))
        await over.wait()
        server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.connections += 1
        self.open += 1
        try:
            await self.serve(reader, writer)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            self.open -= 1
            self._tasks.discard(task)
            writer.close()
            with contextlib.suppress(OSError):
                await writer.wait_closed()


async def read_request(reader: asyncio.StreamReader) -> tuple[str, dict[str, str], bytes] | None:
    """The path, the headers and the body of the next request; None when the client has gone."""
    line = (await reader.readline()).decode("latin-1").split()
    if len(line) < 2:
        return None
    headers = {}
    while header := (await reader.readline()).decode("latin-1").strip():
        name, _, value = header.partition(":")
        headers[name.lower()] = value.strip()
    return line[1], headers, await reader.readexactly(int(headers.get("content-length", 0)))


class Upstream(Loopback):
    """Answers each request as the script says: a function of the request, or one reply after the other.

    `left` counts the requests whose client went before the reply was out.
    """

    def __init__(self, script: Script | Sequence[Reply]) -> None:
        super().__init__()
        self.script: Script = script if callable(script) else lambda request: script[request.number]
        self.requests: list[Request] = []
        self.left = 0

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        connection = self.connections
        while (read := await read_request(reader)) is not None:
            path, headers, body = read
            request = Request(len(self.requests), connection, path, headers, json.loads(body))
            self.requests.append(request)
            if not await self._send(reader, writer, self.script(request)):
                return

    async def _send(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, reply: Reply) -> bool:
        """Write a reply; False if the connection must not be used again."""
        head = "".join(f"{name}: {value}\r\n" for name, value in reply.headers.items())
        writer.write(f"HTTP/1.1 {reply.status} X\r\n{head}transfer-encoding: chunked\r\n\r\n".encode())
        for part in reply.parts:
            if isinstance(part, bytes):
                writer.write(chunk(part))
                continue
            await writer.drain()
            if part is None:
                return False
            for _ in range(math.ceil(part / GLANCE)):
                await asyncio.sleep(GLANCE)
                if reader.at_eof():
                    self.left += 1
                    return False
        writer.write(END)
        await writer.drain()
        return True


def chunk(data: bytes) -> bytes:
    """As it goes over the wire; an empty one would be the end."""
    return b"%x\r\n%s\r\n" % (len(data), data) if data else b""
