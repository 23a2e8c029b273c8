"""Halves of surrogate pairs, held back until the rest comes."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

_PAIR = re.compile("[\ud800-\udbff][\udc00-\udfff]")
_HALF = re.compile("[\ud800-\udfff]")


class Surrogates:
    """Servers that escape text as UTF-16 may cut a character in two: the high half ends one delta, the low begins the next.

    >>> halves = Surrogates()
    >>> halves.join(0, "text", "ok \\ud83d"), halves.held
    ('ok ', {(0, 'text'): '\\ud83d'})
    >>> halves.join(0, "text", "\\ude00!"), halves.held
    ('😀!', {})
    """

    def __init__(self) -> None:
        self.held: dict[tuple[int, str], str] = {}

    def join(self, choice: int, channel: str, text: str) -> str:
        """The text with what was held before it, without a last high half; a half that stays alone becomes U+FFFD."""
        text = self.held.pop((choice, channel), "") + text
        if "\ud800" <= text[-1:] <= "\udbff":
            self.held[choice, channel] = text[-1]
            text = text[:-1]
        whole: str = scrubbed(text)
        return whole

    def left(self) -> Iterator[tuple[int, str, str]]:
        """What is still held when the stream ends: choice, channel and U+FFFD."""
        for choice, channel in self.held:
            yield choice, channel, "\ufffd"
        self.held.clear()


JOINED = frozenset(
    {
        "content", "text", "value", "refusal", "arguments", "input", "transcript",
        "reasoning", "reasoning_content", "reasoning_text", "thinking", "summary",
    }
)  # fmt: skip
"""Keys of texts that come in pieces: what ends in half a pair waits for the rest."""

_ON_THE_WAY = frozenset(
    {
        "choices", "delta", "message", "content", "text", "audio",
        "reasoning", "reasoning_details", "thinking", "thinking_blocks", "summary",
        "tool_calls", "function", "function_call", "custom",
    }
)  # fmt: skip
"""Keys under which such texts stand. Under any other, a text is whole."""


def scrubbed(value: Any, keep: frozenset[str] = frozenset()) -> Any:
    """The JSON value with every half that stands alone as U+FFFD, but for texts under the keys in `keep`, where those count.

    >>> scrubbed(["\\ud83d\\ude00", {"token": "\\ud83d"}])
    ['😀', {'token': '�'}]
    """
    if isinstance(value, str):
        text = _PAIR.sub(lambda pair: pair[0].encode("utf-16-le", "surrogatepass").decode("utf-16-le"), value)
        return _HALF.sub("\ufffd", text)
    if isinstance(value, list):
        return [scrubbed(item, keep) for item in value]
    if isinstance(value, dict):
        return {
            scrubbed(name): item
            if name in keep and isinstance(item, str)
            else scrubbed(item, keep if name in _ON_THE_WAY else frozenset())
            for name, item in value.items()
        }
    return value
