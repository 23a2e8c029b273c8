"""The tool calls whose arguments go past a chain, and what the chain has not seen of them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import msgspec

from operators._events import ToolCallDelta
from operators._json_depth import JsonDepth

Place: TypeAlias = tuple[int, int | None]
"""The index of a choice, and of a call in it."""

_UNREAD = 256
"""Pieces that wait until something is closed, as only then the depth is asked for."""


class PlainCalls:
    """Those that are open, and in which nothing was out of the ordinary."""

    __slots__ = ("_calls", "_latest", "_owing", "_told", "owed")

    def __init__(self) -> None:
        self._calls: dict[Place, _Call] = {}
        self._owing: dict[Place, _Call] = {}
        self._told: dict[int, int] = {}  # how many calls of each choice the chain has told of
        self._latest: ToolCallDelta | None = None  # of these, if it opened a call
        self.owed = 0  # characters that the chain has not seen

    def tell(self, delta: ToolCallDelta) -> None:
        """The chain has told of it. The keys of a choice's calls count from 0."""
        opens = delta.key >= self._told.get(delta.choice, 0)
        self._latest = delta if opens else None
        if opens:
            self._told[delta.choice] = delta.key + 1

    def follow(self, place: Place, delta: ToolCallDelta) -> bool:
        """Keep in step with what the chain has told last; False if the call is whole, or its beginning was not seen."""
        call = self._calls.get(place)
        if call is None or call.key != delta.key:
            if delta is not self._latest:
                self.forget(place)
                return False
            call = self._calls[place] = _Call(delta.key)
        call.id = delta.id
        if call.would_be_whole(delta.arguments):
            self.forget(place)
            return False
        return True

    def would_be_whole(self, place: Place, text: str) -> bool:
        """Are the arguments of a call whole with this text?"""
        return self._calls[place].would_be_whole(text)

    def owe(self, place: Place, text: str) -> tuple[int, str | None]:
        """The chain will have to know this text; the key and the id of its call."""
        call = self._owing[place] = self._calls[place]
        call.owed.append(text)
        self.owed += len(text)
        return call.key, call.id

    def paid(self) -> Iterator[bytes]:
        """All that is owed, as events; nothing is afterwards."""
        owing, self._owing, self.owed = self._owing, {}, 0
        for place, call in owing.items():
            yield call.as_event(place)

    def forget(self, place: Place) -> None:
        self._calls.pop(place, None)

    def forget_all(self) -> None:
        """Whatever follows will not go on with these as a matter of course."""
        self._calls.clear()


class _Call:
    """A tool call whose arguments go past the chain."""

    __slots__ = ("_depth", "_unread", "id", "key", "owed")

    def __init__(self, key: int) -> None:
        self.key = key
        self.id: str | None = None
        self.owed: list[str] = []  # what the chain has not seen yet
        self._depth = JsonDepth()
        self._unread: list[str] = []  # what the depth has not seen yet

    def would_be_whole(self, text: str) -> bool:
        """Are the arguments whole with this text?"""
        self._unread.append(text)
        if "}" not in text and "]" not in text and len(self._unread) < _UNREAD:
            return False
        self._read()
        return self._depth.whole

    def _read(self) -> None:
        self._depth.feed("".join(self._unread))
        self._unread.clear()

    def as_event(self, place: Place) -> bytes:
        """All that is owed, which is nothing afterwards."""
        piece = {"index": place[1], "function": {"arguments": "".join(self.owed)}}
        self.owed.clear()
        self._read()  # so that no more waits than what is owed
        return b"data: %b\n\n" % _encode({"choices": [{"index": place[0], "delta": {"tool_calls": [piece]}}]})


_encode = msgspec.json.Encoder().encode
