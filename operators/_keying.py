"""Which tool call a piece belongs to. Asked once, in `deltas()`; nothing downstream keys again.

The rules, in the order in which they are read in `_owner`:

1.  An index is a key of any value: negative, 1-based, with gaps, a number in a text. It is never a list position.
2.  A piece with a known index belongs to the newest call there (OpenAI), unless
    a.  it has a new id *and* a name: another call at the same index (Gemini, some gateways send 0 for every call). But
        an opener that got no arguments and is followed at once by one with the same name was one call opened twice;
    b.  it has a new id and arguments when the arguments are whole: another call, whose name comes late;
    c.  it names a call again when the arguments are whole, and there are arguments beside the name or in the next piece:
        another call, sent without ids. Of a call without a name it is the name that comes late.
3.  A piece with an unknown index opens a call. But an id that is known says which call it is, whatever the index, if no
    call at that index came under the same id: there are gateways that count pieces, and gateways that send 0 for two
    calls at once. And a piece with neither an id nor a name goes on with a call: the one in that place, if it was opened
    without an index, else the last one, if its arguments are not whole.
4.  Without an index: by id. A new id opens a call; if it comes without a name, and the last call has no id yet or its
    arguments are not whole, it is that call's late or changed id.
5.  Without an index and an id: the last call, unless the piece names another one.

Of a call, the first id that is not empty stays. A name grows until arguments begin; a repeat of it, and anything after
that, adds nothing. Arguments: text appends; an object is taken as it is and further ones merge into it, so it is held
until the call's end; null adds nothing; an empty object first is a placeholder that text may replace; the whole text
once more, when it was whole already, is a repeat.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from typing import Any

from operators._events import ToolCallDelta
from operators._json_depth import JsonDepth
from operators._surrogates import Surrogates

_READ = frozenset({"index", "id", "type", "function", "custom"})
_WORDS = ("name", "arguments")


class _Call:
    __slots__ = ("again", "begun", "checksum", "depth", "held", "id", "index", "key", "length", "name", "told")

    def __init__(self, key: int, index: int | str | None) -> None:
        self.key, self.index = key, index
        self.id: str | None = None
        self.told: str | None = None  # the id that its last piece with one had, whatever it was worth
        self.name = ""
        self.begun = False  # arguments have come
        self.again = False  # when they were whole, it was named once more
        self.depth = JsonDepth()
        self.length = self.checksum = 0  # of the arguments: a repeat of them is known without keeping them
        self.held: dict[str, Any] | None = None  # arguments that came as an object

    @property
    def whole(self) -> bool:
        return self.depth.whole or self.held is not None

    def grow(self, arguments: str) -> str:
        self.begun = True
        self.depth.feed(arguments)
        self.length += len(arguments)
        self.checksum = zlib.crc32(arguments.encode("utf-8", "surrogatepass"), self.checksum)
        return arguments


class Calls:
    """The tool calls of one choice, as their pieces come."""

    def __init__(self, choice: int) -> None:
        self._choice = choice
        self._calls: list[_Call] = []
        self._by_index: dict[int | str, _Call] = {}
        self._by_id: dict[str, _Call] = {}
        self._just_opened: _Call | None = None
        self._halves = Surrogates()

    def delta(self, piece: dict[str, Any], position: int = 0) -> ToolCallDelta | None:
        """What a piece adds to its call; None if it adds nothing."""
        call = self._plainly_goes_on(piece)
        if call is not None:
            self._just_opened = None
            return self._delta(call, "", call.grow(piece["function"]["arguments"]), None)
        index, id_ = _index(piece.get("index")), _id(piece.get("id"))
        kind = "custom" if isinstance(piece.get("custom"), dict) else "function"
        function = piece.get(kind)
        if not isinstance(function, dict):  # its words may stand in the piece itself
            function = {word: piece[word] for word in _WORDS if word in piece}
            piece = {word: value for word, value in piece.items() if word not in _WORDS}
        name = function.get("name") if isinstance(function.get("name"), str) else ""
        arguments = function.get("input" if kind == "custom" else "arguments")

        call = self._owner(index, id_, name or "", arguments, position)
        if call is not None and not id_ and not name and self._was_named_for_another(call, arguments):
            name, call = call.name, None
        opened = call is None
        if call is None:
            call = self._open(index)
        elif index is not None and call.index is None:
            call.index = index
            self._by_index[index] = call
        call.told = id_ or call.told
        named_again = call.again or (bool(name) and not id_)
        call.again = named_again and not _filled(arguments) and call.whole and call.held != {}
        if id_ and call.id is None and id_ not in self._by_id:
            call.id = id_
            self._by_id[id_] = call
        grown = self._grow_name(call, name or "")
        added = self._add_arguments(call, arguments, repeatable=not opened)
        self._just_opened = call if opened else None
        extra = _extra(piece, function, kind)
        if not (opened or grown or added or extra or id_):
            return None
        return self._delta(call, grown, added, extra)

    def _plainly_goes_on(self, piece: dict[str, Any]) -> _Call | None:
        """The call that a piece of nothing but a known index and more text belongs to (rule 2), where nothing else matters."""
        index, function = piece.get("index"), piece.get("function")
        if len(piece) != 2 or type(index) is not int or type(function) is not dict or len(function) != 1:
            return None
        call, text = self._by_index.get(index), function.get("arguments")
        if call is None or not call.begun or call.whole or type(text) is not str or not text:
            return None
        return call if text.isascii() and not self._halves.held else None

    def _owner(
        self, index: int | str | None, id_: str | None, name: str, arguments: Any, position: int
    ) -> _Call | None:
        """The call that a piece belongs to; None if it opens one."""
        last = self._calls[-1] if self._calls else None
        if index is not None:
            call, known = self._by_index.get(index), self._by_id.get(id_ or "")
            if known is not None and known is not call and (call is None or call.told != id_):
                goes_on = not name or (name == known.name and not known.whole)
                if goes_on or (call is not None and not self._starts_over(known, id_, name, arguments)):
                    return known
            if call is None:
                return None if id_ or name else self._unfinished(index)
            if id_ and call.id and id_ not in {call.id, call.told}:
                if name:
                    twice = call is self._just_opened and not call.begun and name == call.name
                    return call if twice else None
                if call.depth.whole and _filled(arguments) and not self._repeats(call, arguments):
                    return None
            return None if self._starts_over(call, id_, name, arguments) else call
        if id_:
            call = self._by_id.get(id_)
            if call is not None:
                return None if self._starts_over(call, id_, name, arguments) else call
            if last is not None and not name and (last.id is None or last.told == id_ or not last.whole):
                return last
            if last is not None and last.id is None and name == last.name and not last.whole:
                return last
            return None
        if last is None or self._starts_over(last, id_, name, arguments):
            return None
        other = name and last.name not in {"", name} and (last.begun or position > 0)
        return None if other else last

    def _unfinished(self, index: int | str) -> _Call | None:
        """The call that a piece with nothing but arguments goes on with."""
        if isinstance(index, int) and 0 <= index < len(self._calls) and self._calls[index].index is None:
            return self._calls[index]
        last = self._calls[-1] if self._calls else None
        return None if last is None or last.whole else last

    def _starts_over(self, call: _Call, id_: str | None, name: str, arguments: Any) -> bool:
        """A call whose arguments are whole is named again: another one, unless all of it is said once more."""
        if not name or not call.whole:
            return False
        known = call.name in {"", name}
        if known and not _filled(arguments):
            return False
        same = id_ and id_ == call.id and known
        return not (same and (call.held == {} or self._repeats(call, arguments)))

    def _was_named_for_another(self, call: _Call, arguments: Any) -> bool:
        """Was the last name that a whole call got, without arguments, the beginning of a call that these arguments begin?"""
        return call.again and _begins(arguments) and not self._repeats(call, arguments)

    def _open(self, index: int | str | None) -> _Call:
        call = _Call(len(self._calls), index)
        self._calls.append(call)
        if index is not None:
            self._by_index[index] = call
        return call

    def _grow_name(self, call: _Call, name: str) -> str:
        """What is new in a name."""
        if not name or name == call.name or (call.name and call.begun):
            return ""
        grown = name[len(call.name) :] if call.name and name.startswith(call.name) else name
        call.name += grown
        return grown

    def _add_arguments(self, call: _Call, arguments: Any, *, repeatable: bool) -> str:
        """What is new in the arguments, as text."""
        if arguments is None or arguments == "":
            return ""
        if isinstance(arguments, str) and arguments.strip() == "{}" and not call.begun:
            arguments = {}
        if isinstance(arguments, dict) and (not call.begun or call.held is not None):
            call.held = arguments if not call.held else _merged(call.held, arguments)
            call.begun = True
            return ""
        if repeatable and call.whole and self._repeats(call, arguments):
            return ""
        text = arguments if isinstance(arguments, str) else _json(arguments)
        if self._halves.held or not text.isascii():
            text = self._halves.join(call.key, "arguments", text)
        if call.held is not None:
            before, call.held = call.held, None
            if before:
                text = _json(before) + text
        return call.grow(text)

    @staticmethod
    def _repeats(call: _Call, arguments: Any) -> bool:
        if isinstance(arguments, dict):
            return call.held == arguments
        if not isinstance(arguments, str):
            return False
        if call.held is not None:
            return not call.held and arguments.strip() == "{}"
        return len(arguments) == call.length and zlib.crc32(arguments.encode("utf-8", "surrogatepass")) == call.checksum

    def held(self) -> Iterator[ToolCallDelta]:
        """The arguments that came as objects, now that no more of them can come."""
        for call in self._calls:
            if call.held is not None:
                text, call.held = _json(call.held), None
                yield self._delta(call, "", call.grow(text), None)

    def _delta(self, call: _Call, name: str, arguments: str, extra: dict[str, Any] | None) -> ToolCallDelta:
        index = call.index if isinstance(call.index, int) else None
        return ToolCallDelta(call.key, index, call.id, name, arguments, self._choice, extra)


def _filled(arguments: Any) -> bool:
    """Do these arguments say anything?"""
    return bool(arguments.strip()) if isinstance(arguments, str) else arguments is not None


def _begins(arguments: Any) -> bool:
    """Can these be the first of a call's arguments?"""
    return arguments.lstrip().startswith("{") if isinstance(arguments, str) else isinstance(arguments, dict)


