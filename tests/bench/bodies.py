"""The bodies that all competitors read, and how they are cut into reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, NamedTuple

DONE = b"data: [DONE]\n\n"
CUTS: dict[str, int | None] = {"1 event": None, "1,460 B": 1_460, "16 KiB": 16_384, "1 byte": 1}

_HEAD = {
    "id": "chatcmpl-9vXcD3FhJkLmNoPqRsTuVwXyZ01",
    "object": "chat.completion.chunk",
    "created": 1_790_000_000,
    "model": "gpt-4o-mini-2024-07-18",
    "service_tier": "default",
    "system_fingerprint": "fp_0123456789",
}
_WORDS = [
    "the",
    "stream",
    "of",
    "small",
    "pieces",
    "that",
    "together",
    "say",
    "what",
    "was",
    "asked",
    "for,",
    "with",
    "“quotes”",
    "and",
    "numbers",
]


class Said(NamedTuple):
    """What a body says, whoever reads it."""

    text: str
    reasoning: str
    arguments: str  # of all calls, one after the other


class Body(NamedTuple):
    """One answer of about so many events, each of some 300 bytes, as OpenAI sends them."""

    events: tuple[bytes, ...]
    said: Said

    def reads(self, size: int | None) -> list[bytes]:
        """The body in reads of so many bytes; None: an event a read."""
        if size is None:
            return list(self.events)
        whole = b"".join(self.events)
        return [whole[at : at + size] for at in range(0, len(whole), size)]


def event(delta: dict[str, Any], finish: str | None = None, **more: Any) -> bytes:
    choice = {"index": 0, "delta": delta, "logprobs": None, "finish_reason": finish}
    return _event({**_HEAD, "choices": [choice], **more})


def _event(chunk: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(chunk, separators=(",", ":"), ensure_ascii=False).encode() + b"\n\n"


def _whole(pieces: list[bytes], finish: str, said: Said) -> Body:
    usage = {"prompt_tokens": 12, "completion_tokens": len(pieces), "total_tokens": 12 + len(pieces)}
    first = event({"role": "assistant", "content": "", "refusal": None})
    last = _event({**_HEAD, "choices": [], "usage": usage})
    return Body((first, *pieces, event({}, finish), last, DONE), said)


def _words(count: int) -> Iterator[str]:
    for n in range(count):
        yield " " + _WORDS[n % len(_WORDS)]


def text_heavy(events: int) -> Body:
    """A word an event, with the padding that OpenAI adds."""
    words = list(_words(events))
    pieces = [event({"content": word}, obfuscation="aBcDeFgH"[: 9 - len(word) % 8]) for word in words]
    return _whole(pieces, "stop", Said("".join(words), "", ""))


def tool_heavy(events: int) -> Body:
    """Calls, one after the other, each of an opener and forty pieces of arguments."""
    pieces, arguments = [], []
    for index in range(max(1, events // 41)):
        function: dict[str, Any] = {"name": "look_up", "arguments": ""}
        pieces.append(
            event(
                {"tool_calls": [{"index": index, "id": f"call_{index:024}", "type": "function", "function": function}]}
            )
        )
        for part in ('{"terms":["', *[f"word {n}, " for n in range(38)], '"]}'):
            pieces.append(event({"tool_calls": [{"index": index, "function": {"arguments": part}}]}))
            arguments.append(part)
    return _whole(pieces, "tool_calls", Said("", "", "".join(arguments)))


def reasoning_heavy(events: int) -> Body:
    """Nine tenths reasoning, under the most common key, then the answer."""
    words = list(_words(events))
    cut = events * 9 // 10
    pieces = [event({"reasoning_content": word}) for word in words[:cut]]
    pieces += [event({"content": word}) for word in words[cut:]]
    return _whole(pieces, "stop", Said("".join(words[cut:]), "".join(words[:cut]), ""))


BODIES = {"text": text_heavy, "tools": tool_heavy, "reasoning": reasoning_heavy}
