"""The recorded server: the same words as the embedded one, sent bit by bit, and a quiet end."""

import time
from collections.abc import Iterator
from importlib.resources import files
from typing import Any

import httpx
import pytest

from pipeline.embedded import EmbeddedServer, RecordedServer
from pipeline.embedded._capture import REQUESTS

TEXT = REQUESTS["text"]


@pytest.fixture(scope="module")
def recorded_server() -> Iterator[RecordedServer]:
    with RecordedServer(pause=0.001) as server:
        yield server


def test_every_recording_has_a_request() -> None:
    names = {entry.name for entry in (files("pipeline.embedded") / "recorded").iterdir()}
    assert names == {f"{name}.sse" for name in REQUESTS}


@pytest.mark.parametrize("name", REQUESTS)
def test_it_says_what_the_embedded_server_says(
    embedded_server: EmbeddedServer, recorded_server: RecordedServer, ask: Any, name: str
) -> None:
    live, played = (ask(server.base_url, **REQUESTS[name]) for server in (embedded_server, recorded_server))
    for answer in (live, played):
        for delta in answer.deltas:
            for call in delta.get("tool_calls", ()):
                call.pop("id", None)  # random, as it should be
    assert played == live


def test_parallel_calls_can_be_forbidden(recorded_server: RecordedServer, ask: Any) -> None:
    said = ask(recorded_server.base_url, **REQUESTS["two_calls"], parallel_tool_calls=False)
    assert said.calls == [("get_weather", {"city": "Paris"})]


def test_an_event_comes_at_a_time(ask: Any) -> None:
    with RecordedServer(pause=0.005) as server:
        began = time.monotonic()
        deltas = ask(server.base_url, **TEXT).deltas
        assert time.monotonic() - began >= 0.005 * len(deltas)


@pytest.mark.parametrize(
    ("request_body", "reason"),
    [
        (b"no json", "Expecting value"),
        (b"[]", "Expected 'messages'"),
        (b'{"stream": true, "messages": "hello"}', "Expected 'messages'"),
        (b'{"messages": [{"role": "user", "content": "hello"}]}', "'stream': true"),
    ],
)
def test_what_it_cannot_play_is_an_error_in_json(
    recorded_server: RecordedServer, request_body: bytes, reason: str
) -> None:
    response = httpx.post(f"{recorded_server.base_url}/chat/completions", content=request_body)
    assert response.status_code == 400
    assert reason in response.json()["error"]["message"]
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_what_is_not_there_is_an_error_in_json(recorded_server: RecordedServer) -> None:
    for method in ("GET", "POST"):
        response = httpx.request(method, f"{recorded_server.base_url}/nothing")
        assert response.status_code == 404
        assert response.json()["error"]["code"] == 404


def test_a_client_that_goes_away_prints_nothing(capfd: pytest.CaptureFixture[str], ask: Any) -> None:
    with RecordedServer(pause=0.001) as server:
        with httpx.stream("POST", f"{server.base_url}/chat/completions", json={**TEXT, "stream": True}) as response:
            next(response.iter_raw())
        assert ask(server.base_url, **TEXT).finish == "stop"
        time.sleep(0.05)
    assert capfd.readouterr() == ("", "")


def test_close_breaks_a_stream_off_and_may_be_called_twice() -> None:
    server = RecordedServer(pause=5)
    request = httpx.stream("POST", f"{server.base_url}/chat/completions", json={**TEXT, "stream": True})
    with pytest.raises(httpx.RemoteProtocolError), request as response:
        for _ in response.iter_bytes():
            server.close()
    with pytest.raises(httpx.ConnectError):
        httpx.get(server.base_url)
    server.close()
