"""What the tests share: the ways in which one chain can be run, and what its subscriber saw."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from reactivex import Observable, Subject, abc
from reactivex.disposable import BooleanDisposable, Disposable
from reactivex.scheduler import CurrentThreadScheduler

from operators import (
    Lanes,
    Message,
    Operator,
    Spy,
    StreamError,
    ToolCall,
    chunks,
    deltas,
    event_stream,
    lines,
    message,
    payloads,
    select,
    sse,
    tool_calls,
    watched_by,
)

COMPLETED = "completed"
"""The end of a stream that completes; an exception is one that breaks, None one that goes on."""


@dataclass
class Seen(abc.ObserverBase[Any]):
    """A subscriber that writes down what it gets."""

    values: list[Any] = field(default_factory=list)
    end: Any = None
    ends: int = 0

    def on_next(self, value: Any) -> None:
        assert not self.ends, f"{value!r} came after the end"
        self.values.append(value)

    def on_error(self, error: Exception) -> None:
        self.end, self.ends = error, self.ends + 1

    def on_completed(self) -> None:
        self.end, self.ends = COMPLETED, self.ends + 1

    @property
    def completed(self) -> bool:
        return self.ends == 1 and self.end == COMPLETED


class Cold(Observable[Any]):
    """Emits on the scheduler given to subscribe, else on the current thread's, as a good source does."""

    def __init__(self, values: Iterable[Any], end: Any = COMPLETED) -> None:
        super().__init__()
        self.values, self.end = values, end
        self.left: BooleanDisposable | None = None

    def _subscribe_core(self, observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        self.left = left = BooleanDisposable()

        def emit(*_: object) -> None:
            for value in self.values:
                if left.is_disposed:
                    return
                observer.on_next(value)
            tell_end(observer, self.end)

        (scheduler or CurrentThreadScheduler.singleton()).schedule(emit)
        return left


class Inside(Observable[Any]):
    """Emits everything inside subscribe, before anybody could dispose: a foreign source that knows no scheduler."""

    def __init__(self, values: Iterable[Any], end: Any = COMPLETED) -> None:
        super().__init__()
        self.values, self.end = values, end

    def _subscribe_core(self, observer: abc.ObserverBase[Any], scheduler: Any = None) -> abc.DisposableBase:
        for value in self.values:
            observer.on_next(value)
        tell_end(observer, self.end)
        return Disposable()


def tell_end(observer: Any, end: Any) -> None:
    if isinstance(end, Exception):
        observer.on_error(end)
    elif end is not None:
        observer.on_completed()


def parts(operator: Operator[Any, Any]) -> list[Operator[Any, Any]]:
    """An operator as its single stages."""
    return [Operator((name,), (kernel,)) for name, kernel in zip(operator.names, operator.kernels, strict=True)]


def fused(source: Observable[Any], *operators: Any) -> Observable[Any]:
    return source.pipe(*operators)


def unfused(source: Observable[Any], *operators: Any) -> Observable[Any]:
    """The same chain with an Observable that does nothing between every two stages, so that each stage is a run."""
    stages = [stage for made in operators for stage in (parts(made) if isinstance(made, Operator) else [made])]
    for stage in stages[:-1]:
        source = identity(stage(source))
    return stages[-1](source) if stages else source


def identity(source: Observable[Any]) -> Observable[Any]:
    return Observable(lambda observer, scheduler: source.subscribe(observer, scheduler=scheduler))


class Onlooker(Spy, Lanes):
    """Sees every stage and minds nothing."""

    def chain(self, stages: tuple[str, ...]) -> Lanes:
        return self


@dataclass(frozen=True)
class Way:
    """One way to run a chain: how its stages are joined, what kind of source it has, who looks on."""

    name: str
    join: Callable[..., Observable[Any]] = fused
    source: Callable[[Sequence[Any], Any], Observable[Any]] = Cold
    spy: Spy | None = None
    hot: bool = False

    def run(
        self, values: Iterable[Any], *operators: Any, end: Any = COMPLETED, to: Any = None, scheduler: Any = None
    ) -> Any:
        """Run the values and the end through the operators; returns the subscriber, a `Seen` unless `to` is given."""
        to = Seen() if to is None else to
        values = list(values)
        source: Any = Subject() if self.hot else self.source(values, end)
        with watched_by(self.spy):
            self.join(source, *operators).subscribe(to, scheduler=scheduler)
            if self.hot:
                for value in values:
                    source.on_next(value)
                tell_end(source, end)
        return to


WAYS = (
    Way("fused"),
    Way("unfused", join=unfused),
    Way("watched", spy=Onlooker()),
    Way("hot", hot=True),
    Way("inside", source=Inside),
)
LEAVABLE = WAYS[:-1]
"""The ways in which a subscriber can leave while the source emits: one inside subscribe can only be ignored."""


def cuts(body: bytes, size: int) -> list[bytes]:
    """The body in reads of `size` bytes."""
    return [body[at : at + size] for at in range(0, len(body), size)]


def cut_at(body: bytes, places: Iterable[int]) -> list[bytes]:
    """The body cut at these places, some reads of which may be empty."""
    edges = [0, *sorted(min(place, len(body)) for place in places), len(body)]
    return [body[start:end] for start, end in pairwise(edges)]


DECODE = (event_stream(), lines(), sse(), payloads(), chunks(), deltas())
"""From bytes to events, stage by stage."""


def body_of(*said: dict[str, Any] | str | bytes, done: bool = True) -> bytes:
    """An event stream: one event for each payload, with [DONE] at its end."""
    texts = [payload if isinstance(payload, bytes) else _text(payload).encode() for payload in said]
    return b"".join(b"data: " + text + b"\n\n" for text in [*texts, *([b"[DONE]"] if done else [])])


def _text(payload: dict[str, Any] | str) -> str:
    return payload if isinstance(payload, str) else json.dumps(payload)


def chunk(delta: Any = None, finish: Any = None, *, choice: int = 0, **more: Any) -> dict[str, Any]:
    """A chunk with one choice; what is more stands beside `choices`."""
    return {
        "id": "c1",
        "model": "m",
        "choices": [{"index": choice, "delta": delta or {}, "finish_reason": finish}],
    } | more


def call(index: Any = 0, id: Any = None, name: Any = None, arguments: Any = None, **more: Any) -> dict[str, Any]:  # noqa: A002
    """A chunk with one piece of a tool call; None leaves a key out, ... sends null."""
    function = {"name": name, "arguments": arguments}
    piece = {"index": index, "id": id, "function": _without_none(function)} | more
    return chunk({"tool_calls": [_without_none(piece)]})


def _without_none(given: dict[str, Any]) -> dict[str, Any]:
    return {name: None if value is ... else value for name, value in given.items() if value is not None}


FINISHED = chunk(finish="tool_calls")


def events_of(*said: dict[str, Any] | str | bytes, done: bool = True, end: Any = COMPLETED, to: Any = ()) -> Seen:
    """The events of a body, the same whole, byte by byte and in reads of seven bytes."""
    body = body_of(*said, done=done)
    whole: Seen
    whole, *others = (WAYS[0].run(reads, *DECODE, *to, end=end) for reads in ([body], cuts(body, 1), cuts(body, 7)))
    for other in others:
        assert (other.values, type(other.end), str(other.end)) == (whole.values, type(whole.end), str(whole.end))
    return whole


def answer_of(*said: dict[str, Any] | str | bytes, **how: Any) -> Message:
    """The Message of the first choice; of a stream that broke, as far as it came."""
    seen = events_of(*said, to=(message(),), **how)
    found: Sequence[Message] = seen.end.partial if isinstance(seen.end, StreamError) else seen.values
    return found[0]


def calls_of(*said: dict[str, Any] | str | bytes, **how: Any) -> list[tuple[str, str, str, bool]]:
    """The tool calls of the first choice, each as id, name, arguments and complete; tool_calls() tells the same ones."""
    whole = answer_of(*said, **how).tool_calls
    told = events_of(*said, to=(tool_calls(), select(ToolCall)), **how).values
    assert [made for made in whole if made.complete] == [made for made in told if made.choice == 0]
    return [(made.id, made.name, made.arguments, made.complete) for made in whole]
