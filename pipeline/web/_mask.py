"""Text in pieces → the same without secrets."""

from __future__ import annotations

from collections.abc import Sequence

from pipeline.web._growing import units


class Mask:
    """Puts stars for secrets in a text that comes in pieces, as many as the secret is long, so that places stay.

    What may be the beginning of a secret is held back until it is known.

    >>> mask = Mask(["hunter2"])
    >>> mask.feed("I am hun"), mask.feed("gry, hunter"), mask.feed("2!"), mask.rest()
    ('I am ', 'hungry, ', '*******!', '')
    """

    __slots__ = ("_held", "_secrets")

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        self._held = ""

    def feed(self, text: str) -> str:
        text = masked(self._held + text, self._secrets)
        hold = max((_begun(secret, text) for secret in self._secrets), default=0)
        self._held = text[len(text) - hold :]
        return text[: len(text) - hold]

    def rest(self) -> str:
        """What is still held, once nothing more comes."""
        rest, self._held = self._held, ""
        return rest


def masked(text: str, secrets: Sequence[str]) -> str:
    """The text with stars for the secrets in it."""
    for secret in secrets:
        text = text.replace(secret, "*" * units(secret))
    return text


def _begun(secret: str, text: str) -> int:
    """How many characters at the end of the text may begin the secret."""
    first = text.find(secret[0], max(0, len(text) - len(secret) + 1))
    while first >= 0:
        if secret.startswith(text[first:]):
            return len(text) - first
        first = text.find(secret[0], first + 1)
    return 0
