"""Reads, as they are taken."""

from __future__ import annotations

BOM = b"\xef\xbb\xbf"


def as_bytes(read: object) -> bytes:
    """A read, which may be another kind of bytes."""
    if isinstance(read, (bytes, bytearray, memoryview)):
        return bytes(read)
    raise TypeError(
        f"a read is bytes, not {type(read).__name__}; a body must not be decoded to text before it is cut into lines"
    )
