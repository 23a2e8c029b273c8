"""Timeouts of a completion: each has its phase, keeps the partial, and blames the stream only for its own time."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from reactivex import Subject
from reactivex import operators as ops

from operators import Event, LimitExceeded, StreamTimeout, TextDelta, Usage
from pipeline import Retry, Timeouts, completion, iterate, run_tools
from pipeline.chat._patience import Patience, patient
from tests.pipeline.wire import (
    ANSWER,
    DONE,
    HEARTBEAT,
    Call,
    Kind,
    Script,
    WireServer,
    says_and_waits,
    says_nothing,
    text,
)
from tests.support.timing import LONG, SOON, in_real_time, soon

BODY = {"model": "m", "messages": []}
ONCE = Retry(attempts=1)


def heartbeats_after(*reads: bytes) -> Script:
    """What is given, then heartbeats until the client leaves: alive, but it says nothing."""

    def script(call: Call) -> None:
        call.head()
        call.send(*reads)
        deadline = time.monotonic() + LONG
        try:
            while time.monotonic() < deadline:
                call.send(HEARTBEAT)
                call.server.gone.wait(0.01)
        except OSError:
            call.server.gone.set()

    return script


@pytest.mark.parametrize(
    ("script", "phase", "partial"),
    [
        pytest.param(says_nothing, "first", [], id="first"),
        pytest.param(says_and_waits(text("Hel")), "idle", ["Hel"], id="idle"),
        pytest.param(heartbeats_after(), "first_content", [], id="first_content"),
        pytest.param(heartbeats_after(text(None)), "first_content", [""], id="Started is no content"),
        pytest.param(says_nothing, "first_content", [], id="first_content, before the head"),
        pytest.param(heartbeats_after(text("Hel")), "idle_content", ["Hel"], id="idle_content"),
        pytest.param(says_and_waits(text("Hel")), "idle_content", ["Hel"], id="idle_content, silent"),
    ],
)
def test_each_has_its_phase_and_keeps_the_partial(kind: Kind, script: Script, phase: str, partial: list[str]) -> None:
    @in_real_time
    def _(unit: float) -> None:
        limits: Any = {phase: 2 * unit}
        with WireServer(script) as server, soon():
            sub = kind.run(
                lambda client: completion(
                    BODY, base_url=server.url, client=client, timeouts=Timeouts(**limits), retry=ONCE
                )
            )
            assert server.gone.wait(LONG)
        error = sub.end
        assert isinstance(error, StreamTimeout)
        assert (error.phase, error.kind, error.retryable) == (phase, "timeout", True)
        assert [found.text for found in error.partial] == partial


def test_a_timeout_before_any_output_is_tried_again(kind: Kind) -> None:
    def second(call: Call) -> None:
        call.answer(ANSWER)

    with WireServer(heartbeats_after(), second) as server:
        sub = kind.run(
            lambda client: completion(
                BODY, base_url=server.url, client=client, timeouts=Timeouts(first_content=0.1), retry=Retry(backoff=0)
            )
        )
    assert sub.text == "Hello"


def test_content_in_time_is_no_timeout(kind: Kind) -> None:
    """All of it takes longer than any limit; every piece comes in time."""

    @in_real_time
    def _(unit: float) -> None:
        def script(call: Call) -> None:
            call.head()
            for n in range(8):
                assert not call.server.gone.wait(unit)
                call.send(text(str(n)))
            call.send(text(None, "stop"), DONE)
            call.end()

        limits = Timeouts(first_content=6 * unit, idle_content=6 * unit)
        with WireServer(script) as server:
            sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, timeouts=limits))
        assert (sub.text, sub.completed) == ("01234567", True)


def test_first_content_does_not_count_after_the_first(kind: Kind) -> None:
    @in_real_time
    def _(unit: float) -> None:
        def script(call: Call) -> None:
            call.head()
            call.send(text("a"))
            assert not call.server.gone.wait(4 * unit)
            call.send(text("b", "stop"), DONE)
            call.end()

        limits = Timeouts(first_content=2 * unit)
        with WireServer(script) as server:
            sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, timeouts=limits))
        assert (sub.text, sub.completed) == ("ab", True)


def slow_server(handled: threading.Event, unit: float) -> Script:
    """Content, and more of it a little after the first was handled."""

    def script(call: Call) -> None:
        call.head()
        call.send(text("a"))
        assert handled.wait(LONG)
        assert not call.server.gone.wait(unit)
        call.send(text("b", "stop"), DONE)
        call.end()

    return script


def test_a_slow_consumer_is_not_the_streams_fault(kind: Kind) -> None:
    """The consumer takes longer than idle_content allows; what follows comes in time after that."""

    @in_real_time
    def _(unit: float) -> None:
        handled = threading.Event()

        def slow(found: object) -> None:
            if isinstance(found, TextDelta):
                threading.Event().wait(5 * unit)
                handled.set()

        limits = Timeouts(idle_content=4 * unit)
        with WireServer(slow_server(handled, unit)) as server:
            sub = kind.run(
                lambda client: completion(BODY, base_url=server.url, client=client, timeouts=limits).pipe(
                    ops.do_action(slow)
                )
            )
        assert (sub.text, sub.completed) == ("ab", True)


def test_nor_is_a_consumer_that_pulls_slowly(blocking: Kind) -> None:
    @in_real_time
    def _(unit: float) -> None:
        handled = threading.Event()
        limits = Timeouts(idle=4 * unit, idle_content=4 * unit)
        with WireServer(slow_server(handled, unit)) as server, blocking.client() as client:
            pull = iterate(completion(BODY, base_url=server.url, client=client, timeouts=limits))
            found = [next(pull), next(pull)]
            threading.Event().wait(5 * unit)
            handled.set()
            found += pull
        assert "".join(one.text for one in found if isinstance(one, TextDelta)) == "ab"


def test_the_clients_own_timeouts_count_when_none_are_given(kind: Kind) -> None:
    @in_real_time
    def _(unit: float) -> None:
        with WireServer(says_and_waits(text("Hel"))) as server:
            sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client), timeout=2 * unit)
        assert (sub.end.phase, sub.text) == ("idle", "Hel")


@pytest.fixture
def deaf() -> Iterator[str]:
    """The URL of a listening socket whose queue is full: nobody can connect."""
    with socket.create_server(("127.0.0.1", 0), backlog=0) as full, contextlib.ExitStack() as waiting:
        for _ in range(4):
            one = waiting.enter_context(socket.socket())
            one.setblocking(False)
            one.connect_ex(full.getsockname())
        yield "http://{}:{}".format(*full.getsockname())


def test_content_and_time_are_limits_while_it_connects_too(kind: Kind, deaf: str) -> None:
    """Nothing else could end the wait of a client that blocks."""
    began = time.monotonic()
    limits = Timeouts(connect=LONG, first_content=0.1)
    sub = kind.run(lambda client: completion(BODY, base_url=deaf, client=client, timeouts=limits, retry=ONCE))
    assert isinstance(sub.end, StreamTimeout)
    sub = kind.run(
        lambda client: run_tools(
            BODY, [], base_url=deaf, client=client, timeouts=Timeouts(connect=LONG), max_seconds=0.1
        )
    )
    assert isinstance(sub.end, LimitExceeded)
    assert time.monotonic() - began < LONG


def test_the_default_of_httpx_is_no_choice_of_anybodys(kind: Kind) -> None:
    """Its five seconds are none for a model that thinks before it speaks."""
    module = kind.module
    for given, counts in (
        (module.Timeout(5.0), 60),
        (module.Timeout(5.0, read=7.0), 7.0),
        (module.Timeout(None), None),
    ):
        found: list[Any] = []

        def answer(asked: Any, found: list[Any] = found) -> Any:
            found.append(asked.extensions["timeout"]["read"])
            return module.Response(200, content=ANSWER)

        kind.run(
            lambda client: completion(BODY, base_url="http://host", client=client),
            timeout=given,
            transport=module.MockTransport(answer),
        )
        assert found == [counts]


def test_given_timeouts_replace_the_clients_own_even_if_they_are_the_defaults(kind: Kind) -> None:
    def script(call: Call) -> None:
        assert not call.server.gone.wait(0.15)
        call.answer(ANSWER)

    with WireServer(script) as server:
        sub = kind.run(
            lambda client: completion(BODY, base_url=server.url, client=client, timeouts=Timeouts()), timeout=0.05
        )
    assert sub.text == "Hello"


@pytest.mark.parametrize("script", [says_nothing, heartbeats_after(), heartbeats_after(text("Hel"))])
def test_a_time_that_is_up_ends_it_in_limit(kind: Kind, script: Script) -> None:
    with WireServer(script) as server:
        sub = kind.run(
            lambda client: completion(BODY, base_url=server.url, client=client, until=time.monotonic() + 0.1)
        )
        assert server.gone.wait(SOON)
        assert len(server.calls) == 1
    assert (type(sub.end), str(sub.end)) == (LimitExceeded, "the time for this conversation was up")


# ------------------------------------------------------------------------------------------------------- the guard alone


class Clock:
    """Time that stands still until it is told to go on, and timers that go off then."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        self.timers: list[FakeTimer] = []
        monkeypatch.setattr("pipeline.chat._patience.time.monotonic", lambda: self.now)
        monkeypatch.setattr("pipeline.chat._patience.threading.Timer", self.timer)

    def timer(self, seconds: float, action: Callable[[], None]) -> FakeTimer:
        return FakeTimer(self, self.now + seconds, action)

    def go(self, seconds: float) -> None:
        end = self.now + seconds
        while due := [timer for timer in self.timers if timer.due <= end]:
            first = min(due, key=lambda timer: timer.due)
            self.timers.remove(first)
            self.now = max(self.now, first.due)
            first.action()
        self.now = end


