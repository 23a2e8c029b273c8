"""Streams that providers might send, each with the answer that it must give; the ways to cut them and to damage them.

An `Answer` is drawn as what a model says (texts, calls, ends) and a set of habits (where the index stands, when the id comes,
how text is cut), which turn it into chunks; `framed` turns chunks into a body. What is drawn is always decidable: a
stream without an index and without ids has its calls one after the other.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

from operators import Usage

Draw = Any
TEXTS = st.text(
    st.sampled_from('abc {}[]"\\:,\n\r\t\0é€😀\u2028\u2029\x85\ufeff<>/') | st.characters(exclude_categories=["Cs"]),
    max_size=12,
) | st.sampled_from(["data: [DONE]", "[DONE]", "\n\ndata: {}\n\n", "null", "<think>", '{"error":"no"}'])
ARGUMENTS = st.dictionaries(
    st.text('abx"\\é', max_size=3),
    st.none() | st.booleans() | st.integers() | TEXTS | st.lists(st.integers(0, 9), max_size=3) | st.just({"{": ["}"]}),
    max_size=3,
)


@dataclass
class Said:
    """What one choice must have said in the end; a call is its id (None: made up), its name and its arguments."""

    text: str = ""
    reasoning: str = ""
    refusal: str = ""
    transcript: str = ""
    annotations: list[Any] = field(default_factory=list)
    calls: list[tuple[str | None, str, Any]] = field(default_factory=list)
    finish: str | None = None


@dataclass
class Answer:
    chunks: list[Any]
    said: dict[int, Said]
    usage: Usage | None = None

    def texts(self, count: int) -> dict[int, str]:
        """The text of each choice as its first chunks say it; half a character has not been said yet."""
        found: dict[int, str] = {}
        for chunk in self.chunks[:count]:
            for choice in chunk["choices"] or []:
                content = choice["delta"].get("content") or ""
                parts = [content] if isinstance(content, str) else [part.get("text", "") for part in content]
                found[choice["index"]] = "".join([found.get(choice["index"], ""), *parts])
        return {
            index: text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "ignore")
            for index, text in found.items()
        }


def _in_pieces(draw: Draw, text: str, *, utf_16: bool) -> list[str]:
    """The text cut anywhere, by characters or by the halves that UTF-16 makes of some."""
    if not utf_16:
        places = sorted(draw(st.lists(st.integers(0, len(text)), max_size=3)))
        return [text[a:b] for a, b in zip([0, *places], [*places, len(text)], strict=True)]
    units = text.encode("utf-16-le")
    places = sorted(2 * place for place in draw(st.lists(st.integers(0, len(units) // 2), max_size=3)))
    edges = zip([0, *places], [*places, len(units)], strict=True)
    return [units[a:b].decode("utf-16-le", "surrogatepass") for a, b in edges]


# ---------------------------------------------------------------------------------------------------------- tool calls

INDEXES = ("number", "text", "float", "from one", "negative", "zero", "none", "null", "first only", "all but first")
BY_INDEX = ("number", "text", "float", "from one", "negative")
IDS = ("first", "each", "late", "none", "empty after", "another each time")
NAMES = ("first", "each", "split")
SHAPES = ("text", "object", "null first", "empty first", "placeholder")


def _index_of(habit: str, number: int, place: int) -> dict[str, Any]:
    """The index of a call's piece, as this provider writes it."""
    if habit == "none" or (habit == "first only" and place) or (habit == "all but first" and not place):
        return {}
    written: Any = {
        "text": str(number),
        "float": float(number),
        "from one": number + 1,
        "negative": number - 9,
        "zero": 0,
        "null": None,
    }.get(habit, number)
    return {"index": written}


