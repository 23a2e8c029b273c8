"""Who is compared: ways from the reads of a body to what a program does with them.

Each is made once for a body (`make`), which gives the function that is timed: it reads the body from its first byte to its
last and hands all that it finds to a sink. Peers that need an HTTP client get the reads through the mock transport of
their own client; what this alone costs is a line of the table, too.
"""

from __future__ import annotations

import asyncio
import importlib.util
import json
import os
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple, Protocol, TypeVar

import httpx
import msgspec

from operators import (
    ReasoningDelta,
    TextDelta,
    ToolCallDelta,
    chunks,
    deltas,
    event_stream,
    lines,
    message,
    payloads,
    sse,
    tool_calls,
)
from pipeline import completion, decode, reads, replay
from tests.bench.report import Report

Reads = list[bytes]
Run = Callable[["Sink"], None]
Found = Iterator[tuple[str, str]]

URL = "http://bench.invalid/v1"
REQUEST = {"model": "gpt-4o-mini", "messages": [{"role": "user", "content": "Hi"}]}
STREAM = {"content-type": "text/event-stream"}

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # or its import asks the network


class Sink:
    """Where all goes that is found; this one ignores it."""

    def item(self, item: Any, /) -> None:
        """Whatever the competitor makes of a chunk: an event, a chunk of its own."""

    def text(self, text: str, /) -> None: ...

    def reasoning(self, text: str, /) -> None: ...

    def arguments(self, text: str, /) -> None: ...


class Competitor(NamedTuple):
    name: str
    make: Callable[[Reads], Run]
    rounds: int = 7
    """In how many it takes part, at most: the slow ones in fewer. All read the same events."""
    needs: tuple[str, ...] = ()
    """What must be installed."""
    found: Callable[[Any], Found] | None = None
    """What an item says, as (channel, text); None for one that calls the channels itself, or finds nothing."""
    channels: tuple[str, ...] = ("text", "reasoning", "arguments")
    """What it keeps of a stream."""
    note: str = ""
    """What must be known of it where it is compared."""


class Needing(Protocol):
    """A way to read that needs packages."""

    @property
    def name(self) -> str: ...
    @property
    def needs(self) -> tuple[str, ...]: ...


Peer = TypeVar("Peer", bound=Needing)


def missing(one: Needing) -> str:
    """What is not installed, and how to get it; empty where all is there."""
    names = [name for name in one.needs if importlib.util.find_spec(name) is None]
    return f"{', '.join(names)} not installed: pip install -e '.[bench]'" if names else ""


def without_missing(peers: Sequence[Peer], report: Report) -> list[Peer]:
    """Those that can run; the report is told of the others."""
    left_out = [one.name for one in peers if missing(one)]
    if left_out:
        report.leave_out(f"{'; '.join(left_out)} (not installed: pip install -e '.[bench]')")
    return [one for one in peers if one.name not in left_out]


# ------------------------------------------------------------------------------------------------------ the floor


class _Function(msgspec.Struct, gc=False):
    arguments: str = ""


class _Call(msgspec.Struct, gc=False):
    function: _Function


class _Delta(msgspec.Struct, gc=False):
    content: str | None = None
    reasoning_content: str | None = None
    tool_calls: list[_Call] | None = None


class _Choice(msgspec.Struct, gc=False):
    delta: _Delta


class _Chunk(msgspec.Struct, gc=False):
    choices: list[_Choice]


def floor(body: Reads) -> Run:
    """A plain loop that knows none of the wire's oddities, with a typed decoder: hands on bare text."""
    chunk_of = msgspec.json.Decoder(_Chunk).decode

    def run(sink: Sink) -> None:
        on_text, on_reasoning, on_arguments = sink.text, sink.reasoning, sink.arguments
        rest = b""
        for read in body:
            *events, rest = (rest + read).split(b"\n\n")
            for event in events:
                payload = event[6:]
                if payload == b"[DONE]":
                    return
                for choice in chunk_of(payload).choices:
                    delta = choice.delta
                    if delta.content:
                        on_text(delta.content)
                    elif delta.reasoning_content:
                        on_reasoning(delta.reasoning_content)
                    elif delta.tool_calls:
                        for call in delta.tool_calls:
                            on_arguments(call.function.arguments)

    return run


# ------------------------------------------------------------------------------------------------------ ours


