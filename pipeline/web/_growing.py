"""A text that grows."""

from __future__ import annotations


def units(text: str) -> int:
    """The length of a text as JavaScript counts it, in units of UTF-16.

    >>> units("é"), units("🌤")
    (1, 2)
    """
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2


class Growing:
    """A text that grows, and of which any part can be had. It is kept as UTF-16, as pages count in its units.

    A piece costs its own length, whatever came before.

    >>> text = Growing()
    >>> text.add("sun 🌤", room=100), text.part(4, 100), text.part(0, 5)
    (6, '🌤', 'sun ')
    """

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept = bytearray()

    def __len__(self) -> int:
        return len(self._kept) // 2

    def add(self, text: str, room: int) -> int:
        """Append a text, or as much of it as `room` has units for. The answer is its length, kept or not."""
        data = text.encode("utf-16-le", "surrogatepass")
        self._kept += data if len(data) <= 2 * room else data[: 2 * room]
        return len(data) // 2

    def part(self, at: int, size: int) -> str:
        """At most `size` units from `at` on; a pair of units is not cut."""
        data = bytes(self._kept[2 * at : 2 * (at + size)])
        if data and data[-1] & 0xFC == 0xD8 and at + size < len(self):
            data = data[:-2]
        return data.decode("utf-16-le", "replace")
