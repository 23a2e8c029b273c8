"""Chunk → Event: one event for each thing that a chunk says."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from typing import Any

from operators._chunks import KEPT, Choice, Chunk, Delta
from operators._errors import ApiError, ConnectionLost, EmptyStream, StreamTimeout, TruncatedError
from operators._events import (
    AnnotationDelta,
    AudioDelta,
    Event,
    Finish,
    LogprobsDelta,
    ReasoningDelta,
    RefusalDelta,
    Started,
    TextDelta,
    Unknown,
    Usage,
)
from operators._inband import error_of, error_of_body
from operators._keying import Calls
from operators._misplaced import misplaced
from operators._operator import Out, Stage, operator
from operators._surrogates import Surrogates, scrubbed

log = logging.getLogger("rxchat.deltas")


class _Choice:
    """What is known of one choice."""

    __slots__ = ("calls", "finished", "index", "role", "started", "told")

    def __init__(self, index: int, role: Any) -> None:
        self.index, self.role = index, role if isinstance(role, str) and role else "assistant"
        self.started = self.finished = self.told = False
        self.calls = Calls(index)


@operator
def deltas(out: Out[Event], *, choices: int | None = None) -> Stage[Chunk]:
    r"""From chunks to events: Started, TextDelta, ReasoningDelta, RefusalDelta, ToolCallDelta, AudioDelta, AnnotationDelta,
    LogprobsDelta, Finish, Usage and Unknown, in this order where one chunk says several things.

    `""`, null and a missing key all say nothing. A delta wins over a message beside it. The same reasoning under two keys
    counts once. Usage is emitted when it changes, wherever it stands. Tool calls are keyed here, once, by the rules
    in `operators/_keying.py`. Text never ends in half a surrogate pair: the half waits for the rest.

    A body that was cut, a broken connection or an idle timeout after every choice has its finish_reason is no loss: the
    stream completes, with a warning in the log. Every choice means `choices`, or all that were seen.

    Raises ApiError for an error object, after what stands beside it; EmptyStream when chunks came and said nothing.

        Chunk(id='c',choices=[Choice(delta=Delta(content='Hi'),finish_reason='stop')])  #ConnectionLost
        deltas()
        (Started('c') TextDelta('Hi') Finish('stop'))                                   |

    >>> from pipeline import replay, decode
    >>> body = b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\n'
    >>> replay(body).pipe(decode()).subscribe(print) and None
    Started(id='c', model=None, role='assistant', choice=0)
    TextDelta(text='Hi', choice=0)
    Finish(reason='stop', choice=0)
    """
    seen: dict[int, _Choice] = {}
    stream_id: str | None = None
    model: str | None = None
    nameless = True  # the id or the model is still unknown
    usage: Usage | None = None
    halves = Surrogates()
    held = halves.held
    said = False

    def on_next(chunk: Chunk) -> None:
        nonlocal said
        try:
            given = chunk.choices
        except AttributeError:
            raise misplaced("deltas()", "chunks", chunk, "chunks()") from None
        if nameless and (chunk.id or chunk.model):
            name(chunk)
        for place, choice in enumerate(given or ()):
            index = choice.index
            state = seen.get(index) if type(index) is int else None
            if state is None:
                state = find(choice, place)
            delta = choice.delta
            if delta is None:
                delta = choice.message or _NOTHING
            if not state.started:
                start(state, delta, choice)
            text = delta.content
            if type(text) is str and not held and not chunk.lenient and not _says_more(delta):
                if text:
                    said = True
                    out.on_next(TextDelta(text, state.index))
            elif text is not None or _says_more(delta):
                tell(state, delta, lenient=chunk.lenient or bool(held))
            if choice.finish_reason or choice.logprobs or choice.usage or choice.error:
                end_of(state, choice)
        if chunk.usage or chunk.x_groq or chunk.unknown is not None or chunk.error:
            rest(chunk)

    def name(chunk: Chunk) -> None:
        """The first id and model that are not empty stay; who began without them is told."""
        nonlocal stream_id, model, nameless
        news = False
        if not stream_id and chunk.id:
            stream_id, news = str(chunk.id), True
        if not model and chunk.model:
            model, news = str(chunk.model), True
        nameless = not (stream_id and model)
        for state in seen.values() if news else ():
            if state.told:
                out.on_next(Started(stream_id, model, state.role, state.index))

    def find(choice: Choice, place: int) -> _Choice:
        """What is known of a choice, by its index, or by its place in the chunk where it has none."""
        index = _whole_number(choice.index)
        number = place if index is None else index
        delta = choice.delta or choice.message
        return seen.get(number) or seen.setdefault(number, _Choice(number, delta and delta.role))

    def start(state: _Choice, delta: Delta, choice: Choice) -> None:
        """Tell of a new choice: at once if the stream has a name, else before the first thing that it says."""
        speaks = delta.content or choice.finish_reason or choice.logprobs or _says_more(delta)
        if stream_id or speaks:
            state.started = state.told = True
            out.on_next(Started(stream_id, model, state.role, state.index))

    def tell(state: _Choice, delta: Delta, *, lenient: bool) -> None:
        """All that a delta says, but for the common case of text alone."""
        nonlocal said
        said = True
        if delta.content or _says_words(delta):
            words(state.index, delta, lenient=lenient)
        if delta.tool_calls or delta.function_call:
            calls(state, delta, lenient=lenient)
        if isinstance(delta.audio, dict) and delta.audio:
            out.on_next(audio(delta.audio, state.index, lenient=lenient))
        if annotations := _list(delta.annotations):
            out.on_next(AnnotationDelta(annotations, state.index))

    def words(index: int, delta: Delta, *, lenient: bool) -> None:
        """Reasoning, text and refusal, whether they stand in keys or in content parts."""
        parts = list(_parts(delta.content))
        reasoning = _reasoning(delta) or "".join(text for kind, text in parts if kind == "reasoning")
        extra = {name: value for name in KEPT if (value := getattr(delta, name))} or None
        if lenient:
            extra = scrubbed(extra)
        channels = (
            ("reasoning", reasoning),
            ("text", "".join(text for kind, text in parts if kind == "text")),
            ("refusal", _string(delta.refusal) + "".join(text for kind, text in parts if kind == "refusal")),
        )
        for channel, given in channels:
            text = halves.join(index, channel, given) if given and lenient else given
            if channel == "reasoning":
                if text or extra:
                    out.on_next(ReasoningDelta(text, index, extra))
            elif text:
                out.on_next(TextDelta(text, index) if channel == "text" else RefusalDelta(text, index))
        for kind, part in parts:
            if kind == "unknown":
                out.on_next(Unknown(scrubbed(part) if lenient else part))

    def audio(given: dict[str, Any], index: int, *, lenient: bool) -> AudioDelta:
        id_, data, transcript = (_string(given.get(name)) for name in ("id", "data", "transcript"))
        if lenient:
            transcript = halves.join(index, "transcript", transcript)
        return AudioDelta(id_ or None, data or None, transcript or None, _whole_number(given.get("expires_at")), index)

    def calls(state: _Choice, delta: Delta, *, lenient: bool) -> None:
        pieces = [piece for piece in _list(delta.tool_calls) if isinstance(piece, dict)]
        if not pieces and isinstance(delta.function_call, dict):
            pieces = [{"function": delta.function_call}]
        if lenient:
            pieces = [
                scrubbed(piece, keep=_INPUT if type(piece.get("custom")) is dict else _ARGUMENTS) for piece in pieces
            ]
        for position, piece in enumerate(pieces):
            added = state.calls.delta(piece, position)
            if added is not None:
                out.on_next(added)

    def end_of(state: _Choice, choice: Choice) -> None:
        """What a choice says beside its delta."""
        nonlocal said
        if isinstance(choice.logprobs, dict):
            content, refusal = (_list(choice.logprobs.get(name)) or None for name in ("content", "refusal"))
            if content is None and refusal is None and "content" not in choice.logprobs:
                content = [choice.logprobs]  # legacy: parallel lists
            if content or refusal:
                out.on_next(LogprobsDelta(content, refusal, state.index))
        if choice.usage:
            count(choice.usage)
        if choice.finish_reason and choice.finish_reason != "null" and not state.finished:
            said = state.finished = True
            for held in state.calls.held():
                out.on_next(held)
            out.on_next(Finish(str(choice.finish_reason), state.index))
        if error := error_of(choice.error):
            fail(error)

    def rest(chunk: Chunk) -> None:
        """What a chunk says beside its choices."""
        if chunk.usage:
            count(chunk.usage)
        elif isinstance(chunk.x_groq, dict) and chunk.x_groq.get("usage"):
            count(chunk.x_groq["usage"])
        if chunk.unknown is not None:
            out.on_next(Unknown(chunk.unknown))
        error = error_of_body(chunk.error) if isinstance(chunk.error, dict) and not chunk.choices else None
        error = error or error_of(chunk.error)
        if error is None and isinstance(chunk.x_groq, dict):
            error = error_of(chunk.x_groq.get("error"))
        if error:
            fail(error)

    def fail(error: ApiError) -> None:
        """All that came before an error is there before it."""
        halves.held.clear()
        for event in let_go():
            out.on_next(event)
        raise error

    def count(counts: Any) -> None:
        nonlocal usage, said
        said = True
        latest = _usage(counts, usage)
        if latest is not None and latest != usage:
            usage = latest
            out.on_next(latest)

    def whole() -> bool:
        finished = sum(state.finished for state in seen.values())
        return finished >= (choices or max(len(seen), 1)) and finished == len(seen)

    def let_go() -> Iterator[Event]:
        """What was held, now that nothing more comes; a half that stays alone is one character that is not known."""
        for state in seen.values():
            yield from state.calls.held()
        for index, channel, text in halves.left():
            yield _TEXTS[channel](text, index)

    try:
        yield on_next
    except Exception as error:
        halves.held.clear()
        for event in let_go():
            out.on_next(event)
        idle = isinstance(error, StreamTimeout) and error.phase in {None, "idle", "idle_content"}
        if not (isinstance(error, (TruncatedError, ConnectionLost)) or idle) or not whole():
            raise
        log.warning("the answer is whole, but its stream did not end well: %s", error)
    else:
        for event in let_go():
            out.on_next(event)
        if not said:
            raise EmptyStream("chunks came, but none of them said anything")


_NOTHING = Delta()
_ARGUMENTS = frozenset({"arguments"})
_INPUT = frozenset({"input"})
_TEXTS: dict[str, Callable[[str, int], Event]] = {
    "text": TextDelta,
    "reasoning": ReasoningDelta,
    "refusal": RefusalDelta,
    "transcript": lambda text, index: AudioDelta(None, None, text, None, index),
}


def _says_more(delta: Delta) -> bool:
    """Does a delta say anything beyond its role and its content?"""
    return bool(delta.tool_calls or delta.function_call or delta.audio or delta.annotations or _says_words(delta))


def _says_words(delta: Delta) -> bool:
    """Does a delta have reasoning, a refusal or what the next turn sends back?"""
    return bool(
        delta.reasoning_content
        or delta.reasoning
        or delta.reasoning_text
        or delta.refusal
        or delta.reasoning_details
        or delta.thinking
        or delta.reasoning_opaque
        or delta.reasoning_signature
        or delta.reasoning_encrypted_content
        or delta.thinking_blocks
        or delta.thought_signature
        or delta.extra_content
        or delta.provider_specific_fields
        or delta.encrypted_content
    )


def _reasoning(delta: Delta) -> str:
    """The reasoning text of a delta: the first place where there is some."""
    for given in (
        delta.reasoning_content,
        delta.reasoning,
        delta.reasoning_text,
        delta.thinking,
        delta.reasoning_details,
        delta.thinking_blocks,
    ):
        if given and (text := _text_in(given)):
            return text
    return ""


_INNER = ("thinking", "reasoning", "text", "value", "content", "summary")


def _text_in(value: Any) -> str:
    """The text of reasoning, which may be wrapped in objects and lists."""
    if isinstance(value, str):
        return value
    if isinstance(value, list):
        return "".join(_text_in(item) for item in value)
    if isinstance(value, dict):
        return next((text for name in _INNER if (text := _text_in(value.get(name)))), "")
    return ""


def _parts(content: Any) -> Iterator[tuple[str, Any]]:
    """The texts in a content: text alone, one typed part or a list of them."""
    if isinstance(content, str):
        if content:
            yield "text", content
    elif isinstance(content, list):
        for part in content:
            yield from _parts(part)
    elif isinstance(content, dict):
        kind = _string(content.get("type"))
        if kind in {"thinking", "reasoning", "reasoning_text", "summary_text"}:
            yield "reasoning", _text_in(content)
        elif kind == "refusal":
            yield "refusal", _string(content.get("refusal"))
        elif isinstance(text := content.get("text"), (str, dict)):
            yield from _parts(text if isinstance(text, str) else text.get("value"))
        elif isinstance(content.get("content"), str):
            yield "text", content["content"]
        elif any(value for name, value in content.items() if name != "type"):
            yield "unknown", content
    elif content is not None and not isinstance(content, bool):
        yield "text", json.dumps(content)


def _string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else [value] if isinstance(value, dict) and value else []


def _whole_number(value: Any) -> int | None:
    if isinstance(value, bool):
        return None
    try:
        return int(value)
    except (TypeError, ValueError, OverflowError):
        return None


_COUNTS = ("prompt_tokens", "completion_tokens", "total_tokens")
_OTHER_NAMES = {"prompt_tokens": "input_tokens", "completion_tokens": "output_tokens"}  # of a translating gateway


def _count(given: dict[str, Any], name: str) -> int | None:
    count = _whole_number(given.get(name))
    return _whole_number(given.get(_OTHER_NAMES.get(name, name))) if count is None else count


def _usage(given: Any, before: Usage | None) -> Usage | None:
    """The counts as far as they are known: a null does not take back what an earlier chunk has said."""
    if not isinstance(given, dict):
        return None
    found = {name: number for name in _COUNTS if (number := _count(given, name)) is not None}
    details = {name: value for name, value in given.items() if name not in _COUNTS and value is not None}
    if not found and not details:
        return None
    if before is not None:
        known = {name: number for name in _COUNTS if (number := getattr(before, name)) is not None}
        found, details = known | found, (before.details or {}) | details
    return Usage(**found, details=details or None)