def of_event(event: Any) -> Found:
    match event:
        case TextDelta(text=text):
            yield "text", text
        case ReasoningDelta(text=text):
            yield "reasoning", text
        case ToolCallDelta(arguments=text):
            yield "arguments", text


STAGES: dict[str, Callable[[], Any]] = {
    "event_stream": event_stream,
    "lines": lines,
    "sse": sse,
    "payloads": payloads,
    "chunks": chunks,
    "deltas": deltas,
    "tool_calls": tool_calls,
    "message": message,
}


def up_to(stage: str) -> Callable[[Reads], Run]:
    """The long form, stage after stage, up to this one."""
    names = list(STAGES)
    made = [STAGES[name]() for name in names[: names.index(stage) + 1]]

    def make(body: Reads) -> Run:
        stream = replay(body).pipe(*made)
        return lambda sink: _subscribe(stream, sink)

    return make


def ours(body: Reads) -> Run:
    stream = replay(body).pipe(decode())
    return lambda sink: _subscribe(stream, sink)


def ours_with_calls(body: Reads) -> Run:
    stream = replay(body).pipe(decode(), tool_calls())
    return lambda sink: _subscribe(stream, sink)


def ours_of_response(body: Reads) -> Run:
    """An open response, as those who write the loop by hand have it."""
    client = _httpx_client(body)

    def run(sink: Sink) -> None:
        with client.stream("POST", URL, json=REQUEST) as response:
            _subscribe(reads(response).pipe(decode()), sink)

    return run


def ours_completion(body: Reads) -> Run:
    stream = completion(REQUEST, base_url=URL, client=_httpx_client(body))
    return lambda sink: _subscribe(stream, sink)


def ours_completion2(body: Reads) -> Run:
    stream = completion(REQUEST, base_url=URL, client=_httpx2_client(body))
    return lambda sink: _subscribe(stream, sink)


def ours_completion2_async(body: Reads) -> Run:
    async def stream(sink: Sink) -> None:
        done = asyncio.get_running_loop().create_future()
        completion(REQUEST, base_url=URL, client=_httpx2_async_client(body)).subscribe(
            sink.item, on_error=done.set_exception, on_completed=lambda: done.set_result(None)
        )
        await done

    return lambda sink: asyncio.run(stream(sink))


def _subscribe(stream: Any, sink: Sink) -> None:
    stream.subscribe(sink.item, on_error=_ended)


def _ended(error: Exception) -> None:
    raise error


# ------------------------------------------------------------------------------------------------------ over httpx


class _Stream(httpx.SyncByteStream):
    """Can be read once, as a connection can: a client that drains it on closing finds what is left."""

    def __init__(self, body: Iterable[bytes]) -> None:
        self._left = iter(body)

    def __iter__(self) -> Iterator[bytes]:
        return self._left


def _httpx_client(body: Reads) -> httpx.Client:
    return httpx.Client(
        transport=httpx.MockTransport(lambda _: httpx.Response(200, headers=STREAM, stream=_Stream(body)))
    )


def httpx_alone(body: Reads) -> Run:
    """What the mock transport costs: the reads as httpx hands them on."""
    client = _httpx_client(body)

    def run(sink: Sink) -> None:
        with client.stream("POST", URL, json=REQUEST) as response:
            for read in response.iter_raw():
                sink.item(read)

    return run


class StreamParser:
    """The parser that people write: lines in, callbacks out, everything kept by adding to it."""

    def __init__(
        self,
        on_text: Callable[[str], None],
        on_reasoning: Callable[[str], None],
        on_arguments: Callable[[str], None],
    ) -> None:
        self.on_text, self.on_reasoning, self.on_arguments = on_text, on_reasoning, on_arguments
        self.text = self.reasoning = ""
        self.calls: dict[int, dict[str, str]] = {}
        self.finish_reason: str | None = None
        self.usage: dict[str, Any] | None = None

    def feed(self, line: str) -> None:
        if not line.startswith("data: "):
            return
        data = line[len("data: ") :]
        if data == "[DONE]":
            return
        chunk = json.loads(data)
        if chunk.get("usage"):
            self.usage = chunk["usage"]
        for choice in chunk["choices"]:
            delta = choice["delta"]
            if delta.get("content"):
                self.text += delta["content"]
                self.on_text(delta["content"])
            if delta.get("reasoning_content"):
                self.reasoning += delta["reasoning_content"]
                self.on_reasoning(delta["reasoning_content"])
            for piece in delta.get("tool_calls") or ():
                call = self.calls.setdefault(piece["index"], {"id": "", "name": "", "arguments": ""})
                function = piece.get("function") or {}
                call["id"] += piece.get("id") or ""
                call["name"] += function.get("name") or ""
                if function.get("arguments"):
                    call["arguments"] += function["arguments"]
                    self.on_arguments(function["arguments"])
            if choice.get("finish_reason"):
                self.finish_reason = choice["finish_reason"]


