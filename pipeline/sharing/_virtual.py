"""A slow sink in virtual time, where nothing takes any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reactivex.disposable import SerialDisposable
from reactivex.scheduler import VirtualTimeScheduler

from pipeline.sharing._lanes import Queued
from pipeline.sharing._policies import Paced
from pipeline.sharing._progress import Progress


class Virtual(Queued):
    """Calls its sink from a scheduler of virtual time: at once, or when a timer of that scheduler says so."""

    def __init__(self, paced: Paced, progress: Progress, scheduler: VirtualTimeScheduler) -> None:
        super().__init__(paced, progress, lambda: scheduler.to_seconds(scheduler.now))
        self._scheduler = scheduler
        self._timer = SerialDisposable()
        self._calling = False

    def cut(self) -> None:
        super().cut()
        self._timer.dispose()

    def runs_here(self) -> bool:
        return True

    def _wake(self) -> None:
        if self._calling:
            return
        self._calling = True
        try:
            while callable(to_do := self._to_do()):
                self._make(to_do)
        finally:
            self._calling = False
        if to_do is not None:
            self._timer.disposable = self._scheduler.schedule_relative(to_do, lambda *_: self._wake())

    def _make(self, call: Callable[[], Any]) -> None:
        try:
            call()
        except Exception as raised:
            self._failed(raised)
        self._called()
