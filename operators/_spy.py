"""The one hook for those who look on: recorders, metrics, probes, tracing.

A subscription asks for a spy once, when it is made, and keeps it. Without one nothing is wrapped and nothing is paid.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import ParamSpec

P = ParamSpec("P")


class Lanes:
    """Sees the stages of one subscription. Lane 0 is what enters the first stage, lane n what the n-th stage emits.

    Every method does nothing here: override what you need. An exception raised in one is the onlooker's bug and
    reaches the producer, as a subscriber's would.
    """

    def subscribed(self) -> None:
        """All that is above has been subscribed; chains opened until now by this subscription lie upstream of it."""

    def on_next(self, lane: int, value: object) -> None:
        """A value passes, before the stage below has seen it."""

    def returned(self, lane: int) -> None:
        """The stage below is done with the value, and so is everything under it."""

    def on_error(self, lane: int, error: Exception) -> None:
        """The lane ends with an error."""

    def on_completed(self, lane: int) -> None:
        """The lane completes."""

    def disposed(self) -> None:
        """The subscriber left before the stream had ended."""


class Spy:
    """Sees what happens under `with watched_by(spy): ...subscribe(...)`, and in all that is subscribed from there.

    Every method does nothing here: override what you need. A source calls `request`, `response`, `read` and `closed`
    in this order on one spy; a retry or a tool loop first asks it for a `scope`, so that streams, attempts and rounds
    that run at once can be told apart.

    Headers reach a spy with their secrets already replaced.
    """

    def scope(self, kind: str, number: int) -> Spy:
        """The spy for one numbered part of what is seen: kind is "stream", "attempt", "round" or "source"."""
        return self

    def chain(self, stages: tuple[str, ...]) -> Lanes | None:
        """A chain of stages is subscribed; answer with who is to see its lanes, or None."""
        return None

    def secrets(self, values: Sequence[str]) -> None:
        """What the request that follows holds that must not be shown: the values of its headers that are secret."""

    def request(self, method: str, url: str, headers: Mapping[str, str], body: object) -> None:
        """A request is about to be sent."""

    def response(self, status: int, headers: Mapping[str, str]) -> None:
        """The head of the response has come."""

    def read(self, data: bytes) -> None:
        """One read of the body, just as it came."""

    def closed(self, error: Exception | None) -> None:
        """The source is done: at its end, finished early or disposed (None), or broken."""

    def tool(self, name: str, id: str) -> Callable[[Exception | None], None] | None:
        """A tool starts to run; the answer, if any, is called when it has ended, with what it raised."""
        return None


class Spies(Spy):
    """Several spies as one."""

    def __init__(self, *spies: Spy) -> None:
        self._spies = spies

    def scope(self, kind: str, number: int) -> Spy:
        return Spies(*(spy.scope(kind, number) for spy in self._spies))

    def chain(self, stages: tuple[str, ...]) -> Lanes | None:
        found = [lanes for spy in self._spies if (lanes := spy.chain(stages)) is not None]
        return found[0] if len(found) == 1 else _AllLanes(found) if found else None

    def secrets(self, values: Sequence[str]) -> None:
        for spy in self._spies:
            spy.secrets(values)

    def request(self, method: str, url: str, headers: Mapping[str, str], body: object) -> None:
        for spy in self._spies:
            spy.request(method, url, headers, body)

    def response(self, status: int, headers: Mapping[str, str]) -> None:
        for spy in self._spies:
            spy.response(status, headers)

    def read(self, data: bytes) -> None:
        for spy in self._spies:
            spy.read(data)

    def closed(self, error: Exception | None) -> None:
        for spy in self._spies:
            spy.closed(error)

    def tool(self, name: str, id: str) -> Callable[[Exception | None], None] | None:
        told = [tell for spy in self._spies if (tell := spy.tool(name, id)) is not None]

        def tell_all(error: Exception | None) -> None:
            for tell in told:
                tell(error)

        return tell_all if told else None


class _AllLanes(Lanes):
    def __init__(self, lanes: Sequence[Lanes]) -> None:
        self._lanes = lanes

    def subscribed(self) -> None:
        for lanes in self._lanes:
            lanes.subscribed()

    def on_next(self, lane: int, value: object) -> None:
        for lanes in self._lanes:
            lanes.on_next(lane, value)

    def returned(self, lane: int) -> None:
        for lanes in self._lanes:
            lanes.returned(lane)

    def on_error(self, lane: int, error: Exception) -> None:
        for lanes in self._lanes:
            lanes.on_error(lane, error)

    def on_completed(self, lane: int) -> None:
        for lanes in self._lanes:
            lanes.on_completed(lane)

    def disposed(self) -> None:
        for lanes in self._lanes:
            lanes.disposed()


_spy: ContextVar[Spy | None] = ContextVar("rxchat.spy", default=None)

current_spy = _spy.get


@contextmanager
def watched_by(spy: Spy | None) -> Iterator[None]:
    """Subscriptions made inside, and those that they make later, are seen by `spy`; None: by nobody."""
    if spy is _spy.get():  # most often None: what begins in here keeps a context, which would be one more
        yield
        return
    token = _spy.set(spy)
    try:
        yield
    finally:
        _spy.reset(token)


def under(spy: Spy | None, callback: Callable[P, None]) -> Callable[P, None]:
    """The callback, with `spy` in force while it runs: what it subscribes is seen too. Costs nothing without a spy."""
    if spy is None:
        return callback

    def watched(*args: P.args, **kwargs: P.kwargs) -> None:
        token = _spy.set(spy)
        try:
            callback(*args, **kwargs)
        finally:
            _spy.reset(token)

    return watched
