"""Whatever is subscribed → what happened in it, stage by stage."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self

from reactivex import abc

from operators import Lanes, Spy, current_spy, watched_by
from operators._spy import Spies
from pipeline.probing._preview import SHOWN, preview
from pipeline.probing._seen import End, Item, Sign, Strand, ToolRun
from pipeline.probing._watch import Clocks, Thread, Watch

if TYPE_CHECKING:
    from pipeline.probing._explain import Explained
    from pipeline.probing._marbles import Marbles, Theme

STRANDS = 256
"""Subscriptions that are looked at; more of them are only counted."""

_IN_FULL = 16  # of these, `limit` items a lane are kept; of each one after them a 16th of that


def probe(
    *,
    limit: int = 4096,
    clock: Callable[[], float] | abc.SchedulerBase = time.monotonic,
    timer: Callable[[], float] = time.perf_counter,
) -> Probe:
    r"""From whatever is subscribed inside to what passed each stage, when, caused by what, and how it ended.

    A context manager. Whatever is subscribed inside, and in the course of that, is seen to its end, even if that comes
    after the `with`: ready-made chains, attempts and rounds too. Nothing that is emitted is changed. Stock operators are
    the edges between the chains that it sees. The result can be read at any time.

    Of each lane the first and the last items are kept, at most `limit`, and of each item the start of what it says; the
    counts go on. `clock` gives the times: seconds, or the scheduler whose time it is, so that virtual time is
    shown as such. `timer` gives the seconds that stages take for themselves. Raises ValueError for a limit below 2.

    >>> from operators import lines
    >>> from pipeline import replay
    >>> with probe(clock=lambda: 0) as seen:
    ...     replay(b"data: 1\n\n", 4).pipe(lines()).subscribe() and None
    >>> print(seen)
    reads    ●●●|   3 · 9 B
    lines()  ─··|   2 · 7 B
    · bytes, ● read
    """
    if limit < 2:
        raise ValueError(f"probe(limit=…) is a number of items of at least 2, not {limit}")
    return Probe(limit, _seconds(clock), timer)


def _seconds(clock: Callable[[], float] | abc.SchedulerBase) -> Callable[[], float]:
    if isinstance(clock, abc.SchedulerBase):
        scheduler = clock
        return lambda: scheduler.to_seconds(scheduler.now)
    return clock


class Probe:
    """What `probe()` makes, and what it has seen so far."""

    def __init__(self, limit: int, clock: Callable[[], float], timer: Callable[[], float]) -> None:
        self.strands: list[Strand] = []
        self.signs: list[Sign] = []
        self.tools: list[ToolRun] = []
        self.unseen = 0  # subscriptions that were one too many
        self.limit = limit
        self.clocks = Clocks(clock, timer)
        self.thread = Thread()
        self._left = ExitStack()
        self._entered = False

    def __enter__(self) -> Self:
        if self._entered:
            raise RuntimeError("this probe looks on already: a second `with` inside its own would count all twice")
        self._entered = True
        looking, own = current_spy(), _Scope(self, ())
        self._left.enter_context(watched_by(own if looking is None else Spies(looking, own)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._entered = False
        self._left.close()

    @property
    def began(self) -> float:
        """When the first thing happened."""
        return self.strands[0].opened.at if self.strands else 0.0

    def open(self, names: tuple[str, ...], scope: tuple[str, ...]) -> Strand | None:
        """A new strand, unless there are too many."""
        if len(self.strands) >= STRANDS:
            self.unseen += 1
            return None
        number = len(self.strands)
        limit = self.limit if number < _IN_FULL else max(self.limit // _IN_FULL, 2)
        strand = Strand(number, names, scope, self.clocks.moment(), limit)
        if self.thread.frames:
            strand.cause = self.thread.frames[-1].item.seq
        if self.thread.opening:
            strand.within = self.thread.opening[-1].strand.number
        self.strands.append(strand)
        return strand

    def frozen(self) -> list[Strand]:
        """What it has seen, as it is now: it may go on while it is drawn. What one of them feeds is among them, too."""
        return [strand.frozen() for strand in self.strands]

    @property
    def running(self) -> bool:
        """Something that was subscribed has not ended yet."""
        return any(strand.end is None for strand in self.strands)

    def marbles(
        self,
        *,
        stages: Iterable[str] | Literal["all"] | None = None,
        width: int | None = None,
        theme: Theme = "auto",
    ) -> Marbles:
        """The picture of it; see `Marbles`."""
        from pipeline.probing._marbles import Marbles

        return Marbles(self, stages=stages, width=width, theme=theme)

    def explain(self) -> Explained:
        """The table of it; see `explain()`."""
        from pipeline.probing._explain import Explained

        return Explained(self)

    def __repr__(self) -> str:
        items = sum(lane.count for strand in self.strands for lane in strand.lanes)
        return f"<probe: {items} items on {sum(len(strand.lanes) for strand in self.strands)} lanes>"

    def __str__(self) -> str:
        return str(self.marbles())

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return self.marbles()._repr_mimebundle_(**options)


class _Scope(Spy):
    """Sees one part of what is probed: all of it, a stream, an attempt, a round."""

    def __init__(self, probe: Probe, scope: tuple[str, ...]) -> None:
        self._probe, self._scope = probe, scope

    def scope(self, kind: str, number: int) -> Spy:
        if kind == "source":
            return _Source(self._probe, self._scope)
        named = (*self._scope, f"{kind} {number}") if kind != "stream" else self._scope  # numbered over all the process
        return _Scope(self._probe, named)

    def chain(self, stages: tuple[str, ...]) -> Lanes | None:
        strand = self._probe.open(("in", *stages), self._scope)
        return None if strand is None else Watch(strand, self._probe.clocks, self._probe.thread)

    def tool(self, name: str, id: str) -> Callable[[Exception | None], None] | None:  # noqa: A002
        if len(self._probe.tools) >= self._probe.limit:
            return None
        run = ToolRun(name[:80], id[:80], self._probe.clocks.moment())
        self._probe.tools.append(run)

        def ended(error: Exception | None) -> None:
            run.ended = self._probe.clocks.moment()
            run.error = "" if error is None else type(error).__name__

        return ended


class _Source(Spy):
    """Sees one source, from when it is subscribed."""

    def __init__(self, probe: Probe, scope: tuple[str, ...]) -> None:
        self._probe = probe
        self._strand = probe.open(("reads",), scope)

    def request(self, method: str, url: str, headers: Mapping[str, str], body: object) -> None:  # noqa: ARG002
        self._sign(method)

    def response(self, status: int, headers: Mapping[str, str]) -> None:  # noqa: ARG002
        self._sign(str(status))

    def _sign(self, text: str) -> None:
        if self._strand is not None:
            self._probe.signs.append(Sign(self._probe.clocks.moment(), self._strand.number, text))

    def read(self, data: bytes) -> None:
        if self._strand is None:
            return
        thread = self._probe.thread
        said = preview(data)
        seq, at = self._probe.clocks.moment()
        cause = thread.frames[-1].item.seq if thread.frames else None
        item = Item(seq, at, "read", said.text, said.size, cause)
        self._strand.lanes[0].add(item)
        thread.read = (self._strand, item, data)

    def closed(self, error: Exception | None) -> None:
        if self._strand is not None:
            moment = self._probe.clocks.moment()
            kind = getattr(error, "kind", type(error).__name__)
            self._strand.lanes[0].end = (
                End(*moment, "completed") if error is None else End(*moment, "error", kind, str(error)[:SHOWN])
            )
