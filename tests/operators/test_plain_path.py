"""The plain path makes of every stream what the chain makes of it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from operators import StreamError, chunks, deltas, event_stream, lines, payloads, sse, watched_by
from operators._plain_path import with_plain_path
from operators._spy import Spy
from pipeline import decode, replay


def chain():
    return event_stream().then(lines()).then(sse()).then(payloads()).then(chunks()).then(deltas())


def run(reads, operator):
    seen = []
    end = []
    replay(reads).pipe(operator).subscribe(seen.append, end.append, lambda: end.append("completed"))
    (ending,) = end
    return seen, (ending.kind, ending.message) if isinstance(ending, StreamError) else ending


def data(value) -> bytes:
    return b"data: " + json.dumps(value).encode() + b"\n\n"


def chunk(delta, **more):
    finish = more.pop("finish_reason", None)
    index = more.pop("index", 0)
    return {"id": "c", "model": "m", "choices": [{"index": index, "delta": delta, "finish_reason": finish}]} | more


PLAIN = [data(chunk({"content": text})) for text in ("Hi", " there", "", "日本", '"\\\n')]
ODD = [
    data(chunk({"role": "assistant", "content": ""})),
    data(chunk({"content": "b"}, index=1)),
    data(chunk({"content": None, "reasoning_content": "hm"})),
    data(
        chunk({"content": "x", "tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]})
    ),
    data(chunk({"content": "x", "tool_calls": []})),
    data(chunk({"content": "end"}, finish_reason="stop")),
    data(chunk({}, finish_reason="length")),
    data({"id": "c", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 2}}),
    data(chunk({"content": "u"}, usage={"prompt_tokens": 1})),
    data(chunk({"content": "n"}, usage=None, error=None)),
    data({"choices": [{"index": 0, "delta": {"content": "no id"}}]}),
    data({"id": "late", "model": "", "choices": [{"index": 0, "delta": {"content": "y"}}]}),
    data({"choices": [{"delta": {"content": "no index"}}]}),
    data({"choices": [{"index": 0, "message": {"content": "whole"}}]}),
    data({"choices": [{"index": 0, "delta": {"content": "a"}}, {"index": 1, "delta": {"content": "b"}}]}),
    b'data: {"choices":[{"index":0,"delta":{"content":"half \\ud83d"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"\\ude00 whole"}}]}\n\n',
    b'data: {"choices":\ndata: [{"index":0,"delta":{"content":"two lines"}}]}\n\n',
    b'data: {"choices":\n [{"index":0,"delta":{"content":"not two lines"}}]}\n\n',
    b'data:{"choices":[{"index":0,"delta":{"content":"no blank"}}]}\n\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"crlf"}}]}\r\n\r\n',
    b'data: {"choices":[{"index":0,"delta":{"content":"cr"}}]}\r\r',
    b'id: 1\ndata: {"choices":[{"index":0,"delta":{"content":"id"}}]}\n\n',
    b'event: error\ndata: {"message":"no"}\n\n',
    b": heartbeat\n\n",
    b"\n",
    b"data: \n\n",
    b"data: {broken\n\n",
    b'data: {"choices":[{"index":0,"delta":{"content":"\xff"}}]}\n\n',
    data({"error": {"message": "quota"}}),
    data(chunk({"content": "long" * 1500})),
]
DONE = b"data: [DONE]\n\n"


@given(
    events=st.lists(st.one_of(st.sampled_from(PLAIN), st.sampled_from(PLAIN), st.sampled_from(ODD)), max_size=14),
    done=st.booleans(),
    cut=st.integers(0, 40),
    sizes=st.lists(st.integers(1, 400), min_size=1, max_size=8),
)
def test_the_same_events_and_the_same_end_for_any_stream_and_any_cut(events, done, cut, sizes):
    body = b"".join(events) + (DONE if done else b"")
    body = body[: len(body) - cut]
    reads, at = [], 0
    while at < len(body):
        size = sizes[len(reads) % len(sizes)]
        reads.append(body[at : at + size])
        at += size
    assert run(reads, with_plain_path(chain())) == run(reads, chain())


@pytest.mark.parametrize("size", [1, 7, 100, 10_000])
def test_plain_text_takes_the_plain_path(size, monkeypatch):
    """Else the test above would compare the chain with itself."""
    import operators._plain_path as plain_path

    taken = []
    plain = plain_path._plain
    monkeypatch.setattr(plain_path, "_plain", lambda payload: taken.append(payload) or plain(payload))
    body = b"".join(PLAIN * 10) + DONE
    seen, end = run([body[at : at + size] for at in range(0, len(body), size)], with_plain_path(chain()))
    assert end == "completed"
    assert len(seen) == 41
    assert len(taken) >= 45


def test_who_looks_on_is_shown_the_chain_alone():
    shown = []

    class Watching(Spy):
        def chain(self, stages):
            shown.append(stages)

    with watched_by(Watching()):
        replay(b"".join(PLAIN) + DONE).pipe(decode()).subscribe()
    (stages,) = shown
    assert [stage.partition("(")[0] for stage in stages] == [
        "event_stream",
        "lines",
        "sse",
        "payloads",
        "chunks",
        "deltas",
    ]


def test_a_chain_that_something_stands_in_works_without_its_plain_path():
    """The two stages find each other only in one subscription."""
    whole = with_plain_path(chain())
    from operators import Operator

    body = b"".join(PLAIN) + DONE
    stages = [Operator((name or "end",), (kernel,)) for name, kernel in zip(whole.names, whole.kernels, strict=True)]
    seen = []
    stream = replay(body)
    for stage in stages:
        from reactivex import Observable

        above = stage(stream)
        stream = Observable(lambda observer, scheduler, above=above: above.subscribe(observer, scheduler=scheduler))
    stream.subscribe(seen.append)
    assert seen == run([body], chain())[0]
