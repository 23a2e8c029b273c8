"""What is subscribed is written down as it comes, and nothing secret with it."""

from __future__ import annotations

import asyncio
import contextlib
import json
import logging
import signal
import stat
import subprocess
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import reactivex
from reactivex import operators as ops
from reactivex.scheduler import NewThreadScheduler

from operators import ConnectionLost, Event, HttpError, StreamError, TextDelta, watched_by
from pipeline import Retry, completion, decode, replay, run_tools
from pipeline.measure import Metrics, metrics
from pipeline.recordings import Recording, record, replayed
from pipeline.recordings._record import _File, _Lane
from tests.support import Onlooker
from tests.support.timing import LONG

BASE = "http://model.test/v1"
KEY = "sk-proj-MARKED-0123456789abcdef"


def event(delta: dict[str, Any], finish: str | None = None) -> bytes:
    chunk = {"id": "c1", "model": "m", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
    return b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n"


HELLO = [event({"content": "Hé"}), event({"content": "llo 🎉"}), event({}, "stop"), b"data: [DONE]\n\n"]


class Body(httpx.SyncByteStream):
    """Reads, cut as given; then, if given, an error."""

    def __init__(self, reads: list[bytes], error: Exception | None = None) -> None:
        self.reads, self.error = reads, error

    def __iter__(self) -> Iterator[bytes]:
        yield from self.reads
        if self.error is not None:
            raise self.error


def client(*answers: httpx.Response) -> httpx.Client:
    rest = iter(answers)
    return httpx.Client(transport=httpx.MockTransport(lambda _: next(rest)))


def streamed(reads: list[bytes] | None = None, error: Exception | None = None) -> httpx.Response:
    return httpx.Response(200, headers={"content-type": "text/event-stream"}, stream=Body(reads or HELLO, error))


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def ask(client: httpx.Client, **options: Any) -> reactivex.Observable[Event]:
    return completion({"model": "m", "messages": []}, base_url=BASE, client=client, **options)


def test_the_format(tmp_path: Path) -> None:
    """The first line says what the file is; then the stream opens, asks, is answered, is read, ends."""
    ticks = iter(range(100))
    path = tmp_path / "run.jsonl"
    with record(path, clock=lambda: next(ticks) * 0.5):
        ask(client(streamed([HELLO[0], b"\xf0\x9f", *HELLO[2:]]))).subscribe()
    header, *rest = lines(path)
    assert header.keys() == {"format", "version", "started"}
    assert (header["format"], header["version"]) == ("rxchat recording", 1)
    kinds = [line["kind"] for line in rest]
    assert kinds == ["open", "request", "response", "read", "read", "read", "read", "end"]
    assert all((line["stream"], line["attempt"]) == (1, 1) and "round" not in line for line in rest)
    times = [line["at"] for line in rest]
    assert times == sorted(times)
    assert rest[1]["method"] == "POST"
    assert rest[1]["url"] == f"{BASE}/chat/completions"
    assert rest[1]["body"] == {"model": "m", "messages": [], "stream": True}
    assert rest[2]["status"] == 200
    assert rest[3]["text"] == HELLO[0].decode()
    assert rest[4]["base64"] == "8J8="
    assert "error" not in rest[-1]


@pytest.mark.parametrize("way", ["with", "pipe"])
def test_recording_then_replaying_gives_the_identical_events(tmp_path: Path, way: str) -> None:
    path = tmp_path / "run.jsonl"
    live: list[Event] = []
    if way == "with":
        with record(path):
            ask(client(streamed())).subscribe(live.append)
    else:
        ask(client(streamed())).pipe(record(path)).subscribe(live.append)
    again: list[Event] = []
    replayed(path, speed=0).pipe(decode()).subscribe(again.append)
    assert again == live
    assert [read.data for read in Recording.load(path).streams[0].last.reads] == HELLO


def test_attempts_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    answers = [httpx.Response(503, json={"error": {"message": "busy"}}), streamed([HELLO[0]], httpx.ReadError("reset"))]
    with record(path), pytest.raises(ConnectionLost):
        ask(client(*answers), retry=Retry(backoff=0)).run()
    stream = Recording.load(path).stream(1)
    first, second = stream.attempts
    assert (first.number, first.response and first.response.status, first.reads) == (1, 503, ())
    assert first.end is not None
    assert first.end.failure is not None
    assert first.end.failure.kind == "http"
    assert second.body == HELLO[0]
    with pytest.raises(HttpError, match="busy") as found:
        replayed(path, speed=0, attempt=1).run()
    assert found.value.status == 503
    with pytest.raises(ConnectionLost):
        replayed(path, speed=0).run()


def test_rounds_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    call = {"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}}
    calls = [event({"tool_calls": [call]}), event({}, "tool_calls"), b"data: [DONE]\n\n"]
    with record(path):
        run_tools(
            {"model": "m", "messages": []},
            {"now": lambda: "noon"},
            base_url=BASE,
            client=client(streamed(calls), streamed()),
        ).run()
    assert [(stream.number, stream.round) for stream in Recording.load(path).streams] == [(1, 1), (2, 2)]
    assert all(line["round"] == line["stream"] for line in lines(path)[1:])


async def _two_at_once(path: Path) -> None:
    def body(name: bytes) -> Any:
        async def reads() -> Any:
            for part in (b"1", b"2"):
                yield b": " + name + part + b"\n"
                await asyncio.sleep(0)
            yield b"data: [DONE]\n\n"

        return reads()

    def answer(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=body(json.loads(request.content)["model"].encode()))

    async with httpx.AsyncClient(transport=httpx.MockTransport(answer)) as client:
        with record(path):
            both = [
                completion({"model": name}, base_url=BASE, client=client, retry=Retry(attempts=1)).pipe(
                    reactivex.operators.catch(lambda *_: reactivex.empty())
                )
                for name in ("a", "b")
            ]
            await reactivex.merge(*both).pipe(reactivex.operators.default_if_empty(None))


def test_streams_at_the_same_time_are_told_apart(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    asyncio.run(_two_at_once(path))
    bodies = {stream.last.body for stream in Recording.load(path).streams}
    assert bodies == {b": %c1\n: %c2\ndata: [DONE]\n\n" % (name, name) for name in b"ab"}


def test_it_warns_where_it_has_seen_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A context manager sees what its own thread subscribes."""
    with record(tmp_path / "run.jsonl"):
        replay(HELLO).subscribe()
    assert caplog.messages == []
    with record(tmp_path / "run.jsonl"):
        replay(HELLO).pipe(ops.subscribe_on(NewThreadScheduler())).run()
    assert ["what another thread subscribes" in said for said in caplog.messages] == [True]


def test_sources_without_a_stream_are_numbered_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with record(path):
        replay([b"a", b"b"]).subscribe()
        replay([b"c"]).subscribe()
    assert [stream.last.body for stream in Recording.load(path).streams] == [b"ab", b"c"]


def test_sources_that_have_a_scope_of_their_own(tmp_path: Path) -> None:
    """Within an attempt it is the attempt's; elsewhere it is a stream."""
    path = tmp_path / "run.jsonl"
    file = _File(path, lambda: 0.0, ())
    root = _Lane(file)
    one, other = root.scope("source", 7), root.scope("source", 8)
    tried = root.scope("round", 2).scope("stream", 9).scope("attempt", 3)
    assert tried.scope("source", 10) is tried
    other.read(b"other")
    one.read(b"one")
    tried.read(b"tried")
    for spy in (one, other, tried):
        spy.closed(None)
    file.leave()
    found = [(s.number, s.round, s.last.number, s.last.body) for s in Recording.load(path).streams]
    assert found == [(1, None, 1, b"one"), (2, None, 1, b"other"), (3, 2, 3, b"tried")]


def test_what_was_subscribed_inside_is_recorded_to_its_end(tmp_path: Path) -> None:
    """Leaving the `with` ends nothing that runs; what is subscribed after it is not recorded."""
    path = tmp_path / "run.jsonl"

    async def run() -> None:
        async def reads() -> Any:
            for read in HELLO:
                await asyncio.sleep(0)
                yield read

        transport = httpx.MockTransport(lambda _: httpx.Response(200, content=reads()))
        async with httpx.AsyncClient(transport=transport) as client:
            asked = completion({"model": "m"}, base_url=BASE, client=client)
            done = asyncio.Event()
            with record(path):
                asked.subscribe(on_completed=done.set)
            await done.wait()
            await asked
            await asyncio.sleep(0.01)

    asyncio.run(run())
    recording = Recording.load(path)
    assert [stream.last.body for stream in recording.streams] == [b"".join(HELLO)]
    assert recording.streams[0].last.end is not None


_OPEN = Path("/proc/self/fd")


@pytest.mark.skipif(not _OPEN.exists(), reason="the system does not tell what is open")
def test_no_file_stays_open(tmp_path: Path) -> None:
    before = len(list(_OPEN.iterdir()))
    for _ in range(3):
        with record(tmp_path / "run.jsonl"):
            replay(HELLO).pipe(decode()).subscribe()
        replay(HELLO).pipe(decode(), record(tmp_path / "run.jsonl")).subscribe().dispose()
    assert len(list(_OPEN.iterdir())) <= before


def test_who_looked_on_before_still_does(tmp_path: Path) -> None:
    class Reads(Onlooker):
        def __init__(self) -> None:
            self.seen: list[bytes] = []

        def read(self, data: bytes) -> None:
            self.seen.append(data)

    spy = Reads()
    with watched_by(spy), record(tmp_path / "a.jsonl"), record(tmp_path / "b.jsonl"):
        replay(HELLO).subscribe()
    assert spy.seen == HELLO
    bodies = [Recording.load(tmp_path / name).streams[0].last.body for name in ("a.jsonl", "b.jsonl")]
    assert bodies == [b"".join(HELLO)] * 2


def test_only_its_owner_may_read_it(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with record(path):
        pass
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_a_path_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(OSError), record(tmp_path / "missing" / "run.jsonl"):
        pass
    with pytest.raises(OSError):
        replay(HELLO).pipe(record(tmp_path / "missing" / "run.jsonl")).run()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no device that is always full")
def test_a_full_disk_does_not_end_the_stream(caplog: pytest.LogCaptureFixture) -> None:
    events: list[Event] = []
    with caplog.at_level(logging.WARNING), record("/dev/full"):
        replay(HELLO).pipe(decode()).subscribe(events.append)
    assert [found.text for found in events if isinstance(found, TextDelta)] == ["Hé", "llo 🎉"]
    assert len([line for line in caplog.messages if "has stopped" in line]) == 1


# ------------------------------------------------------------------------------------------------ secrets


def test_no_recording_contains_the_key(tmp_path: Path) -> None:
    """In headers, URL, request body, the error of a response, and the body that tells it back."""
    path = tmp_path / "run.jsonl"
    refused = httpx.Response(
        401, json={"error": {"message": f"Incorrect API key provided: {KEY}"}}, headers={"x-api-key": KEY}
    )
    told_back = streamed([event({"content": f"your key is {KEY}"}), *HELLO[2:]])
    with record(path, secrets=[KEY]):
        for answer in (refused, told_back):
            asked = completion(
                {"model": "m", "api_key": KEY, "messages": [{"role": "user", "content": f"I use {KEY}."}], "key": KEY},
                base_url=f"http://user:{KEY}@model.test/v1?api-key={KEY}&x={KEY}",
                api_key=KEY,
                headers={"x-extra": KEY, "x-api-key": KEY},
                client=client(answer),
            )
            with contextlib.suppress(StreamError):
                asked.run()
    written = path.read_bytes()
    assert b"MARKED" not in written
    assert b"your key is ***" in written
    assert b"Incorrect API key provided: ***" in written
    assert b"I use ***" in written


def test_a_key_of_no_known_form(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The one in the environment is known; a spy may be told of others; reads keep their length."""
    monkeypatch.setenv("OPENAI_API_KEY", "plain-words-here")
    path = tmp_path / "run.jsonl"
    with record(path):
        replay([b"data: plain-words-here\n\n"]).subscribe()
    read = Recording.load(path).streams[0].last.reads[0].data
    assert read == b"data: " + b"*" * 16 + b"\n\n"

    file = _File(path, lambda: 0.0, ())
    lane = _Lane(file)
    lane.secrets(["Bearer other-words", "x"])
    lane.request("POST", "http://h/other-words", {"a": "other-words"}, {"b": ["other-words", "x"]})
    lane.read(b"other-words x")
    lane.closed(StreamError("other-words"))
    assert b"other-words" not in path.read_bytes()
    assert b'"x"' in path.read_bytes()


def test_what_a_tool_conversation_measures(tmp_path: Path) -> None:
    """One Metrics a round, each of its own request."""
    call = {"index": 0, "id": "a", "function": {"name": "now", "arguments": "{}"}}
    calls = [event({"tool_calls": [call]}), event({}, "tool_calls"), b"data: [DONE]\n\n"]
    found: list[Any] = []
    run_tools(
        {"model": "m", "messages": []},
        {"now": lambda: "noon"},
        base_url=BASE,
        client=client(streamed(calls), streamed()),
    ).pipe(record(tmp_path / "run.jsonl"), metrics()).subscribe(found.append)
    measured = [one for one in found if isinstance(one, Metrics)]
    assert [(one.round, one.reads, one.bytes) for one in measured] == [
        (1, 3, sum(map(len, calls))),
        (2, 4, sum(map(len, HELLO))),
    ]
    assert len(Recording.load(tmp_path / "run.jsonl").streams) == 2


# ------------------------------------------------------------------------------------------------ crashes

_DIES = """
    import os, signal, sys
    from pipeline import decode
    from pipeline import replay
    from pipeline.recordings import record

    def reads():
        for number in range(1000):
            yield b'data: {"choices":[{"delta":{"content":"%d "}}]}\\n\\n' % number
            if number == 99:
                os.kill(os.getpid(), signal.SIGKILL)

    class Reads:
        def __iter__(self):
            return reads()

    with record(sys.argv[1]):
        replay(Reads()).pipe(decode()).subscribe()
"""


def test_what_was_written_before_a_sigkill_replays_up_to_the_cut(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    died = subprocess.run([sys.executable, "-c", textwrap.dedent(_DIES), str(path)], check=False, timeout=LONG)
    assert died.returncode == -signal.SIGKILL
    texts: list[Any] = []
    replayed(path, speed=0).pipe(decode()).subscribe(texts.append, texts.append)
    said = [found.text for found in texts if isinstance(found, TextDelta)]
    assert said == [f"{number} " for number in range(100)]
    assert texts[-1].kind == "truncated"
    assert Recording.load(path).streams[0].last.end is None


def test_a_last_line_that_was_cut_is_left_out(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = tmp_path / "run.jsonl"
    with record(path):
        replay(HELLO).subscribe()
    whole = path.read_bytes()
    for cut in range(whole.index(b"\n") + 1, len(whole)):
        path.write_bytes(whole[:cut])
        caplog.clear()
        recording = Recording.load(path)
        reads = [read.data for stream in recording.streams for read in stream.last.reads]
        assert reads == HELLO[: len(reads)]
        assert bool(caplog.messages) == (whole[cut - 1 : cut] != b"\n")


def test_a_line_that_is_broken_in_the_middle(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    with record(path):
        replay(HELLO).subscribe()
    first, *rest = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + b"{oops\n" + b"".join(rest))
    with pytest.raises(ValueError, match="line 2"):
        Recording.load(path)


def test_a_later_version_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_bytes(b'{"format":"rxchat recording","version":2}\n')
    with pytest.raises(ValueError, match="version 2"):
        Recording.load(path)
