"""Ways to read a stream over a socket, each as a user would write it, down to the same thing: the text of each event."""

from __future__ import annotations

import asyncio
import importlib
import ssl
from collections.abc import Awaitable, Callable
from functools import cache
from typing import Any, NamedTuple

import httpx

from operators import TextDelta
from pipeline import completion, decode, reads, request
from tests.bench.peers import REQUEST

OnText = Callable[[Any], None]
"""Is given each text, or, from those that find no text, each read."""

Read = Callable[[str, OnText], Awaitable[None]]
"""Read one stream under this base URL to its end."""


class AsyncClient(NamedTuple):
    name: str
    open: Callable[[int], Awaitable[tuple[Read, Callable[[], Awaitable[Any]]]]]
    """Make a client for so many streams; gives how to read one, and how to close the client."""
    needs: tuple[str, ...] = ()

    @property
    def raw(self) -> bool:
        """It hands on the reads as they come."""
        return is_raw(self.name)


def is_raw(name: str) -> bool:
    return name.startswith("bare") or "alone" in name


def untrusting() -> ssl.SSLContext:
    """The benchmark's certificate is nobody's."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _httpx(streams: int) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=streams)
    return httpx.AsyncClient(verify=untrusting(), limits=limits, timeout=60)


def _httpx2(streams: int) -> Any:
    import httpx2

    limits = httpx2.Limits(max_connections=None, max_keepalive_connections=streams)
    return httpx2.AsyncClient(verify=untrusting(), limits=limits, timeout=60)


def _over_aiohttp(streams: int) -> Any:
    from httpx_aiohttp import AiohttpTransport

    limits = httpx.Limits(
        max_connections=0, max_keepalive_connections=streams
    )  # None would be a hundred, 0 is no limit
    return httpx.AsyncClient(transport=AiohttpTransport(verify=untrusting(), limits=limits), timeout=60)


def _bare(make: Callable[[int], Any]) -> Any:
    async def opened(streams: int) -> tuple[Read, Callable[[], Awaitable[Any]]]:
        client = make(streams)

        async def read(url: str, on_text: OnText) -> None:
            async with client.stream("POST", f"{url}/chat/completions", json=REQUEST) as response:
                async for data in response.aiter_raw():
                    on_text(data)

        return read, client.aclose

    return opened


def _ours(make: Callable[[int], Any]) -> Any:
    async def opened(streams: int) -> tuple[Read, Callable[[], Awaitable[Any]]]:
        client = make(streams)
        loop = asyncio.get_running_loop()

        def read(url: str, on_text: OnText) -> Awaitable[None]:
            done = loop.create_future()

            def on_next(event: Any) -> None:
                if type(event) is TextDelta:
                    on_text(event.text)

            completion(REQUEST, base_url=url, client=client).subscribe(
                on_next, on_error=done.set_exception, on_completed=lambda: done.set_result(None)
            )
            return done

        return read, client.aclose

    return opened


def _ours_reads(make: Callable[[int], Any]) -> Any:
    """Our source alone, without a stage."""

    async def opened(streams: int) -> tuple[Read, Callable[[], Awaitable[Any]]]:
        client = make(streams)
        loop = asyncio.get_running_loop()

        def read(url: str, on_text: OnText) -> Awaitable[None]:
            done = loop.create_future()
            request(f"{url}/chat/completions", json=REQUEST, client=client).subscribe(
                on_text, on_error=done.set_exception, on_completed=lambda: done.set_result(None)
            )
            return done

        return read, client.aclose

    return opened


def _aiohttp() -> Any:
    import aiohttp

    connector = aiohttp.TCPConnector(limit=0, ssl=untrusting())
    return aiohttp.ClientSession(timeout=aiohttp.ClientTimeout(total=None), connector=connector)


async def _bare_on_aiohttp(_streams: int) -> tuple[Read, Callable[[], Awaitable[Any]]]:
    session = _aiohttp()

    async def read(url: str, on_text: OnText) -> None:
        async with session.post(f"{url}/chat/completions", json=REQUEST) as response:
            async for data in response.content.iter_any():
                on_text(data)

    return read, session.close


async def _ours_on_aiohttp(_streams: int) -> tuple[Read, Callable[[], Awaitable[Any]]]:
    """Our chain under a response of aiohttp, without httpx in between."""
    session = _aiohttp()

    async def read(url: str, on_text: OnText) -> None:
        done = asyncio.get_running_loop().create_future()

        def on_next(event: Any) -> None:
            if type(event) is TextDelta:
                on_text(event.text)

        response = await session.post(f"{url}/chat/completions", json=REQUEST)
        reads(response).pipe(decode()).subscribe(
            on_next, on_error=done.set_exception, on_completed=lambda: done.set_result(None)
        )
        await done

    return read, session.close


def _openai_over_aiohttp(_streams: int) -> Any:
    """The client that openai[aiohttp] brings."""
    import httpx2
    import openai

    limits = httpx2.Limits(max_connections=0)  # as above
    return openai.DefaultAioHttpClient(verify=untrusting(), limits=limits, timeout=60)


def _openai(make: Callable[[int], Any]) -> Any:
    """One client for all streams."""

    async def opened(streams: int) -> tuple[Read, Callable[[], Awaitable[Any]]]:
        import openai

        http = make(streams)

        @cache
        def client_of(url: str) -> Any:
            return openai.AsyncOpenAI(base_url=url, api_key="none", http_client=http, max_retries=0)

        async def read(url: str, on_text: OnText) -> None:
            async for chunk in await client_of(url).chat.completions.create(stream=True, **REQUEST):
                for choice in chunk.choices:
                    if choice.delta.content:
                        on_text(choice.delta.content)

        return read, http.aclose

    return opened


BARE = "bare: httpx aiter_raw"
BARE_AIOHTTP = "bare: httpx-aiohttp aiter_raw"
OURS = "ours: completion(), httpx"
OURS_AIOHTTP = "ours: completion(), httpx-aiohttp"
BARE_ON_AIOHTTP = "bare: aiohttp iter_any"
OURS_ON_AIOHTTP = "ours: reads() | decode(), aiohttp"
OPENAI = "openai.AsyncOpenAI"
OPENAI_AIOHTTP = "openai.AsyncOpenAI, DefaultAioHttpClient"

ASYNC = (
    AsyncClient(BARE, _bare(_httpx)),
    AsyncClient("ours: request() alone, httpx", _ours_reads(_httpx)),
    AsyncClient(OURS, _ours(_httpx)),
    AsyncClient("bare: httpx2 aiter_raw", _bare(_httpx2), ("httpx2",)),
    AsyncClient("ours: completion(), httpx2", _ours(_httpx2), ("httpx2",)),
    AsyncClient(BARE_AIOHTTP, _bare(_over_aiohttp), ("httpx_aiohttp",)),
    AsyncClient(OURS_AIOHTTP, _ours(_over_aiohttp), ("httpx_aiohttp",)),
    AsyncClient(BARE_ON_AIOHTTP, _bare_on_aiohttp, ("aiohttp",)),
    AsyncClient(OURS_ON_AIOHTTP, _ours_on_aiohttp, ("aiohttp",)),
    AsyncClient(OPENAI, _openai(_httpx2), ("openai", "httpx2")),
    AsyncClient(OPENAI_AIOHTTP, _openai(_openai_over_aiohttp), ("openai", "httpx2", "aiohttp")),
)


# ------------------------------------------------------------------------------------------------------ blocking


class SyncClient(NamedTuple):
    name: str
    open: Callable[[], tuple[Callable[[str, OnText], None], Callable[[], Any]]]
    needs: tuple[str, ...] = ()


def _bare_sync(package: str) -> Any:
    def opened() -> tuple[Callable[[str, OnText], None], Callable[[], Any]]:
        client = importlib.import_module(package).Client(verify=untrusting(), timeout=60)

        def read(url: str, on_text: OnText) -> None:
            with client.stream("POST", f"{url}/chat/completions", json=REQUEST) as response:
                for data in response.iter_raw():
                    on_text(data)

        return read, client.close

    return opened


def _ours_sync(package: str) -> Any:
    def opened() -> tuple[Callable[[str, OnText], None], Callable[[], Any]]:
        client = importlib.import_module(package).Client(verify=untrusting(), timeout=60)

        def read(url: str, on_text: OnText) -> None:
            def on_next(event: Any) -> None:
                if type(event) is TextDelta:
                    on_text(event.text)

            def on_error(error: Exception) -> None:
                raise error

            completion(REQUEST, base_url=url, client=client).subscribe(on_next, on_error=on_error)

        return read, client.close

    return opened


def _openai_sync() -> tuple[Callable[[str, OnText], None], Callable[[], Any]]:
    import httpx2
    import openai

    http = httpx2.Client(verify=untrusting(), timeout=60)

    @cache
    def client_of(url: str) -> Any:
        return openai.OpenAI(base_url=url, api_key="none", http_client=http, max_retries=0)

    def read(url: str, on_text: OnText) -> None:
        for chunk in client_of(url).chat.completions.create(stream=True, **REQUEST):
            for choice in chunk.choices:
                if choice.delta.content:
                    on_text(choice.delta.content)

    return read, http.close


BARE_SYNC = "bare: httpx iter_raw"
OURS_SYNC = "ours: completion(), httpx"
OPENAI_SYNC = "openai.OpenAI"

SYNC = (
    SyncClient(BARE_SYNC, _bare_sync("httpx")),
    SyncClient(OURS_SYNC, _ours_sync("httpx")),
    SyncClient("bare: httpx2 iter_raw", _bare_sync("httpx2"), ("httpx2",)),
    SyncClient("ours: completion(), httpx2", _ours_sync("httpx2"), ("httpx2",)),
    SyncClient(OPENAI_SYNC, _openai_sync, ("openai", "httpx2")),
)