@st.composite
def calls(draw: Draw, *, utf_16: bool) -> tuple[list[tuple[str | None, str, Any]], list[list[dict[str, Any]]]]:
    """Tool calls, and the pieces of each delta that says something of them."""
    index = draw(st.sampled_from(INDEXES))
    id_ = draw(st.sampled_from(IDS if index in BY_INDEX else ("first", "none") if index != "none" else IDS[:4]))
    count = draw(st.integers(1, 3))
    if index == "all but first":
        count = 1
    names = draw(
        st.lists(st.sampled_from(["f", "get_weather", "né", "a.b"]), min_size=count, max_size=count, unique=True)
    )
    told, streams = [], []
    for number, name in enumerate(names):
        naming = draw(st.sampled_from(NAMES if index in BY_INDEX else NAMES[:1]))
        shape = draw(st.sampled_from(SHAPES))
        arguments = draw(ARGUMENTS)
        if index not in BY_INDEX and not arguments:
            arguments = {"x": 1}  # nothing else could tell this call from the next
        text = json.dumps(arguments, ensure_ascii=False)
        given: list[Any] = _in_pieces(draw, text, utf_16=utf_16) if shape != "object" else [arguments]
        if shape == "null first":
            given = [None, *given]
        elif shape == "empty first":
            given = ["", *given]
        elif shape == "placeholder" and naming == "first" and arguments:
            given = [{}, *given]
        parts = [name[:1], name[1:]] if naming == "split" and len(name) > 1 else [name]
        given = ["" for _ in parts[1:]] + given
        pieces, call_id = [], f"call_{number}"
        for place, part in enumerate(given):
            function: dict[str, Any] = {"arguments": part}
            if place < len(parts):
                function["name"] = parts[place]
            elif naming == "each":
                function["name"] = name
            piece = _index_of(index, number, place) | {"type": "function", "function": function}
            here = {"each": True, "none": False, "late": place == len(given) - 1}.get(id_, not place)
            if here:
                piece["id"] = call_id
            elif id_ == "empty after":
                piece["id"] = ""
            elif id_ == "another each time" and "name" not in function:
                piece["id"] = f"x{number}_{place}"
            pieces.append(piece)
        told.append((None if id_ == "none" else call_id, name, arguments))
        streams.append(pieces)
    apart = index in BY_INDEX and id_ != "late"
    if apart and draw(st.booleans()):
        mixed = []
        while any(streams):
            stream = draw(st.sampled_from([stream for stream in streams if stream]))
            mixed.append(stream.pop(0))
    else:
        mixed = [piece for stream in streams for piece in stream]
    together = draw(st.integers(1, 3)) if apart else 1
    return told, [mixed[at : at + together] for at in range(0, len(mixed), together)]


@st.composite
def function_call(draw: Draw, *, utf_16: bool) -> tuple[tuple[None, str, Any], list[dict[str, Any]]]:
    """A tool call as it was before there were several, and its deltas."""
    arguments = draw(ARGUMENTS)
    pieces = _in_pieces(draw, json.dumps(arguments, ensure_ascii=False), utf_16=utf_16)
    deltas = [{"function_call": {"name": "f", "arguments": ""}}, *({"function_call": {"arguments": p}} for p in pieces)]
    return (None, "f", arguments), deltas


# ------------------------------------------------------------------------------------------------------------- answers

REASONING = (
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "details",
    "part",
    "both",
    "thinking",
    "summary",
    "blocks",
)
USAGES = ("none", "last", "finish", "every", "choice", "x_groq", "first")


def _reasoning(habit: str, text: str) -> dict[str, Any]:
    if habit == "details":
        return {"reasoning_details": [{"type": "reasoning.text", "text": text, "index": 0}]}
    if habit == "part":
        return {"content": [{"type": "thinking", "thinking": [{"type": "text", "text": text}]}]}
    if habit == "summary":
        return {"reasoning_details": [{"type": "reasoning.summary", "summary": text, "index": 0}]}
    if habit == "blocks":
        return {"thinking_blocks": [{"type": "thinking", "thinking": text}]}
    if habit == "both":
        return {"reasoning_content": text, "reasoning": text}
    return {habit: text}


@st.composite
def answers(draw: Draw) -> Answer:
    """A whole answer, streamed chunk by chunk."""
    utf_16 = draw(st.booleans())
    count = draw(st.sampled_from([1, 1, 1, 2]))
    reasoning, usage = draw(st.sampled_from(REASONING)), draw(st.sampled_from(USAGES))
    parts = draw(st.booleans())
    empty = draw(
        st.sampled_from([{}, {"content": None}, {"content": "", "reasoning_content": None, "tool_calls": None}])
    )
    queues: list[list[dict[str, Any]]] = []
    said: dict[int, Said] = {}
    for index in range(count):
        wanted = said[index] = Said()
        queue: list[dict[str, Any]] = [{"role": "assistant", **empty}] if draw(st.booleans()) else []
        if draw(st.booleans()):
            wanted.reasoning = draw(TEXTS)
            queue += [_reasoning(reasoning, piece) for piece in _in_pieces(draw, wanted.reasoning, utf_16=utf_16)]
        wanted.text = draw(TEXTS)
        for piece in _in_pieces(draw, wanted.text, utf_16=utf_16):
            queue.append({"content": [{"type": "text", "text": piece}] if parts else piece})
        if draw(st.booleans()):
            wanted.calls, deltas = draw(calls(utf_16=utf_16))
            queue += [empty | {"tool_calls": pieces} for pieces in deltas]
        elif draw(st.integers(0, 3)) == 0:
            call, deltas = draw(function_call(utf_16=utf_16))
            wanted.calls = [call]
            queue += deltas
        elif draw(st.integers(0, 3)) == 0:
            wanted.refusal = draw(TEXTS)
            queue += [{"refusal": piece} for piece in _in_pieces(draw, wanted.refusal, utf_16=utf_16)]
        elif draw(st.integers(0, 3)) == 0:
            wanted.transcript = draw(TEXTS)
            heard = [{"id": "a", "transcript": p} for p in _in_pieces(draw, wanted.transcript, utf_16=utf_16)]
            wanted.annotations = [{"type": "url_citation", "n": n} for n in range(draw(st.integers(0, 2)))]
            queue += [{"audio": piece} for piece in heard] + [{"annotations": [note]} for note in wanted.annotations]
        queues.append(queue)
        wanted.finish = "tool_calls" if wanted.calls else "stop"
    return _chunks(draw, queues, said, usage)


