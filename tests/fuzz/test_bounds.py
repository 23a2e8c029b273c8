"""Bodies without end: with the limits set they end in `limit`, and never take more memory than those allow."""

from __future__ import annotations

import itertools
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from reactivex import operators as ops

from operators import (
    LimitExceeded,
    chunks,
    deltas,
    event_stream,
    limit_bytes,
    limit_text,
    limit_tokens,
    lines,
    payloads,
    sse,
)
from tests.support import Cold, Seen, body_of, call, chunk

LIMIT = 200_000
READ = 8192
MOST = 8_000_000
"""Bytes: some copies of what a limit allows, and the machinery; far less than what the bodies would fill."""

CHAIN = (event_stream(limit=LIMIT), lines(limit=LIMIT), sse(limit=LIMIT), payloads(), chunks(), deltas())
WORD = chunk({"content": "word "})


def endless(head: bytes, body: bytes) -> Callable[[], Iterator[bytes]]:
    """100 MB: without end, for a test."""
    many = body * (READ // len(body) + 1)
    return lambda: itertools.chain([head], itertools.repeat(many, 100_000_000 // len(many)))


def run(reads: Iterator[bytes], *stages: Any) -> tuple[Seen, int, int]:
    """What it came to, how many events that were, and how much memory it took at most."""
    seen = Seen()
    count = 0

    def counted(_: Any) -> None:
        nonlocal count
        count += 1

    tracemalloc.start()
    try:
        source: Any = Cold(reads)
        source.pipe(*stages, ops.do_action(counted), ops.ignore_elements()).subscribe(seen)
        return seen, count, tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(
    ("reads", "stages"),
    [
        pytest.param(endless(b"data: ", b"x"), CHAIN, id="a line"),
        pytest.param(endless(b": ", b"x"), CHAIN, id="a comment"),
        pytest.param(endless(b'data: {"a":\n', b'data: "x"\n'), CHAIN, id="an event"),
        pytest.param(endless(b"", b"data:\n"), CHAIN, id="an event of empty lines"),
        pytest.param(endless(b"{", b'"a":[1,'), CHAIN, id="a JSON body"),
        pytest.param(endless(b"", body_of(WORD, done=False)), (*CHAIN, limit_text(LIMIT // 4)), id="text"),
        pytest.param(
            endless(b"", body_of(call(0, "a", "f", '{"x":'), done=False)),
            (*CHAIN, limit_tokens(LIMIT // 4, len)),
            id="arguments",
        ),
        pytest.param(endless(b": ", b"x\n\n: "), (limit_bytes(LIMIT), *CHAIN), id="heartbeats"),
    ],
)
def test_a_body_without_end_ends_in_limit(reads: Callable[[], Iterator[bytes]], stages: tuple[Any, ...]) -> None:
    """Wherever it grows."""
    seen, _, peak = run(reads(), *stages)
    assert isinstance(seen.end, LimitExceeded)
    assert peak < MOST


@pytest.mark.slow
@pytest.mark.parametrize("noise", [b": x\n", b"\n", b"data:\n\n", b"id: 7\n\n", b"event: ping\ndata: null\n\n"])
def test_heartbeats_take_no_memory(noise: bytes) -> None:
    """4 MB of them, and nothing is kept."""
    many = noise * (READ // len(noise))
    _, count, peak = run(iter([many] * 500), *CHAIN)
    assert count == 0
    assert peak < MOST