class FakeTimer:
    daemon = False

    def __init__(self, clock: Clock, due: float, action: Callable[[], None]) -> None:
        self.clock, self.due, self.action = clock, due, action

    def start(self) -> None:
        self.clock.timers.append(self)

    def cancel(self) -> None:
        if self in self.clock.timers:
            self.clock.timers.remove(self)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def guard(aborted: list[Any], until: float | None = None, **limits: float) -> Patience:
    made = Patience(Timeouts(**limits), until, looping=False)

    def abort(error: Exception) -> bool:
        aborted.append(error)
        return True

    made.started(abort)
    return made


def test_only_the_time_that_is_waited_counts(clock: Clock) -> None:
    aborted: list[Any] = []
    patience = guard(aborted, first_content=10)
    for _ in range(3):
        patience.waiting()
        clock.go(3)
        patience.came()
        clock.go(1000)
    assert aborted == []
    patience.waiting()
    clock.go(0.9)
    assert aborted == []
    clock.go(0.2)
    assert [error.phase for error in aborted] == ["first_content"]


def test_content_starts_the_clock_anew(clock: Clock) -> None:
    aborted: list[Any] = []
    patience = guard(aborted, first_content=10, idle_content=5)
    for seconds in (9, 4, 4, 4):
        patience.waiting()
        clock.go(seconds)
        patience.came()
        patience.content()
    patience.waiting()
    clock.go(5.1)
    assert [error.phase for error in aborted] == ["idle_content"]


