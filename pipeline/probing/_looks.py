"""What each kind of item looks like: its colours, its sign in a terminal, its label."""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

from pipeline.probing._seen import Item
from pipeline.probing._shown import shown

Theme: TypeAlias = Literal["auto", "light", "dark"]
"""auto: light, and dark for readers who prefer that."""


class Hue(NamedTuple):
    """Of a marble, and of the text in it."""

    solid: str
    ink: str


class Colours(NamedTuple):
    """A panel of its own stands behind every picture: no colour can be read both on white and on black."""

    panel: str
    edge: str
    text: str
    muted: str
    line: str
    stall: str
    stall_band: str
    gap_band: str
    good: str
    bad: str
    hues: dict[str, Hue]


_LIGHT = Colours(
    panel="#fcfcfd",
    edge="#dde2e8",
    text="#1b2430",
    muted="#64707d",
    line="#d3dae1",
    stall="#92400e",
    stall_band="#fdf0d9",
    gap_band="#f0f3f6",
    good="#15803d",
    bad="#be123c",
    hues={
        "slate": Hue("#64748b", "#334155"),
        "cyan": Hue("#0891b2", "#155e75"),
        "sky": Hue("#0284c7", "#075985"),
        "teal": Hue("#0d9488", "#115e59"),
        "green": Hue("#16a34a", "#166534"),
        "blue": Hue("#2563eb", "#1e40af"),
        "violet": Hue("#7c3aed", "#5b21b6"),
        "rose": Hue("#e11d48", "#9f1239"),
        "amber": Hue("#d97706", "#8a3f0d"),
        "orange": Hue("#ea580c", "#9a3412"),
        "lime": Hue("#65a30d", "#3f6212"),
        "indigo": Hue("#4f46e5", "#3730a3"),
        "stone": Hue("#78716c", "#44403c"),
        "fuchsia": Hue("#c026d3", "#86198f"),
        "red": Hue("#dc2626", "#991b1b"),
    },
)
_DARK = Colours(
    panel="#11161d",
    edge="#2b333d",
    text="#e6edf3",
    muted="#93a0ad",
    line="#38424d",
    stall="#fbbf24",
    stall_band="#2e2710",
    gap_band="#1a212a",
    good="#4ade80",
    bad="#fb7185",
    hues={
        "slate": Hue("#94a3b8", "#cbd5e1"),
        "cyan": Hue("#22d3ee", "#67e8f9"),
        "sky": Hue("#38bdf8", "#7dd3fc"),
        "teal": Hue("#2dd4bf", "#5eead4"),
        "green": Hue("#4ade80", "#86efac"),
        "blue": Hue("#60a5fa", "#93c5fd"),
        "violet": Hue("#a78bfa", "#c4b5fd"),
        "rose": Hue("#fb7185", "#fda4af"),
        "amber": Hue("#fbbf24", "#fcd34d"),
        "orange": Hue("#fb923c", "#fdba74"),
        "lime": Hue("#a3e635", "#bef264"),
        "indigo": Hue("#818cf8", "#a5b4fc"),
        "stone": Hue("#a8a29e", "#d6d3d1"),
        "fuchsia": Hue("#e879f9", "#f0abfc"),
        "red": Hue("#f87171", "#fca5a5"),
    },
)
THEMES: dict[Theme, Colours] = {"auto": _LIGHT, "light": _LIGHT, "dark": _DARK}


def _every(colours: Colours) -> list[str]:
    *plain, hues = colours
    return [*plain, *(colour for hue in hues.values() for colour in hue)]


DARKENED = dict(zip(_every(_LIGHT), _every(_DARK), strict=True))
"""Each colour of the light theme → that of the dark one."""


class Look(NamedTuple):
    hue: str
    sign: str
    """In a terminal."""


_LOOKS = {
    "read": Look("slate", "●"),
    "bytes": Look("slate", "·"),
    "ServerSentEvent": Look("cyan", "◆"),
    "Chunk": Look("sky", "■"),
    "Started": Look("green", "S"),
    "TextDelta": Look("blue", "T"),
    "ReasoningDelta": Look("violet", "R"),
    "RefusalDelta": Look("rose", "X"),
    "ToolCallDelta": Look("amber", "a"),
    "ToolCall": Look("orange", "C"),
    "ToolResult": Look("lime", "O"),
    "Finish": Look("teal", "F"),
    "Usage": Look("stone", "U"),
    "Message": Look("indigo", "M"),
    "Conversation": Look("indigo", "Z"),
    "RoundStarted": Look("fuchsia", "N"),
    "Retrying": Look("red", "Y"),
    "Restarted": Look("red", "Y"),
    "Gap": Look("red", "G"),
    "str": Look("blue", "s"),
    "ArgumentOpened": Look("amber", "("),
    "ArgumentDelta": Look("amber", "."),
    "ArgumentClosed": Look("amber", ")"),
    "ArgumentsChecked": Look("green", "k"),
    "ArgumentsInvalid": Look("red", "!"),
}
_OTHERS = ("fuchsia", "lime", "rose", "cyan")


def look(kind: str) -> Look:
    """That of a kind; one that is not ours has one that follows from its name.

    >>> look("TextDelta").hue, look("Mine").sign
    ('blue', 'M')
    """
    found = _LOOKS.get(kind)
    if found is not None:
        return found
    return Look(_OTHERS[sum(map(ord, kind)) % len(_OTHERS)], kind[:1] if kind.isascii() and kind.isprintable() else "?")


SAID = frozenset({"TextDelta", "ReasoningDelta", "RefusalDelta", "str"})
"""Kinds whose texts, one after the other, can be read."""

_BYTES = frozenset({"bytes", "read", "ServerSentEvent", "Chunk"})
_OFTEN = SAID | {"ToolCallDelta", "ArgumentOpened", "ArgumentDelta", "ArgumentClosed"}
_WORDS = {
    "Started": "start",
    "Usage": "usage",
    "Message": "message",
    "Conversation": "conversation",
    "Restarted": "restart",
    "Retrying": "retry",
    "ToolResult": "result",
}


def label(item: Item, detail: int) -> str:
    """What stands in a marble; "" for one that is a dot.

    Detail 0 has room for words, 1 for none in texts, which are told below the row, 2 only for what comes rarely, 3 for none.
    """
    return shown(_says(item, detail), 4 if detail == 1 and item.kind in _OFTEN and not _opens(item) else 11)


def _says(item: Item, detail: int) -> str:
    kind = item.kind
    if detail > 2 or (kind in _BYTES and item.text != "[DONE]"):
        return ""
    if detail and kind in SAID:
        return ""
    if detail == 2 and item.piece is not None:
        return ""
    if _opens(item):
        return item.piece.name if item.piece is not None else ""
    if kind in _OFTEN:
        return "" if detail == 2 else item.text if item.text.strip(" ") else "␣"
    if kind == "ToolCall":
        return item.text.partition("(")[0]
    if kind == "RoundStarted":
        return f"round {item.text}"
    if kind in _WORDS:
        return _WORDS[kind]
    if kind in _LOOKS or detail < 2:
        return item.text or kind
    return ""


def _opens(item: Item) -> bool:
    return item.kind == "ToolCallDelta" and item.piece is not None and bool(item.piece.name)
