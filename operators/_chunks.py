"""bytes → Chunk: JSON decoding, and what becomes of that which cannot be decoded."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct, field
from msgspec.structs import astuple

from operators._errors import ProtocolError, TruncatedError
from operators._inband import error_of_body
from operators._json_depth import SHALLOW, too_deep
from operators._misplaced import misplaced
from operators._no_events import NO_EVENTS
from operators._operator import Out, Stage, operator
from operators._surrogates import JOINED, scrubbed

log = logging.getLogger("rxchat.chunks")

KEPT = (
    "reasoning_details",
    "reasoning_opaque",
    "reasoning_signature",
    "reasoning_encrypted_content",
    "thinking_blocks",
    "thought_signature",
    "extra_content",
    "provider_specific_fields",
    "encrypted_content",
)
"""Keys of a delta that the next turn must send back as they came: reasoning that only the provider can read."""


class Delta(Struct, gc=False):
    """What a choice adds. Values are as the provider sent them, whatever their type: `deltas()` reads them."""

    role: Any = None
    content: Any = None
    refusal: Any = None
    reasoning_content: Any = None
    reasoning: Any = None
    reasoning_text: Any = None
    thinking: Any = None
    tool_calls: Any = None
    function_call: Any = None
    audio: Any = None
    annotations: Any = None
    reasoning_details: Any = None
    reasoning_opaque: Any = None
    reasoning_signature: Any = None
    reasoning_encrypted_content: Any = None
    thinking_blocks: Any = None
    thought_signature: Any = None
    extra_content: Any = None
    provider_specific_fields: Any = None
    encrypted_content: Any = None


class Choice(Struct, gc=False):
    """One choice of a chunk. `message` is the delta of an answer that is not streamed."""

    index: Any = None
    delta: Delta | None = None
    message: Delta | None = None
    finish_reason: Any = None
    logprobs: Any = None
    usage: Any = None
    error: Any = None


class Chunk(Struct):
    """One chunk of a completion. `unknown` is what has no field here: keys (`extras=True`) or undecodable bytes."""

    id: Any = None
    model: Any = None
    choices: list[Choice] | None = None
    usage: Any = None
    error: Any = None
    x_groq: Any = None
    unknown: Any = field(default=None, name="⟂unknown")  # no key that a provider would send
    lenient: bool = field(default=False, name="⟂lenient")  # text may hold halves of surrogate pairs


NO_EVENTS.add(Chunk)

Policy = Literal["raise", "skip", "emit"]

_decode: Callable[[bytes], Chunk] = msgspec.json.Decoder(Chunk).decode
_UNDECODABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)


@operator
def chunks(out: Out[Chunk], *, errors: Policy = "raise", extras: bool = False) -> Stage[bytes]:
    r"""From the data of events to chunks.

    Decodes fast, and on failure once more leniently: a lone surrogate, NaN, Infinity, a control character or a byte that
    is no UTF-8 is no reason to lose text. A completion that is not streamed, a bare delta and an error object of
    any shape become chunks too. `null` says nothing.

    What stands where choices or a delta should is passed on in `Chunk.unknown`. When a body ends in which nothing was of a
    chat completion, that is a ProtocolError with the start of what came, unless errors are let pass: the endpoint speaks
    another dialect.

    Data that is still no JSON object ends the stream with ProtocolError (`errors="raise"`), is left out with a warning
    in the log ("skip"), or is passed on in `Chunk.unknown` ("emit"). Only when more data follows, though: as
    the last thing before a body ends or breaks it is a cut chunk, and that ending's own error says so.

    With `extras=True`, keys that no event has a field for are in `Chunk.unknown`: costs three times as much.

        b'{"id":"a"}'             b'null'  b'{oops'  b'{}'
        chunks()
        Chunk(id='a',choices=[])  -        -         #ProtocolError

    >>> import reactivex
    >>> reactivex.of(b'{"choices":[{"index":0,"delta":{"content":"Hi"}}]}').pipe(chunks()).subscribe(
    ...     lambda chunk: print(chunk.choices[0].delta.content)) and None
    Hi
    """
    if errors not in {"raise", "skip", "emit"}:
        raise ValueError(f'chunks(errors=…) is "raise", "skip" or "emit", not {errors!r}')
    undecodable: bytes | None = None  # held until it is known whether anything follows
    foreign: bytes | None = None  # the first data in which nothing is of a completion, before
    known = False  # some was
    news = _News() if extras else None

    def on_next(payload: bytes) -> None:
        nonlocal known, undecodable
        if undecodable is not None:
            raise _not_json(undecodable)
        chunk, deep = None, False
        try:
            deep = len(payload) > SHALLOW and too_deep(payload)
            if not deep:
                chunk = _decode(payload)
        except _UNDECODABLE:
            pass
        except TypeError:
            raise misplaced("chunks()", "the data of events as bytes", payload, "payloads()") from None
        if chunk is not None and chunk.choices and chunk.choices[0].delta is not None and news is None:
            known = True
            out.on_next(chunk)
        else:
            look_again(payload, deep=deep)

    def look_again(payload: bytes, *, deep: bool) -> None:
        """Pass on the chunks in data of an uncommon shape, most often one."""
        nonlocal foreign, known, undecodable
        if isinstance(payload, str):
            raise misplaced("chunks()", "the data of events as bytes", payload, "payloads()")
        values, lenient = (None, False) if deep else _objects(payload)
        if values is not None:
            for value in values:
                chunk = _chunk(value, news, lenient=lenient)
                if not known:
                    is_known = _is_known(value, chunk)
                    known = is_known is True
                    if is_known is False and foreign is None and errors == "raise":
                        foreign = payload
                out.on_next(chunk)
        elif errors == "raise":
            undecodable = payload
        elif errors == "skip":
            log.warning("left out %d bytes that are no JSON object: %s", len(payload), _start_of(payload))
        else:
            out.on_next(Chunk(choices=[], unknown=payload))

    try:
        yield on_next
    except TruncatedError as cut:
        if undecodable is not None:  # it may say why: some servers end with text that tells what broke
            cut.message += f"; its last data is {_start_of(undecodable)}"
        if foreign is not None:
            if not known and undecodable is None:
                raise _another_dialect(foreign) from cut
            cut.message += f"; not understood was {_start_of(foreign)}"
        raise
    if undecodable is not None:
        raise _not_json(undecodable)
    if foreign is not None and not known:
        raise _another_dialect(foreign)


def _objects(payload: bytes) -> tuple[list[dict[str, Any]] | None, bool]:
    """The objects in a payload, None if it is something else; and whether it had to be read leniently."""
    lenient = False
    try:
        value = msgspec.json.decode(payload)
    except _UNDECODABLE:
        lenient = True
        try:
            value = scrubbed(json.loads(payload.decode("utf-8", "replace"), strict=False), keep=JOINED)
        except (ValueError, RecursionError):
            return None, lenient
    values = [item for item in (value if isinstance(value, list) else [value]) if item is not None]
    return (values if all(isinstance(item, dict) for item in values) else None), lenient


def _chunk(value: dict[str, Any], news: _News | None, *, lenient: bool) -> Chunk:
    choices = [choice for n, given in enumerate(_choices(value)) if (choice := _choice(given, n)) is not None]
    error = error_of_body(value)
    if news is None:
        odd = _unknown_choices(value, extras=False)
        unknown = {"choices": odd} if odd else None
    else:
        unknown = news.of(value)
    return Chunk(
        id=value.get("id"),
        model=value.get("model"),
        choices=choices,
        usage=value.get("usage") or _ollama_usage(value),
        error=None if error is None else (choices and value.get("error")) or value,
        x_groq=value.get("x_groq"),
        unknown=scrubbed(unknown) if lenient else unknown,
        lenient=lenient,
    )


def _choices(value: dict[str, Any]) -> list[Any]:
    """The choices of a chunk, which may be one bare choice or one bare delta."""
    given = value.get("choices")
    if isinstance(given, list):
        return given
    if isinstance(given, dict):
        return [given]
    for name in ("delta", "message"):
        if isinstance(value.get(name), dict):
            return [value | {"finish_reason": value.get("finish_reason") or value.get("done_reason")}]
    return [value] if value.keys() & {"content", "tool_calls", "reasoning_content"} else []


def _choice(given: Any, position: int) -> Choice | None:
    if not isinstance(given, dict):
        return None
    delta, message = (_delta(given.get(name)) for name in ("delta", "message"))
    if delta is None and message is None:
        bare = given if "text" not in given else given | {"content": given["text"]}  # "text": legacy completions
        delta = _delta({name: bare[name] for name in bare if name in _DELTA})
    return Choice(
        index=given.get("index", position),
        delta=delta,
        message=message,
        finish_reason=given.get("finish_reason"),
        logprobs=given.get("logprobs"),
        usage=given.get("usage"),
        error=given.get("error"),
    )


def _delta(given: Any) -> Delta | None:
    if isinstance(given, str):
        given = {"content": given}
    return Delta(**{name: given[name] for name in given if name in _DELTA}) if isinstance(given, dict) else None


_DELTA = frozenset(Delta.__struct_fields__)
_CHOICE = frozenset(Choice.__struct_fields__)
_CHUNK = frozenset({"id", "model", "choices", "usage", "error", "x_groq", "object", "created"})


def _ollama_usage(value: dict[str, Any]) -> dict[str, Any] | None:
    """Ollama's own API counts beside the message."""
    if "eval_count" not in value:
        return None
    return {"prompt_tokens": value.get("prompt_eval_count"), "completion_tokens": value["eval_count"]}


