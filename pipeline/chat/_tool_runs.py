"""The calls of one turn, run side by side; answered in call order, each exactly once."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import logging
import queue
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from operators import ToolCall, ToolResult, current_spy
from operators._calls import loads

from pipeline.chat._tools import BadArguments, Tool, answer

log = logging.getLogger("rxchat.tools")

Approve: TypeAlias = Callable[[ToolCall], bool | str | Awaitable[bool | str]]
"""Asked before a call runs: True lets it, False or a reason does not. May be a coroutine function."""


class TurnLeft(Exception):
    """The subscriber left, or the time was up, while tools were running."""


class _Refused(Exception):
    pass


class Turn:
    """The calls of one finished turn. `leave()` cancels what is awaited; a function that runs runs out, unheard."""

    def __init__(
        self, calls: Sequence[ToolCall], tools: Mapping[str, Tool], approve: Approve | None, parallel: int
    ) -> None:
        self._calls, self._tools, self._approve, self._parallel = calls, tools, approve, parallel
        self._spy = current_spy()
        self._left = threading.Event()
        self._done: queue.SimpleQueue[tuple[int, ToolResult] | None] = queue.SimpleQueue()
        self._loops: dict[asyncio.AbstractEventLoop, asyncio.Task[Any]] = {}
        self._lock = threading.Lock()

    # ------------------------------------------------------------------------------------------------ blocking

    def results(self, seconds: float | None) -> Iterator[ToolResult]:
        """Run the calls in threads of their own, and wait for each in turn; TurnLeft if that is cut short."""
        slots = threading.Semaphore(self._parallel)
        ready: dict[int, ToolResult] = {}
        timer = threading.Timer(seconds, self.leave) if seconds is not None else None
        if timer is not None:
            timer.daemon = True
            timer.start()
        try:
            for n, call in enumerate(self._calls):
                context = contextvars.copy_context()
                threading.Thread(target=context.run, args=(self._run_in_thread, n, call, slots), daemon=True).start()
            for n in range(len(self._calls)):
                while n not in ready:
                    found = self._done.get()
                    if found is None:
                        raise TurnLeft
                    ready[found[0]] = found[1]
                yield ready.pop(n)
        finally:
            if timer is not None:
                timer.cancel()

    def _run_in_thread(self, n: int, call: ToolCall, slots: threading.Semaphore) -> None:
        with slots:
            if not self._left.is_set():
                self._done.put((n, asyncio.run(self._in_loop(call)) if self._is_async(call) else self._run(call)))

    def _is_async(self, call: ToolCall) -> bool:
        tool = self._tools.get(call.name)
        return _is_async(self._approve) or (tool is not None and _is_async(tool.function))

    async def _in_loop(self, call: ToolCall) -> ToolResult:
        """In a loop of this thread's own, which leave() can reach."""
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        with self._lock:
            self._loops[loop] = task
        if self._left.is_set():
            task.cancel()
        try:
            return await self.run(call)
        except asyncio.CancelledError:
            return _failed(call, "cancelled")
        finally:
            with self._lock:
                del self._loops[loop]

    def _run(self, call: ToolCall) -> ToolResult:
        def run() -> Any:
            tool, arguments = self._prepare(call)
            if self._approve is not None:
                _allowed(self._approve(call))
            return tool.function(**arguments)

        return self._answered(call, run)

    # ------------------------------------------------------------------------------------------------ async

    async def aresults(self, emit: Callable[[ToolResult], None]) -> None:
        """Run the calls on this loop (functions that are not async in threads), and emit each answer in turn."""
        slots = asyncio.Semaphore(self._parallel)

        async def one(call: ToolCall) -> ToolResult:
            async with slots:
                return await self.run(call)

        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(one(call)) for call in self._calls]
            for task in tasks:
                emit(await task)

    async def run(self, call: ToolCall) -> ToolResult:
        tell = self._spy.tool(call.name, call.id) if self._spy is not None else None
        error: Exception | None = None
        try:
            tool, arguments = self._prepare(call)
            if self._approve is not None:
                _allowed(await _called(self._approve, call))
            return ToolResult(call, answer(await _called(tool.function, **arguments)))
        except Exception as raised:
            error = raised
            return _result_of(call, raised)
        finally:
            if tell is not None:
                tell(error)

    # ------------------------------------------------------------------------------------------------ both

    def _prepare(self, call: ToolCall) -> tuple[Tool, dict[str, Any]]:
        tool = self._tools.get(call.name)
        if tool is None:
            raise BadArguments(f"there is no tool {call.name!r}; there are: {', '.join(self._tools) or 'none'}")
        arguments = loads(call.arguments) if call.arguments.strip() else {}
        if not isinstance(arguments, dict):
            raise BadArguments(f"the arguments of {call.name} must be a JSON object; got {call.arguments[:200]!r}")
        return tool, tool.check(arguments)

    def _answered(self, call: ToolCall, run: Callable[[], Any]) -> ToolResult:
        tell = self._spy.tool(call.name, call.id) if self._spy is not None else None
        error: BaseException | None = None
        try:
            return ToolResult(call, answer(run()))
        except BaseException as raised:  # SystemExit too: the model gets its answer, this thread ends either way
            error = raised
            return _result_of(call, raised)
        finally:
            if tell is not None:
                tell(error if isinstance(error, Exception) else None)

    def leave(self) -> None:
        """Stop waiting; cancel what is awaited."""
        self._left.set()
        self._done.put(None)
        with self._lock:
            for loop, task in self._loops.items():
                loop.call_soon_threadsafe(task.cancel)


def _result_of(call: ToolCall, raised: BaseException) -> ToolResult:
    if isinstance(raised, (BadArguments, _Refused)):
        return _failed(call, str(raised))
    log.warning("the tool %s raised: %r", call.name, raised)
    said = str(raised)
    return _failed(call, f"{type(raised).__name__}: {said}" if said else type(raised).__name__)


def _failed(call: ToolCall, error: str) -> ToolResult:
    return ToolResult(call, f"Error: {error}", error)


def _allowed(said: Any) -> None:
    if said is not True:
        raise _Refused(f"this call was not allowed{f': {said}' if isinstance(said, str) and said else ''}")


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None))  # noqa: B004


async def _called(function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """The result of a function: awaited if it is async, else from a thread, which does not hold up the interpreter's end."""
    if _is_async(function):
        return await function(*args, **kwargs)
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    context = contextvars.copy_context()

    def settle(result: Any, error: Exception | None) -> None:
        if not future.done():
            future.set_exception(error) if error is not None else future.set_result(result)

    def work() -> None:
        result, error = None, None
        try:
            result = context.run(function, *args, **kwargs)
        except StopIteration as raised:  # a future cannot hold one
            error = RuntimeError(f"StopIteration: {raised}")
        except Exception as raised:
            error = raised
        except BaseException as raised:
            error = RuntimeError(f"{type(raised).__name__}: {raised}")
        try:
            loop.call_soon_threadsafe(settle, result, error)
        except RuntimeError:  # the loop is closed: nobody waits any more
            pass

    threading.Thread(target=work, daemon=True).start()
    return await future
