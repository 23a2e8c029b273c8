"""What an Observable of ours has beyond one of reactivex."""

from __future__ import annotations

from typing import TypeVar

from reactivex import Observable, abc

T = TypeVar("T")


class Leavable(Observable[T]):
    """An Observable whose `run()` can be interrupted."""

    def run(self, scheduler: abc.SchedulerBase | None = None) -> T:
        """Block until the stream has ended, and return its last item; raises what it ended with.

        Ctrl-C disposes it, where an Observable of reactivex goes on in its thread, unheard.
        """
        kept = _Kept(self)
        try:
            return kept.run(scheduler)
        except BaseException:
            if kept.subscription is not None:
                kept.subscription.dispose()
            raise


class _Kept(Observable[T]):
    """Keeps the subscription that `run()` makes."""

    def __init__(self, source: Observable[T]) -> None:
        super().__init__()
        self._source = source
        self.subscription: abc.DisposableBase | None = None

    def subscribe(
        self,
        on_next: abc.ObserverBase[T] | abc.OnNext[T] | None = None,
        on_error: abc.OnError | None = None,
        on_completed: abc.OnCompleted | None = None,
        *,
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        self.subscription = self._source.subscribe(on_next, on_error, on_completed, scheduler=scheduler)
        return self.subscription
