"""A proxy that harms what passes through it, the same way for the same seed."""

from __future__ import annotations

import asyncio
import json
import random
import socket
import struct
from collections import defaultdict
from collections.abc import AsyncIterator

from tests.pipeline.chaos.upstream import END, Loopback, chunk, read_request

FAULTS = {
    "none": 20,
    "drip": 15,  # a few bytes at a time
    "busy": 15,  # 429 or 503, several in a row
    "garbage": 10,  # whole events that are no JSON
    "drop": 12,  # the connection is closed after any byte
    "reset": 12,  # or reset
    "end": 10,  # the body ends in good order after any byte
    "stall": 6,  # nothing more comes after any byte
}
"""What happens to a response, and how often."""

GARBAGE = (b"data: {no json\n\n", b"data: \xff\xfe\n\n", b'data: {"choices": [{]}\n\n', b"data: <html>\n\n")


class Proxy(Loopback):
    """Passes requests on to an upstream, and their responses back with at most one fault each.

    A request says whose it is in its "user"; `faults` keeps what was done to each one's requests, in order. So chance
    depends on the seed, the user and the count alone, and not on who comes first.
    """

    def __init__(self, port: int, seed: int) -> None:
        super().__init__()
        self.upstream_port, self.seed = port, seed
        self.faults: dict[str, list[str]] = defaultdict(list)
        self._bursts: dict[str, int] = defaultdict(int)

    def fault(self, user: str) -> tuple[str, random.Random]:
        """What happens to this user's next request."""
        chance = random.Random(f"{self.seed}/{user}/{len(self.faults[user])}")
        (fault,) = chance.choices(list(FAULTS), list(FAULTS.values()))
        if fault == "busy" and not self._bursts[user]:
            self._bursts[user] = chance.randint(1, 4)
        if self._bursts[user]:
            self._bursts[user] -= 1
            fault = "busy"
        self.faults[user].append(fault)
        return fault, chance

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            path, _, body = request
            fault, chance = self.fault(json.loads(body)["user"])
            if fault == "busy":
                status = chance.choice([b"429 Too Many Requests\r\nretry-after: 0", b"503 Unavailable"])
                writer.write(b"HTTP/1.1 " + status + b"\r\ncontent-length: 0\r\n\r\n")
            elif not await self._relay(path, body, fault, chance, reader, writer):
                return
            await writer.drain()

    async def _relay(
        self,
        path: str,
        body: bytes,
        fault: str,
        chance: random.Random,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
    ) -> bool:
        """One response, with its fault; False if the connection is over."""
        events = [event async for event in self._ask(path, body)]
        if fault == "garbage":
            events.insert(chance.randint(0, len(events)), chance.choice(GARBAGE))
        whole = b"".join(events)
        cut = chance.randint(-1, len(whole)) if fault in {"drop", "reset", "end", "stall"} else len(whole)
        if cut >= 0 or fault == "end":
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n")
        at, cut = 0, max(0, cut)
        while at < cut:
            size = chance.randint(1, 9) if fault == "drip" else chance.randint(1, 400)
            writer.write(chunk(whole[at : min(cut, at + size)]))
            await writer.drain()
            await asyncio.sleep(chance.choice([0, 0, 0.001]))
            at += size
        if fault == "stall":
            await reader.read(1)  # until the client goes
            return False
        if fault == "reset":
            found: socket.socket = writer.get_extra_info("socket")
            found.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            writer.transport.abort()
            return False
        if fault == "drop":
            return False
        writer.write(END)
        return True

    async def _ask(self, path: str, body: bytes) -> AsyncIterator[bytes]:
        """The chunks of the upstream's response."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.upstream_port)
        try:
            writer.write(b"POST %s HTTP/1.1\r\ncontent-length: %d\r\n\r\n%s" % (path.encode(), len(body), body))
            await reader.readuntil(b"\r\n\r\n")
            while size := int(await reader.readline(), 16):
                yield await reader.readexactly(size)
                await reader.readexactly(2)
        finally:
            writer.close()
