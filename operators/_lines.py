"""bytes → bytes: lines."""

from __future__ import annotations

from operators._bytes import BOM, as_bytes
from operators._errors import LimitExceeded
from operators._operator import Out, Stage, operator


@operator
def lines(out: Out[bytes], *, limit: int | None = 64 * 1024 * 1024) -> Stage[bytes]:
    r"""From reads, cut anywhere, to lines: one each, without its terminator.

    A line ends at CR, LF or CRLF and at nothing else (WHATWG event streams; U+2028, U+0085, VT and FF are text). A CR
    ends its line at once, the LF of a cut CRLF adds none. One leading byte order mark is dropped. What stands after the
    last terminator is a line too: it is emitted on completion, and before an error from above is passed on.

    Raises LimitExceeded when a line has more than `limit` bytes (None: no limit), TypeError for reads that are no bytes.

        b'data: a\ndat'  b'a: b\r\n'  b'end'  |
        lines()
        b'data: a'       b'data: b'   -       (b'end' |)

    >>> from pipeline import replay
    >>> replay([b"data: a\ndat", b"a: b\r", b"\n\n"]).pipe(lines()).subscribe(print) and None
    b'data: a'
    b'data: b'
    b''
    """
    tail = bytearray()  # the line that has begun; grows in place, so that a line in many reads costs its length once
    after_cr = False
    started = False

    def begin(read: bytes) -> bytes | None:
        """The first bytes without the mark, or None while they may still be a part of it."""
        nonlocal started
        tail.extend(read)
        if len(tail) < 3 and BOM.startswith(tail):
            return None
        started = True
        whole = bytes(tail.removeprefix(BOM))
        tail.clear()
        return whole

    def on_next(read: bytes) -> None:
        nonlocal after_cr
        if type(read) is not bytes:
            read = as_bytes(read)
        if not started:
            begun = begin(read)
            if begun is None:
                return
            read = begun
        if after_cr and read:
            after_cr = False
            if read[0] == 10:
                read = read[1:]
        if not read:
            return
        longest = len(tail) + len(read)  # no line can have more
        found = read.splitlines()
        last = read[-1]
        after_cr = last == 13
        rest = b"" if last in {10, 13} else found.pop()
        if tail and found:
            tail.extend(found[0])
            found[0] = bytes(tail)
            tail.clear()
        tail.extend(rest)
        if limit is not None and longest > limit:
            emit_checked(found)
        else:
            for line in found:
                out.on_next(line)

    def emit_checked(found: list[bytes]) -> None:
        for line in found:
            check(len(line))
            out.on_next(line)
        check(len(tail))

    def check(length: int) -> None:
        if limit is not None and length > limit:
            raise LimitExceeded(f"a line has more than {limit} bytes; lines(limit=…) sets how many it may have")

    try:
        yield on_next
    except Exception:
        if tail:
            out.on_next(bytes(tail))
        raise
    if tail:
        out.on_next(bytes(tail))
