"""Event → Event: reasoning that stands between tags in the text gets its own channel."""

from __future__ import annotations

from collections.abc import Iterator

from operators._events import (
    AnnotationDelta,
    Event,
    Gap,
    LogprobsDelta,
    ReasoningDelta,
    Restarted,
    Retrying,
    RoundStarted,
    Started,
    TextDelta,
    Unknown,
    Usage,
)
from operators._no_events import NO_EVENTS, no_event
from operators._operator import Operator, Out, Stage, operator

_ASIDE = (AnnotationDelta, Gap, LogprobsDelta, Retrying, Started, Unknown, Usage)
"""What may come with any chunk and has no place within the text: it goes past what is held."""

_BLANK = 256
"""So much white space may come before a tag that opens the answer; what has more is an answer."""


def think_tags(
    open: str = "<think>",  # noqa: A002  # the pair's natural name
    close: str = "</think>",
    *,
    opened: bool = False,
    anywhere: bool = False,
) -> Operator[Event, Event]:
    r"""From events to events in which the text between the tags is ReasoningDelta, and only the rest is TextDelta.

    For servers that leave a model's tags in `content` (DeepSeek R1, Qwen, behind vLLM, llama.cpp or Ollama without a
    reasoning parser). A tag may be cut anywhere: only what may still become one is held back, and no longer than until
    the next event of its choice that has a place in the text, an error or the end; then it goes out as what it would be.
    Reasoning that is never closed stays reasoning.

    A tag counts where these models write it, at the start of an answer, after nothing but white space; later on it is
    text, so that an answer may speak of tags. `anywhere=True` reads every pair, for models that think between the parts
    of an answer. `opened=True` is for chat templates that open the tag in the prompt, so that only `</think>` comes: the
    stream begins in the reasoning, and an opening tag that comes all the same is dropped.

    The line breaks that the templates put after either tag, the one before the closing tag, and white space before an
    opening one belong to the tags, and go with them. Each choice is read by itself; a new round and a restart begin afresh.

    Goes below `deltas()` and `cumulative()`. Ends as the stream above does. Raises ValueError when called with an empty tag.

        TextDelta('<think>hm</th')  TextDelta('ink>Hi')  |
        think_tags()
        ReasoningDelta('hm')        TextDelta('Hi')      |

    >>> import reactivex
    >>> from operators import TextDelta
    >>> reactivex.of(TextDelta("<thi"), TextDelta("nk>1 < 2</think>\n\nYes.")).pipe(think_tags()).subscribe(print) and None
    ReasoningDelta(text='1 < 2', choice=0, extra=None)
    TextDelta(text='Yes.', choice=0)
    """
    if not open or not close:
        raise ValueError(f"think_tags() takes two tags that are not empty; got {open!r} and {close!r}")
    made = _think_tags(open, close, opened=opened, anywhere=anywhere)
    return Operator((f"think_tags({open!r}, {close!r})",), made.kernels)


class _Splitter:
    """The text of one choice. `tag` is what ends the part that is being read, None where nothing does any more."""

    __slots__ = ("_after_tag", "_anywhere", "_close", "_index", "_made", "_open", "_starting", "_tag", "held")

    def __init__(self, index: int, open_tag: str, close_tag: str, *, opened: bool, anywhere: bool) -> None:
        self._index, self._open, self._close, self._anywhere = index, open_tag, close_tag, anywhere
        self.held = ""
        self._starting = True
        self._after_tag = opened
        self._go_on(thinking=opened)

    def _go_on(self, *, thinking: bool) -> None:
        self._made: type[TextDelta | ReasoningDelta] = ReasoningDelta if thinking else TextDelta
        self._tag = self._close if thinking else self._open if self._anywhere else None

    def passes(self) -> bool:
        """Is the next delta text as it stands?"""
        return self._tag is None and not self._starting and not self._after_tag

    def feed(self, text: str) -> Iterator[TextDelta | ReasoningDelta]:
        text, self.held = self.held + text, ""
        if self._starting:
            begun = text.lstrip()
            blank = len(text) - len(begun)
            if blank <= _BLANK and begun.startswith(self._open):
                text = begun[len(self._open) :]
                self._after_tag = True
                self._go_on(thinking=True)
            elif blank <= _BLANK and self._open.startswith(begun):
                self.held = text
                return
            self._starting = False
        at = 0
        while at < len(text):
            if self._after_tag:
                at = _after_breaks(text, at)
                self._after_tag = at == len(text)
            thinking = self._made is ReasoningDelta
            found = text.find(self._tag, at) if self._tag else -1
            part = text[at:] if found < 0 else text[at:found]
            if self._tag and found < 0:
                part = _without_start_of(self._tag, part)
            if thinking:
                part = part.removesuffix("\n").removesuffix("\r")
            if part:
                yield self._made(part, self._index)
            if found < 0:
                self.held = text[at + len(part) :]
                return
            at = found + len(self._tag or "")
            self._after_tag = True
            self._go_on(thinking=not thinking)

    def flush(self) -> Iterator[TextDelta | ReasoningDelta]:
        """What is held, as what it would have been without a further character."""
        if self.held:
            held, self.held = self.held, ""
            self._starting = False
            yield self._made(held, self._index)


def _after_breaks(text: str, at: int) -> int:
    while text.startswith(("\n", "\r"), at):
        at += 1
    return at


def _without_start_of(tag: str, text: str) -> str:
    """The text without an end that may be the start of the tag."""
    for length in range(min(len(tag) - 1, len(text)), 0, -1):
        if text.endswith(tag[:length]):
            return text[:-length]
    return text


@operator
def _think_tags(
    out: Out[Event],
    open: str,  # noqa: A002
    close: str,
    *,
    opened: bool,
    anywhere: bool,
) -> Stage[Event]:
    splitters: dict[int, _Splitter] = {}

    def on_next(event: Event) -> None:
        if isinstance(event, TextDelta):
            splitter = splitters.get(event.choice)
            if splitter is None:
                splitter = _Splitter(event.choice, open, close, opened=opened, anywhere=anywhere)
                splitters[event.choice] = splitter
            if splitter.passes():
                out.on_next(event)
            else:
                for part in splitter.feed(event.text):
                    out.on_next(part)
            return
        if isinstance(event, Restarted):
            splitters.clear()
        elif not isinstance(event, _ASIDE):
            if type(event) in NO_EVENTS:
                raise no_event("think_tags()", event)
            flush(getattr(event, "choice", None))
            if isinstance(event, RoundStarted):
                splitters.clear()
        out.on_next(event)

    def flush(choice: int | None = None) -> None:
        held = splitters.values() if choice is None else [splitters[choice]] if choice in splitters else []
        for splitter in held:
            for part in splitter.flush():
                out.on_next(part)

    try:
        yield on_next
    except Exception:
        flush()
        raise
    flush()
