"""An event loop in which many streams take turns."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from operators import TextDelta
from pipeline import decode, fair_loop, reads
from tests.support import body_of, chunk

MANY = 60


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    """Sockets, with a byte waiting in each first one."""
    with ExitStack() as stack:
        made = [socket.socketpair() for _ in range(MANY)]
        for pair in made:
            for end in pair:
                stack.enter_context(end)
            pair[0].setblocking(False)
            pair[1].send(b"x")
        yield made


def order(pairs: list[tuple[socket.socket, socket.socket]], loop: asyncio.AbstractEventLoop) -> list[str]:
    """In which order sockets are read, and what that woke runs."""
    happened: list[str] = []

    async def main() -> None:
        done = loop.create_future()

        def readable(one: socket.socket) -> None:
            one.recv(10)
            happened.append("read")
            loop.call_soon(woken)

        def woken() -> None:
            happened.append("woken")
            if happened.count("woken") == MANY:
                done.set_result(None)

        for one, _ in pairs:
            loop.add_reader(one, readable, one)
        await done
        for one, _ in pairs:
            loop.remove_reader(one)

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())
    return happened


def longest(happened: list[str]) -> int:
    """Of the rows of sockets that are read without anything in between."""
    return max(map(len, "".join("r" if one == "read" else " " for one in happened).split()))


def test_what_a_few_sockets_woke_runs_before_the_next_are_read(pairs: Any) -> None:
    assert longest(order(pairs, fair_loop())) == 16


def test_on_the_loop_of_asyncio_all_are_read_first(pairs: Any) -> None:
    """Else there would be no reason for this one."""
    assert longest(order(pairs, asyncio.SelectorEventLoop())) == MANY


@pytest.mark.parametrize("again", [False, True])
def test_a_socket_that_was_closed_meanwhile_is_not_read(pairs: Any, again: bool) -> None:
    """Nor is another one that got its number."""
    loop = fair_loop()
    called: list[int] = []
    late: list[socket.socket] = []

    async def main() -> None:
        def first(number: int) -> None:
            called.append(number)
            pairs[number][0].recv(10)
            if len(called) > 1:
                return
            for one, _ in pairs[:number] + pairs[number + 1 :]:
                loop.remove_reader(one)
                one.close()
            if again:
                late.extend(end for _ in range(MANY // 2) for end in socket.socketpair())
                for end in late:
                    loop.add_reader(end, called.append, -1)

        for number, (one, _) in enumerate(pairs):
            loop.add_reader(one, first, number)
        for _ in range(10):
            await asyncio.sleep(0)
        for end in late:
            loop.remove_reader(end)
            end.close()
        loop.remove_reader(pairs[called[0]][0])

    with asyncio.Runner(loop_factory=lambda: loop) as runner:
        runner.run(main())
    assert len(called) == 1


def test_many_streams_come_whole() -> None:
    """Over real sockets, more of them than are taken at a time."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readline()
        for part in (body_of(chunk({"content": "a"}), done=False), body_of(chunk({"content": "b"}, "stop"))):
            writer.write(part)
            await writer.drain()
            await asyncio.sleep(0)
        writer.close()
        await writer.wait_closed()

    async def body(port: int) -> Any:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(b"go\n")
            while data := await reader.read(64):
                yield data
        finally:
            writer.close()
            await writer.wait_closed()

    async def main() -> list[str]:
        server = await asyncio.start_server(serve, "127.0.0.1", 0)
        port = server.sockets[0].getsockname()[1]
        said = ["" for _ in range(MANY)]
        ended = [asyncio.get_running_loop().create_future() for _ in said]

        def follow(number: int) -> None:
            def on_next(event: Any) -> None:
                if isinstance(event, TextDelta):
                    said[number] += event.text

            reads(body(port)).pipe(decode()).subscribe(
                on_next, ended[number].set_exception, lambda: ended[number].set_result(None)
            )

        for number in range(MANY):
            follow(number)
        await asyncio.gather(*ended)
        server.close()
        return said

    with asyncio.Runner(loop_factory=fair_loop) as runner:
        assert runner.run(main()) == ["ab"] * MANY
