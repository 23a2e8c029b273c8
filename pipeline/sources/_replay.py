"""bytes → Observable[bytes]: a body that is there already."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from operators import Spy
from reactivex import Observable

from pipeline.sources._blocking import BlockingSource


class _Replayed:
    phase = None
    reusable = False

    def __init__(self, reads: Iterable[bytes]) -> None:
        self._reads = reads

    def open(self, spy: Spy | None) -> Iterator[bytes]:
        return iter(self._reads)

    def close(self) -> None: ...

    def cut(self) -> None: ...


def replay(body: bytes | Iterable[bytes], read_size: int | None = None) -> Observable[bytes]:
    """From a body to its reads: as given, or cut into reads of `read_size` bytes.

    Every subscription gets the whole body; an iterator, which can be read only once, is kept as a list. Emits on the
    scheduler given to subscribe, else on the current thread.

    Raises TypeError for a body that is no bytes, ValueError for a read_size below 1.

    >>> replay(b"abcde", 2).subscribe(print) and None
    b'ab'
    b'cd'
    b'e'
    """
    if read_size is not None and read_size < 1:
        raise ValueError(f"read_size is a number of bytes of at least 1, not {read_size}")
    reads: Any = [body] if isinstance(body, (bytes, bytearray, memoryview)) else body
    if isinstance(reads, str) or not isinstance(reads, Iterable):
        raise TypeError(f"replay() takes bytes or an iterable of bytes, not {type(body).__name__}")
    if iter(reads) is reads:
        reads = list(reads)
    if read_size is not None:
        whole = b"".join(reads)
        reads = [whole[at : at + read_size] for at in range(0, len(whole), read_size)]
    return BlockingSource(lambda: _Replayed(reads))
