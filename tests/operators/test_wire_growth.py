"""What came before makes nothing dearer, whatever it was: eight times as much of it costs about eight times as much."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable
from typing import Any

import pytest

from operators import arguments, message, think_tags
from pipeline import decode
from tests.support import WAYS, body_of, call, chunk, cuts

pytestmark = pytest.mark.slow

TIMES = 8
MOST = 2.5
"""By how much an item of the long stream may be dearer: what is quadratic comes close to TIMES."""

END = body_of(chunk({"content": "x"}), chunk(finish="stop"))


def event(*said: dict[str, Any]) -> bytes:
    return body_of(*said, done=False)


def seconds(body: bytes, size: int, stages: tuple[Any, ...]) -> float:
    """Of the processor, so that what else runs here counts little."""
    reads = cuts(body, size)
    took = []
    gc.collect()
    gc.disable()  # the values that are kept make a collection dearer
    try:
        for _ in range(2):
            began = time.process_time()
            assert WAYS[0].run(reads, decode(), *stages).values
            took.append(time.process_time() - began)
    finally:
        gc.enable()
    return min(took)


def is_linear(make: Callable[[int], bytes], count: int, size: int = 65536, *stages: Any) -> None:
    short, long = (seconds(make(n), size, stages) for n in (count, TIMES * count))
    assert long < MOST * TIMES * short, f"an item costs {long / TIMES / short:.1f} times as much"


READS: dict[str, tuple[Callable[[int], bytes], int, int]] = {
    "a line in small reads": (lambda n: event(chunk({"content": "x" * n})) + END, 100_000, 32),
    "blanks before the first field, byte by byte": (lambda n: b"\n" * n + END, 10_000, 1),
    "lines that are empty, byte by byte": (lambda n: event(chunk({"content": "x"})) + b"\n" * n + END, 10_000, 1),
    "comments": (lambda n: b": ping\n\n" * n + END, 8000, 64),
    "lines of data of one event": (lambda n: b'data: {"n":[1\n' + b"data: ,1\n" * n + b"data: ]}\n\n" + END, 3000, 64),
    "JSON body, byte by byte": (
        lambda n: b'{"choices":[{"message":{"content":"' + b"x" * n + b'"},"finish_reason":"stop"}]}',
        10_000,
        1,
    ),
    "quotes and backslashes in JSON that is no JSON": (
        lambda n: event(chunk({"content": "x"})) + b"data: " + b"[" * 300 + b'"' + rb"\"" * n + b"\n\n",
        50_000,
        65536,
    ),
}


@pytest.mark.parametrize(("make", "count", "size"), READS.values(), ids=READS)
def test_reads_and_lines(make: Callable[[int], bytes], count: int, size: int) -> None:
    """In any number, long or short."""
    is_linear(make, count, size)


CHUNKS: dict[str, tuple[Callable[[int], bytes], int]] = {
    "details of reasoning": (
        lambda n: event(*(chunk({"reasoning_details": [{"index": i, "text": "x"}]}) for i in range(n))) + END,
        700,
    ),
    "details of reasoning in one long text": (
        lambda n: event(chunk({"reasoning_details": [{"index": 0, "text": "x" * 2000}]})) * n + END,
        500,
    ),
    "choices without an index in one chunk": (
        lambda n: event({"choices": [{"delta": {"content": "x"}}] * n}) + END,
        700,
    ),
    "pieces of arguments": (
        lambda n: event(call(0, "a", "f", '{"x":"')) + event(call(0, arguments="é")) * n + END,
        700,
    ),
    "tool calls": (lambda n: event(*(call(i, f"c{i}", "f", "{}") for i in range(n))) + END, 700),
    "tool calls without an index": (lambda n: event(call(None, None, "f", "{}")) * n + END, 700),
    "tool calls in one chunk": (
        lambda n: (
            event(chunk({"tool_calls": [{"index": i, "function": {"name": "f", "arguments": "{}"}} for i in range(n)]}))
            + END
        ),
        700,
    ),
    "choices": (lambda n: event(*(chunk({"content": "x"}, "stop", choice=i) for i in range(n))), 700),
    "halves of characters": (lambda n: event(chunk({"content": "a\ud83d"})) * n + END, 700),
    "ids": (lambda n: event(*(chunk({"content": "x"}) | {"id": f"c{i}"} for i in range(n))) + END, 1500),
    "annotations": (lambda n: event(chunk({"annotations": [{"a": 1}]})) * n + END, 1000),
    "logprobs": (
        lambda n: event({"choices": [{"index": 0, "delta": {}, "logprobs": {"content": [{"token": "x"}]}}]}) * n + END,
        700,
    ),
    "what might be a tag": (lambda n: event(chunk({"content": "<thin"})) * n + END, 1000),
}


@pytest.mark.parametrize(("make", "count"), CHUNKS.values(), ids=CHUNKS)
def test_chunks(make: Callable[[int], bytes], count: int) -> None:
    """Whatever they add to, with all that reads them."""
    is_linear(make, count, 65536, think_tags(anywhere=True), arguments(), message())
