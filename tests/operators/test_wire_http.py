"""What the head of a response says about its body does not count: the bytes do."""

from __future__ import annotations

import gzip
from typing import Any

import httpx
import pytest

from operators import NotEventStream, text
from pipeline import Retry, completion
from tests.pipeline.wire import WireServer, answers
from tests.support import body_of, chunk

SAID = "é😀\u2028…"
PAYLOAD = chunk({"content": SAID}, "stop")
BODY: dict[str, Any] = {"model": "m", "messages": []}
EVENTS = body_of(PAYLOAD).replace(rb"\u00e9", "é".encode())
JSON = b'{"choices":[{"message":{"content":"%s"},"finish_reason":"stop"}]}' % SAID.encode()


def ask(body: bytes, kind: str | None) -> Any:
    headers = {} if kind is None else {"content-type": kind}
    with WireServer(answers(body, headers=headers | {"x-any": "1"})) as server, httpx.Client() as client:
        asked = completion(BODY, base_url=server.url, client=client, retry=Retry(attempts=1))
        return asked.pipe(text()).run()


@pytest.mark.parametrize(
    "kind",
    [
        "text/event-stream",
        "text/event-stream; charset=iso-8859-1",
        "text/event-stream;charset=utf-16",
        'TEXT/EVENT-STREAM; charset="nonsense"',
        "text/plain; charset=windows-1252",
        "application/octet-stream",
        "application/json",
        None,
    ],
)
@pytest.mark.parametrize("body", [EVENTS, JSON], ids=["events", "json"])
def test_it_is_read_as_what_it_is_and_as_utf_8(kind: str | None, body: bytes) -> None:
    """Whatever type and charset are claimed: event streams are UTF-8, and so is JSON."""
    assert ask(body, kind) == SAID


def test_a_compressed_body_that_nobody_declared_is_told_with_what_is_known() -> None:
    """Status, type and the first bytes; never an empty answer."""
    with pytest.raises(NotEventStream) as caught:
        ask(gzip.compress(EVENTS), "text/event-stream")
    assert caught.value.status == 200
    assert "text/event-stream" in str(caught.value)
    assert r"\x1f\x8b" in str(caught.value)