def _index(value: Any) -> int | str | None:
    if isinstance(value, bool) or value is None or value == "":
        return None
    if isinstance(value, int):
        return value
    try:
        number = float(value)
    except (TypeError, ValueError):
        return str(value)
    return int(number) if number.is_integer() else str(value)


def _id(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    return str(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None


def _extra(piece: dict[str, Any], function: dict[str, Any], kind: str) -> dict[str, Any] | None:
    """All that a piece has beyond what is read here."""
    extra = {name: value for name, value in piece.items() if name not in _READ and value is not None}
    known = ("name", "input") if kind == "custom" else ("name", "arguments")
    inner = {name: value for name, value in function.items() if name not in known and value is not None}
    if inner:
        extra["function"] = inner
    if kind == "custom":
        extra["type"] = "custom"
    return extra or None


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _merged(into: dict[str, Any], more: dict[str, Any]) -> dict[str, Any]:
    """Two pieces of one object: text grows, lists grow, objects merge, all else is replaced."""
    if into == more:
        return into
    result = dict(into)
    for name, value in more.items():
        before = result.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            result[name] = _merged(before, value)
        elif isinstance(before, str) and isinstance(value, str):
            result[name] = before + value
        elif isinstance(before, list) and isinstance(value, list):
            result[name] = [*before, *value]
        else:
            result[name] = value
    return result
