"""Items → the tool calls that they make: how each one filled up, and when its tool ran."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from pipeline.probing._rows import Row
from pipeline.probing._seen import Item, ToolRun

_ANEW = frozenset({"RoundStarted", "Restarted"})


@dataclass
class Call:
    """One call, as the lowest row that shows it has it."""

    choice: int
    key: int
    id: str = ""
    name: str = ""
    pieces: list[Item] = field(default_factory=list)
    done: Item | None = None
    runs: list[ToolRun] = field(default_factory=list)

    @property
    def items(self) -> list[Item]:
        return [*self.pieces, *([self.done] if self.done is not None else [])]

    def filled(self) -> list[float]:
        """After each piece, how much of the arguments is there, from 0 to 1."""
        total = sum(item.piece.arguments for item in self.pieces if item.piece is not None)
        parts, sums = 0, []
        for item in self.pieces:
            parts += item.piece.arguments if item.piece is not None else 0
            sums.append(parts / total if total else 1.0)
        return sums

    @property
    def arguments(self) -> str:
        """The start of them."""
        if self.done is not None:
            return self.done.text.partition("(")[2].removesuffix(")")
        return "".join(item.text.removeprefix(item.piece.name) for item in self.pieces if item.piece is not None)


def calls_of(rows: Iterable[Row], causes: Mapping[int, Item], runs: Iterable[ToolRun]) -> list[Call]:
    """The calls, in the order in which they opened."""
    calls: list[Call] = []
    for row in rows:
        for _, lane in row.lanes:
            for call in _calls_of_lane(lane.items):
                before = _ancestors(call.items[0], causes)
                calls = [other for other in calls if not any(item.seq in before for item in other.items)]
                calls.append(call)
    calls.sort(key=lambda call: call.items[0].seq)
    for run in runs:
        asked = [call for call in calls if call.id == run.id and call.items[0].seq < run.began.seq]
        if asked:
            asked[-1].runs.append(run)
    return calls


def _calls_of_lane(items: Iterable[Item]) -> list[Call]:
    calls: list[Call] = []
    open_calls: dict[tuple[int, int], Call] = {}
    for item in items:
        if item.kind in _ANEW:
            open_calls = {}
        piece = item.piece
        if piece is None:
            continue
        call = open_calls.get((piece.choice, piece.key))
        if call is None:
            call = open_calls[piece.choice, piece.key] = Call(piece.choice, piece.key)
            calls.append(call)
        call.id = piece.id or call.id
        if piece.arguments < 0:
            call.done = item
            call.name = piece.name
        else:
            call.pieces.append(item)
            call.name += piece.name
    return calls


def _ancestors(item: Item, causes: Mapping[int, Item]) -> set[int]:
    found: set[int] = set()
    cause = item.cause
    while cause is not None and cause in causes and cause not in found:
        found.add(cause)
        cause = causes[cause].cause
    return found
