"""Event → a line in the list of raw events."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct

from operators import Event, ReasoningDelta, RefusalDelta, TextDelta, ToolCallDelta, ToolCallSnapshot
from pipeline._redact import redact_text
from pipeline.web._blocks import Span

SHOWN = 4000
"""Characters of an event that are shown."""
_MARGIN = 4000  # more than a key has: what is cut is cleaned first, so that no key is shown in part

_WORDLESS = (TextDelta, ReasoningDelta, RefusalDelta)


class Row(Struct, omit_defaults=True):
    """One event. What it says to an answer is not said again: `block`, `at` and `size` tell where it stands.

    `n` counts from 1, `t` is in seconds since the stream began, `json` is the event, or the rest of it.
    """

    n: int
    t: float
    event: str
    choice: int = 0
    block: int | None = None
    at: int = 0
    size: int = 0
    json: str | None = None


class _Kept(NamedTuple):
    n: int
    t: float
    event: str
    choice: int
    span: Span | None
    raw: bytes


class Rows:
    """The last `limit` events.

    >>> rows = Rows(2, secrets=())
    >>> for text in "abc":
    ...     rows.add(TextDelta(text), 0.5, Span(0, 7, 1))
    >>> rows.first, rows.after(2, 10)
    (2, [Row(n=3, t=0.5, event='TextDelta', choice=0, block=0, at=7, size=1, json=None)])
    """

    def __init__(self, limit: int, secrets: Sequence[str]) -> None:
        self._kept: deque[_Kept] = deque(maxlen=limit)
        self._secrets = secrets
        self.count = 0

    @property
    def first(self) -> int:
        """The number of the oldest one that is kept."""
        return self.count - len(self._kept) + 1

    def add(self, event: Event, t: float, span: Span | None) -> None:
        self.count += 1
        choice = getattr(event, "choice", 0)
        self._kept.append(_Kept(self.count, t, type(event).__name__, choice, span, _rest(event, span)))

    def after(self, n: int, most: int) -> list[Row]:
        """At most `most` of those with a number above `n`, the oldest first, without secrets."""
        begin = max(0, n + 1 - self.first)
        return [self._row(self._kept[at]) for at in range(begin, min(begin + most, len(self._kept)))]

    def _row(self, kept: _Kept) -> Row:
        """The row, made fit to be shown. That waits until somebody looks, as it costs more than all else."""
        json = None
        if kept.raw:
            text = redact_text(kept.raw.decode("utf-8", "replace"), self._secrets)
            json = text if len(text) <= SHOWN else f"{text[:SHOWN]} …"
        return Row(kept.n, round(kept.t, 4), kept.event, kept.choice, *(kept.span or Span(None, 0, 0)), json=json)


def _rest(event: Event, span: Span | None) -> bytes:
    """The event as JSON, as much as may be shown of it; nothing where its text is all there is."""
    if span is not None and isinstance(event, _WORDLESS) and getattr(event, "extra", None) is None:
        return b""
    if span is not None and isinstance(event, ToolCallDelta):
        if not event.name and not event.extra:
            return b""
        shown: Any = {"key": event.key, "index": event.index, "id": event.id, "name": event.name, "extra": event.extra}
    elif isinstance(event, ToolCallSnapshot):  # its arguments were said already, and grow with each
        shown = {"key": event.key, "id": event.id, "name": event.name}
    else:
        shown = event
    try:
        encoded = msgspec.json.encode(shown, enc_hook=repr)
    except Exception:
        encoded = repr(shown).encode("utf-8", "replace")
    return encoded[: SHOWN + _MARGIN]
