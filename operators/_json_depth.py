"""Whether JSON text that comes in pieces is whole, known without keeping or parsing any of it."""

from __future__ import annotations

import re

_MARKS = re.compile(r'[\\"{}\[\]]')
_TOKENS = re.compile(r'"(?:[^"\\]|\\.)*+"?|[{\[]|[}\]]', re.DOTALL)

DEPTH = 200
"""Nested deeper than this is not read: decoders and whoever walks the value would run out of stack."""

SHALLOW = 2 * DEPTH
"""So many bytes cannot be JSON that is nested deeper."""


def too_deep(text: str | bytes) -> bool:
    """Is this JSON text nested deeper than DEPTH?

    >>> too_deep("[" * 201 + "]" * 201), too_deep('["' + "[" * 201 + '"]')
    (True, False)
    """
    if isinstance(text, bytes):
        if text.count(b"[") + text.count(b"{") <= DEPTH:
            return False
        text = text.decode("latin-1")
    elif text.count("[") + text.count("{") <= DEPTH:
        return False
    depth = 0
    for found in _TOKENS.finditer(text):
        mark = text[found.start()]
        if mark in "[{":
            depth += 1
            if depth > DEPTH:
                return True
        elif mark != '"':
            depth -= 1
    return False


class JsonDepth:
    """Depth and string state of a JSON object as its pieces come; a piece costs its own length.

    >>> depth = JsonDepth()
    >>> for piece in ('{"a":', ' "}"', ', "b": []', '}'):
    ...     depth.feed(piece)
    ...     print(depth.whole)
    False
    False
    False
    True
    """

    __slots__ = ("_depth", "_escaped", "_in_string", "whole")

    def __init__(self) -> None:
        self._depth = 0
        self._in_string = self._escaped = False
        self.whole = False  # an object or a list was opened, and everything opened is closed

    def feed(self, piece: str) -> None:
        if self._escaped and piece:
            self._escaped = False
            piece = piece[1:]
        skip = -1
        for found in _MARKS.finditer(piece):
            at, mark = found.start(), found.group()
            if at == skip:
                continue
            if mark == "\\":
                if self._in_string:
                    skip = at + 1
                    self._escaped = skip == len(piece)
            elif mark == '"':
                self._in_string = not self._in_string
            elif not self._in_string:
                self._depth += 1 if mark in "{[" else -1
                self.whole = self._depth == 0
