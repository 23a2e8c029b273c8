"""One subscription to a chain of stages: the kernels folded into a single `on_next`, and how it ends.

The plan. Stage i's `out.on_next` is the step of stage i + 1; the last one's is the subscriber's. So one call from
upstream runs through all stages with no plumbing between them, and three things unwind it:

- a stage's own error. It belongs to that stage: no `except` of a stage above may see it. Every edge between two stages
  turns it into `_Failed`, a BaseException that carries the position. The stages below get the error at their yield.
- an early end (`out.on_completed()`): the stages below flush and the subscriber is told, then `_Stop` unwinds the loops above.
- a dispose, from inside `on_next`, from another thread, or while a stage flushes: a flag, which the edge to the
  subscriber turns into `_Stop`. Generators are closed only when no step is running; whoever runs does it on the way out.

Upstream is released when the stream has ended: finished where a stage ended it, disposed otherwise.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeAlias

from reactivex import Observable, abc

from operators._spy import Lanes, current_spy, lane_step, under

Step: TypeAlias = Callable[[Any], None]
Kernel: TypeAlias = Callable[[Any], Generator[Step, None, None]]


class _Stop(BaseException):
    """Unwinds the loops above a stage that has ended, or above a subscriber that has left."""


class _Failed(BaseException):
    """An error on its way up to the engine, past the stages above the one that raised it."""

    def __init__(self, position: int, error: Exception) -> None:
        self.position, self.error = position, error


class _Out:
    """What a stage writes to."""

    __slots__ = ("_position", "_run", "on_next")

    def __init__(self, run: Run, position: int, on_next: Step) -> None:
        self._run, self._position, self.on_next = run, position, on_next

    def on_completed(self) -> None:
        self._run.finish_above(self._position)

    def now(self) -> float:
        return self._run.now()


class Run(abc.DisposableBase):
    """One subscription. `dispose()` cancels it; `finish()` lets a source that can do so end in good order."""

    __slots__ = (
        "_finishing",
        "_first",
        "_generators",
        "_lanes",
        "_lock",
        "_names",
        "_on_completed",
        "_on_error",
        "_raised",
        "_running",
        "_scheduler",
        "_stopped",
        "_upstream",
    )

    def __init__(
        self,
        on_error: Callable[[Exception], None],
        on_completed: Callable[[], None],
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self._on_error, self._on_completed, self._scheduler = on_error, on_completed, scheduler
        self._lock = threading.RLock()
        self._running = 0  # calls from upstream that are inside a stage; more than one when a sink feeds the source
        self._stopped = self._finishing = False
        self._upstream: abc.DisposableBase | None = None
        self._raised: Exception | None = None
        self._lanes: Lanes | None = None

    # ------------------------------------------------------------------------------------------------ the start

    def start(self, source: Observable[Any], names: Sequence[str], kernels: Sequence[Kernel], on_next: Step) -> None:
        """Fold the kernels, from the subscriber up, and subscribe to the source."""
        spy = current_spy()
        self._lanes = lanes = spy.chain(tuple(names)) if spy is not None else None
        self._names = names
        self._generators: list[Generator[Step, None, None] | None] = [None] * len(kernels)
        self._first = step = self._to_subscriber(on_next, len(kernels))
        for position in reversed(range(len(kernels))):
            if lanes is not None:
                step = lane_step(lanes, position + 1, step)
            try:
                started = self._set_up(kernels[position], position, step)
            except _Stop:
                return self._close()
            except _Failed as failed:
                raised = self._broken(failed)
                self._close()
                if raised is not None:
                    raise raised from None
                return None
            step = self._edge(started, position) if position else started
        self._first = lane_step(lanes, 0, step) if lanes is not None else step
        self._subscribe(source, lanes, spy)

    def _set_up(self, kernel: Kernel, position: int, on_next: Step) -> Step:
        try:
            generator = kernel(_Out(self, position, on_next))
            step = next(generator)
        except StopIteration:
            raise _Failed(position, TypeError(f"{self._names[position]}() must yield its step; it returned")) from None
        except Exception as error:
            raise _Failed(position, error) from None
        self._generators[position] = generator
        if not callable(step):
            wrong = f"{self._names[position]}() must yield its step, a function of one value; it yielded {step!r}"
            raise _Failed(position, TypeError(wrong))
        return step

    def _subscribe(self, source: Observable[Any], lanes: Lanes | None, spy: Any) -> None:
        try:
            self._upstream = source.subscribe(
                under(spy, self._receive),
                under(spy, self._upstream_failed),
                under(spy, self._upstream_completed),
                scheduler=self._scheduler,
            )
        except BaseException:
            self._stopped = True
            self._close()
            raise
        if lanes is not None:
            lanes.subscribed()
        if self._stopped:  # a source that emits inside subscribe has come to its end before we knew how to leave it
            self._release()
        if self._raised is not None:  # and has eaten what the subscriber raised
            raise self._raised

    def _to_subscriber(self, on_next: Step, position: int) -> Step:
        def deliver(value: Any) -> None:
            if self._stopped:
                raise _Stop
            try:
                on_next(value)
            except Exception as error:
                raise _Failed(position, error) from None
            if self._stopped:
                raise _Stop

        return deliver

    @staticmethod
    def _edge(step: Step, position: int) -> Step:
        def on_next(value: Any) -> None:
            try:
                step(value)
            except Exception as error:
                raise _Failed(position, error) from None

        return on_next

    def now(self) -> float:
        """Seconds by the subscription's scheduler; without one, by the machine's steady clock."""
        scheduler = self._scheduler
        return time.monotonic() if scheduler is None else scheduler.to_seconds(scheduler.now)

    # ------------------------------------------------------------------------------------------------ from upstream

    def _receive(self, value: Any) -> None:
        if self._stopped:
            return
        self._lock.acquire()
        self._running += 1
        raised = None
        try:
            self._first(value)
        except _Stop:
            pass
        except _Failed as failed:
            raised = self._broken(failed)
        except Exception as error:
            raised = self._broken(_Failed(0, error))
        except BaseException:
            self._leave()
            raise
        finally:
            self._running -= 1
            self._lock.release()
            if self._stopped:
                self._close()
        if raised is not None:
            self._raised = raised
            raise raised

    def _upstream_completed(self) -> None:
        self._settle(None)

    def _upstream_failed(self, error: Exception) -> None:
        self._settle(error)

    def _settle(self, error: Exception | None) -> None:
        if self._stopped:
            return
        self._lock.acquire()
        self._running += 1
        raised = None
        try:
            if self._lanes is not None:
                _tell(self._lanes, 0, error)
            raised = self._end(0, error)
        except BaseException:
            self._leave()
            raise
        finally:
            self._running -= 1
            self._lock.release()
            self._close()
        if raised is not None:
            self._raised = raised
            raise raised

    # ------------------------------------------------------------------------------------------------ the end

    def finish_above(self, position: int) -> None:
        """Stage `position` ends the stream: flush what is below it, then unwind and finish what is above."""
        if not self._stopped:
            self._finishing = True
            if self._lanes is not None:
                self._lanes.on_completed(position + 1)
            raised = self._end(position + 1, None)
            if raised is not None:
                raise _Failed(len(self._generators), raised)
        raise _Stop

    def _broken(self, failed: _Failed) -> Exception | None:
        """A step raised. Returns what must be raised to the producer: the subscriber's own error."""
        if failed.position == len(self._generators):
            self._leave()
            return failed.error
        if self._lanes is not None:
            self._lanes.on_error(failed.position + 1, failed.error)
        return self._end(failed.position + 1, failed.error)

    def _end(self, position: int, error: Exception | None) -> Exception | None:
        """Carry the end from stage `position` down to the subscriber, then release upstream.

        A stage sees a completion as its yield returning, an error as its yield raising; what it raises, or that it
        returns, is what the next one gets. Returns what the subscriber raised, if it did.
        """
        generators, lanes = self._generators, self._lanes
        while position < len(generators):
            generator, generators[position] = generators[position], None
            if generator is None:
                position += 1
                continue
            try:
                if error is None:
                    next(generator)
                else:
                    generator.throw(error)
            except StopIteration:
                error = None
            except _Stop:  # it ended the stream further down, or the subscriber left
                return None
            except _Failed as failed:
                if failed.position == len(generators):
                    self._leave()
                    return failed.error
                position, error = failed.position, failed.error
            except Exception as its_own:
                error = its_own
            else:
                generator.close()
                error = RuntimeError(f"{self._names[position]}() yielded more than once")
            position += 1
            if lanes is not None:
                _tell(lanes, position, error)
        return self._tell_subscriber(error)

    def _tell_subscriber(self, error: Exception | None) -> Exception | None:
        if self._stopped:
            return None
        self._stopped = True
        try:
            if error is None:
                self._on_completed()
            else:
                self._on_error(error)
        except Exception as raised:
            return raised
        finally:
            self._release()
        return None

    def _leave(self) -> None:
        """The subscriber is gone: it raised, or something tore the stream down."""
        self._stopped = True
        self._release()

    def finish(self) -> None:
        """Dispose, but let a source above that can do so come to its end, so that its connection lives on."""
        self._finishing = True
        self.dispose()

    def dispose(self) -> None:
        """Leave. Nothing is delivered any more; what runs unwinds; every stage's `finally` runs once."""
        if self._stopped:
            return
        self._stopped = True
        try:
            if self._lanes is not None:
                self._lanes.disposed()
            self._close()
        finally:
            self._release()

    def _release(self) -> None:
        upstream, self._upstream = self._upstream, None
        if upstream is not None:
            (getattr(upstream, "finish", upstream.dispose) if self._finishing else upstream.dispose)()

    def _close(self) -> None:
        """Close what is left of the stages, the last one first, unless a step is running: then its caller does it."""
        if not self._lock.acquire(blocking=False):
            return
        raised: Exception | None = None
        try:
            if self._running:
                return
            generators, self._generators = self._generators, [None] * len(self._generators)
            self._first = _ignore
            for generator in reversed(generators):
                try:
                    if generator is not None:
                        generator.close()
                except (_Stop, _Failed):  # it emitted once more, and nobody listens
                    pass
                except Exception as error:
                    raised = raised or error
        finally:
            self._lock.release()
        if raised is not None:
            raise raised


def _ignore(value: Any) -> None:
    pass


def _tell(lanes: Lanes, lane: int, error: Exception | None) -> None:
    if error is None:
        lanes.on_completed(lane)
    else:
        lanes.on_error(lane, error)
