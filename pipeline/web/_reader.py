"""What a page has not been told yet.

A reader remembers how far one page has been told: a version and a length for each block, the number of the last event.
What it tells next is all that is new since, however much that is: so a slow page gets fewer and larger updates, one that
comes late or again begins at nothing, and nothing is ever queued. A page that knows something already can be told it
again, as every update says where it belongs.
"""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from pipeline.web._blocks import Block
from pipeline.web._feed import Feed
from pipeline.web._growing import units
from pipeline.web._hub import Hub
from pipeline.web._mask import masked
from pipeline.web._rows import Row

UNITS = 256 * 1024
"""Units of text in one update."""
ROWS = 500
"""Events in one update."""


class StreamLine(Struct, omit_defaults=True):
    """A stream in the list. `now` is seconds since it began."""

    id: int
    title: str
    at: str
    now: float
    facts: Any


class BlockPart(Struct, omit_defaults=True):
    """What is new of a block: its text from `at` on, and its facts if they have changed. `came` counts all its text."""

    id: int
    kind: str
    choice: int
    at: int
    came: int
    text: str = ""
    facts: dict[str, Any] | None = None


class Update(Struct, omit_defaults=True):
    """What is new. `order` has the numbers of all streams, if that has changed; `stream` says whose the rest is.

    `first` is the number of the oldest event that is kept; `more` says that there is more to tell right now.
    """

    order: list[int] | None = None
    streams: list[StreamLine] = []
    stream: int | None = None
    first: int = 1
    blocks: list[BlockPart] = []
    rows: list[Row] = []
    more: bool = False


class Reader:
    """What one page is told of a hub: the list of streams, and all of one: number `chosen`, or (None) the newest.

    >>> from operators import TextDelta
    >>> hub = Hub(events=10)
    >>> feed, reader = hub.open("one"), Reader(hub, None)
    >>> feed.add(TextDelta("Hel"))
    >>> reader.read().blocks
    [BlockPart(id=0, kind='text', choice=0, at=0, came=3, text='Hel', facts={})]
    >>> reader.read()
    >>> feed.add(TextDelta("lo"))
    >>> reader.read().blocks
    [BlockPart(id=0, kind='text', choice=0, at=3, came=5, text='lo', facts=None)]
    """

    def __init__(self, hub: Hub, chosen: int | None) -> None:
        self._hub, self._chosen = hub, chosen
        self._order: list[int] | None = None
        self._told: dict[int, int] = {}  # the revision of each stream
        self._begin(None)

    def _begin(self, feed: Feed | None) -> None:
        self._feed = feed
        self._read = 0  # the revision of the stream up to which all was told
        self._blocks: dict[int, tuple[int, int]] = {}  # version and length of each block
        self._seen = 0  # the revision of the blocks
        self._row = 0

    def read(self) -> Update | None:
        """What is new, or None if nothing is."""
        feeds = self._hub.feeds
        feed = self._hub.find(self._chosen)
        if feed is not self._feed:
            self._begin(feed)
        update = Update(stream=feed.id if feed else None)
        order = [one.id for one in feeds]
        if order != self._order:
            self._order = update.order = order
            self._told = {number: told for number, told in self._told.items() if number in order}
        update.streams = [self._line(one) for one in feeds if self._told.get(one.id) != one.revision]
        if feed is not None and self._read != feed.revision:
            with feed.lock:
                revision = feed.revision
                self._tell_blocks(feed, update)
                if not update.more:  # events say where in the text they stand, so the text comes first
                    self._tell_rows(feed, update)
            if not update.more:
                self._read = revision
        return update if update.order is not None or update.streams or update.blocks or update.rows else None

    def _line(self, feed: Feed) -> StreamLine:
        with feed.lock:
            self._told[feed.id] = feed.revision
            facts = {name: self._clean(getattr(feed.facts, name)) for name in feed.facts.__struct_fields__}
            return StreamLine(feed.id, feed.title, feed.at, feed.now(), facts)

    def _tell_blocks(self, feed: Feed, update: Update) -> None:
        left = UNITS
        for block in feed.blocks.all:
            if block.revision <= self._seen:
                continue
            if left <= 0:
                update.more = True
                return
            part = self._part(block, left)
            left -= len(part.text) + 1
            update.blocks.append(part)
            update.more = update.more or self._blocks[block.id][1] < len(block.text)
        if not update.more:
            self._seen = feed.blocks.revision

    def _part(self, block: Block, most: int) -> BlockPart:
        version, at = self._blocks.get(block.id, (0, 0))
        text = block.text.part(at, most)
        part = BlockPart(block.id, block.kind, block.choice, at, block.came, text)
        if version != block.version:
            part.facts = {name: self._clean(value) for name, value in block.facts.items()}
        self._blocks[block.id] = block.version, at + units(text)
        return part

    def _tell_rows(self, feed: Feed, update: Update) -> None:
        update.first = feed.rows.first
        update.rows = feed.rows.after(self._row, ROWS)
        if update.rows:
            self._row = update.rows[-1].n
        update.more = self._row < feed.rows.count

    def _clean(self, fact: Any) -> Any:
        return masked(fact, self._hub.secrets) if isinstance(fact, str) else fact
