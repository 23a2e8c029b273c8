"""A conversation with tools → Observable[Event]: ask, run what the model calls, answer, ask again."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import msgspec
from msgspec.structs import replace
from reactivex import Observable, abc
from reactivex.disposable import SerialDisposable, SingleAssignmentDisposable
from reactivex.internal import default_error, noop
from reactivex.scheduler import CurrentThreadScheduler

from operators import (
    Conversation,
    Event,
    LimitExceeded,
    Message,
    RoundStarted,
    StreamError,
    ToolCall,
    ToolResult,
    Usage,
    current_spy,
    tool_calls,
)
from operators._assembly import Assembly
from operators._calls import CUT, loads, made_up_id
from operators._given import check_count, check_number
from operators._leavable import Leavable
from operators._operator import on_trampoline
from operators._spy import watched_by
from operators._surrogates import scrubbed
from pipeline.chat._completion import completion
from pipeline.chat._tool_runs import Approve, OwnLoop, Turn
from pipeline.chat._tools import Tool, as_tools
from pipeline.sources._blocking import free
from pipeline.sources._gate import Gate
from pipeline.sources._http import is_async

_running: set[asyncio.Task[None]] = set()


def run_tools(
    body: Mapping[str, Any],
    tools: Mapping[str, Callable[..., Any] | Tool] | Iterable[Callable[..., Any] | Tool],
    *,
    max_rounds: int = 8,
    max_seconds: float | None = None,
    parallel: int = 8,
    approve: Approve | None = None,
    reasoning_key: str | None = None,
    **completion_options: Any,
) -> Observable[Event]:
    """From a request and tools to the events of the whole conversation.

    Each round begins with RoundStarted and goes on with the events of its `completion()`, and a ToolCall for each call
    that is whole. When the turn has ended well, its calls are run, at most `parallel` at once and never on the thread that reads, and a
    ToolResult is emitted for each in call order. Each call is answered once, whatever happens: an exception, an unknown
    tool, arguments that do not fit, a call that `approve` refuses are answers with an error that the model can read. Then
    the next round begins. Whether tools are run is decided by the calls that are there, not by the finish_reason;
    but after `length`, a filter, a cut or an error nothing runs, and the stream ends as it ended.

    Ends with Conversation: all messages, ready to be sent again, and the sum of the usage. On a StreamError the messages
    so far are in `error.conversation`, ready to be sent again too. LimitExceeded after `max_rounds` requests, or
    `max_seconds` in all: running coroutines are cancelled then, as on dispose, and what did not end is answered as such.

    A body without `tools` gets theirs. A `tool_choice` that makes the model call a tool holds for the first round, and is
    "auto" from then on: no answer could come while it stands. Subscribing twice holds two conversations.

    Raises, besides what `completion()` does, TypeError for tools or messages that are no list and for other options of the
    wrong type, ValueError for n > 1 and for numbers out of bounds.

    `reasoning_key` is the key under which the provider wants its reasoning back (see `Message.to_dict`).
    """
    if "until" in completion_options:
        raise TypeError("run_tools() takes max_seconds, for the whole conversation; until is for one completion()")
    completion(body, **completion_options)  # wrong options are told here, not at the first subscription
    messages = body.get("messages", ())
    if isinstance(messages, (str, bytes, Mapping)) or not isinstance(messages, Iterable):
        raise TypeError(f'body["messages"] is a list of messages, each a dict; not {type(messages).__name__}')
    if body.get("n") not in {None, 1}:
        raise ValueError(f"a conversation has one answer a turn, so n must be 1, not {body['n']!r}")
    check_count("max_rounds", max_rounds)
    check_count("parallel", parallel)
    if max_seconds is not None:
        check_number("max_seconds", "a number of seconds above 0, or None", max_seconds, lambda n: n > 0)
    if not (approve is None or callable(approve)):
        raise TypeError(f"approve is a function that is asked before a call runs, not {approve!r}")
    named = as_tools(tools)
    if named and not body.get("tools"):
        body = {**body, "tools": [tool.to_dict() for tool in named.values()]}
    later = {**body, "tool_choice": "auto"} if _forces(body.get("tool_choice")) else body
    client = completion_options.get("client")
    looping = client is not None and is_async(client)

    def start(observer: _Observer, scheduler: abc.SchedulerBase | None) -> _Talk:
        return _Talk(
            ask=lambda number, messages, until: completion(
                {**(body if number == 1 else later), "messages": messages}, until=until, **completion_options
            ),
            messages=list(body.get("messages", ())),
            turn=lambda calls, own_loop: Turn(calls, named, approve, parallel, own_loop),
            limits=(max_rounds, max_seconds),
            reasoning_key=reasoning_key,
            looping=looping,
            observer=observer,
            scheduler=scheduler,
        )

    return _Conversing(start)


def _forces(tool_choice: Any) -> bool:
    """Does it leave the model no choice but to call a tool? OpenAI's "required", or the one function that it names."""
    return tool_choice == "required" or (isinstance(tool_choice, dict) and tool_choice.get("type") == "function")


