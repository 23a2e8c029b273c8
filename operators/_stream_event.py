"""The base of all events."""

from __future__ import annotations

from msgspec import Struct


class StreamEvent(Struct, frozen=True, tag=True, tag_field="event"):
    """The base of all events. `msgspec.json.encode(event)` gives an object with its name under "event"."""
