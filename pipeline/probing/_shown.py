"""Text of a model, as a picture may get it: nothing in it is obeyed, all of it is seen."""

from __future__ import annotations

import html
import re
import unicodedata

from pipeline.sinks._visible import visible

_SIGNS = str.maketrans(
    {"\n": "⏎", "\r": "␍", "\t": "⇥", "\ufffe": "\ufffd", "\uffff": "\ufffd"}
    | {chr(code): f"⟨U+{code:04X}⟩" for code in (0xAD, 0x61C, *range(0x200B, 0x2010), 0x2028, 0x2029, 0x2060, 0xFEFF)}
)

_UNSET = re.compile(r", \w+=None|\w+=None(, )?")


def shown(text: str, cells: int | None = None) -> str:
    r"""From any text to one line of it that can be written anywhere, cut to so many cells of a fixed-width font.

    Control characters, line ends, and what turns the direction of writing or cannot be seen become signs.

    >>> shown("a\n\x1b[2J\u202eb"), shown("wonderful", 5), shown("日本語", 4)
    ('a⏎␛[2J⟨U+202E⟩b', 'wond…', '日…')
    """
    text = visible(text).translate(_SIGNS)
    if cells is None or width(text) <= cells:
        return text
    kept, used = [], 1
    for character in text:
        used += width(character)
        if used > cells:
            break
        kept.append(character)
    return "".join(kept) + "…"


def width(text: str) -> int:
    """Cells of a fixed-width font."""
    if text.isascii():
        return len(text)
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 0 if unicodedata.combining(c) else 1 for c in text)


def escaped(text: str) -> str:
    """The text for XML and HTML, in an element or in a quoted attribute.

    >>> escaped('<b onclick="x">')
    '&lt;b onclick=&quot;x&quot;&gt;'
    """
    return html.escape(shown(text))


def seconds(value: float) -> str:
    """A time as people read it.

    >>> seconds(0.0000042), seconds(0.0013), seconds(0.0123), seconds(1.2345), seconds(75)
    ('4.2 µs', '1.3 ms', '12 ms', '1.23 s', '75.0 s')
    """
    if value >= 0.9995:
        return f"{value:.2f} s" if value < 9.995 else f"{value:,.1f} s"
    if not value:
        return "0"
    number, unit = (value * 1e3, "ms") if value >= 0.0009995 else (value * 1e6, "µs")
    return f"{number:.1f} {unit}" if number < 9.95 else f"{number:.0f} {unit}"


def number(value: int, of: str) -> str:
    """A number of things.

    >>> number(1, "read"), number(2000, "read")
    ('1 read', '2,000 reads')
    """
    return f"{value:,} {of}{'' if value == 1 else 's'}"


def size(value: int) -> str:
    """A number of bytes as people read it.

    >>> size(999), size(4416), size(2_500_000)
    ('999 B', '4.4 kB', '2.5 MB')
    """
    if value < 1000:
        return f"{value} B"
    return f"{value / 1000:.1f} kB" if value < 999_950 else f"{value / 1e6:,.1f} MB"


def stage_name(name: str, cells: int = 24) -> str:
    """A stage's name for a narrow column: without options that say nothing to people.

    >>> stage_name("told(<pipeline.Story object at 0x7f>)"), stage_name("chunks(errors='skip', extras=True)")
    ('told(…)', 'chunks(errors=…)')
    >>> stage_name("deltas(choices=None)")
    'deltas()'
    """
    short = _UNSET.sub("", shown(name))
    if width(short) > cells or " at 0x" in short:
        base, _, options = short.partition("(")
        first = options.partition("=")[0]
        short = f"{base}({first}=…)" if "=" in options and first.isidentifier() else f"{base}(…)"
    return shown(short, cells)
