"""A server for the benchmarks, in a process of its own: `python -m tests.bench.server`. It prints its two ports, and ends with its input.

    POST /burst/{events}/…            the whole answer at once, an event in each chunk of the transfer coding, as servers send it
    POST /paced/{events}/{rate}/…     an event in each write, so many a second; the text of each is when it was written
    POST /held/{rate}/…               the same without end: one event, the others when it is told to go
    POST /go                          all that were held go on
    POST /idle/…                      one event, then nothing

Clocks: `time.monotonic()`, which is the same for all processes of a machine.
"""

from __future__ import annotations

import asyncio
import contextlib
import heapq
import json
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from tests.bench.bodies import DONE, event, text_heavy

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
TICK = 0.001


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


_NO_TIME = b"00000.000000"
_EMPTY = event({"content": f" {_NO_TIME.decode()}"})
_STAMPED = _chunk(_EMPTY).partition(_NO_TIME)
STAMPED_LENGTH = len(_EMPTY)
STAMPED_AT, STAMP = _EMPTY.index(_NO_TIME), len(_NO_TIME)
"""How long such an event is; where in it the time stands, and how long that is."""
_LAST = _chunk(event({}, "stop")) + _chunk(DONE) + b"0\r\n\r\n"


def _stamped() -> bytes:
    """An event whose text is the time."""
    return _STAMPED[0] + b"%012.6f" % time.monotonic() + _STAMPED[2]


class _Pacer:
    """Writes to all paced connections, each in its own rhythm."""

    def __init__(self) -> None:
        self._due: list[tuple[float, int, float, int, asyncio.Transport]] = []  # when, whose, every, how many more
        self._held: list[tuple[asyncio.Transport, float]] = []
        self._running = False
        self._number = 0

    def hold(self, transport: asyncio.Transport, rate: float) -> None:
        transport.write(_stamped())
        self._held.append((transport, rate))

    def go(self) -> None:
        held, self._held = self._held, []
        for transport, rate in held:
            self.add(transport, sys.maxsize, rate)

    def add(self, transport: asyncio.Transport, events: int, rate: float) -> None:
        self._number += 1
        phase = self._number * 0.618034 % 1  # spread over the interval
        heapq.heappush(self._due, (time.monotonic() + phase / rate, self._number, 1 / rate, events, transport))
        if not self._running:
            self._running = True
            asyncio.get_running_loop().call_soon(self._write)

    def _write(self) -> None:
        due = self._due
        now = time.monotonic()
        while due and due[0][0] <= now:
            when, number, every, left, transport = heapq.heappop(due)
            if transport.is_closing():
                continue
            if left:
                transport.write(_stamped())
                heapq.heappush(due, (max(when + every, now - 0.1), number, every, left - 1, transport))
            else:
                transport.write(_LAST)
        if due:
            asyncio.get_running_loop().call_later(max(0.0, min(TICK, due[0][0] - time.monotonic())), self._write)
        else:
            self._running = False


_pacer = _Pacer()
_bursts: dict[int, bytes] = {}


class _Connection(asyncio.Protocol):
    transport: asyncio.Transport

    def __init__(self) -> None:
        self._got = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        transport.set_write_buffer_limits(high=1 << 30)

    def data_received(self, data: bytes) -> None:
        self._got += data
        while b"\r\n\r\n" in self._got:
            head, _, rest = self._got.partition(b"\r\n\r\n")
            lengths = [
                line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")
            ]
            length = int(lengths[0]) if lengths else 0
            if len(rest) < length:
                return
            self._got = rest[length:]
            self._answer(head.split(b" ")[1].decode().split("/")[1:])

    def _answer(self, path: list[str]) -> None:
        write = self.transport.write
        match path:
            case ["burst", events, *_]:
                write(HEAD + _burst(int(events)))
            case ["paced", events, rate, *_]:
                write(HEAD)
                _pacer.add(self.transport, int(events), float(rate))
            case ["held", rate, *_]:
                write(HEAD)
                _pacer.hold(self.transport, float(rate))
            case ["go"]:
                write(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n")
                _pacer.go()
            case ["idle", *_]:
                write(HEAD + _chunk(event({"content": "Hi"})))
            case _:
                write(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")


def _burst(events: int) -> bytes:
    if events not in _bursts:
        _bursts[events] = b"".join(map(_chunk, text_heavy(events).events)) + b"0\r\n\r\n"
    return _bursts[events]


async def _serve() -> None:
    loop = asyncio.get_running_loop()
    ports = {}
    with tempfile.TemporaryDirectory() as folder:
        certificate = _certificate(Path(folder))
        for scheme in ("http", "https") if certificate else ("http",):
            context = None
            if scheme == "https" and certificate is not None:
                context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
                context.load_cert_chain(certificate)
            server = await loop.create_server(_Connection, "127.0.0.1", 0, ssl=context, backlog=4096)
            ports[scheme] = server.sockets[0].getsockname()[1]
    print(json.dumps(ports), flush=True)
    await asyncio.Event().wait()


def _end_with_input() -> None:
    """However the process ends that started this one."""
    sys.stdin.read()
    os._exit(0)


def _certificate(folder: Path) -> Path | None:
    """One of our own for 127.0.0.1, with its key; None without the package that makes it."""
    try:
        import trustme
    except ImportError:
        return None
    file = folder / "server.pem"
    trustme.CA().issue_cert("127.0.0.1").private_key_and_cert_chain_pem.write_to_path(file)
    return file


class Server(NamedTuple):
    ports: dict[str, int]

    def go(self) -> None:
        """Let the streams that are held go on."""
        with socket.create_connection(("127.0.0.1", self.ports["http"])) as connection:
            connection.sendall(b"POST /go HTTP/1.1\r\n\r\n")
            connection.recv(100)

    def url(self, path: str, scheme: str = "http") -> str:
        """The base URL under which an answer of this kind is given to any path."""
        return f"{scheme}://127.0.0.1:{self.ports[scheme]}/{path}"


@contextlib.contextmanager
def serving(core: int | None = None) -> Iterator[Server]:
    """The server, in a process of its own; on this core alone, where one is given."""
    command = [sys.executable, "-m", "tests.bench.server", *([] if core is None else [str(core)])]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield Server(json.loads(process.stdout.readline()))
        finally:
            process.kill()


if __name__ == "__main__":
    if len(sys.argv) > 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {int(sys.argv[1])})
    threading.Thread(target=_end_with_input, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        asyncio.run(_serve())
