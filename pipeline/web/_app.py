"""The page, its assets, and the updates: an ASGI application."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from importlib.resources import files

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response, StreamingResponse
from starlette.routing import Route
from starlette.types import ASGIApp

from pipeline.web._guard import Guard
from pipeline.web._hub import Hub
from pipeline.web._reader import Reader

TICK = 0.05
"""Seconds between two looks at what is new. The stream's thread is never asked to wake anybody."""
HEARTBEAT = 10.0
"""Seconds of silence after which a comment is sent: so a page that is gone is noticed, by both sides."""
PAGES = 32
"""Pages that look on at once."""

_TYPES = {".html": "text/html", ".css": "text/css", ".js": "text/javascript", ".svg": "image/svg+xml"}


def app(hub: Hub, token: str) -> ASGIApp:
    """A hub → the application that shows it, under /{token}/."""
    assets = _assets()
    looking = 0

    async def asset(request: Request) -> Response:
        found = assets.get(request.path_params.get("name", "index.html"))
        if found is None:
            return PlainTextResponse("Not found.\n", 404)
        content, media_type = found
        return Response(content, media_type=media_type)

    async def updates(request: Request) -> Response:
        chosen = request.query_params.get("stream")
        if chosen is not None and not (chosen.isascii() and chosen.isdigit() and len(chosen) < 10):
            return PlainTextResponse("stream is a number.\n", 400)
        if looking >= PAGES:
            return PlainTextResponse(f"{PAGES} pages look on already.\n", 503)
        reader = Reader(hub, None if chosen is None else int(chosen))
        return StreamingResponse(counted(_told(hub, reader)), media_type="text/event-stream")

    async def counted(updates: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
        nonlocal looking
        looking += 1
        try:
            async for update in updates:
                yield update
        finally:
            looking -= 1

    routes = [Route("/updates", updates), Route("/", asset), Route("/{name}", asset)]
    return Guard(Starlette(routes=routes), token)


async def _told(hub: Hub, reader: Reader) -> AsyncIterator[bytes]:
    """Updates as server-sent events, until the hub is closed. One is made when the last one has been taken."""
    yield b"retry: 1000\n\n"
    last = time.monotonic()
    while not hub.closed:
        update = reader.read()
        if update is not None:
            yield b"data: " + msgspec.json.encode(update) + b"\n\n"
            last = time.monotonic()
        elif time.monotonic() - last > HEARTBEAT:
            yield b"event: alive\ndata:\n\n"
            last = time.monotonic()
        await asyncio.sleep(0 if update is not None and update.more else TICK)
    yield b"event: closed\ndata: closed\n\n"


def _assets() -> dict[str, tuple[bytes, str]]:
    """All that the page is made of: name → content and media type."""
    folder = files("pipeline.web") / "static"
    found = {}
    for file in folder.iterdir():
        suffix = file.name[file.name.rfind(".") :]
        if suffix in _TYPES:
            found[file.name] = file.read_bytes(), _TYPES[suffix]
    return found
