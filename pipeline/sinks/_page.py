"""Blocks, one under the other: what is settled goes, what is open stays in sight."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field

from pipeline.sinks._block import Block
from pipeline.sinks._painter import Line, Painter, Row
from pipeline.sinks._screen import Screen


@dataclass
class _Place:
    """A block's place on the page."""

    block: Block
    blank: bool  # is a blank line above it?
    kept: list[Row] = field(default_factory=list)  # settled, but something above is still open
    begun: bool = False  # rows of it have gone
    whole: bool = False  # nothing more comes from the block

    def settle(self, painter: Painter) -> None:
        if not self.whole:
            self.kept += self.block.settled(painter)
            self.whole = self.block.ended

    def rows(self, painter: Painter) -> list[Row]:
        """All that is still on the page."""
        return self.kept if self.whole else self.kept + self.block.open(painter)


class Page:
    """Shows blocks on a screen, in the order in which they were opened, with a blank line between them.

    Only the first block that is open lets go of rows: so the order on the page is that of opening, while all of them grow.
    """

    def __init__(self, screen: Screen, painter: Painter) -> None:
        self._screen, self._painter = screen, painter
        self._places: deque[_Place] = deque()
        self._written = False  # anything at all

    def add(self, block: Block, *, blank: bool = True) -> None:
        self._places.append(_Place(block, blank))

    def draw(self, status: list[Row]) -> None:
        """Draw a frame, with the status at its foot. What is open and higher than the screen is seen from below."""
        columns, height = self._screen.size
        self._painter.fit(columns)
        done = self._settled()
        rows = self._open()
        foot = [[], *status] if status and (rows or self._written) else status
        room = max(0, height - 1 - len(foot))  # a row less than there is, for a terminal that becomes smaller
        if room < 1:
            foot, room = status[: max(1, height - 1)], 0
        shown = rows[len(rows) - room :] if len(rows) > room else rows
        self._screen.draw(self._lines(done), self._lines([*shown, *foot]))

    def end(self) -> None:
        """Draw what has become final, and leave the cursor on a line of its own."""
        self.draw([])
        self._screen.leave()

    def _lines(self, rows: list[Row]) -> list[Line]:
        return [self._painter.line(row) for row in rows]

    def _settled(self) -> list[Row]:
        done: list[Row] = []
        while self._places:
            place = self._places[0]
            place.settle(self._painter)
            if place.kept:
                if place.blank and not place.begun and self._written:
                    done.append([])
                done += place.kept
                place.kept = []
                place.begun = self._written = True
            if not place.whole:
                break
            self._places.popleft()
        return done

    def _open(self) -> list[Row]:
        found: list[Row] = []
        for place in self._places:
            place.settle(self._painter)  # of the first, nothing is left to settle
            rows = place.rows(self._painter)
            if rows:
                if place.blank and not place.begun and (self._written or found):
                    found.append([])
                found += rows
        return found