def stream_parser(body: Reads) -> Run:
    client = _httpx_client(body)

    def run(sink: Sink) -> None:
        parser = StreamParser(sink.text, sink.reasoning, sink.arguments)
        with client.stream("POST", URL, json=REQUEST) as response:
            for line in response.iter_lines():
                parser.feed(line)

    return run


def httpx_sse(body: Reads) -> Run:
    from httpx_sse import connect_sse

    client = _httpx_client(body)

    def run(sink: Sink) -> None:
        with connect_sse(client, "POST", URL, json=REQUEST) as source:
            for event in source.iter_sse():
                if event.data == "[DONE]":
                    break
                sink.item(json.loads(event.data))

    return run


def of_json(chunk: Any) -> Found:
    for choice in chunk["choices"]:
        delta = choice["delta"]
        yield "text", delta.get("content") or ""
        yield "reasoning", delta.get("reasoning_content") or ""
        for call in delta.get("tool_calls") or ():
            yield "arguments", call["function"]["arguments"]


# ------------------------------------------------------------------------------------------------------ over httpx2


def httpx2_transport(body: Reads) -> Any:
    """A mock transport of httpx2, for a client of either kind."""
    import httpx2

    class Stream(httpx2.SyncByteStream, httpx2.AsyncByteStream):
        def __init__(self) -> None:
            self._left = iter(body)

        def __iter__(self) -> Iterator[bytes]:
            return self._left

        async def __aiter__(self) -> AsyncIterator[bytes]:
            for read in self._left:
                yield read

    return httpx2.MockTransport(lambda _: httpx2.Response(200, headers=STREAM, stream=Stream()))


def _httpx2_client(body: Reads) -> Any:
    import httpx2

    return httpx2.Client(transport=httpx2_transport(body))


def _httpx2_async_client(body: Reads) -> Any:
    import httpx2

    return httpx2.AsyncClient(transport=httpx2_transport(body))


def httpx2_alone(body: Reads) -> Run:
    client = _httpx2_client(body)

    def run(sink: Sink) -> None:
        with client.stream("POST", URL, json=REQUEST) as response:
            for read in response.iter_raw():
                sink.item(read)

    return run


def httpx2_async_alone(body: Reads) -> Run:
    """The same with asyncio, and with what starts and ends it, as the peers have it that know nothing else."""

    async def stream(sink: Sink) -> None:
        async with _httpx2_async_client(body).stream("POST", URL, json=REQUEST) as response:
            async for read in response.aiter_raw():
                sink.item(read)

    return lambda sink: asyncio.run(stream(sink))


def _openai(body: Reads) -> Any:
    import openai

    return openai.OpenAI(base_url=URL, api_key="none", http_client=_httpx2_client(body), max_retries=0)


def openai_create(body: Reads) -> Run:
    client = _openai(body)

    def run(sink: Sink) -> None:
        for chunk in client.chat.completions.create(stream=True, **REQUEST):
            sink.item(chunk)

    return run


def openai_stream(body: Reads) -> Run:
    client = _openai(body)

    def run(sink: Sink) -> None:
        with client.chat.completions.stream(**REQUEST) as stream:
            for event in stream:
                if event.type == "chunk":
                    sink.item(event.chunk)

    return run


def of_openai(chunk: Any) -> Found:
    for choice in chunk.choices:
        delta = choice.delta
        yield "text", delta.content or ""
        yield "reasoning", getattr(delta, "reasoning_content", None) or ""
        for call in delta.tool_calls or ():
            yield "arguments", call.function.arguments or ""


def langchain(body: Reads) -> Run:
    from langchain_openai import ChatOpenAI

    http = _httpx2_client(body)
    model = ChatOpenAI(model=REQUEST["model"], base_url=URL, api_key="none", http_client=http, max_retries=0)

    def run(sink: Sink) -> None:
        for chunk in model.stream("Hi"):
            sink.item(chunk)

    return run


