"""A provider's own keys, put together from the pieces in which they came."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_GROWS = frozenset({"text", "summary", "thinking", "data", "signature"})
"""The texts in an entry of a list that come in pieces, as those of OpenRouter's `reasoning_details` do."""


class Extras:
    """Keeps pieces and merges them when asked: one more costs the same whatever came before.

    Objects are merged by key. Of lists, an entry goes on the one before that has its `index` and `type`, and its texts are
    joined; entries without an index follow each other. Of anything else the last one stands.
    """

    __slots__ = ("_pieces",)

    def __init__(self) -> None:
        self._pieces: list[dict[str, Any]] = []

    def add(self, piece: dict[str, Any]) -> None:
        self._pieces.append(piece)

    def merged(self) -> dict[str, Any]:
        """All of them as one; kept so, and asking again costs only what has come since."""
        if len(self._pieces) > 1:
            self._pieces = [_objects(self._pieces)]
        return dict(self._pieces[0]) if self._pieces else {}


def _objects(pieces: Sequence[dict[str, Any]]) -> dict[str, Any]:
    values: dict[str, list[Any]] = {}
    for piece in pieces:
        for name, value in piece.items():
            known = values.setdefault(name, [])
            if known and not (type(known[0]) is type(value) and isinstance(value, (dict, list))):
                known.clear()  # it replaces what was there
            known.append(value)
    return {name: _one(found) for name, found in values.items()}


def _one(values: list[Any]) -> Any:
    """The value that several make, which are all objects or all lists."""
    if len(values) == 1:
        return values[0]
    return _objects(values) if isinstance(values[0], dict) else _lists(values)


def _lists(pieces: Sequence[list[Any]]) -> list[Any]:
    entries: list[list[Any]] = []  # each with the items that it came in
    places: dict[str, list[Any]] = {}
    for piece in pieces:
        for item in piece:
            indexed = isinstance(item, dict) and item.get("index") is not None
            place = repr((item["index"], item.get("type"))) if indexed else ""
            entry = places.get(place)
            if entry is not None:
                entry.append(item)
            else:
                entries.append([item])
                if place:
                    places[place] = entries[-1]
    return [_entry(items) if len(items) > 1 else items[0] for items in entries]


def _entry(items: Sequence[dict[str, Any]]) -> dict[str, Any]:
    entry = dict(items[0])
    grown: dict[str, list[str]] = {}
    for item in items[1:]:
        for name, value in item.items():
            before = entry.get(name)
            if name in _GROWS and isinstance(value, str) and isinstance(before, str):
                grown.setdefault(name, [before]).append(value)
            elif value is not None:
                entry[name] = value
                grown.pop(name, None)
    return entry | {name: "".join(texts) for name, texts in grown.items()}
