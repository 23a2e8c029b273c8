"""What parsing costs: decode() against a plain hand-written loop over the same reads, in one run.

    python tests/bench/bench_parse.py [--quick]

The plain loop is the floor: it splits at blank lines, takes the `data: ` prefix off, decodes with a typed msgspec decoder
and hands the text on; it knows none of the wire's oddities. Both are run in turn, many times; ratios are of medians.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable, Iterable

import msgspec
from pipeline import decode, replay
from reactivex.subject import Subject


class _Delta(msgspec.Struct):
    content: str | None = None


class _Choice(msgspec.Struct):
    delta: _Delta


class _Chunk(msgspec.Struct):
    choices: list[_Choice]


def body(events: int) -> bytes:
    """A text-heavy stream: about 300 bytes an event, as OpenAI sends them."""
    chunk = {
        "id": "chatcmpl-9vXcD3FhJkLmNoPqRsTuVwXyZ01",
        "object": "chat.completion.chunk",
        "created": 1_790_000_000,
        "model": "gpt-4o-mini-2024-07-18",
        "service_tier": "default",
        "system_fingerprint": "fp_0123456789",
        "choices": [{"index": 0, "delta": {"content": " word"}, "logprobs": None, "finish_reason": None}],
        "obfuscation": "aBcDeFgH",
    }
    event = b"data: " + json.dumps(chunk, separators=(",", ":")).encode() + b"\n\n"
    return event * events + b"data: [DONE]\n\n"


def plain_loop(reads: Iterable[bytes], on_text: Callable[[str], None]) -> None:
    chunk_of = msgspec.json.Decoder(_Chunk).decode
    rest = b""
    for read in reads:
        *events, rest = (rest + read).split(b"\n\n")
        for event in events:
            payload = event[6:]
            if payload == b"[DONE]":
                return
            for choice in chunk_of(payload).choices:
                text = choice.delta.content
                if text:
                    on_text(text)


def ours(reads: Iterable[bytes], on_event: Callable[[object], None]) -> None:
    replay(reads).pipe(decode()).subscribe(on_event)


def cut(whole: bytes, size: int | None) -> list[bytes]:
    if size is None:
        return [event + b"\n\n" for event in whole.split(b"\n\n") if event]
    return [whole[at : at + size] for at in range(0, len(whole), size)]


def ratio(reads: list[bytes], runs: int = 15) -> tuple[float, float]:
    """Our time over the floor's, and the floor's in seconds: medians of runs in turn."""
    times: dict[str, list[float]] = {"plain": [], "ours": []}
    ignore: Callable[[object], None] = lambda _: None  # noqa: E731
    for _ in range(runs):
        for name, run in (("plain", plain_loop), ("ours", ours)):
            gc.collect()
            gc.disable()
            began = time.perf_counter()
            run(reads, ignore)
            times[name].append(time.perf_counter() - began)
            gc.enable()
    ratios = [mine / floor for mine, floor in zip(times["ours"], times["plain"], strict=True)]
    return statistics.median(ratios), statistics.median(times["plain"])


TARGETS = {"16 KiB a read": 2.6, "1,460 bytes a read": 2.7, "one event a read": 2.7}


def main() -> None:
    quick = "--quick" in sys.argv
    events = 2_000 if quick else 10_000
    whole = body(events)
    worst = 0.0
    for name, size in (("16 KiB a read", 16_384), ("1,460 bytes a read", 1_460), ("one event a read", None)):
        found, floor = ratio(cut(whole, size), runs=7 if quick else 15)
        worst = max(worst, found / TARGETS[name])
        print(f"{name:>20}: decode() costs {found:.2f} × the plain loop ({floor / events * 1e6:.2f} µs an event)")
    if quick and worst > 2:
        sys.exit("a ratio is worse than twice its target")


if __name__ == "__main__":
    main()
