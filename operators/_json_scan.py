"""A push scanner for JSON text that comes in pieces: says what each piece did, and reads no character twice.

The plan. A state is a method that takes the text and a position, reads one token, or as much of it as is there, sets the
state that follows and returns where it stopped; `feed` calls states until the text is used up. What a token did is a
step: a list or an object was opened, a string grew, a value was closed. An escape that is cut is put before the next
piece; a high surrogate waits for its low one. Values are hung into their list or object when they are closed, so what
stands there never changes again, and a partial value is a copy of only the containers that are still open.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

from operators._surrogates import scrubbed

Path: TypeAlias = tuple[str | int, ...]
Step: TypeAlias = tuple[Literal["opened", "grew", "closed", "invalid"], Path, Any]
"""What happened, where, and with it: "object" or "list", the text, the value, what is wrong."""

DEPTH = 512
"""Nested deeper than this is invalid: every path would be longer than the text that it names."""

_MARK = re.compile(r"[ \t\n\r]*(.?)", re.DOTALL)
_RUN = re.compile(r'(?:[^"\\]++|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*+')
_CUT_ESCAPE = re.compile(r"\\(?:u[0-9a-fA-F]{0,3})?")
_SCALAR = re.compile(r"[0-9A-Za-z+.\-]*+")
_NUMBER = re.compile(r"-?(?:0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?")
_LITERALS = {"true": True, "false": False, "null": None, "NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
_NOTHING = object()

_unquoted: Callable[[str], str] = json.JSONDecoder(strict=False).decode


class _MalformedError(Exception):
    """The text is no JSON: what was met, and where in the piece."""

    def __init__(self, what: str, at: int) -> None:
        self.what, self.at = what, at


class JsonScan:
    r"""One JSON value as its text comes. Strings are seen while they are open.

    >>> scan = JsonScan()
    >>> scan.feed('{"a": ["x\\u00')
    [('opened', (), 'object'), ('opened', ('a',), 'list'), ('grew', ('a', 0), 'x')]
    >>> scan.partial()
    {'a': ['x']}
    >>> scan.feed('e9"]}')
    [('grew', ('a', 0), 'é'), ('closed', ('a', 0), 'xé'), ('closed', ('a',), ['xé']), ('closed', (), {'a': ['xé']})]
    """

    __slots__ = ("_cut", "_half", "_keys", "_open", "_parts", "_path", "_seen", "_state", "_steps", "_value")

    def __init__(self) -> None:
        self._state: Callable[[JsonScan, str, int], int] = JsonScan._at_value
        self._open: list[dict[str, Any] | list[Any]] = []  # the containers that are open
        self._keys: list[str | int] = []  # and the key of what is being read in each of them
        self._path: Path = ()  # of the string or scalar that is being read
        self._parts: list[str] = []  # its text, or that of a key
        self._cut = self._half = ""
        self._seen = 0
        self._steps: list[Step] = []
        self._value: Any = None

    @property
    def begun(self) -> bool:
        """Has anything but white space come?"""
        return bool(self._open) or self._state is not JsonScan._at_value

    def feed(self, text: str) -> list[Step]:
        """What the next piece of the text did. After an "invalid" nothing is read any more."""
        steps = self._steps = []
        if self._cut:
            self._seen -= len(self._cut)
            text, self._cut = self._cut + text, ""
        at, end = 0, len(text)
        try:
            while at < end:
                at = self._state(self, text, at)
        except _MalformedError as found:
            self._break(found.what, self._seen + found.at)
        self._seen += end
        return steps

    def end(self) -> list[Step]:
        """What the end of the text did: a number at the top is closed by it; what is still open is invalid."""
        steps = self._steps = []
        try:
            if self._state is JsonScan._in_scalar:
                self._close_scalar(0)
        except _MalformedError as found:
            self._break(found.what, self._seen)
        if self._state not in {JsonScan._at_end, JsonScan._broken}:
            self._break("the text ends before the value", self._seen)
        return steps

    def partial(self) -> Any:
        """The value as far as it has come, open strings included; None before anything has.

        It does not change any more. What is closed is shared between such values, so treat them as read-only.
        """
        if not self._open and self._state is not JsonScan._in_string:
            return self._value
        value: Any = _NOTHING
        if self._state is JsonScan._in_string:
            value = self._whole_text()
        for container, key in zip(reversed(self._open), reversed(self._keys), strict=True):
            grown = container.copy()
            if value is not _NOTHING:
                _put(grown, key, value)
            value = grown
        return value

    # ------------------------------------------------------------------------------------------------ the states

    def _at_value(self, text: str, at: int) -> int:
        mark, after = _next_mark(text, at)
        if mark == "{":
            self._open_container({}, after)
        elif mark == "[":
            self._open_container([], after)
        elif mark == '"':
            self._path = self._place()
            self._state = JsonScan._in_string
        elif mark:
            if not _SCALAR.fullmatch(mark):
                raise _unexpected(mark, after, "a value")
            self._path = self._place()
            self._state = JsonScan._in_scalar
            return after - 1
        return after

    def _in_string(self, text: str, at: int) -> int:
        grown, at, closed = self._read_text(text, at)
        if grown:
            self._parts.append(grown)
            self._steps.append(("grew", self._path, grown))
        if closed:
            self._close(self._path, self._taken())
        return at

    def _in_scalar(self, text: str, at: int) -> int:
        stop = _end_of(_SCALAR, text, at)
        self._parts.append(text[at:stop])
        if stop < len(text):
            self._close_scalar(stop)
        return stop

    def _at_first_item(self, text: str, at: int) -> int:
        mark, after = _next_mark(text, at)
        if mark == "]":
            self._close_container()
        elif mark:
            self._keys[-1] = 0
            self._state = JsonScan._at_value
            return after - 1
        return after

    def _at_first_key(self, text: str, at: int) -> int:
        mark, after = _next_mark(text, at)
        if mark == "}":
            self._close_container()
        elif mark:
            self._state = JsonScan._at_key
            return after - 1
        return after

    def _at_key(self, text: str, at: int) -> int:
        mark, after = _next_mark(text, at)
        if mark == '"':
            self._state = JsonScan._in_key
        elif mark:
            raise _unexpected(mark, after, "a key")
        return after

    def _in_key(self, text: str, at: int) -> int:
        grown, at, closed = self._read_text(text, at)
        self._parts.append(grown)
        if closed:
            self._keys[-1] = self._taken()
            self._state = JsonScan._at_colon
        return at

    def _at_colon(self, text: str, at: int) -> int:
        mark, after = _next_mark(text, at)
        if mark == ":":
            self._state = JsonScan._at_value
        elif mark:
            raise _unexpected(mark, after, "a colon")
        return after

    def _at_comma(self, text: str, at: int) -> int:
        mark, after = _next_mark(text, at)
        container = self._open[-1]
        if mark == ("]" if isinstance(container, list) else "}"):
            self._close_container()
        elif mark == ",":
            if isinstance(container, list):
                self._keys[-1] = len(container)
                self._state = JsonScan._at_value
            else:
                self._state = JsonScan._at_key
        elif mark:
            raise _unexpected(mark, after, "a comma or the end of the " + _kind(container))
        return after

    def _at_end(self, text: str, at: int) -> int:
        mark, after = _next_mark(text, at)
        if mark:
            raise _unexpected(mark, after, "nothing more")
        return after

    def _broken(self, text: str, _: int) -> int:
        return len(text)

    # ------------------------------------------------------------------------------------------------ what they share

    def _read_text(self, text: str, at: int) -> tuple[str, int, bool]:
        """What a string or key grew by, where that stopped, and whether the string is closed."""
        stop = _end_of(_RUN, text, at)
        grown = text[at:stop]
        closed = stop < len(text) and text[stop] == '"'
        if "\\" in grown or self._half:
            grown = self._half + _unquoted(f'"{grown}"')
            self._half = ""
            if not closed and "\ud800" <= grown[-1:] <= "\udbff":
                grown, self._half = grown[:-1], grown[-1]
            grown = scrubbed(grown)
        if closed:
            return grown, stop + 1, True
        if stop < len(text):
            if not _CUT_ESCAPE.fullmatch(text, stop):
                if stop > at:  # what came before it is told first
                    return grown, stop, False
                raise _MalformedError("a backslash that begins no escape", stop)
            self._cut = text[stop:]
        return grown, len(text), False

    def _place(self) -> Path:
        return tuple(self._keys)

    def _whole_text(self) -> str:
        """The text being read, kept joined: asking again does not join the same parts again."""
        if len(self._parts) > 1:
            self._parts[:] = ["".join(self._parts)]
        return self._parts[0] if self._parts else ""

    def _taken(self) -> str:
        text = "".join(self._parts)
        self._parts.clear()
        return text

    def _open_container(self, container: dict[str, Any] | list[Any], at: int) -> None:
        if len(self._open) == DEPTH:
            raise _MalformedError(f"nested deeper than {DEPTH}", at - 1)
        self._steps.append(("opened", self._place(), _kind(container)))
        self._open.append(container)
        self._keys.append("")
        self._state = JsonScan._at_first_item if isinstance(container, list) else JsonScan._at_first_key

    def _close_container(self) -> None:
        container = self._open.pop()
        self._keys.pop()
        self._close(self._place(), container)

    def _close_scalar(self, at: int) -> None:
        token = self._taken()
        try:
            value = _scalar(token)
        except ValueError:
            raise _MalformedError(f"{token[:20]!r} is no value", at) from None
        self._close(self._path, value)

    def _close(self, path: Path, value: Any) -> None:
        if self._open:
            _put(self._open[-1], self._keys[-1], value)
            self._state = JsonScan._at_comma
        else:
            self._value = value
            self._state = JsonScan._at_end
        self._steps.append(("closed", path, value))

    def _break(self, what: str, at: int) -> None:
        self._value = self.partial()
        place = self._place()
        if self._state not in {JsonScan._at_colon, JsonScan._at_value, JsonScan._in_string, JsonScan._in_scalar}:
            place = place[:-1]  # no value in the innermost container is due or begun: it is the container itself
        self._steps.append(("invalid", place, f"{what} (character {at})"))
        self._open.clear()
        self._keys.clear()
        self._state = JsonScan._broken


def _next_mark(text: str, at: int) -> tuple[str, int]:
    """The next character that is no white space, "" if there is none, and the position after it."""
    found = _MARK.match(text, at)
    assert found
    return found[1], found.end()


def _end_of(pattern: re.Pattern[str], text: str, at: int) -> int:
    """Where a run that may be empty ends."""
    found = pattern.match(text, at)
    assert found
    return found.end()


def _put(container: dict[str, Any] | list[Any], key: str | int, value: Any) -> None:
    if isinstance(container, list):
        container.append(value)
    else:
        container[str(key)] = value


def _kind(container: dict[str, Any] | list[Any]) -> str:
    return "list" if isinstance(container, list) else "object"


def _scalar(token: str) -> Any:
    number = _NUMBER.fullmatch(token)
    if number is None:
        if token not in _LITERALS:
            raise ValueError(token)
        return _LITERALS[token]
    return float(token) if number[1] or number[2] else int(token)


def _unexpected(mark: str, after: int, expected: str) -> _MalformedError:
    return _MalformedError(f"expected {expected}, found {mark!r}", after - 1)
