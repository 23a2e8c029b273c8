"""Lines or reads in, callbacks out: the parser that people have today, with the pipe inside."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Literal, TypedDict, Unpack

from reactivex import operators as ops
from reactivex.subject import Subject

from operators import Event, Message, Operator, Started, StreamError, ToolCall, ToolCallDelta, Usage
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
        self._over = ""
        self._reads.pipe(self._decoder, ops.do(self._collected)).subscribe(callbacks(**self._on))

    def feed(self, line: str | bytes) -> None:
        """Take one line, as `iter_lines` gives it: with or without what ends it. "" is the line that ends an event.

        Two faults of such loops are made good: blank lines that were left out, and lines that were cut at U+2028 and
        its like, as httpx's `iter_lines` does.
        """
        self._expect("lines")
        for whole in self._lines.add(line.decode("utf-8", "replace") if isinstance(line, bytes) else line):
            self._give(whole)

    def feed_bytes(self, read: bytes) -> None:
        """Take one read, cut anywhere. A stream is fed with lines or with reads; RuntimeError for both."""
        self._expect("reads")
        if isinstance(read, str):
            raise TypeError("feed_bytes() takes a read as bytes; feed() takes a line as text")
        self._give(read)

    def close(self) -> None:
        """The body has ended: what is pending is told, then on_done; or the error, if it ended too early."""
        if self._over:
            return
        self._over = "is closed"
        for whole in self._lines.rest():
            self._give(whole)
        self._reads.on_completed()

    @property
    def messages(self) -> tuple[Message, ...]:
        """What has come so far: one Message a choice."""
        return self._collected.messages

    @property
    def text(self) -> str:
        """The text so far."""
        return self._collected.text

    def _give(self, read: bytes) -> None:
        try:
            self._reads.on_next(read)
        except StreamError:  # the stream has ended with it
            raise
        except BaseException:
            self._over = "has ended, as a callback raised"
            raise

    def _expect(self, kind: Literal["lines", "reads"]) -> None:
        if self._over:
            raise RuntimeError(f"this parser {self._over}; reset() begins a new stream")
        if self._fed not in {None, kind}:
            raise RuntimeError(f"this stream was fed with {self._fed}, not with {kind}; reset() begins a new one")
        self._fed = kind


_END = re.compile(r"(?:\r\n|\r|\n)\Z")
_FIELD = re.compile(r"(?:data|event|id|retry):")
_QUOTE = re.compile(r"\\.|(\")")  # no escaped one


class _Lines:
    """Lines as bytes, with what a careless loop has done to them undone.

    One line is held, until the next one shows that it is whole. That delays nothing: a blank line is what makes an event
    of it, and a blank line is passed on at once.
    """

    def __init__(self) -> None:
        self._held: list[str] = []  # the line in its parts, more than one if it had been cut
        self._counted = 0  # how many of them are looked through for quotes
        self._in_string = False  # is a string of JSON open after these?

    def add(self, line: str) -> list[bytes]:
        line = _END.sub("", line)
        if not line:
            return [*self.rest(), b"\n"]
        if self._goes_on(line):
            self._held.append(line)
            return []
        ends_event = line.startswith("data:") and self._is_whole_event()
        done = self.rest()
        self._held = [line]
        return [*done, b"\n"] if ends_event else done

    def _goes_on(self, line: str) -> bool:
        """Is this the rest of the line that is held? It is, if a string was left open there: no string has a line end."""
        if not self._holds_data() or _FIELD.match(line):
            return False
        for part in self._held[self._counted :]:
            self._in_string ^= sum(map(bool, _QUOTE.findall(part))) % 2 == 1
        self._counted = len(self._held)
        return self._in_string

    def _is_whole_event(self) -> bool:
        """Does the line that is held have all that an event can have?"""
        data = "".join(self._held).removeprefix("data:").strip()
        return self._holds_data() and (data == "[DONE]" or loads(data) is not None)

    def _holds_data(self) -> bool:
        return bool(self._held) and self._held[0].startswith("data:")

    def rest(self) -> list[bytes]:
        """The line that is held, as bytes."""
        line = "\u2028".join(self._held)  # which separator it was cut at is lost; this is the one that text has
        self._held, self._counted, self._in_string = [], 0, False
        return [line.encode("utf-8", "surrogatepass") + b"\n"] if line else []
