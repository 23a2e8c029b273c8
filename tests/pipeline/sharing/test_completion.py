"""Sharing a whole completion: held back down to the reads of the client, and nothing lost when the process ends."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx

from operators import Finish, Restarted, Retrying, TextDelta
from pipeline import Retry, completion
from pipeline.sharing import block, coalesce, latest, share_to
from tests.pipeline.sharing.sinks import Stopped, in_thread
from tests.support import Seen
from tests.support.timing import LONG, wait_until

CHUNKS = 100
BODY = {"model": "m", "messages": []}


def chunk(number: int) -> bytes:
    said = {"index": 0, "delta": {"content": f"{number} "}, "finish_reason": "stop" if number == CHUNKS - 1 else None}
    return b"data: " + json.dumps({"id": "c", "choices": [said]}).encode() + b"\n\n"


class Body(httpx.SyncByteStream, httpx.AsyncByteStream):
    """A body that notes down how many reads were made of it."""

    def __init__(self) -> None:
        self.read = 0

    def __iter__(self) -> Iterator[bytes]:
        for number in range(CHUNKS):
            self.read += 1
            yield chunk(number)
        yield b"data: [DONE]\n\n"

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for each in self:
            yield each


def transport(body: Body, *, fails: int = 0) -> httpx.MockTransport:
    left = [fails]

    def answer(_: httpx.Request) -> httpx.Response:
        left[0] -= 1
        if left[0] >= 0:
            return httpx.Response(500)
        return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=body)

    return httpx.MockTransport(answer)


def texts(events: list[Any]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


TEXT = "".join(f"{number} " for number in range(CHUNKS))


def test_a_blocking_client_reads_no_further_than_the_slowest_sink_allows() -> None:
    body, sink, said, below = Body(), Stopped(), Seen(), Seen()
    with httpx.Client(transport=transport(body, fails=1)) as client:
        stream = completion(BODY, client=client, base_url="http://x/v1", retry=Retry(backoff=0))
        thread = in_thread(lambda: stream.pipe(share_to(block(sink, 8), coalesce(said))).subscribe(below))
        wait_until(lambda: body.read >= 6)
        assert body.read <= 9
        sink.free()
        thread.join(LONG)
    assert [type(event) for event in sink.values[:1]] == [Retrying]
    assert texts(sink.values) == texts(said.values) == texts(below.values) == TEXT
    assert said.values[-1] == sink.values[-1] == Finish("stop")
    assert sink.completed
    assert Restarted not in map(type, sink.values)


def test_an_async_client_reads_no_further_than_the_slowest_sink_allows() -> None:
    async def main() -> None:
        body, sink, below = Body(), Stopped(), Seen()
        ended = asyncio.Event()
        async with httpx.AsyncClient(transport=transport(body, fails=1)) as client:
            stream = completion(BODY, client=client, base_url="http://x/v1", retry=Retry(backoff=0))
            stream.pipe(share_to(block(sink, 8), latest(print))).subscribe(
                below.on_next, below.on_error, on_completed=ended.set
            )
            await asyncio.sleep(0.05)
            assert 6 <= body.read <= 9
            sink.free()
            await asyncio.wait_for(ended.wait(), LONG)
        assert texts(sink.values) == texts(below.values) == TEXT
        assert sink.completed

    asyncio.run(main())


def test_a_process_that_ends_right_after_its_stream_loses_nothing() -> None:
    program = """
import time
from pipeline import replay
from pipeline.sharing import block, coalesce, share_to
from operators import lines
def slow(line):
    time.sleep(0.01)
    print(line.decode(), flush=True)
replay(b"".join(b"%d\\n" % number for number in range(20))).pipe(lines(), share_to(block(slow))).subscribe()
"""
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONG, check=True)
    assert run.stdout.split() == [str(number) for number in range(20)]