def _chunks(draw: Draw, queues: list[list[dict[str, Any]]], said: dict[int, Said], usage: str) -> Answer:
    """The choices' deltas in any order, each choice closed by its finish, with usage where this provider puts it."""
    head = draw(st.sampled_from([{"id": "c1", "model": "m"}, {"id": "c1", "model": "m", "error": None}, {}]))
    counts: dict[str, Any] = {"prompt_tokens": 3, "completion_tokens": draw(st.integers(0, 9)), "total_tokens": 12}
    nothing = draw(st.sampled_from([None, ""]))
    chunks: list[dict[str, Any]] = []
    if usage == "first":
        chunks.append(head | {"choices": [], "usage": counts})
    open_ = {index: [*queue, None] for index, queue in enumerate(queues)}
    late = draw(st.booleans())  # the finish comes with the last delta
    while open_:
        index = draw(st.sampled_from(sorted(open_)))
        delta = open_[index].pop(0)
        last = delta is None or (late and open_[index] == [None])
        if last:
            del open_[index]
        choice = {"index": index, "delta": delta or {}, "finish_reason": said[index].finish if last else nothing}
        chunk = head | {"choices": [choice]}
        if last and usage == "choice":
            choice["usage"] = counts
        elif usage == "every" or (last and usage == "finish"):
            chunk["usage"] = counts
        elif last and usage == "x_groq":
            chunk["x_groq"] = {"id": "r", "usage": counts}
        chunks.append(chunk)
    if usage == "last":
        chunks.append(head | {"choices": draw(st.sampled_from([[], None])), "usage": counts})
    return Answer(chunks, said, None if usage == "none" else Usage(*counts.values()))