class _News:
    """The keys that have no field, without those of the chunk itself that only say again what they said before."""

    def __init__(self) -> None:
        self._told: dict[str, Any] = {}

    def of(self, value: dict[str, Any]) -> dict[str, Any] | None:
        new = {name: item for name, item in value.items() if name not in _CHUNK and self._told.get(name) != item}
        self._told |= new
        if rest := _unknown_choices(value, extras=True):
            new["choices"] = rest
        return new or None


def _unknown_choices(value: dict[str, Any], *, extras: bool) -> Any:
    """What stands where choices or a delta should, and is none; with `extras`, their keys that have no field too."""
    given = value.get("choices")
    if given and not isinstance(given, (list, dict)):
        return given
    return [item for choice in _choices(value) if (item := _unknown_of_choice(choice, extras=extras))]


def _unknown_of_choice(choice: Any, *, extras: bool) -> Any:
    if not isinstance(choice, dict):
        return choice
    found = {name: item for name, item in choice.items() if extras and name not in _CHOICE and item is not None}
    delta = choice.get("delta") or choice.get("message")
    if isinstance(delta, dict):
        inner = {name: item for name, item in delta.items() if extras and name not in _DELTA and item is not None}
        if inner:
            found["delta"] = inner
    elif delta and not isinstance(delta, str):
        found["delta"] = delta
    return {"index": choice.get("index", 0)} | found if found else None


