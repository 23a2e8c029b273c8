"""Record what the recorded server plays: `python -m pipeline.embedded._capture`, after a change of the tiny model."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import httpx

from pipeline.embedded._server import EmbeddedServer

_ASK = "What is the weather like in Paris?"
_COMPARE = "Compare the weather in Paris and Zürich."
_TOOL = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "The weather in a city now.",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}


def _user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def _results(*results: tuple[str, str]) -> list[dict[str, Any]]:
    """(city, weather) … → the assistant's message with a call for each, and the tool's messages that answer them."""
    calls = [
        {"id": city, "type": "function", "function": {"name": "get_weather", "arguments": f'{{"city":"{city}"}}'}}
        for city, _ in results
    ]
    answers = [{"role": "tool", "tool_call_id": city, "content": weather} for city, weather in results]
    return [{"role": "assistant", "content": None, "tool_calls": calls}, *answers]


_PARIS, _ZURICH = ("Paris", "sunny, 18 °C"), ("Zürich", "rain, 12 °C")

# The name of a recording → the request that it answers.
REQUESTS: dict[str, dict[str, Any]] = {
    "text": {"messages": [_user(_ASK)]},
    "thinking": {"messages": [_user(_ASK)], "chat_template_kwargs": {"enable_thinking": True}},
    "one_call": {"messages": [_user(_ASK)], "tools": [_TOOL]},
    "two_calls": {"messages": [_user(_COMPARE)], "tools": [_TOOL]},
    "one_result": {"messages": [_user(_ASK), *_results(_PARIS)], "tools": [_TOOL]},
    "two_results": {"messages": [_user(_COMPARE), *_results(_PARIS, _ZURICH)], "tools": [_TOOL]},
}


def body(base_url: str, request: dict[str, Any]) -> bytes:
    """A request → the whole body of its streamed answer. Raises what httpx does."""
    request = {"model": "rxchat-tiny", "stream": True, "stream_options": {"include_usage": True}, **request}
    return httpx.post(f"{base_url}/chat/completions", json=request).raise_for_status().content


def main() -> None:
    """Nothing → a file beside this one for each of the requests."""
    directory = Path(__file__).with_name("recorded")
    directory.mkdir(exist_ok=True)
    with EmbeddedServer() as server:
        for name, request in REQUESTS.items():
            (directory / f"{name}.sse").write_bytes(body(server.base_url, request))


if __name__ == "__main__":
    main()
