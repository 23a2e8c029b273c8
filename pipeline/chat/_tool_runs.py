"""The calls of one turn, run side by side; answered in call order, each exactly once.

The plan. What is done with a call is written once, as the coroutine `_run`; how a function is called is what differs,
and is given to it. Where an event loop reads the stream, a call is a task on that loop, and a function that is not
async runs in a thread. Where a thread reads the stream, worker threads step `_run` through by hand: it never waits
there, as what a function gives to be awaited is awaited by a loop in a thread of its own, the `OwnLoop`.
"""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import inspect
import logging
import queue
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping, Sequence
from concurrent.futures import Future
from typing import Any, TypeAlias

from operators import ToolCall, ToolResult, current_spy
from operators._calls import loads
from operators._surrogates import scrubbed
from pipeline._redact import redact_keys, redact_text
from pipeline.chat._tools import ArgumentsError, Tool, answer

log = logging.getLogger("rxchat.tools")

Approve: TypeAlias = Callable[[ToolCall], bool | str | Awaitable[bool | str]]
"""Asked before a call runs: True lets it, False or a reason does not. May be a coroutine function; a function that is not
one is asked about one call at a time."""


class _RefusedError(Exception):
    """`approve` did not let the call run."""


class _EscapedError(Exception):
    """Carries what is no error of the call alone: SystemExit would end the thread or the loop."""


class Turn:
    """The calls of one finished turn. When it is left, no further call begins; a function that runs runs out, unheard."""

    def __init__(
        self,
        calls: Sequence[ToolCall],
        tools: Mapping[str, Tool],
        approve: Approve | None,
        parallel: int,
        own_loop: OwnLoop,
    ) -> None:
        self._calls, self._tools, self._approve, self._parallel = calls, tools, approve, parallel
        self._asking = threading.Lock()
        self._own_loop = own_loop
        self._spy, self._context = current_spy(), contextvars.copy_context()
        self._results: dict[int, ToolResult] = {}
        self._given = 0
        self._left = threading.Event()
        self._told: queue.SimpleQueue[BaseException | None] = queue.SimpleQueue()

    @property
    def ended(self) -> bool:
        """Whether the result of every call has been given."""
        return self._given == len(self._calls)

    def answers(self) -> list[ToolResult]:
        """One result for each call, whatever came of it."""
        return [
            self._results.get(n) or _failed(call, "this call did not end within the time that there was")
            for n, call in enumerate(self._calls)
        ]

    # ------------------------------------------------------------------------------------------------ blocking

    def results(self, seconds: float | None) -> Generator[ToolResult, None, None]:
        """Run the calls in threads; each result when its turn has come. Ends early when it is left, or time is up."""
        until = None if seconds is None else time.monotonic() + seconds
        waiting: queue.SimpleQueue[int] = queue.SimpleQueue()
        for n in range(len(self._calls)):
            waiting.put(n)
        for _ in range(min(self._parallel, len(self._calls))):
            threading.Thread(target=self._work, args=(waiting,), daemon=True, name="rxchat tool").start()
        try:
            for n in range(len(self._calls)):
                while n not in self._results and not self._left.is_set():
                    broken = self._told.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
                    if broken is not None:
                        raise broken
                if self._left.is_set():
                    return
                self._given += 1
                yield self._results[n]
        except queue.Empty:
            pass
        finally:
            self.leave()

    def leave(self) -> None:
        """Begin no further call, and wait for none."""
        self._left.set()
        self._told.put(None)

    def _work(self, waiting: queue.SimpleQueue[int]) -> None:
        with contextlib.suppress(queue.Empty):
            while not self._left.is_set():
                n = waiting.get_nowait()
                broken = None
                try:
                    run = self._run(self._calls[n], self._call_here)
                    self._results[n] = self._context.copy().run(_stepped, run)
                except BaseException as error:  # an onlooker's own: its producer is the reading thread
                    broken = error
                self._told.put(broken)

    async def _call_here(self, function: Callable[[], Any]) -> Any:
        result = _contained(function)
        return self._own_loop.result(result) if inspect.isawaitable(result) else result

    # ------------------------------------------------------------------------------------------------ async

    async def aresults(self, emit: Callable[[ToolResult], None]) -> None:
        """Run the calls on this loop (functions that are not async in threads), and emit each result in turn."""
        slots = asyncio.Semaphore(self._parallel)

        async def one(n: int, call: ToolCall) -> None:
            async with slots:
                self._results[n] = await self._run(call, _call_beside)

        tasks = [asyncio.create_task(one(n, call)) for n, call in enumerate(self._calls)]
        try:
            for n, task in enumerate(tasks):
                await asyncio.wait([task])
                if task.cancelled():  # by itself
                    self._results[n] = _failed(self._calls[n], "cancelled")
                else:
                    task.result()
                self._given += 1
                emit(self._results[n])
        finally:
            running = [task for task in tasks if task.cancel()]
            if running:
                await asyncio.wait(running, timeout=1)  # one that does not let itself be cancelled is not waited for

    # ------------------------------------------------------------------------------------------------ both

    async def _run(self, call: ToolCall, called: Callable[[Callable[[], Any]], Awaitable[Any]]) -> ToolResult:
        told = self._spy.tool(call.name, call.id) if self._spy is not None else None
        error: Exception | None = None
        try:
            run = self._prepared(call)
            if self._approve is not None:
                _allow(await called(self._asked(self._approve, call)))
            return ToolResult(call, answer(await called(run)))
        except Exception as raised:
            error = raised
            return _failed(call, _why(call, raised))
        finally:
            if told is not None:
                told(error)

    def _asked(self, approve: Approve, call: ToolCall) -> Callable[[], Any]:
        """The question, as it is put: who answers in a terminal is not asked two things at once."""
        if _is_async(approve):
            return functools.partial(approve, call)

        def ask() -> Any:
            with self._asking:
                return approve(call)

        return ask

    def _prepared(self, call: ToolCall) -> Callable[[], Any]:
        tool = self._tools.get(call.name)
        if tool is None:
            raise ArgumentsError(f"there is no tool {call.name!r}; there are: {', '.join(self._tools) or 'none'}")
        arguments = loads(call.arguments) if call.arguments.strip() else {}
        if not isinstance(arguments, dict):
            raise ArgumentsError(f"the arguments of {call.name} must be a JSON object; got {call.arguments[:200]!r}")
        return functools.partial(tool.function, **tool.check(arguments))


