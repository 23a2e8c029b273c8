"""One stream, as the page knows it."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Sequence
from datetime import datetime

from operators import Event
from pipeline._redact import redact_text
from pipeline.web._blocks import Blocks, kind_of
from pipeline.web._facts import Account, Facts
from pipeline.web._rows import Rows

log = logging.getLogger("rxchat.web")

TEXT = 4 * 1024 * 1024
"""Units of UTF-16 of a stream's answer that are kept, reasoning, calls and results included."""

_TITLE = 200


class Feed:
    """Takes a stream's events on the thread that emits them, and can be read from another one.

    Taking one in costs a few microseconds, whoever looks on and however slowly: there is no queue, as what is kept is
    the answer itself and the last events. Nothing raised in here reaches the stream.
    """

    def __init__(
        self,
        id: int,  # noqa: A002
        title: str,
        *,
        events: int,
        secrets: Sequence[str],
        clock: Callable[[], float],
    ) -> None:
        self.id = id
        self.title = redact_text(title, secrets)[:_TITLE]
        self.at = datetime.now().astimezone().strftime("%H:%M:%S")
        self.lock = threading.Lock()
        self.blocks, self.rows, self._account = Blocks(TEXT, secrets), Rows(events, secrets), Account()
        self.revision = 1
        self._clock, self._began = clock, clock()
        self._secrets = secrets
        self._failed = False

    @property
    def facts(self) -> Facts:
        return self._account.facts

    @property
    def ended(self) -> bool:
        return self.facts.ended is not None

    def now(self) -> float:
        """Seconds since the stream began; when it has ended, until then."""
        return self._clock() - self._began if self.facts.ended is None else self.facts.ended

    def add(self, event: Event) -> None:
        """Take an event in."""
        with self.lock:
            try:
                at = self.now()
                span = self.blocks.add(event)
                self.rows.add(event, at, span)
                self._account.add(event, at)
                self.revision += 1
            except Exception as error:
                self._complain(error)

    def end(self, state: str, error: Exception | None = None) -> None:
        """The stream has ended: completed, broken by the error, or left by its subscriber. The first end counts."""
        with self.lock:
            if self.ended:
                return
            at = self.now()
            try:
                self.blocks.end(error)
            except Exception as failure:
                self._complain(failure)
            self._account.end(state, at, None if error is None else redact_text(kind_of(error), self._secrets))
            self.revision += 1

    def _complain(self, error: Exception) -> None:
        if not self._failed:
            self._failed = True
            log.warning("an event could not be shown on the page; others that cannot are not told", exc_info=error)
