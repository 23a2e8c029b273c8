"""Who may read the page, and how it ends. No browser is needed for that."""

from __future__ import annotations

import http.client
import json
import os
import stat
import subprocess
import sys
import threading
import time
import webbrowser
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit
from urllib.request import url2pathname

import pytest
import reactivex
from reactivex import operators as ops
from reactivex.subject import Subject

from operators import ApiError, Event, TextDelta, tool_calls
from pipeline.web import Page, web
from pipeline.web._app import PAGES
from tests.support.timing import LONG, soon


class Answer:
    def __init__(self, response: http.client.HTTPResponse, body: bytes) -> None:
        self.status, self.headers, self.body = response.status, response.headers, body


def ask(page: Page, inside: str | None = "", *, path: str = "", method: str = "GET", **headers: str) -> Answer:
    """Ask for what is inside the page, or for any path."""
    url = urlsplit(page.url)
    connection = http.client.HTTPConnection(str(url.hostname), url.port or 0, timeout=LONG)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path or f"{url.path}{inside}", headers=sent)
    response = connection.getresponse()
    body = response.read()
    connection.close()
    return Answer(response, body)


class Listening:
    """A page that listens to updates."""

    def __init__(self, page: Page, query: str = "") -> None:
        url = urlsplit(page.url)
        self._connection = http.client.HTTPConnection(str(url.hostname), url.port or 0, timeout=LONG)
        self._connection.request("GET", f"{url.path}updates{query}")
        self.response = self._connection.getresponse()

    def event(self) -> tuple[str, str]:
        """The next event: its type and its data."""
        found = {"event": "message", "data": ""}
        while (line := self.response.readline().decode().rstrip("\n")) or not found["data"]:
            name, _, value = line.partition(": ")
            found[name] = value
            if name == "event" and value == "alive":
                continue
        return found["event"], found["data"]

    def update(self) -> Any:
        return json.loads(self.event()[1])

    def close(self) -> None:
        self.response.close()
        self._connection.close()


def test_the_page_and_its_assets_are_served_with_strict_headers(page: Page) -> None:
    for name, kind in {
        "": "text/html",
        "main.js": "text/javascript",
        "style.css": "text/css",
        "icon.svg": "image/svg+xml",
    }.items():
        found = ask(page, name)
        assert found.status == 200
        assert found.headers["content-type"].startswith(kind)
        policy = found.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["referrer-policy"] == "no-referrer"
        assert found.headers["x-frame-options"] == "DENY"
        assert found.headers["cache-control"] == "no-store"
        assert "access-control-allow-origin" not in found.headers
        assert "server" not in found.headers


def test_the_page_has_no_inline_script_or_style_and_loads_nothing_from_elsewhere(page: Page) -> None:
    shell = ask(page).body.decode()
    assert "<style" not in shell
    assert " style=" not in shell
    assert shell.count("<script") == shell.count('<script type="module" src="main.js"></script>') == 1
    assert "//" not in shell


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil", "[::1", "1.2.3.4", ""]
)
def test_a_name_that_was_made_to_point_here_is_refused(page: Page, host: str) -> None:
    found = ask(page, Host=host)
    assert found.status in {400, 421}
    assert b"<html" not in found.body


@pytest.mark.parametrize("host", ["localhost", "localhost:9", "127.0.0.1", "127.0.0.1:65535", "[::1]:80"])
def test_the_loopback_interface_may_be_named_in_any_way_and_its_port_forwarded(page: Page, host: str) -> None:
    assert ask(page, Host=host).status == 200


def test_without_the_token_nothing_is_answered(page: Page) -> None:
    token = urlsplit(page.url).path.strip("/")
    assert len(token) == 32
    for path in ("/", "/updates", "/main.js", f"/{token[:-1]}/", f"/{token}x/", f"//{token}/", "/é/"):
        found = ask(page, path=path.encode().decode("latin-1") if path.isascii() else "/%C3%A9/")
        assert found.status == 404
        assert token not in found.body.decode()
        assert found.headers["x-content-type-options"] == "nosniff"


def test_a_path_leads_nowhere_else(page: Page) -> None:
    for inside in ("../__init__.py", "..%2f__init__.py", "static/main.js", "nothing.js", "%2e%2e/_app.py"):
        assert ask(page, inside).status == 404
    found = ask(page, path=urlsplit(page.url).path.rstrip("/"))
    assert (found.status, found.headers["location"]) == (307, urlsplit(page.url).path)


def test_another_site_may_not_ask_even_if_it_knew_the_token(page: Page) -> None:
    assert ask(page, "main.js", Sec_Fetch_Site="cross-site").status == 403
    assert ask(page, "updates", Sec_Fetch_Site="same-site").status == 403
    assert ask(page, "main.js", Sec_Fetch_Site="same-origin").status == 200


def test_it_can_only_be_read(page: Page) -> None:
    assert ask(page, method="POST").status == 405
    assert ask(page, method="OPTIONS", Origin="https://evil.example").status == 405
    assert ask(page, method="HEAD").status == 200
    assert ask(page, "updates?stream=x").status == 400


