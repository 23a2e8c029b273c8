"""Whatever is subscribed → a file: each read as it came."""

from __future__ import annotations

import datetime as dt
import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from reactivex import Observable

from operators import Operator, Out, Spy, Stage, current_spy, operator, watched_by
from operators._spy import Spies
from pipeline._redact import redact_body, redact_headers, redact_text, redact_url
from pipeline.recordings._format import (
    FORMAT,
    VERSION,
    AnyLine,
    EndLine,
    Failure,
    Header,
    OpenLine,
    RequestLine,
    ResponseLine,
    encode,
    read_line,
)

log = logging.getLogger("rxchat.recordings")

T = TypeVar("T")

_SHORTEST = 6  # characters; a shorter secret is a part of any word


def record(
    path: str | os.PathLike[str], *, secrets: Iterable[str] = (), clock: Callable[[], float] = time.monotonic
) -> Record:
    r"""From what is subscribed to a recording of it: requests, heads of responses, and each read as it came.

    As a context manager it records whatever is subscribed inside, ready-made chains, retries and rounds too, each to its end
    even if that comes after the `with`, but nothing that another thread subscribes (`subscribe_on`), of which it warns if it
    has recorded nothing; as an operator, `completion(body).pipe(record(path))`, the one stream that it
    stands under. Both begin the file anew; only its owner may read it. `replay(path)` plays it, `Recording.load(path)`
    reads it, and `pipeline/recordings/_format.py` tells the format.

    Each line is in the file before the read goes on, so what came before a crash or a SIGKILL can be read. A disk that is
    full ends the recording, with a warning in the log, and not the stream. Raises OSError for a path that cannot be
    written. `clock` gives the time in seconds.

    Headers, URL, request body and errors are written without what looks like a secret, which becomes `***`. Reads are
    written as they came, but for the `secrets` given (and OPENAI_API_KEY), each byte of which becomes `*`.

    >>> import tempfile
    >>> from operators import lines
    >>> from pipeline import replay
    >>> path = tempfile.mktemp()
    >>> with record(path):
    ...     replay([b"data: 1\n", b"\n"]).pipe(lines()).subscribe() and None
    >>> from pipeline.recordings import replayed
    >>> replayed(path, speed=0).subscribe(print) and None
    b'data: 1\n'
    b'\n'
    """
    known = (*secrets, os.environ.get("OPENAI_API_KEY", ""))
    return Record(Path(path), tuple({secret for secret in known if len(secret) >= _SHORTEST}), clock)


class Record:
    """What `record()` makes: a context manager, and an operator."""

    def __init__(self, path: Path, secrets: tuple[str, ...], clock: Callable[[], float]) -> None:
        self.path = path
        self._secrets, self._clock = secrets, clock
        self._left = ExitStack()
        self._file: _File | None = None

    def __enter__(self) -> Self:
        self._file = file = _File(self.path, self._clock, self._secrets)
        self._left.callback(file.leave)
        looking, lane = current_spy(), _Lane(file)
        self._left.enter_context(watched_by(lane if looking is None else Spies(looking, lane)))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if error is None and self._file is not None and self._file.streams == 0:
            log.warning(
                "nothing was subscribed here to be recorded in %s: what another thread subscribes is not seen",
                self.path,
            )
        self._left.close()

    def __call__(self, source: Observable[T]) -> Observable[T]:
        def record(out: Out[T]) -> Stage[T]:
            file = _File(self.path, self._clock, self._secrets)
            out.watch(_Lane(file))
            try:
                yield out.on_next
            finally:
                file.leave()

        stage: Operator[T, T] = operator(record)()  # made here, so that its repr, which spies see, has no secrets in it
        return stage(source)

    def __repr__(self) -> str:
        return f"record({str(self.path)!r})"


