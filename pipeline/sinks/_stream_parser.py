"""Lines or reads in, callbacks out: the parser that people have today, with the pipe inside."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypedDict, Unpack

from reactivex import operators as ops
from reactivex.subject import Subject

from operators import Event, Message, Operator, Started, ToolCall, ToolCallDelta, Usage, watched_by
from operators._calls import loads
from pipeline.chat._decode import decode
from pipeline.sinks._callbacks import callbacks
from pipeline.sinks._collect import Collected, collect


class Callbacks(TypedDict, total=False):
    """What `callbacks()` takes."""

    on_started: Callable[[Started], object] | None
    on_text: Callable[[str], object] | None
    on_reasoning: Callable[[str], object] | None
    on_refusal: Callable[[str], object] | None
    on_tool_call_delta: Callable[[ToolCallDelta], object] | None
    on_tool_call: Callable[[ToolCall], object] | None
    on_finish: Callable[[str], object] | None
    on_usage: Callable[[Usage], object] | None
    on_event: Callable[[Event], object] | None
    on_error: Callable[[Exception], object] | None
    on_done: Callable[[], object] | None
    choice: int | None


class StreamParser:
    r"""From lines (`feed`) or reads (`feed_bytes`) of a response's body to calls of the functions given.

    Takes what `callbacks()` takes, and `decoder`, the operator from bytes to events (default: `decode()`). Nothing here
    waits for anything, so it goes into a `for` as into an `async for`. `messages` and `text` may be read at any time.

    An error of the stream goes to on_error if there is one, else it is raised from the `feed` or `close` that met it, as
    a StreamError whose `partial` holds what came before. What one of the functions raises leaves `feed`, and ends the
    stream. What is fed after the end is ignored, as whatever follows [DONE]; after `close()` it raises RuntimeError.

    >>> parser = StreamParser(on_text=print, on_done=lambda: print("done"))
    >>> for line in ('data: {"choices":[{"delta":{"content":"Hi"}}]}', "", "data: [DONE]", ""):
    ...     parser.feed(line)
    Hi
    done
    >>> parser.close()
    >>> parser.text
    'Hi'
    """

    def __init__(self, *, decoder: Operator[bytes, Event] | None = None, **on: Unpack[Callbacks]) -> None:
        self._decoder, self._on = decoder or decode(), on
        self.reset()

    def reset(self) -> None:
        """Begin a new stream, whatever became of the last one. Nobody is told of an end."""
        self._reads: Subject[bytes] = Subject()
        self._lines = _Lines()
        self._collected: Collected = collect()
        self._fed: Literal["lines", "reads"] | None = None
        self._closed = False
        with watched_by(None):
            self._reads.pipe(self._decoder, ops.do(self._collected)).subscribe(callbacks(**self._on))

    def feed(self, line: str | bytes) -> None:
        """Take one line, as `iter_lines` gives it: with or without what ends it. "" is the line that ends an event.

        Two faults of such loops are made good: blank lines that were left out, and lines that were cut at U+2028 and
        its like, as httpx's `iter_lines` does.
        """
        self._expect("lines")
        for whole in self._lines.add(line.decode("utf-8", "replace") if isinstance(line, bytes) else line):
            self._reads.on_next(whole)

    def feed_bytes(self, read: bytes) -> None:
        """Take one read, cut anywhere. A stream is fed with lines or with reads; RuntimeError for both."""
        self._expect("reads")
        self._reads.on_next(read)

    def close(self) -> None:
        """The body has ended: what is pending is told, then on_done; or the error, if it ended too early."""
        if self._closed:
            return
        self._closed = True
        for whole in self._lines.rest():
            self._reads.on_next(whole)
        self._reads.on_completed()

    @property
    def messages(self) -> tuple[Message, ...]:
        """What has come so far: one Message a choice."""
        return self._collected.messages

    @property
    def text(self) -> str:
        """The text so far."""
        return self._collected.text

    def _expect(self, kind: Literal["lines", "reads"]) -> None:
        if self._closed:
            raise RuntimeError("this parser is closed; reset() begins a new stream")
        if self._fed not in {None, kind}:
            raise RuntimeError(f"this stream was fed with {self._fed}, not with {kind}; reset() begins a new one")
        self._fed = kind


_END = re.compile(r"(?:\r\n|\r|\n)\Z")
_FIELD = re.compile(r"(?:data|event|id|retry|)(?::|\Z)")


class _Lines:
    """Lines as bytes, with what a careless loop has done to them undone.

    One line is held, until the next one shows that it is whole. That delays nothing: a blank line is what makes an event
    of it, and a blank line is passed on at once.
    """

    def __init__(self) -> None:
        self._held: str | None = None

    def add(self, line: str) -> list[bytes]:
        line = _END.sub("", line)
        held = self._held
        if not line:
            return [*self.rest(), b"\n"]
        if held is not None and held.startswith("data:") and not _FIELD.match(line) and not _whole(held):
            self._held = f"{held}\u2028{line}"  # which of the separators it was is lost
            return []
        done = self.rest()
        self._held = line
        if held is not None and held.startswith("data:") and line.startswith("data:") and _whole(held):
            done.append(b"\n")
        return done

    def rest(self) -> list[bytes]:
        held, self._held = self._held, None
        return [] if held is None else [held.encode("utf-8", "surrogatepass") + b"\n"]


def _whole(line: str) -> bool:
    """Does this line of data hold all that an event can hold?"""
    data = line.removeprefix("data:").strip()
    return data == "[DONE]" or loads(data) is not None
