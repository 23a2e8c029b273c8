"""Recordings of the embedded server, played where xllamacpp has no wheel."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from functools import partial
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from threading import Event, Thread
from types import TracebackType
from typing import Any, Self

from pipeline.embedded._server import TINY


class RecordedServer:
    """Nothing → an OpenAI-compatible server on the loopback interface, from construction until `close`.

    It answers streamed chat requests with what the tiny model once said to such a request: words, reasoning if
    `chat_template_kwargs` enables thinking, one call of `get_weather` or two if there are tools, and a closing answer
    to one tool result or to two. An event is sent every `pause` seconds. Whatever else is asked is an error in JSON.
    """

    base_url: str
    model: str = TINY
    scripted: bool = True

    def __init__(self, *, pause: float = 0.015) -> None:
        self._closing = Event()
        self._http = _Http(("127.0.0.1", 0), partial(_Player, pause, self._closing))
        self.base_url = f"http://127.0.0.1:{self._http.server_port}/v1"
        # the poll is how long `close` may take
        self._thread = Thread(target=self._http.serve_forever, args=(0.02,), name="recorded-server", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop. Streams that are being written break off. May be called twice."""
        self._closing.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()


def recording(request: dict[str, Any]) -> str:
    """A chat request → the name of the recording that answers it. Raises ValueError, saying why, when none does."""
    messages = request.get("messages")
    if not isinstance(messages, list) or not all(isinstance(message, dict) for message in messages) or not messages:
        raise ValueError("Expected 'messages' to be an array of messages")
    if request.get("stream") is not True:
        raise ValueError("Only recorded streams are served here: ask with 'stream': true")
    results = 0
    ask = ""
    for message in messages:
        results = results + 1 if message.get("role") == "tool" else 0
        if message.get("role") == "user":
            ask = str(message.get("content")).lower()
    if results:
        return "one_result" if results == 1 else "two_results"
    if request.get("tools"):
        two = ("compare" in ask or " and " in ask) and request.get("parallel_tool_calls") is not False
        return "two_calls" if two else "one_call"
    return "thinking" if (request.get("chat_template_kwargs") or {}).get("enable_thinking") else "text"


def events(name: str) -> Iterator[bytes]:
    """The name of a recording → its server-sent events, each with the empty line that ends it."""
    body = (files("pipeline.embedded") / "recorded" / f"{name}.sse").read_bytes()
    return (event + b"\n\n" for event in body.split(b"\n\n") if event.strip())


class _Http(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print the traceback, unless it only says that a client went away: that would land in someone's notebook."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class _Player(BaseHTTPRequestHandler):
    # chunked, as llama.cpp does: a body that breaks off can be told from one that ends
    protocol_version = "HTTP/1.1"

    def __init__(self, pause: float, closing: Event, *connection: Any) -> None:
        self._pause = pause
        self._closing = closing
        super().__init__(*connection)  # which answers the request

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        if self.path != "/v1/chat/completions":
            self._refuse(HTTPStatus.NOT_FOUND, "File Not Found", "not_found_error")
            return
        try:
            request = json.loads(content)
            name = recording(request if isinstance(request, dict) else {})
        except ValueError as reason:
            self._refuse(HTTPStatus.BAD_REQUEST, str(reason), "invalid_request_error")
            return
        self._play(name)

    def do_GET(self) -> None:
        self._refuse(HTTPStatus.NOT_FOUND, "File Not Found", "not_found_error")

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name is inherited
        """Say nothing."""

    def _play(self, name: str) -> None:
        self.send_response(HTTPStatus.OK)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.send_header("Connection", "close")
        self.end_headers()
        for event in events(name):
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
            if self._closing.wait(self._pause):
                return
        self.wfile.write(b"0\r\n\r\n")

    def _refuse(self, status: HTTPStatus, message: str, kind: str) -> None:
        body = json.dumps({"error": {"code": status.value, "message": message, "type": kind}}).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(body)