def test_updates_come_while_the_stream_runs_and_again_to_whoever_connects_again(page: Page) -> None:
    sink = page.sink("one")
    listening = Listening(page)
    assert listening.response.headers["content-type"].startswith("text/event-stream")
    assert listening.update()["streams"][0]["title"] == "one"
    sink.on_next(TextDelta("Hel"))
    assert listening.update()["blocks"][0]["text"] == "Hel"
    sink.on_next(TextDelta("lo"))
    update = listening.update()
    assert (update["blocks"][0]["at"], update["blocks"][0]["text"]) == (3, "lo")
    listening.close()
    again = Listening(page)
    assert again.update()["blocks"][0]["text"] == "Hello"
    again.close()


def test_a_page_that_does_not_read_holds_nothing_back() -> None:
    with web(events=50) as page:
        url = urlsplit(page.url)
        asleep = http.client.HTTPConnection(str(url.hostname), url.port or 0, timeout=LONG)
        asleep.request("GET", f"{url.path}updates")  # and reads no byte of it
        sink = page.sink("one")
        for _ in range(20_000):
            sink.on_next(TextDelta("x" * 300))
        awake = Listening(page)
        total = 0
        while total < 4 * 1024 * 1024:
            total += sum(len(part.get("text", "")) for part in awake.update().get("blocks", []))
        assert total == 4 * 1024 * 1024
        awake.close()
        asleep.close()


def test_the_number_of_pages_is_bounded(page: Page) -> None:
    listening = [Listening(page) for _ in range(PAGES)]
    assert ask(page, "updates").status == 503
    listening.pop().close()
    deadline = time.monotonic() + LONG
    page.sink("something to say")  # the server notices a page that is gone when it tells it something
    while True:
        one = Listening(page)
        if one.response.status == 200 or time.monotonic() > deadline:
            break
        time.sleep(0.05)
    assert one.response.status == 200
    for page_open in [*listening, one]:
        page_open.close()


def test_closing_tells_the_pages_and_frees_port_and_thread() -> None:
    before = threading.active_count()
    page = web()
    listening = Listening(page)
    with soon():
        page.close()
        page.close()
    told = [listening.event()]
    while told[-1][0] == "message":  # the first one may have been on its way
        told.append(listening.event())
    listening.close()
    assert told[-1] == ("closed", "closed")
    assert len(told) < 3
    assert threading.active_count() == before
    with web(urlsplit(page.url).port or 0), pytest.raises(OSError, match=r"in use|only one usage"):
        web(urlsplit(page.url).port or 0)
    page.sink("late").on_next(TextDelta("into nothing, and no error"))


def test_the_ends_of_a_stream(page: Page) -> None:
    def states() -> dict[str, str]:
        listening = Listening(page)
        found = {line["title"]: line["facts"]["state"] for line in listening.update()["streams"]}
        listening.close()
        return found

    said = reactivex.of(TextDelta("a"), TextDelta("b"))
    said.subscribe(page.sink("completed"))
    said.pipe(page.shown("passed on"), tool_calls()).subscribe()
    said.pipe(page.shown("taken"), ops.take(1)).subscribe()
    failing = reactivex.concat(said, reactivex.throw(ApiError("no")))
    failing.subscribe(page.sink("broken"))
    failing.pipe(page.shown("broken, passed on")).subscribe(on_error=lambda _: None)
    events: Subject[Event] = Subject()
    sink = page.sink("left")
    subscription = events.subscribe(sink)
    passing = events.pipe(page.shown("left, passed on")).subscribe()
    events.on_next(TextDelta("a"))
    assert states()["left"] == "streaming"
    subscription.dispose()
    sink.dispose()
    passing.dispose()
    assert states() == {
        "completed": "completed",
        "passed on": "completed",
        "taken": "left",
        "broken": "broken",
        "broken, passed on": "broken",
        "left": "left",
        "left, passed on": "left",
    }


def test_the_operator_passes_all_on_and_shows_each_subscription(page: Page) -> None:
    said = reactivex.of(TextDelta("a"), TextDelta("b")).pipe(page.shown("twice"))
    found: list[Event] = []
    said.subscribe(found.append)
    said.subscribe(found.append)
    assert found == [TextDelta("a"), TextDelta("b")] * 2
    assert repr(page).endswith("2 streams>")


def test_neither_repr_nor_name_of_the_operator_tells_the_token(page: Page) -> None:
    token = urlsplit(page.url).path.strip("/")
    assert token not in repr(page) + repr(page.shown("a")) + repr(page.sink("a"))


def test_events_below_one_and_a_missing_extra_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValueError, match="at least 1"):
        web(events=0)
    monkeypatch.delitem(sys.modules, "pipeline.web._server", raising=False)
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    with pytest.raises(ImportError, match=r'pip install "rxchat\[web\]"'):
        web()


def test_the_browser_is_given_a_private_file_and_not_the_url(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr(webbrowser, "open", opened.append)
    page.open()
    (given,) = opened
    assert page.url not in given
    file = Path(url2pathname(urlsplit(given).path))
    assert page.url in file.read_text(encoding="utf-8")
    if os.name == "posix":
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    file.unlink()


def test_a_process_ends_though_its_page_was_never_closed() -> None:
    program = (
        "from pipeline.web import web; from operators import TextDelta; import urllib.request\n"
        "page = web(); page.sink('a').on_next(TextDelta('hi')); urllib.request.urlopen(page.url + 'updates'); print('done')"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=LONG, check=False)
    assert (done.stdout, done.stderr, done.returncode) == ("done\n", "", 0)