class _Observer:
    def __init__(self, observer: Any, on_error: Any, on_completed: Any) -> None:
        if hasattr(observer, "on_next"):
            observer, on_error, on_completed = observer.on_next, observer.on_error, observer.on_completed
        self.on_next: Callable[[Event], None] = observer or noop
        self.on_error: Callable[[Exception], None] = on_error or default_error
        self.on_completed: Callable[[], None] = on_completed or noop


class _Conversing(Leavable[Event]):
    def __init__(self, start: Callable[[_Observer, abc.SchedulerBase | None], _Talk]) -> None:
        super().__init__()
        self._start = start

    def subscribe(
        self,
        on_next: abc.ObserverBase[Event] | abc.OnNext[Event] | None = None,
        on_error: abc.OnError | None = None,
        on_completed: abc.OnCompleted | None = None,
        *,
        scheduler: abc.SchedulerBase | None = None,
    ) -> abc.DisposableBase:
        talk = self._start(_Observer(on_next, on_error, on_completed), scheduler)
        on_trampoline(talk.next_round)
        return talk


class _Talk(abc.DisposableBase):
    """One conversation under way."""

    def __init__(
        self,
        *,
        ask: Callable[[int, list[dict[str, Any]], float | None], Observable[Event]],
        messages: list[dict[str, Any]],
        turn: Callable[[tuple[ToolCall, ...], OwnLoop], Turn],
        limits: tuple[int, float | None],
        reasoning_key: str | None,
        looping: bool,
        observer: _Observer,
        scheduler: abc.SchedulerBase | None,
    ) -> None:
        self._ask, self._messages, self._turn, self._reasoning_key = ask, messages, turn, reasoning_key
        self._max_rounds, seconds = limits
        self._until = None if seconds is None else time.monotonic() + seconds
        self._looping, self._observer, self._scheduler = looping, observer, scheduler
        self._spy = self._round_spy = current_spy()
        self._current = SerialDisposable()
        self._own_loop = OwnLoop()
        self._running: Turn | asyncio.Task[None] | None = None
        self._round = 0
        self._ids: set[str] = set()  # of the calls of earlier rounds
        self._usages: list[Usage] = []
        self._left = False

    def next_round(self) -> None:
        self._round += 1
        self._assembly = Assembly()
        self._emit(RoundStarted(self._round))
        if self._left:
            return
        self._round_spy = self._spy and self._spy.scope("round", self._round)
        request = SingleAssignmentDisposable()
        self._current.disposable = request
        with watched_by(self._round_spy):
            asked = self._ask(self._round, list(self._messages), self._until).pipe(tool_calls())
            request.disposable = asked.subscribe(
                self._receive, self._failed, self._round_ended, scheduler=self._scheduler
            )

    def _receive(self, event: Event) -> None:
        if isinstance(event, ToolCall):
            event = self._with_its_own_id(event)
        self._assembly.add(event)
        self._emit(event)

    def _with_its_own_id(self, call: ToolCall) -> ToolCall:
        """A made-up id is of a stream's id, which some providers never send or never change: here it tells rounds apart."""
        stream_id = self._assembly.stream_id
        if call.id not in self._ids or call.id != made_up_id(stream_id, call.choice, call.key):
            return call  # new, or the provider's own
        return replace(call, id=made_up_id(f"{stream_id or ''}/{self._round}", call.choice, call.key))

    def _emit(self, event: Event) -> None:
        try:
            self._observer.on_next(event)
        except BaseException:  # it has left; what runs is stopped by who reads its results
            self._over()
            self._current.dispose()
            raise

    def _round_ended(self) -> None:
        """The turn has ended well: answer its calls and go on, or close."""
        messages = self._assembly.messages(ended=True)
        message = messages[0] if messages else Message()
        if message.usage is not None:
            self._usages.append(message.usage)
        cut = (message.finish_reason or "").lower() in CUT
        if cut:  # calls that cannot be answered would make the conversation one that cannot be sent again
            message = replace(message, tool_calls=())
        message = replace(message, tool_calls=tuple(map(self._with_its_own_id, message.tool_calls)))
        if not message.tool_calls:
            if not cut or message.text:
                self._messages.append(message.to_dict(reasoning_key=self._reasoning_key))
            self._close()
        elif self._round >= self._max_rounds:
            self._end(f"the model still calls tools after {self._max_rounds} rounds; max_rounds=… allows more", message)
        else:
            self._answer(message)

    # ------------------------------------------------------------------------------------------------ the tools

    def _answer(self, message: Message) -> None:
        if self._looping:
            with watched_by(self._round_spy):
                task = asyncio.get_running_loop().create_task(self._answer_in_task(message))
            _running.add(task)
            task.add_done_callback(_running.discard)
            if isinstance(self._scheduler, Gate):
                self._scheduler.tasks.append(task)
            self._runs(task)
        else:  # not here, where the source still holds its connection, which a tool may need
            scheduler = self._scheduler or CurrentThreadScheduler.singleton()
            free(scheduler).schedule(lambda *_: self._answer_here(message))

    def _answer_here(self, message: Message) -> None:
        if self._left:
            return
        turn = self._begin(message)
        self._runs(turn)
        results = turn.results(self._seconds_left())
        if isinstance(self._scheduler, Gate):
            self._next_result(message, turn, results, self._scheduler)
            return
        while self._gave(message, turn, results):
            pass

    def _next_result(self, message: Message, turn: Turn, results: Iterator[ToolResult], gate: Gate) -> None:
        """Wait for one result each time that the consumer asks."""
        if self._gave(message, turn, results):
            gate.schedule(lambda *_: self._next_result(message, turn, results, gate))

    def _gave(self, message: Message, turn: Turn, results: Iterator[ToolResult]) -> bool:
        """Emit the next result; if there is none, go on with the conversation."""
        try:
            result = next(results, None)
        except BaseException:  # Ctrl-C, for one
            self._over()
            raise
        if result is None:
            self._answered(message, turn)
            return False
        self._emit(result)
        return True

    async def _answer_in_task(self, message: Message) -> None:
        turn = self._begin(message)
        limit = asyncio.timeout(self._seconds_left())
        try:
            try:
                async with limit:
                    await turn.aresults(self._emit)
            except TimeoutError:
                if not limit.expired():
                    raise
            self._answered(message, turn)
        except Exception as raised:  # by the subscriber
            self.dispose()
            asyncio.get_running_loop().call_exception_handler(
                {"message": "a subscriber raised; its conversation was closed", "exception": raised}
            )

    def _begin(self, message: Message) -> Turn:
        with watched_by(self._round_spy):
            return self._turn(message.tool_calls, self._own_loop)

    def _runs(self, running: Turn | asyncio.Task[None]) -> None:
        self._running = running
        if self._left:
            self._stop()

    def _answered(self, message: Message, turn: Turn) -> None:
        if self._left:
            return
        self._ids.update(call.id for call in message.tool_calls)
        said = replace(message, tool_calls=tuple(_sendable(call) for call in message.tool_calls))
        self._messages.append(said.to_dict(reasoning_key=self._reasoning_key))
        self._messages += [
            {"role": "tool", "tool_call_id": result.call.id, "content": result.content} for result in turn.answers()
        ]
        if not turn.ended:
            self._end("the time for this conversation was up while tools were running", message)
        elif self._seconds_left() == 0:
            self._end("the time for this conversation was up", message)
        else:
            self.next_round()

    def _seconds_left(self) -> float | None:
        return None if self._until is None else max(0.0, self._until - time.monotonic())

    # ------------------------------------------------------------------------------------------------ the end

    def _close(self) -> None:
        self._emit(Conversation(self._messages, total(self._usages)))
        if not self._left:
            self._over()
            self._observer.on_completed()

    def _end(self, why: str, message: Message) -> None:
        self._failed(LimitExceeded(why, partial=(message,)))

    def _failed(self, error: Exception) -> None:
        if isinstance(error, StreamError):
            error.conversation = self._messages
        self._over()
        self._observer.on_error(error)

    def _over(self) -> None:
        self._left = True
        self._own_loop.close()

    def dispose(self) -> None:
        self._over()
        self._current.dispose()
        self._stop()

    def _stop(self) -> None:
        running = self._running
        if isinstance(running, Turn):
            running.leave()
        elif running is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the task with it
                running.get_loop().call_soon_threadsafe(running.cancel)


