"""Events → a web page on this machine."""

from __future__ import annotations

import atexit
import os
import secrets as random
from collections.abc import Iterable
from types import TracebackType
from typing import Self

from operators import Event, Operator
from pipeline.web._hub import Hub
from pipeline.web._sink import WebSink, shown

_SHORTEST = 6  # characters; a shorter secret is a part of any word


def web(port: int = 0, *, events: int = 10_000, secrets: Iterable[str] = ()) -> Page:
    """From streams of events to a page that shows them while they run; open its `url` in a browser.

        page = web()
        print(page.url)
        completion(body).subscribe(page.sink("a question"))             # an observer: one stream of the page
        completion(body).pipe(page.shown("another")).subscribe(...)     # an operator: passes all on to your own

    The page has the answer as it grows, reasoning, tool calls with their results, a timeline with its gaps, and the last
    `events` events. Whoever opens it late gets the whole answer so far; whoever loses it gets it again. It keeps the last
    24 streams, and of each 4 Mi characters of text. Taking an event in costs the stream a few microseconds, whoever looks
    on and however slowly, and nothing raised here reaches it.

    The server runs in a daemon thread, on 127.0.0.1 alone, and ends with `close()`, the `with`, or the process. The URL
    has a random token in its path, without which nothing is answered: who knows the URL can read the page. Nothing of a
    request is shown, as a page sees events only; keys, tokens, OPENAI_API_KEY and the given `secrets` are hidden wherever
    a server, a tool or an error repeats them. All that a model says is shown as text.

    `port` 0 takes any that is free. Raises ImportError without the extra `web`, OSError for a port that is taken,
    ValueError for `events` below 1.

    >>> import reactivex, urllib.request
    >>> from operators import TextDelta
    >>> with web() as page:
    ...     reactivex.of(TextDelta("Hi")).subscribe(page.sink("one")) and None
    ...     urllib.request.urlopen(page.url).status
    200
    """
    if events < 1:
        raise ValueError(f"events is how many are kept, at least 1, not {events}")
    known = (*secrets, os.environ.get("OPENAI_API_KEY", ""))
    hidden = sorted({secret for secret in known if len(secret) >= _SHORTEST}, key=len, reverse=True)
    return Page(Hub(events=events, secrets=tuple(hidden)), port)


class Page:
    """What `web()` makes: a server that runs, and the sinks of its streams."""

    def __init__(self, hub: Hub, port: int) -> None:
        try:
            from pipeline.web._app import app
            from pipeline.web._server import Server
        except ImportError as missing:
            raise ImportError('a page needs starlette and uvicorn: pip install "rxchat[web]"') from missing
        token = random.token_urlsafe(24)
        self._hub = hub
        self._server = Server(app(hub, token), port)
        self.url = f"http://127.0.0.1:{self._server.port}/{token}/"
        atexit.register(self.close)

    def sink(self, title: str = "") -> WebSink:
        """An observer that shows one stream, from now on. Make it where you subscribe: its time begins here."""
        return WebSink(self._hub.open(title))

    def shown(self, title: str = "") -> Operator[Event, Event]:
        """Event → Event: passes all on, and shows each subscription as a stream of its own, a dispose too."""
        return shown(self._hub, title)

    def open(self) -> None:
        """Show the page in the default browser."""
        from pipeline.web._browser import open_privately

        open_privately(self.url)

    def close(self) -> None:
        """End the server; pages that are open say so and keep what they have. May be called twice."""
        self._hub.close()
        self._server.close()
        atexit.unregister(self.close)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        streams = len(self._hub.feeds)
        return f"<page on port {self._server.port}, {streams} stream{'' if streams == 1 else 's'}>"
