"""A plain reading of what the embedded server streams."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import httpx
import pytest

from tests.support.timing import LONG


@dataclass
class Answer:
    """What the chunks of one choice add up to."""

    text: str = ""
    reasoning: str = ""
    names: dict[int, str] = field(default_factory=dict)
    arguments: dict[int, str] = field(default_factory=dict)
    finish: str | None = None
    deltas: list[dict[str, Any]] = field(default_factory=list)

    @property
    def calls(self) -> list[tuple[str, Any]]:
        return [(name, json.loads(self.arguments[index])) for index, name in self.names.items()]


Ask = Callable[..., Answer]


def read(body: str, choice: int = 0) -> Answer:
    """A whole body of server-sent events → the answer. Fails unless it ends in [DONE]."""
    *events, done = [event for event in body.split("\n\n") if event]
    assert done == "data: [DONE]"
    answer = Answer()
    for event in events:
        for part in json.loads(event.removeprefix("data: "))["choices"]:
            if part["index"] != choice:
                continue
            delta = part["delta"]
            answer.deltas.append(delta)
            answer.text += delta.get("content") or ""
            answer.reasoning += delta.get("reasoning_content") or ""
            answer.finish = part["finish_reason"] or answer.finish
            for call in delta.get("tool_calls", ()):
                index, function = call["index"], call["function"]
                answer.names[index] = answer.names.get(index, "") + function.get("name", "")
                answer.arguments[index] = answer.arguments.get(index, "") + function.get("arguments", "")
    return answer


@pytest.fixture
def ask() -> Ask:
    """(base_url, text or messages, request fields) → the answer."""

    def ask(base_url: str, messages: str | list[dict[str, Any]], *, choice: int = 0, **fields: Any) -> Answer:
        if isinstance(messages, str):
            messages = [{"role": "user", "content": messages}]
        request = {"model": "rxchat-tiny", "messages": messages, "stream": True, **fields}
        response = httpx.post(f"{base_url}/chat/completions", json=request, timeout=LONG)
        return read(response.raise_for_status().text, choice)

    return ask
