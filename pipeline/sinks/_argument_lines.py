r"""The arguments of a call as they grow → lines to be read, one a top-level value.

The plan. Outer braces and the quotes of top-level names are left out; each value begins a line of its own, nested ones
stay on it. Escapes in strings are resolved, and a line break in one breaks the line, but `\"` and `\\` stay as they are
written: so a quote that stands alone always ends its string, and what goes on a string is moved in: it never looks like
another value. What is no JSON object is shown as it comes. A piece costs its own length.
"""

from __future__ import annotations

from rich.text import Text

from pipeline.sinks._block import LIMIT
from pipeline.sinks._visible import visible

_ESCAPES = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t", "/": "/"}


class ArgumentLines:
    r"""Takes pieces of JSON, and has the lines that are done and the one that is open.

    >>> arguments = ArgumentLines()
    >>> for piece in ('{"city": "Z\\u00fc', 'rich", "days": [1,', '2], "why": "a\\nb"}'):
    ...     arguments.feed(piece)
    >>> [line.plain for line in arguments.done()]
    ['city: "Zürich"', 'days: [1, 2]', 'why: "a', '  b"']
    >>> arguments.whole
    True
    """

    def __init__(self) -> None:
        self._done: list[Text] = []
        self._spans: list[tuple[str, str]] = []  # of the open line
        self._length = 0
        self._depth = 0
        self._raw = False
        self._in_string = False
        self._escape = ""  # one that is not whole yet
        self._high = 0  # half a surrogate pair that waits for the other
        self._in_name = True  # of a top-level value
        self.begun = self.whole = False

    def feed(self, piece: str) -> None:
        for char in piece:
            self._take(char)

    def done(self) -> list[Text]:
        """The lines that are done, each once."""
        done, self._done = self._done, []
        return done

    @property
    def line(self) -> Text:
        """The line that is open."""
        return Text.assemble(*self._spans)

    def end(self) -> None:
        """Nothing more comes."""
        if self._spans:
            self._break()

    def _take(self, char: str) -> None:
        if self._raw:
            self._say(char)
        elif self._in_string:
            self._take_in_string(char)
        elif self._depth == 0:
            if not char.isspace():
                self._begin(char)
        elif char.isspace():
            pass
        elif char == '"':
            self._in_string = True
            if self._depth > 1 or not self._in_name:
                self._say(char)
        elif char in "{[":
            self._depth += 1
            self._say(char)
        elif char in "}]":
            self._depth -= 1
            if self._depth:
                self._say(char)
            else:
                self.whole = True
                self.end()
        elif char == "," and self._depth == 1:
            self._break()
            self._in_name = True
        else:
            self._say(f"{char} " if char in ",:" else char)
            self._in_name = self._in_name and char != ":"

    def _begin(self, char: str) -> None:
        self.begun, self.whole = True, False
        self._in_name = True
        if char == "{":
            self._depth = 1
        else:
            self._raw = True
            self._say(char)

    def _take_in_string(self, char: str) -> None:
        if self._escape:
            self._escape += char
            self._resolve()
        elif char == "\\":
            self._escape = char
        else:
            self._end_pair()
            self._in_string = char != '"'
            if self._in_string or self._depth > 1 or not self._in_name:
                self._say(char)

    def _resolve(self) -> None:
        escape = self._escape
        if escape[1] == "u":
            if len(escape) < 6:
                return
            self._escape = ""
            self._unicode(escape)
            return
        self._escape = ""
        self._end_pair()
        self._say(_ESCAPES.get(escape[1], escape))
        if escape[1] == "n" and not self._in_name:
            self._spans.append(("  ", ""))

    def _unicode(self, escape: str) -> None:
        try:
            code = int(f"0x{escape[2:]}", 0)
        except ValueError:
            self._end_pair()
            self._say(escape)
            return
        if self._high and 0xDC00 <= code < 0xE000:
            code = 0x10000 + ((self._high - 0xD800) << 10) + (code - 0xDC00)
            self._high = 0
        self._end_pair()
        if 0xD800 <= code < 0xDC00:
            self._high = code
        else:
            self._say(chr(code))

    def _end_pair(self) -> None:
        """Half a pair that the other half does not follow."""
        if self._high:
            self._high = 0
            self._say("\ufffd")

    def _say(self, text: str) -> None:
        if text == "\n":
            self._break()
            return
        style = "call.key" if self._depth == 1 and self._in_name and not self._raw else ""
        self._spans.append((visible(text), style))
        self._length += len(text)
        if self._length > LIMIT:
            self._break()

    def _break(self) -> None:
        self._done.append(self.line)
        self._spans, self._length = [], 0
