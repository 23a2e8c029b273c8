"""Who may read the page.

The server listens on the loopback interface alone, but every program and every web page on this machine can reach that.
So three things are asked of a request. Its host must be the loopback interface by name: a page elsewhere whose name was
made to point here (DNS rebinding) has its own name in it. Its path must begin with the token, 192 random bits that only
the URL has; a cookie would go to every other port of this host as well. And what is no navigation must come from the page
itself, as the browser says it (Sec-Fetch-Site). No CORS header is ever sent.

What is answered may load scripts, styles and data from this server alone, and run nothing that stands in the page
(Content-Security-Policy), may not be framed, nor kept in a cache; and the token goes nowhere as a referrer.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import MutableMapping

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_LOOPBACK = re.compile(r"(?:127\.0\.0\.1|localhost|\[::1\])(?::\d{1,5})?", re.IGNORECASE)

HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cache-Control": "no-store",
}


class Guard:
    """An ASGI application → the same behind a token, as the plan above says."""

    def __init__(self, app: ASGIApp, token: str) -> None:
        self._app, self._token = app, token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(HEADERS)
            await send(message)

        refused = self._refusal(scope)
        if refused is not None:
            await refused(scope, receive, send_guarded)
            return
        inside = "/" + scope["path"].split("/", 2)[2]
        await self._app({**scope, "path": inside, "raw_path": inside.encode()}, receive, send_guarded)

    def _refusal(self, scope: MutableMapping[str, object]) -> Response | None:
        headers = Headers(scope=scope)
        if not _LOOPBACK.fullmatch(headers.get("host", "")):
            return PlainTextResponse("This server answers to 127.0.0.1 and localhost only.\n", 421)
        if scope["method"] not in {"GET", "HEAD"}:
            return PlainTextResponse("There is nothing to be sent here.\n", 405, {"Allow": "GET, HEAD"})
        token, slash, inside = str(scope["path"])[1:].partition("/")
        if not secrets.compare_digest(token.encode(), self._token.encode()):
            return PlainTextResponse("Not found. The URL of the page ends in a token.\n", 404)
        if not slash:
            return RedirectResponse(f"/{self._token}/")
        if inside and headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
            return PlainTextResponse("Only the page itself may ask for this.\n", 403)
        return None
