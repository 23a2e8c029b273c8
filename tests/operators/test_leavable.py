"""run(): to the end of a stream, and out of it."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest
import reactivex
from reactivex import Observable, Subject, abc
from reactivex.disposable import Disposable
from reactivex.internal.exceptions import SequenceContainsNoElementsError
from reactivex.scheduler import CurrentThreadScheduler

from operators import ConnectionLost
from tests.operators.test_laws import passed, summed
from tests.support import Cold
from tests.support.timing import LONG


def test_it_gives_the_last_item() -> None:
    assert reactivex.of(1, 2).pipe(summed()).run() == 3
    assert reactivex.of(1, 2).pipe(passed()).run(CurrentThreadScheduler()) == 2


def test_it_raises_what_the_stream_ends_with() -> None:
    gone = ConnectionLost("gone")
    with pytest.raises(ConnectionLost) as raised:
        Cold([1], gone).pipe(passed()).run()
    assert raised.value is gone
    with pytest.raises(SequenceContainsNoElementsError):
        Cold([]).pipe(passed()).run()


class Broken(Observable[int]):
    def subscribe(self, *_: Any, **__: Any) -> abc.DisposableBase:
        raise RuntimeError("no loop")


def test_it_raises_what_subscribing_raises() -> None:
    with pytest.raises(RuntimeError, match="no loop"):
        Broken().pipe(passed()).run()


def test_an_interrupt_leaves_the_stream() -> None:
    left = threading.Event()
    source: Subject[int] = Subject()

    def subscribe(observer: abc.ObserverBase[int], scheduler: abc.SchedulerBase | None = None) -> abc.DisposableBase:
        source.subscribe(observer)
        threading.Timer(0.05, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)).start()
        return Disposable(left.set)

    with pytest.raises(KeyboardInterrupt):
        Observable(subscribe).pipe(passed()).run()
    assert left.wait(LONG)
