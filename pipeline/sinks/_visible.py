"""Text of a model, as a terminal may get it: nothing in it is obeyed, all of it is seen."""

from __future__ import annotations

import re

_BIDI = [*range(0x202A, 0x202F), *range(0x2066, 0x206A)]
_UNSAFE = re.compile(r"\r(?!\n)|[^\t\n\r -~\u00a0-\u2029\u202f-\u2065\u206a-\ud7ff\ue000-\U0010ffff]")
_SYMBOLS = {chr(code): f"⟨U+{code:04X}⟩" for code in (*range(0x80, 0xA0), *_BIDI)}
_SYMBOLS |= {chr(code): chr(0x2400 + code) for code in range(0x20)} | {"\x7f": "␡"}
_PLAINER = str.maketrans({"→": "->", "←": "<-", "·": "-", "…": "...", "—": "-", "⟨": "<", "⟩": ">"})


def visible(text: str) -> str:
    r"""From a text to the same with a symbol for each character that a terminal would obey.

    These are the control characters (C0, C1, DEL: with them go all escape sequences) and those that turn the direction
    of writing. Newline, CR LF and tab stay; a CR alone, which lets a line be written over, does not. Half a surrogate
    pair, which cannot be written, becomes U+FFFD.

    >>> print(visible("\x1b[2Jgone\rback \x9b31m \u202egnp.exe"))
    ␛[2Jgone␍back ⟨U+009B⟩31m ⟨U+202E⟩gnp.exe
    """
    return text if text.isprintable() else _UNSAFE.sub(lambda found: _SYMBOLS.get(found[0], "\ufffd"), text)


def encodable(text: str, encoding: str) -> str:
    r"""From a text to one that can be written in this encoding; what it lacks becomes an escape.

    >>> encodable("→ 21 °C …", "ascii")
    '-> 21 \\xb0C ...'
    """
    if encoding.lower().replace("_", "-").startswith("utf"):
        return text
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        return text.translate(_PLAINER).encode(encoding, "backslashreplace").decode(encoding)
    return text