class _File:
    """The file that several lanes write to."""

    def __init__(self, path: Path, clock: Callable[[], float], secrets: tuple[str, ...]) -> None:
        self.secrets = secrets
        self._path, self._clock = path, clock
        self._began = clock()
        self._lock = threading.Lock()
        self.streams = self._running = 0
        self._leaving = self._broken = False
        self._fd: int | None = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND, 0o600)
        started = dt.datetime.now(dt.UTC).isoformat(timespec="milliseconds")
        self._append(encode(Header(FORMAT, VERSION, started)))

    def now(self) -> float:
        """Seconds since the recording began, in whole microseconds, which is what virtual time can tell apart."""
        return round(self._clock() - self._began, 6)

    def new_stream(self) -> int:
        with self._lock:
            self.streams += 1
            return self.streams

    def write(self, line: AnyLine) -> None:
        data = encode(line)
        with self._lock:
            self._append(data)
            if isinstance(line, (OpenLine, EndLine)):
                self._running += 1 if isinstance(line, OpenLine) else -1
                self._close_if_done()

    def leave(self) -> None:
        """Nothing new is recorded from here; close when what still runs has ended."""
        with self._lock:
            self._leaving = True
            self._close_if_done()

    def _append(self, data: bytes) -> None:
        """Straight to the operating system, as one write: nothing stays in this process to be lost with it."""
        if self._broken:
            return
        try:
            if self._fd is None:  # a retry began after everything else had ended
                self._fd = os.open(self._path, os.O_WRONLY | os.O_APPEND)
            while data:
                data = data[os.write(self._fd, data) :]
        except OSError as error:
            self._broken = True
            log.warning("recording to %s has stopped: %s", self._path, error)

    def _close_if_done(self) -> None:
        if self._leaving and self._running <= 0 and self._fd is not None:
            os.close(self._fd)
            self._fd = None


class _Lane(Spy):
    """Writes what one source says. One without a stream of its own takes the next number when something is said."""

    def __init__(
        self,
        file: _File,
        stream: int | None = None,
        attempt: int = 1,
        round: int | None = None,  # noqa: A002
    ) -> None:
        self._file, self._stream, self._attempt, self._round = file, stream, attempt, round
        self._began = file.now()
        self._secrets = file.secrets
        self._number: int | None = None  # of the stream that is open

    def scope(self, kind: str, number: int) -> Spy:
        if kind == "round":
            return _Lane(self._file, self._stream, self._attempt, number)
        if kind == "attempt":
            return _Lane(self._file, self._stream, number, self._round)
        if self._stream is not None:  # a source within an attempt is no stream of its own
            return self
        return _Lane(self._file, self._file.new_stream(), self._attempt, self._round)

    def secrets(self, values: Iterable[str]) -> None:
        """What must not be written, wherever it turns up; of an Authorization header, what follows its scheme."""
        self._secrets += tuple(bare for value in values if len(bare := value.rpartition(" ")[2]) >= _SHORTEST)

    def request(self, method: str, url: str, headers: Mapping[str, str], body: object) -> None:
        if self._number is None and self._stream is None:
            self._began = self._file.now()
        at, stream = self._open()
        clean = redact_headers({name: self._clean(value) for name, value in headers.items()})
        shown = redact_body(body, self._secrets)
        where = self._clean(redact_url(url))
        self._file.write(RequestLine(at, stream, self._attempt, method, where, clean, shown, round=self._round))

    def response(self, status: int, headers: Mapping[str, str]) -> None:
        at, stream = self._open()
        clean = redact_headers({name: self._clean(value) for name, value in headers.items()})
        self._file.write(ResponseLine(at, stream, self._attempt, status, clean, round=self._round))

    def read(self, data: bytes) -> None:
        at, stream = self._open()
        data = bytes(data)
        for secret in self._secrets:
            hidden = secret.encode()
            data = data.replace(hidden, b"*" * len(hidden))
        self._file.write(read_line(data, at, stream, self._attempt, self._round))

    def closed(self, error: Exception | None) -> None:
        at, stream = self._open()
        failure = None if error is None else Failure.of(error, self._secrets)
        self._file.write(EndLine(at, stream, self._attempt, failure, round=self._round))
        self._number, self._began = None, at

    def _open(self) -> tuple[float, int]:
        """The time and the stream; at first, the line that opens it."""
        if self._number is None:
            self._number = self._stream if self._stream is not None else self._file.new_stream()
            self._file.write(OpenLine(self._began, self._number, self._attempt, round=self._round))
        return self._file.now(), self._number

    def _clean(self, text: str) -> str:
        return redact_text(text, self._secrets)