def _sendable(call: ToolCall) -> ToolCall:
    """The call as it can be sent back: a server may refuse a whole conversation for arguments that are no strict JSON."""
    arguments = loads(call.arguments)
    if isinstance(arguments, dict):
        with contextlib.suppress(msgspec.DecodeError, UnicodeError):
            msgspec.json.decode(call.arguments)
            return call
        return replace(call, arguments=msgspec.json.encode(scrubbed(arguments)).decode())
    return call if call.complete else replace(call, arguments="{}")


def total(usages: list[Usage]) -> Usage | None:
    """The sum of the usage of several requests; a count that no request gave stays unknown.

    >>> total([Usage(1, 2, 3), Usage(10, None, 10)])
    Usage(prompt_tokens=11, completion_tokens=2, total_tokens=13, details=None)
    """
    if not usages:
        return None
    summed: dict[str, Any] = {}
    for usage in usages:
        summed = _sum(summed, {name: getattr(usage, name) for name in usage.__struct_fields__})
    return Usage(**summed)


def _sum(one: dict[str, Any], other: dict[str, Any]) -> dict[str, Any]:
    result = dict(one)
    for name, value in other.items():
        before = result.get(name)
        if isinstance(before, dict) and isinstance(value, dict):
            result[name] = _sum(before, value)
        elif isinstance(before, (int, float)) and isinstance(value, (int, float)) and not isinstance(value, bool):
            result[name] = before + value
        elif value is not None or name not in result:
            result[name] = value
    return result
