"""A scheduler that schedules as another one does, and can hold async sources back."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from reactivex import abc, typing
from reactivex.scheduler import CurrentThreadScheduler, TimeoutScheduler

from pipeline.sources._gate import Held


class Passing(Held):
    """Hands everything on to `inner`; without one, to the schedulers that Rx falls back on where none is given."""

    def __init__(self, inner: abc.SchedulerBase | None) -> None:
        super().__init__()
        self.inner = inner

    @property
    def now(self) -> datetime:
        return self._later.now

    @property
    def _later(self) -> abc.SchedulerBase:
        return self.inner or TimeoutScheduler.singleton()

    def schedule(self, action: abc.ScheduledAction[Any], state: Any = None) -> abc.DisposableBase:
        return (self.inner or CurrentThreadScheduler.singleton()).schedule(action, state)

    def schedule_relative(
        self, duetime: typing.RelativeTime, action: abc.ScheduledAction[Any], state: Any = None
    ) -> abc.DisposableBase:
        return self._later.schedule_relative(duetime, action, state)

    def schedule_absolute(
        self, duetime: typing.AbsoluteTime, action: abc.ScheduledAction[Any], state: Any = None
    ) -> abc.DisposableBase:
        return self._later.schedule_absolute(duetime, action, state)