class OwnLoop:
    """An event loop in a thread of its own, from its first use until it is closed: it cancels what it still awaits then.

    One for a whole conversation, as an async client that the tools share must not meet another loop in the next round.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._over: asyncio.Event | None = None
        self._closed = False

    def result(self, awaitable: Awaitable[Any]) -> Any:
        """Wait for it in this thread."""
        with self._lock:
            if self._closed:
                getattr(awaitable, "close", bool)()
                raise RuntimeError("the conversation is over")
            if self._loop is None:
                started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = Future()
                threading.Thread(target=asyncio.run, args=(_serve(started),), daemon=True, name="rxchat tools").start()
                self._loop, self._over = started.result()
            future = asyncio.run_coroutine_threadsafe(_awaited(awaitable), self._loop)
        return future.result()

    def close(self) -> None:
        with self._lock:
            if self._loop is not None and self._over is not None and not self._closed:
                self._loop.call_soon_threadsafe(self._over.set)
            self._closed = True

    __del__ = close  # a conversation that was torn down from outside


async def _serve(started: Future[tuple[asyncio.AbstractEventLoop, asyncio.Event]]) -> None:
    over = asyncio.Event()
    started.set_result((asyncio.get_running_loop(), over))
    await over.wait()


def _stepped(run: Coroutine[Any, Any, ToolResult]) -> ToolResult:
    """The result of a coroutine that waits for nothing."""
    try:
        run.send(None)
    except StopIteration as done:
        result: ToolResult = done.value
        return result
    raise AssertionError("a call waited on the thread that runs it")  # pragma: no cover


async def _call_beside(function: Callable[[], Any]) -> Any:
    """Call an async function here, any other one in a thread: not asyncio's, for which the interpreter's end would wait."""
    if _is_async(function):
        return await _awaited(function())
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: Exception | None) -> None:
        if future.done():
            return
        if error is not None:
            future.set_exception(error)
        else:
            future.set_result(result)

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(_contained, function)
        except Exception as raised:
            error = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, result, error)

    threading.Thread(target=work, daemon=True, name="rxchat tool").start()
    result = await future
    return await _awaited(result) if inspect.isawaitable(result) else result


def _is_async(function: Any) -> bool:
    while isinstance(function, functools.partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


def _contained(function: Callable[[], Any]) -> Any:
    """The function's result; what it raises is an Exception that a coroutine can pass on."""
    try:
        return function()
    except StopIteration as raised:
        raise _EscapedError from raised
    except Exception:
        raise
    except BaseException as raised:
        raise _EscapedError from raised


async def _awaited(awaitable: Awaitable[Any]) -> Any:
    try:
        return await awaitable
    except (Exception, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit):
        raise
    except BaseException as raised:
        raise _EscapedError from raised


def _allow(said: Any) -> None:
    if said is not True:
        why = said if isinstance(said, str) else "" if said is False or said is None else f"approve said {said!r}"
        raise _RefusedError(f"this call was not allowed{f': {why}' if why else ''}")


def _why(call: ToolCall, raised: BaseException) -> str:
    if isinstance(raised, (ArgumentsError, _RefusedError)):
        return str(raised)
    if isinstance(raised, _EscapedError) and raised.__cause__ is not None:
        raised = raised.__cause__
    try:
        said = redact_keys(str(raised))  # whose plain words the model needs to do better
    except Exception:
        said = ""
    why = f"{type(raised).__name__}: {said}" if said else type(raised).__name__
    log.warning("the tool %s raised %s", call.name, redact_text(why))
    return why


def _failed(call: ToolCall, error: str) -> ToolResult:
    error = scrubbed(error)
    return ToolResult(call, f"Error: {error}", error)