@st.composite
def completions(draw: Draw) -> Answer:
    """A whole answer in one object, as if nobody had asked for a stream."""
    told = draw(st.lists(st.tuples(st.sampled_from(["f", "g"]), ARGUMENTS), max_size=2))
    found = [(f"call_{n}", name, arguments) for n, (name, arguments) in enumerate(told)]
    finish = draw(st.sampled_from(["stop", "tool_calls", "eos"]))
    said = Said(draw(TEXTS), draw(TEXTS), calls=[*found], finish=finish)
    message = {
        "role": "assistant",
        "content": said.text,
        "reasoning_content": said.reasoning,
        "tool_calls": [
            {"id": id_, "type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
            for id_, name, arguments in found
        ],
    }
    choice = {"index": 0, "message": message, "finish_reason": said.finish}
    counts: dict[str, Any] = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
    return Answer(
        [{"id": "c1", "model": "m", "choices": [choice], "usage": counts}], {0: said}, Usage(*counts.values())
    )


# --------------------------------------------------------------------------------------------------------------- bodies

NOISE = (b": ping", b":", b"retry: 10", b"event: ready", b"id: 7", b"unknown: 1", b"data", b"data:")


def _dumped(draw: Draw, chunk: Any, *, lines: bool) -> bytes:
    if lines:
        return json.dumps(chunk, indent=1).encode()
    plain = json.dumps(chunk, ensure_ascii=False, separators=(",", ":"))
    try:
        return plain.encode() if draw(st.booleans()) else json.dumps(chunk).encode()
    except UnicodeEncodeError:  # half a character can only be written as an escape
        return json.dumps(chunk).encode()


@st.composite
def framed(draw: Draw, answer: Answer) -> list[bytes]:
    """An event stream that holds the answer, as a block of bytes for each chunk; it ends in one of the ways that are no cut."""
    end = draw(st.sampled_from([b"\n", b"\n", b"\r\n", b"\r"]))
    space = draw(st.sampled_from([b" ", b" ", b"", b"  "]))
    lines = draw(st.booleans())
    blank = end + end
    blocks = []
    for chunk in answer.chunks:
        data = _dumped(draw, chunk, lines=lines).split(b"\n")
        block = [b"data:" + space + line for line in data]
        if draw(st.integers(0, 3)) == 0:
            block = [draw(st.sampled_from(NOISE[:6])), *block]
        if draw(st.integers(0, 5)) == 0:
            block = [draw(st.sampled_from(NOISE)), b"", *block]
        blocks.append(end.join(block) + blank)
    mark = b"data:" + space + b"[DONE]"
    ends = [blank + mark + blank, blank + mark, blank + mark + end, blank, end, b"", blank + b": bye" + blank]
    blocks[-1] = blocks[-1].removesuffix(blank) + draw(st.sampled_from(ends))
    return [draw(st.sampled_from([b"", b"\xef\xbb\xbf", end])) + blocks[0], *blocks[1:]]


@st.composite
def bodies(draw: Draw) -> tuple[Answer, list[bytes]]:
    """An answer and a body that holds it: an event stream, or the JSON object itself."""
    if draw(st.integers(0, 5)):
        answer = draw(answers())
        return answer, draw(framed(answer))
    answer = draw(completions())
    if draw(st.booleans()):
        return answer, draw(framed(answer))
    before = draw(st.sampled_from([b"", b"\xef\xbb\xbf", b" \r\n"]))
    return answer, [before + json.dumps(answer.chunks[0], indent=draw(st.sampled_from([None, 1]))).encode()]


# --------------------------------------------------------------------------------------------------------------- damage

PIECES = (
    b"\n",
    b"\n\n",
    b"\r",
    b"\0",
    b"\xff",
    b"\xed\xa0\x80",
    b"data: ",
    b"data: [DONE]\n\n",
    b"event: error\n",
    b"data: null\n\n",
    b'data: {"error":{"message":"x"}}\n\n',
    b'"',
    b"\\",
    b"{",
    b"}",
    b"[" * 300,
    b"\\ud83d",
    b"-Infinity",
    b"1e999",
)


@st.composite
def damaged(draw: Draw, body: bytes) -> tuple[bytes, int]:
    """The body with bytes dropped, repeated, flipped, inserted, or cut off, and the first place where that was done."""
    first = len(body)
    for _ in range(draw(st.sampled_from([1, 1, 2, 3]))):
        at = len(body) - draw(
            st.integers(0, len(body))
        )  # small numbers are drawn more often: late, for much comes before
        size = draw(st.integers(1, 40))
        first = min(first, at)
        how = draw(st.sampled_from(["drop", "repeat", "flip", "insert", "cut"]))
        if how == "drop":
            body = body[:at] + body[at + size :]
        elif how == "repeat":
            body = body[: at + size] + body[at:]
        elif how == "flip" and at < len(body):
            body = body[:at] + bytes([body[at] ^ draw(st.integers(1, 255))]) + body[at + 1 :]
        elif how == "cut":
            body = body[:at]
        else:
            body = body[:at] + draw(st.sampled_from(PIECES) | st.binary(max_size=4)) + body[at:]
    return body, first


VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.sampled_from([0, -1, 1, 2**70, 0.5, 1e300, "", "0", "null", "x", "\ud83d", "{}", '{"a":1}', "stop", "error"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(["text", "type", "content", "index"]), inner, max_size=3)
    ),
    max_leaves=4,
)
"""Any JSON, where a provider's value is expected."""

_KEYS = (
    "id",
    "model",
    "choices",
    "usage",
    "error",
    "x_groq",
    "object",
    "message",
    "detail",
    "code",
    "index",
    "delta",
    "finish_reason",
    "logprobs",
    "role",
    "content",
    "refusal",
    "reasoning_content",
    "reasoning",
    "reasoning_text",
    "thinking",
    "tool_calls",
    "function_call",
    "function",
    "name",
    "arguments",
    "custom",
    "input",
    "audio",
    "data",
    "transcript",
    "expires_at",
    "annotations",
    "reasoning_details",
    "thinking_blocks",
    "extra_content",
    "type",
    "text",
    "prompt_tokens",
    "completion_tokens",
    "errors",
    "status",
)


@st.composite
def garbled(draw: Draw, answer: Answer) -> list[Any]:
    """The answer's chunks with values of any kind under some of the keys that are read."""
    chunks = json.loads(json.dumps(answer.chunks))
    for _ in range(draw(st.integers(1, 3))):
        found = [item for chunk in chunks for item in _objects(chunk)]
        if not found:
            break
        target = draw(st.sampled_from(found))
        keys = sorted({*target, *draw(st.lists(st.sampled_from(_KEYS), min_size=1, max_size=2))})
        target[draw(st.sampled_from(keys))] = draw(VALUES)
    return chunks


def _objects(value: Any) -> list[dict[str, Any]]:
    if isinstance(value, list):
        return [found for item in value for found in _objects(item)]
    if isinstance(value, dict):
        return [value, *(found for item in value.values() for found in _objects(item))]
    return []
