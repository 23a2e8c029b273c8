"""What came before must not make the next item dearer: cost per item of short and long streams, and memory over a long one.

    python tests/bench/bench_growth.py [--quick]

Ratios are of the cost per item, long stream over short, from the medians of runs in turn.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
import tracemalloc
from collections.abc import Callable, Iterator

from operators import arguments, message, tool_calls
from pipeline import decode, replay
from reactivex import Observable

READ = 64 * 1024


def text_body(events: int) -> bytes:
    """One character an event."""
    return _event({"content": "x"}) * events + _end("stop")


def tool_body(fragments: int) -> bytes:
    """One tool call whose arguments are a list of numbers, four characters a fragment."""
    opener = {"tool_calls": [{"index": 0, "id": "call_1", "function": {"name": "f", "arguments": '{"a":[1'}}]}
    piece = {"tool_calls": [{"index": 0, "function": {"arguments": ",123"}}]}
    last = {"tool_calls": [{"index": 0, "function": {"arguments": "]}"}}]}
    return _event(opener) + _event(piece) * fragments + _event(last) + _end("tool_calls")


def _event(delta: dict[str, object], finish: str | None = None) -> bytes:
    chunk = {"id": "c", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"


def _end(reason: str) -> bytes:
    return _event({}, reason) + b"data: [DONE]\n\n"


def seconds(stream: Observable[object]) -> float:
    gc.collect()
    gc.disable()
    began = time.perf_counter()
    stream.subscribe(lambda _: None)
    took = time.perf_counter() - began
    gc.enable()
    return took


def growth(
    make: Callable[[int], bytes], short: int, long: int, below: Callable[[Observable[bytes]], Observable[object]], runs: int
) -> float:
    """Cost per item of the long stream over that of the short one."""
    bodies = {size: replay(make(size), READ) for size in (short, long)}
    took: dict[int, list[float]] = {short: [], long: []}
    for _ in range(runs):
        for size, body in bodies.items():
            took[size].append(seconds(below(body)) / size)
    return statistics.median(took[long]) / statistics.median(took[short])


def peak_of(events: int) -> tuple[int, int]:
    """Bytes held at the peak of the first tenth and of the whole of a stream that nobody keeps."""
    piece = _event({"content": "x"}) * 500
    peaks: list[int] = []

    def reads() -> Iterator[bytes]:
        for n in range(events // 500):
            if n == events // 5000:
                peaks.append(tracemalloc.get_traced_memory()[1])
                tracemalloc.reset_peak()
            yield piece
        yield _end("stop")

    class Reads:
        def __iter__(self) -> Iterator[bytes]:
            return reads()

    tracemalloc.start()
    replay(Reads()).pipe(decode(), tool_calls()).subscribe(lambda _: None)
    peaks.append(tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    return peaks[0], peaks[1]


def main() -> None:
    quick = "--quick" in sys.argv
    runs, scale = (3, 10) if quick else (7, 1)
    cases: list[tuple[str, Callable[[int], bytes], int, int, Callable[[Observable[bytes]], Observable[object]]]] = [
        ("text deltas, decode", text_body, 25_000, 100_000, lambda body: body.pipe(decode())),
        ("text deltas, message", text_body, 25_000, 100_000, lambda body: body.pipe(decode(), message())),
        ("argument fragments, decode", tool_body, 20_000, 80_000, lambda body: body.pipe(decode())),
        ("argument fragments, message", tool_body, 20_000, 80_000, lambda body: body.pipe(decode(), tool_calls(), message())),
        ("argument fragments, arguments", tool_body, 20_000, 80_000, lambda body: body.pipe(decode(), arguments())),
    ]
    worst = 0.0
    for name, make, short, long, below in cases:
        ratio = growth(make, short // scale, long // scale, below, runs)
        worst = max(worst, ratio)
        print(f"{name:>32}: {long // scale:,} items cost {ratio:.2f} × as much per item as {short // scale:,}")
    events = 100_000 if quick else 1_000_000
    first, whole = peak_of(events)
    print(f"{'memory that nobody accumulates':>32}: {whole / 1024:,.0f} KiB at the peak of {events:,} events, {first / 1024:,.0f} KiB in the first tenth")
    if quick and (worst > 2.6 or whole > 2 * first + 65_536):
        sys.exit("cost or memory grows with what came before")


if __name__ == "__main__":
    main()