def _is_known(value: dict[str, Any], chunk: Chunk) -> bool | None:
    """Is it of a chat completion? None if it says nothing by which that could be told."""
    said = [delta for choice in chunk.choices or () for delta in (choice.delta, choice.message) if delta is not None]
    if any(choice.finish_reason for choice in chunk.choices or ()) or any(any(astuple(delta)[1:]) for delta in said):
        return True
    if chunk.usage or chunk.error is not None:
        return None
    if _unknown_choices(value, extras=False):
        return False
    if "choices" in value or str(value.get("object")).startswith("chat.completion"):
        return True
    return None if value.keys() <= _CHUNK or value.get("type") == "ping" else False


def _another_dialect(payload: bytes) -> ProtocolError:
    return ProtocolError(
        f"expected the chunks of a chat completion, got none: the data begins with {_start_of(payload)}; "
        "does this endpoint speak another dialect?"
    )


def _not_json(payload: bytes) -> ProtocolError:
    try:
        if too_deep(payload):
            why = "nested too deeply"
        else:
            json.loads(payload)
            why = "it is JSON, but no object"
    except (ValueError, RecursionError) as error:
        why = str(error)
    return ProtocolError(
        f"expected a chunk as a JSON object, got {_start_of(payload)} ({why}); "
        'decode(errors="skip") leaves such data out, "emit" passes it on'
    )


def _start_of(payload: bytes) -> str:
    return repr(payload[:80])[1:] + ("…" if len(payload) > 80 else "")
