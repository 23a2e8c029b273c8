"""bytes → Observable[bytes]: a body that is there already."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from typing import Any, Literal

from reactivex import Observable

from operators import Spy
from pipeline.sources._blocking import BlockingSource


class _Replayed:
    phase = None
    idle = None
    client = None

    def __init__(self, reads: Iterable[bytes]) -> None:
        self._reads = reads

    def open(self, _spy: Spy | None, /) -> Iterator[bytes]:
        return iter(self._reads)

    def close(self) -> None: ...

    def cut(self) -> None: ...


def replay(
    body: bytes | Iterable[bytes] | str | os.PathLike[str],
    read_size: int | None = None,
    *,
    speed: float | Literal["virtual"] = 1,
    stream: int = 1,
) -> Observable[bytes]:
    """From a body to its reads: as given, or cut into reads of `read_size` bytes.

    Every subscription gets the whole body; an iterator, which can be read only once, is kept as a list. Emits on the
    scheduler given to subscribe, else on the current thread.

    A path is a recording, or a file with a plain body, and is played as `pipeline.recordings.replayed` does: with the reads
    of one of its streams at their times, `speed` times as fast, at once (0), or on a virtual scheduler ("virtual").

    Raises TypeError for a body that is no bytes, ValueError for a read_size below 1, FileNotFoundError for a path where
    nothing is.

    >>> replay(b"abcde", 2).subscribe(print) and None
    b'ab'
    b'cd'
    b'e'
    """
    if isinstance(body, (str, os.PathLike)):
        from pipeline.recordings import replayed

        return replayed(body, speed=speed, stream=stream, read_size=read_size)
    if read_size is not None and read_size < 1:
        raise ValueError(f"read_size is a number of bytes of at least 1, not {read_size}")
    reads: Any = [body] if isinstance(body, (bytes, bytearray, memoryview)) else body
    if not isinstance(reads, Iterable):
        raise TypeError(f"replay() takes bytes or an iterable of bytes, not {type(body).__name__}")
    if iter(reads) is reads:
        reads = list(reads)
    if read_size is not None:
        whole = b"".join(reads)
        reads = [whole[at : at + read_size] for at in range(0, len(whole), read_size)]
    return BlockingSource(lambda: _Replayed(reads))