def test_a_timer_is_not_set_for_every_read(clock: Clock) -> None:
    patience = guard([], idle_content=10)
    for _ in range(100):
        patience.waiting()
        assert len(clock.timers) <= 1
        clock.go(0.1)
        patience.came()
        patience.content()
    made = {id(timer) for timer in clock.timers}
    assert len(made) == 1


def test_when_reading_has_stopped_nothing_goes_off(clock: Clock) -> None:
    aborted: list[Any] = []
    patience = guard(aborted, first_content=10)
    patience.waiting()
    patience.stopped()
    patience.waiting()
    clock.go(100)
    assert (aborted, clock.timers) == ([], [])


def test_a_time_that_is_up_while_the_consumer_works_ends_the_next_wait(clock: Clock) -> None:
    aborted: list[Any] = []
    patience = guard(aborted, until=clock.now + 10)
    patience.waiting()
    clock.go(1)
    patience.came()
    clock.go(100)
    assert aborted == []
    with pytest.raises(LimitExceeded):
        patience.waiting()


def test_a_flood_of_what_says_nothing_ends_with_its_next_wait(clock: Clock) -> None:
    """It hardly ever waits: the timer goes off while a read is looked through."""
    aborted: list[Any] = []
    patience = Patience(Timeouts(first_content=10), None, looping=False)
    patience.started(lambda _: False)
    for _ in range(10):
        patience.waiting()
        clock.go(0.999)
        patience.came()
    patience.waiting()
    clock.go(0.1)
    patience.came()
    with pytest.raises(StreamTimeout, match="no content came for 10 s"):
        patience.waiting()
    assert aborted == []


@pytest.mark.parametrize("event", [Usage(1, 2, 3), TextDelta("Hi")])
def test_what_the_consumer_does_with_an_event_is_its_own_time(clock: Clock, event: Event) -> None:
    """Whether the event says something or not."""
    aborted: list[Any] = []
    patience = guard(aborted, first_content=10, idle_content=10)
    source: Subject[Event] = Subject()
    source.pipe(patient(patience)).subscribe(lambda _: clock.go(1000))
    patience.waiting()
    clock.go(9)
    source.on_next(event)
    patience.came()
    patience.waiting()
    assert aborted == []


def test_who_never_waits_for_long_is_told_too(clock: Clock) -> None:
    """The timer never gets a turn: nothing of the loop does."""
    patience = guard([], first_content=10)
    clock.go(0)
    patience.waiting()
    clock.timers.clear()
    clock.go(11)
    with pytest.raises(StreamTimeout):
        patience.waiting()


def test_came_without_a_wait_means_nothing() -> None:
    Patience(Timeouts(first_content=1), None, looping=False).came()
