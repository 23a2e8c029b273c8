"""One subscription to a chain of stages: the kernels folded into a single `on_next`, and how it ends.

The plan. Stage i's `out.on_next` is the step of stage i + 1; the last one's is the subscriber's. So one call from
upstream runs through all stages with no plumbing between them. Every end is told downwards first, then unwinds what is above:

- a stage's own error. It belongs to that stage: every edge between two stages catches it and hands it to the stages
  below, at their yield. Then `_Stop`, a BaseException, unwinds the loops above: no `except` of a stage there sees the error.
- an early end (`out.on_completed()`): the stages below flush and the subscriber is told, then `_Stop`.
- a dispose, from inside `on_next`, from another thread, or while a stage flushes: a flag, which the edge to the
  subscriber turns into `_Stop`.
- the subscriber's own error, as `_Raised`, which the producer gets.

Stages may wait to be set up until the one above them needs them (a detour's, which most streams never need): the ends
pass them by, unless that one sets them up first.

A stage is closed when its step has been left for good; those whose step was not running are closed at the end, by whoever
runs or, if nobody does, by the dispose. Upstream is released when the stream has ended: finished where a stage ended it,
disposed otherwise.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from typing import Any, NoReturn, TypeAlias

from reactivex import Observable, abc

from operators._spy import Lanes, Spies, Spy, current_spy, under, watched_by

Step: TypeAlias = Callable[[Any], None]
Kernel: TypeAlias = Callable[[Any], Generator[Step, None, None]]


class _Stop(BaseException):
    """Unwinds the loops above a stage that has ended, or above a subscriber that has left."""


class _Raised(BaseException):
    """The subscriber's own error, or an onlooker's, on its way to the producer, past all stages."""

    def __init__(self, error: Exception) -> None:
        self.error = error


class _Out:
    """What a stage writes to."""

    __slots__ = ("_position", "on_next", "run")

    def __init__(self, run: Run, position: int, on_next: Step) -> None:
        self.run, self._position, self.on_next = run, position, on_next

    def on_completed(self) -> None:
        self.run.finish_above(self._position)

    def now(self) -> float:
        return self.run.now()

    def watch(self, spy: Spy) -> None:
        self.run.watchers += (spy,)

    def begin(self, kernels: Sequence[Kernel], on_next: Step) -> Step:
        return self.run.begin(self._position, kernels, on_next)


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
        "_redact",
        "_running",
        "_scheduler",
        "_stopped",
        "_upstream",
        "raised",
        "watchers",
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
        self.raised: Exception | None = None  # what the subscriber raised
        self._lanes: Lanes | None = None
        self._redact: Callable[[Exception | None], None] = _ignore
        self.watchers: tuple[Spy, ...] = ()  # spies that stages of this chain have set on what is above it

    # ------------------------------------------------------------------------------------------------ the start

    def start(
        self, source: Observable[Any], names: Sequence[str], kernels: Sequence[Kernel | None], on_next: Step
    ) -> None:
        """Fold the kernels, from the subscriber up, and subscribe to the source. None is a place for one that is set up later."""
        self._redact = getattr(source, "redact", _ignore)  # of a source that has secrets
        spy = current_spy()
        self._lanes = lanes = spy.chain(tuple(names)) if spy is not None else None
        self._names = names
        self._generators: list[Generator[Step, None, None] | None] = [None] * len(kernels)
        self._first = step = self._to_subscriber(on_next)
        try:
            for position in reversed(range(len(kernels))):
                kernel = kernels[position]
                if kernel is None:
                    continue
                if lanes is not None:
                    step = self._lane(lanes, position + 1, step)
                step = self._edge(self._set_up(kernel, position, step), position)
        except _Stop:
            self._close()
            return
        except _Raised as left:
            self._close()
            raise left.error from None
        self._first = self._lane(lanes, 0, step) if lanes is not None else step
        self._subscribe(source, lanes, spy)

    def begin(self, position: int, kernels: Sequence[Kernel], on_next: Step) -> Step:
        """Set up the stages in the places below this one, the last of which writes to `on_next`; gives the step of the first."""
        step = on_next
        for place, kernel in reversed(list(enumerate(kernels, position + 1))):
            step = self._edge(self._set_up(kernel, place, step), place)
        return step

    def _set_up(self, kernel: Kernel, position: int, on_next: Step) -> Step:
        must = f"{self._names[position]} must yield its step, a function of one value"
        try:
            generator = kernel(_Out(self, position, on_next))
            step = next(generator)
        except StopIteration:
            self._broken(position, TypeError(f"{must}; it returned"))
        except Exception as error:
            self._broken(position, error)
        self._generators[position] = generator
        if not callable(step):
            self._broken(position, TypeError(f"{must}; it yielded {step!r}"))
        return step

    def _subscribe(self, source: Observable[Any], lanes: Lanes | None, spy: Spy | None) -> None:
        if self.watchers:
            spy = Spies(*([spy] if spy is not None else []), *self.watchers)
        try:
            with watched_by(spy):
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
        if self.raised is not None:  # and has eaten what the subscriber raised
            raise self.raised

    def _to_subscriber(self, on_next: Step) -> Step:
        def deliver(value: Any) -> None:
            if self._stopped:
                raise _Stop
            try:
                on_next(value)
            except Exception as error:
                self._leave()
                raise _Raised(error) from None
            if self._stopped:
                raise _Stop

        return deliver

    def _edge(self, step: Step, position: int) -> Step:
        def on_next(value: Any) -> None:
            try:
                step(value)
            except BaseException as error:
                self._left(position, error)

        return on_next

    def _lane(self, lanes: Lanes, lane: int, step: Step) -> Step:
        """The step, seen by an onlooker, whose own errors are no stage's."""

        def on_next(value: Any) -> None:
            self._show(lanes.on_next, lane, value)
            try:
                step(value)
            finally:
                self._show(lanes.returned, lane)

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
        try:
            self._first(value)
        except _Stop:
            pass
        except _Raised as left:
            self.raised = left.error
            raise left.error from None
        finally:
            self._running -= 1
            self._lock.release()
            if self._stopped:
                self._close()

    def _upstream_completed(self) -> None:
        self._settle(None)

    def _upstream_failed(self, error: Exception) -> None:
        self._settle(error)

    def _settle(self, error: Exception | None) -> None:
        if self._stopped:
            return
        self._lock.acquire()
        self._running += 1
        try:
            self._show_end(0, error)
            self._end(0, error)
        except _Raised as left:
            self.raised = left.error
            raise left.error from None
        except BaseException:
            self._leave()
            raise
        finally:
            self._running -= 1
            self._lock.release()
            self._close()

    # ------------------------------------------------------------------------------------------------ the end

    def finish_above(self, position: int) -> NoReturn:
        """Stage `position` ends the stream: flush what is below it, then unwind and finish what is above."""
        if not self._stopped:
            self._finishing = True
            self._show_end(position + 1, None)
            self._end(position + 1, None)
        raise _Stop

    def _broken(self, position: int, error: Exception) -> NoReturn:
        """Stage `position` raised: end what is below it, then unwind what is above."""
        self._show_end(position + 1, error)
        self._end(position + 1, error)
        raise _Stop

    def _left(self, position: int, error: BaseException) -> NoReturn:
        """The step of stage `position` was left by an exception, its own or one that unwinds it: the stage is over."""
        try:
            if isinstance(error, Exception):
                self._broken(position, error)
            if not isinstance(error, (_Stop, _Raised)):
                self._leave()
            raise error
        finally:
            if self._running <= 1:  # else the step is running further up too: a sink feeds the source
                generator, self._generators[position] = self._generators[position], None
                if (raised := _closed(generator)) is not None:
                    raise _Raised(raised)

    def _end(self, position: int, error: Exception | None) -> None:
        """Carry the end from stage `position` down to the subscriber, then release upstream.

        A stage sees a completion as its yield returning, an error as its yield raising; what it raises, or that it
        returns, is what the next one gets.
        """
        generators, redact = self._generators, self._redact
        redact(error)
        while position < len(generators):
            generator, generators[position] = generators[position], None
            position += 1
            if generator is None:
                continue
            try:
                if error is None:
                    next(generator)
                else:
                    generator.throw(error)
            except StopIteration:
                error = None
            except _Stop:  # the stream was ended further down, or the subscriber left
                return
            except Exception as its_own:
                redact(its_own)
                error = its_own
            else:
                generator.close()
                error = RuntimeError(f"{self._names[position - 1]} yielded more than once")
            self._show_end(position, error)
        self._tell_subscriber(error)

    def _tell_subscriber(self, error: Exception | None) -> None:
        if self._stopped:
            return
        self._stopped = True
        try:
            if error is None:
                self._on_completed()
            else:
                self._on_error(error)
        except Exception as raised:
            raise _Raised(raised) from None
        finally:
            self._release()

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
        try:
            if self._running:
                return
            generators = self._generators
            self._generators = [None for _ in generators]
            self._first = _ignore
            raised = [error for generator in reversed(generators) if (error := _closed(generator)) is not None]
        finally:
            self._lock.release()
        if raised:
            raise raised[0]

    # ------------------------------------------------------------------------------------------------ who looks on

    def _show(self, method: Callable[..., None], *args: Any) -> None:
        try:
            method(*args)
        except Exception as error:
            self._leave()
            raise _Raised(error) from None

    def _show_end(self, lane: int, error: Exception | None) -> None:
        if self._lanes is not None and not self._stopped:
            if error is None:
                self._show(self._lanes.on_completed, lane)
            else:
                self._show(self._lanes.on_error, lane, error)


def _ignore(value: Any) -> None:
    pass


def _closed(generator: Generator[Step, None, None] | None) -> Exception | None:
    """Close a stage; returns what its `finally` raised."""
    try:
        if generator is not None:
            generator.close()
    except (_Stop, _Raised):  # it emitted once more, and nobody listens
        pass
    except Exception as error:
        return error
    return None