def of_langchain(chunk: Any) -> Found:
    yield "text", chunk.content or ""
    for call in chunk.tool_call_chunks:
        yield "arguments", call["args"] or ""


def pydantic_ai(body: Reads) -> Run:
    import openai
    from pydantic_ai.direct import model_request_stream
    from pydantic_ai.messages import ModelRequest
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    async def stream(sink: Sink) -> None:
        http = _httpx2_async_client(body)
        client = openai.AsyncOpenAI(base_url=URL, api_key="none", http_client=http, max_retries=0)
        model = OpenAIChatModel(REQUEST["model"], provider=OpenAIProvider(openai_client=client))
        async with model_request_stream(model, [ModelRequest.user_text_prompt("Hi")]) as events:
            async for event in events:
                sink.item(event)

    return lambda sink: asyncio.run(stream(sink))


def of_pydantic_ai(event: Any) -> Found:
    part = {"part_start": "part", "part_delta": "delta"}.get(event.event_kind)
    found: Any = part and getattr(event, part)
    if found is None:
        return
    kind = getattr(found, "part_kind", None) or found.part_delta_kind
    if "tool" in kind:
        yield "arguments", (found.args if hasattr(found, "args") else found.args_delta) or ""
    else:
        content = found.content if hasattr(found, "content") else found.content_delta
        yield "reasoning" if kind == "thinking" else "text", content or ""


def litellm(body: Reads) -> Run:
    import litellm as package

    package.suppress_debug_info = True
    client = _openai(body)

    def run(sink: Sink) -> None:
        for chunk in package.completion(
            model="openai/" + str(REQUEST["model"]), messages=REQUEST["messages"], stream=True, client=client
        ):
            sink.item(chunk)

    return run


# ------------------------------------------------------------------------------------------------------ all of them

FLOOR = "floor: plain loop, typed msgspec"
OURS = "ours: decode()"
OURS_RESPONSE = "ours: decode() of an httpx response"
OURS_COMPLETION = "ours: completion() over httpx"
OURS_COMPLETION2 = "ours: completion() over httpx2"
OURS_COMPLETION2_ASYNC = "ours: completion() over httpx2, async"
BY_HAND = "StreamParser over iter_lines, json"
HTTPX_SSE = "httpx-sse, json"
OPENAI_CREATE = "openai create(stream=True)"
OPENAI_STREAM = "openai .stream()"
LANGCHAIN = "langchain-openai"
PYDANTIC_AI = "pydantic-ai"
LITELLM = "litellm"

COMPETITORS: tuple[Competitor, ...] = (
    Competitor(FLOOR, floor),
    Competitor(OURS, ours, found=of_event),
    Competitor("ours: decode() | tool_calls()", ours_with_calls, found=of_event),
    Competitor(OURS_RESPONSE, ours_of_response, found=of_event),
    Competitor(OURS_COMPLETION, ours_completion, found=of_event),
    Competitor(OURS_COMPLETION2, ours_completion2, needs=("httpx2",), found=of_event),
    Competitor(OURS_COMPLETION2_ASYNC, ours_completion2_async, needs=("httpx2",), found=of_event),
    Competitor("transport alone: httpx", httpx_alone, channels=()),
    Competitor(BY_HAND, stream_parser),
    Competitor(HTTPX_SSE, httpx_sse, needs=("httpx_sse",), found=of_json),
    Competitor("transport alone: httpx2", httpx2_alone, needs=("httpx2",), channels=()),
    Competitor("transport alone: httpx2, async", httpx2_async_alone, needs=("httpx2",), channels=()),
    Competitor(OPENAI_CREATE, openai_create, needs=("openai", "httpx2"), found=of_openai),
    Competitor(OPENAI_STREAM, openai_stream, 5, ("openai", "httpx2"), of_openai),
    Competitor(
        LANGCHAIN,
        langchain,
        5,
        ("langchain_openai", "httpx2"),
        of_langchain,
        ("text", "arguments"),
        "it drops reasoning",
    ),
    Competitor(PYDANTIC_AI, pydantic_ai, 3, ("pydantic_ai", "openai", "httpx2"), of_pydantic_ai),
    Competitor(LITELLM, litellm, 3, ("litellm", "openai", "httpx2"), of_openai),
)

STAGED: tuple[Competitor, ...] = tuple(Competitor(f"up to {name}()", up_to(name)) for name in STAGES)
