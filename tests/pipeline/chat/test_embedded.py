"""completion() against llama.cpp's own server: text, reasoning, calls, usage, choices, limits, cancel, a crash."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from reactivex import operators as ops

from operators import (
    ConnectionLost,
    Finish,
    HttpError,
    LogprobsDelta,
    Message,
    ReasoningDelta,
    Started,
    TextDelta,
    ToolCall,
    ToolCallDelta,
    TruncatedError,
    Usage,
    chunks,
    lines,
    message,
    payloads,
    sse,
    tool_calls,
)
from pipeline import Retry, completion, iterate, request
from pipeline.embedded import EmbeddedServer
from tests.pipeline.wire import KINDS, Kind, Sub
from tests.support.timing import LONG, until, wait_while

WEATHER = "It is sunny in Paris today, about 18 °C 🌤, perfect for un café en terrasse."
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOL = {"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": CITY}}


@pytest.fixture(params=KINDS[:2], ids=lambda kind: kind.name)
def one(request: pytest.FixtureRequest) -> Kind:
    """A client that blocks and one that is awaited."""
    found: Kind = request.param
    return found


def ask(text: str, **fields: Any) -> dict[str, Any]:
    return {"model": "rxchat-tiny", "messages": [{"role": "user", "content": text}], **fields}


def run(kind: Kind, server: EmbeddedServer, *operators: Any, body: dict[str, Any]) -> Sub:
    return kind.run(
        lambda client: completion(body, base_url=server.base_url, client=client).pipe(*operators), timeout=LONG
    )


def whole(kind: Kind, server: EmbeddedServer, **body: Any) -> list[Message]:
    sub = run(kind, server, message(), body=ask(**body))
    assert sub.completed, sub.end
    return sub.values


def test_text_comes_in_pieces(one: Kind, embedded_server: EmbeddedServer) -> None:
    sub = run(one, embedded_server, body=ask("The weather?"))
    assert (sub.text, sub.completed) == (WEATHER, True)
    assert isinstance(sub.values[0], Started)
    assert len([found for found in sub.values if isinstance(found, TextDelta)]) > 5
    assert sub.values[-1] == Finish("stop")


def test_reasoning_has_a_channel_of_its_own(one: Kind, embedded_server: EmbeddedServer) -> None:
    body = ask("The weather?", chat_template_kwargs={"enable_thinking": True})
    sub = run(one, embedded_server, body=body)
    kinds = [type(found) for found in sub.values if isinstance(found, (ReasoningDelta, TextDelta))]
    assert kinds == sorted(kinds, key=lambda kind: kind is TextDelta)
    reasoning = "".join(found.text for found in sub.values if isinstance(found, ReasoningDelta))
    assert reasoning.startswith("A short question; thus a short answer is best.")
    assert sub.text == WEATHER


def test_a_tool_call_grows_and_is_told_once_when_whole(one: Kind, embedded_server: EmbeddedServer) -> None:
    sub = run(one, embedded_server, tool_calls(), body=ask("The weather?", tools=[TOOL]))
    grown = "".join(found.arguments for found in sub.values if isinstance(found, ToolCallDelta))
    (call,) = [found for found in sub.values if isinstance(found, ToolCall)]
    assert (call.name, call.arguments, call.complete) == ("get_weather", grown, True)
    assert grown == '{"city":"Paris"}'
    assert call.id
    assert sub.completed


def test_two_calls_side_by_side(one: Kind, embedded_server: EmbeddedServer) -> None:
    (found,) = whole(one, embedded_server, text="Compare the weather", tools=[TOOL])
    assert [(call.key, call.arguments, call.complete) for call in found.tool_calls] == [
        (0, '{"city":"Paris"}', True),
        (1, '{"city":"Zürich"}', True),
    ]
    assert found.finish_reason == "tool_calls"
    assert len({call.id for call in found.tool_calls}) == 2


def test_a_call_that_max_tokens_cuts_is_not_complete(one: Kind, embedded_server: EmbeddedServer) -> None:
    (found,) = whole(one, embedded_server, text="The weather?", tools=[TOOL], max_tokens=46)
    assert [(call.arguments, call.complete) for call in found.tool_calls] == [('{"city":"P', False)]
    assert found.finish_reason == "length"


def test_usage_comes_when_asked_for(one: Kind, embedded_server: EmbeddedServer) -> None:
    sub = run(one, embedded_server, body=ask("The weather?", stream_options={"include_usage": True}))
    (usage,) = [found for found in sub.values if isinstance(found, Usage)]
    assert usage.prompt_tokens
    assert usage.completion_tokens
    assert usage.total_tokens == usage.prompt_tokens + usage.completion_tokens


def test_two_choices_are_two_messages(one: Kind, embedded_server: EmbeddedServer) -> None:
    body = {"text": "The weather?", "n": 2, "stream_options": {"include_usage": True}}
    found = whole(one, embedded_server, **body)
    assert [(each.choice, each.text, each.finish_reason) for each in found] == [
        (0, WEATHER, "stop"),
        (1, WEATHER, "stop"),
    ]
    assert found[0].usage is not None
    asked = {**ask("The weather?", n=2, stream_options={"include_usage": True}), "stream": True}
    sub = one.run(
        lambda client: request(f"{embedded_server.base_url}/chat/completions", json=asked, client=client).pipe(
            lines(), sse(), payloads(), chunks()
        )
    )
    assert (
        len([found for found in sub.values if found.usage]) == 2
    )  # it counts each choice by itself, in a chunk of its own


def test_log_probabilities_come_with_the_text(one: Kind, embedded_server: EmbeddedServer) -> None:
    sub = run(one, embedded_server, body=ask("The weather?", logprobs=True, top_logprobs=2))
    assert sub.text == WEATHER
    assert any(found.content for found in sub.values if isinstance(found, LogprobsDelta))


def test_a_prompt_that_does_not_fit_is_an_http_error(one: Kind, embedded_server: EmbeddedServer) -> None:
    sub = run(one, embedded_server, body=ask("weather " * 5000))
    assert isinstance(sub.end, HttpError)
    assert (sub.end.status, sub.end.type, sub.end.retryable) == (400, "exceed_context_size_error", False)
    assert "context" in sub.end.message


def slots_are_free(server: EmbeddedServer) -> None:
    """Wait until the server has noticed that nobody listens."""
    slots = httpx.URL(server.base_url).copy_with(path="/slots")
    wait_while(lambda: any(slot["is_processing"] for slot in httpx.get(slots).json()))


def test_a_dispose_stops_the_generation(one: Kind, embedded_server: EmbeddedServer) -> None:
    body = ask("Tell me a story")
    if one.looping:

        async def work(client: Any) -> None:
            sub = Sub()
            subscription = completion(body, base_url=embedded_server.base_url, client=client).subscribe(sub)
            await until(lambda: len(sub.values) > 5)
            subscription.dispose()
            await asyncio.to_thread(slots_are_free, embedded_server)
            assert sub.ends == 0

        one.act(work)
    else:
        with (
            one.client() as client,
            iterate(completion(body, base_url=embedded_server.base_url, client=client)) as events,
        ):
            for _ in range(5):
                next(events)
            events.close()
            slots_are_free(embedded_server)


@pytest.fixture
def mortal() -> Iterator[EmbeddedServer]:
    if not EmbeddedServer.available():
        pytest.skip("xllamacpp is not installed")
    with EmbeddedServer(context=32768, slots=1) as server:
        yield server


def test_a_server_that_dies_leaves_the_partial(one: Kind, mortal: EmbeddedServer) -> None:
    told = 0

    def kill(found: object) -> None:
        nonlocal told
        told += isinstance(found, TextDelta)
        if told == 5:
            mortal.kill()

    def make(client: Any) -> Any:
        retry = Retry(attempts=1)
        stream = completion(ask("Tell me a story"), base_url=mortal.base_url, client=client, retry=retry)
        return stream.pipe(ops.do_action(kill))

    sub = one.run(make, timeout=LONG)
    assert isinstance(sub.end, (ConnectionLost, TruncatedError))
    assert sub.end.partial[0].text == sub.text
    assert sub.text.startswith("📖 Once upon a time")
