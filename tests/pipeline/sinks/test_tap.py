"""Lines pass a tap unchanged, and are logged on the way."""

import logging
from typing import Any

import pytest

from operators import chunks, deltas, lines, message, payloads, sse
from pipeline import replay
from pipeline.sinks import tap

BODY = 'data: {"choices":[{"delta":{"content":"Grüße"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'.encode()


def test_it_logs_each_line_under_lines(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "rxchat")
    seen: list[Any] = []
    chain = replay(BODY, 7).pipe(lines(), tap(), sse(), payloads(), chunks(), deltas(), message())
    chain.subscribe(lambda whole: seen.append(whole.text))
    assert seen == ["Grüße"]
    assert [record.getMessage() for record in caplog.records] == [
        """line 'data: {"choices":[{"delta":{"content":"Grüße"},"finish_reason":"stop"}]}'""",
        "line 'data: [DONE]'",
    ]
    assert caplog.records[-1].rxchat == {"event": "line", "line": "data: [DONE]", "bytes": 12}  # type: ignore[attr-defined]


@pytest.mark.parametrize("level", [logging.DEBUG, logging.INFO])
def test_it_changes_nothing(caplog: pytest.LogCaptureFixture, level: int) -> None:
    caplog.set_level(level, "mine")
    seen: list[bytes] = []
    reads = [b"a\xff\xfe", b"", b"\x1b[2J", b"x" * 5000]
    replay(reads).pipe(tap("mine", limit=3)).subscribe(seen.append)
    assert seen == reads
    expected = ["line 'a\ufffd\ufffd'", r"line '\x1b[2… (4 characters)'", "line 'xxx… (5000 characters)'"]
    assert [record.getMessage() for record in caplog.records] == (expected if level == logging.DEBUG else [])


def test_secrets_are_in_neither_the_log_nor_the_repr(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "rxchat")
    operator = tap(secrets=["hunter2"])
    replay(b'data: {"echo": "hunter2 Bearer abc sk-abcdefgh"}\n').pipe(lines(), operator).subscribe()
    assert caplog.messages == ["""line 'data: {"echo": "*** Bearer *** ***"}'"""]
    assert repr(operator) == "tap()"
