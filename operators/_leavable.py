"""What an Observable of ours has beyond one of reactivex."""

from __future__ import annotations

import contextlib
import contextvars
import threading
from collections import deque
from typing import TypeVar

from reactivex import Observable, abc
from reactivex.internal.exceptions import SequenceContainsNoElementsError
from reactivex.scheduler import NewThreadScheduler

T = TypeVar("T")


class Leavable(Observable[T]):
    """An Observable whose `run()` can be interrupted."""

    def run(self, scheduler: abc.SchedulerBase | None = None) -> T:
        """Block until the stream has ended, and return its last item.

        Raises what the stream ended with, SequenceContainsNoElementsError if it was empty. Ctrl-C disposes it, where an
        Observable of reactivex goes on in its thread, unheard.
        """
        ended = threading.Event()
        last: deque[T] = deque(maxlen=1)
        errors: list[BaseException] = []
        subscriptions: list[abc.DisposableBase] = []

        def failed(error: BaseException) -> None:
            errors.append(error)
            ended.set()

        def subscribe() -> None:
            try:
                subscriptions.append(
                    self.subscribe(last.append, failed, ended.set, scheduler=scheduler or NewThreadScheduler())
                )
            except BaseException as error:  # raised where it is waited for
                failed(error)

        # In a thread, so that an interrupt can come at no time at which there is a stream and no way to leave it.
        context = contextvars.copy_context()
        subscribing = threading.Thread(target=context.run, args=(subscribe,), daemon=True, name="rxchat run")
        try:
            subscribing.start()
            ended.wait()
        except BaseException:
            with contextlib.suppress(RuntimeError):  # it has not been started
                subscribing.join(timeout=1)
            for subscription in subscriptions:
                subscription.dispose()
            raise
        if errors:
            raise errors[0]
        if not last:
            raise SequenceContainsNoElementsError
        return last[0]
