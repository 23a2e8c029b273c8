"""A conversation with tools: its rounds, its end, and every way to leave it."""

from __future__ import annotations

import asyncio
import json
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import Any

import pytest
from reactivex import Observable
from reactivex import operators as rx
from reactivex.scheduler import ImmediateScheduler, NewThreadScheduler, ThreadPoolScheduler

from operators import (
    Conversation,
    Out,
    Restarted,
    Retrying,
    RoundStarted,
    Spy,
    Stage,
    StreamError,
    TextDelta,
    ToolCall,
    ToolResult,
    Usage,
    message,
    operator,
    select,
    text,
    watched_by,
)
from pipeline import Retry, Timeouts, completion, decode, iterate, run_tools, tool
from pipeline.chat._run_tools import total
from pipeline.embedded import EmbeddedServer
from tests.pipeline.chaos.upstream import DONE, Part, Reply, Request, Script, Upstream, calls, delta, event, says
from tests.pipeline.wire import Kind, Sub, settled
from tests.support.timing import LONG, in_real_time, soon, until, wait_while

ASKED = {"role": "user", "content": "The weather?"}
BODY: dict[str, Any] = {"model": "m", "messages": [ASKED]}
AT_ONCE = Retry(backoff=0)


def get_weather(city: str) -> str:
    """The weather in a city."""
    return f"sunny in {city}"


PARIS = ("call_1", "get_weather", '{"city": "Paris"}')
ROME = ("call_2", "get_weather", '{"city": "Rome"}')


def answered(request: Request) -> int:
    """How many results of tools a request brings along."""
    return sum(said["role"] == "tool" for said in request.body["messages"])


def then(first: Reply, second: Reply | None = None) -> Script:
    """A script: one reply, and another one once tools have answered."""
    return lambda request: (second or says("It is ", "sunny.")) if answered(request) else first


def names(sub: Sub) -> list[str]:
    return [type(found).__name__ for found in sub.values]


def results(sub: Sub) -> list[str]:
    return [found.content for found in sub.values if isinstance(found, ToolResult)]


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.startswith("rxchat")]


@pytest.fixture(autouse=True)
def no_thread_is_left() -> Iterator[None]:
    yield
    wait_while(threads)


@operator
def mapped(out: Out[Any], function: Callable[[Any], Any]) -> Stage[Any]:
    yield lambda value: out.on_next(function(value))


def ask(
    kind: Kind,
    script: Script | list[Reply],
    tools: Any = (get_weather,),
    *,
    body: dict[str, Any] = BODY,
    **options: Any,
) -> tuple[Sub, list[Request]]:
    """Hold a conversation to its end: what its subscriber saw, and what the server was asked."""
    with Upstream(script) as server:
        sub = kind.run(lambda client: run_tools(body, tools, base_url=server.url, client=client, **options))
        assert sub.ends == 1
        wait_while(lambda: server.open)
        return sub, server.requests


def broken(sub: Sub, kind: str) -> StreamError:
    assert isinstance(sub.end, StreamError), sub.end
    assert sub.end.kind == kind
    return sub.end


def closing(sub: Sub) -> Conversation:
    assert sub.completed, sub.end
    last = sub.values[-1]
    assert isinstance(last, Conversation)
    return last


# ------------------------------------------------------------------------------------------------------------ the rounds


def test_two_rounds(kind: Kind) -> None:
    script = then(calls(PARIS, ROME, usage=(10, 5)), says("It is ", "sunny.", usage=(20, 3)))
    sub, requests = ask(kind, script)
    assert " ".join(name for name in names(sub) if name != "ToolCallDelta") == (
        "RoundStarted Started Finish Usage ToolCall ToolCall ToolResult ToolResult "
        "RoundStarted Started TextDelta TextDelta Finish Usage Conversation"
    )
    assert [found.round for found in sub.values if isinstance(found, RoundStarted)] == [1, 2]
    assert sub.text == "It is sunny."
    made = [{"id": id_, "type": "function", "function": {"name": n, "arguments": a}} for id_, n, a in (PARIS, ROME)]
    assert closing(sub).messages == [
        ASKED,
        {"role": "assistant", "content": None, "tool_calls": made},
        {"role": "tool", "tool_call_id": "call_1", "content": "sunny in Paris"},
        {"role": "tool", "tool_call_id": "call_2", "content": "sunny in Rome"},
        {"role": "assistant", "content": "It is sunny."},
    ]
    assert closing(sub).usage == Usage(30, 8, 38)
    first, second = requests
    assert first.body == {**BODY, "stream": True, "tools": [tool(get_weather).to_dict()]}
    assert second.body == {**first.body, "messages": closing(sub).messages[:-1]}
    assert first.connection == second.connection


def test_the_answer_without_any_call(kind: Kind) -> None:
    sub, _ = ask(kind, [says("Hi")])
    assert closing(sub) == Conversation([ASKED, {"role": "assistant", "content": "Hi"}])


def test_an_empty_answer_is_one(kind: Kind) -> None:
    sub, _ = ask(kind, [says()])
    assert closing(sub).messages[-1] == {"role": "assistant", "content": ""}


@pytest.mark.parametrize("finish", [None, "stop", "tool_calls", "function_call", "eos"])
def test_the_finish_word_does_not_matter(kind: Kind, finish: str | None) -> None:
    sub, _ = ask(kind, then(calls(PARIS, finish=finish)))
    assert results(sub) == ["sunny in Paris"]


def test_calls_after_the_finish_run_too(kind: Kind) -> None:
    late = calls(PARIS, finish=None)
    sub, _ = ask(kind, then(Reply([delta("stop"), *late.parts])))
    assert results(sub) == ["sunny in Paris"]


def test_the_old_function_call(kind: Kind) -> None:
    parts = [delta(function_call={"name": "get_weather", "arguments": ""})]
    parts += [delta(function_call={"arguments": part}) for part in ('{"city":', ' "Paris"}')]
    sub, requests = ask(kind, then(Reply([*parts, delta("function_call"), DONE])))
    assert results(sub) == ["sunny in Paris"]
    said, answer = requests[1].body["messages"][1:]
    assert said["tool_calls"][0]["id"] == answer["tool_call_id"]


def test_calls_without_ids_are_told_apart_over_rounds(kind: Kind) -> None:
    """The provider gives them none, and all its streams the same id."""
    nameless = [calls(("", *PARIS[1:]), ("", *ROME[1:])), calls(("", *PARIS[1:]))]
    sub, _ = ask(kind, [*nameless, says("Sunny.")])
    ids = [found.id for found in sub.values if isinstance(found, ToolCall)]
    assert len(set(ids)) == 3
    assert [found.call.id for found in sub.values if isinstance(found, ToolResult)] == ids
    said = closing(sub).messages
    assert [one["tool_call_id"] for one in said if one["role"] == "tool"] == ids
    assert [call["id"] for one in said for call in one.get("tool_calls", ())] == ids


def test_bad_calls_without_ids_are_told_apart_too(kind: Kind) -> None:
    """No ToolCall is emitted of one whose arguments are no object, but it is answered."""
    sub, _ = ask(kind, [calls(("", "get_weather", bad)) for bad in ("[0]", "[1]", "[2]")] + [says("No.")])
    said = closing(sub).messages
    ids = [one["tool_call_id"] for one in said if one["role"] == "tool"]
    assert len(set(ids)) == 3
    assert [call["id"] for one in said for call in one.get("tool_calls", ())] == ids


def test_the_providers_own_ids_stay_though_they_come_again(kind: Kind) -> None:
    sub, _ = ask(kind, [calls(PARIS), calls(PARIS), says("Sunny.")])
    assert [found.id for found in sub.values if isinstance(found, ToolCall)] == ["call_1", "call_1"]


def test_a_body_keeps_its_own_tools(kind: Kind) -> None:
    own = {**BODY, "tools": [{"type": "function", "function": {"name": "get_weather"}}], "temperature": 0}
    sub, requests = ask(kind, then(calls(PARIS)), body=own)
    closing(sub)
    assert [request.body["tools"] for request in requests] == [own["tools"]] * 2
    assert own["messages"] == [ASKED]


def test_without_tools_a_body_gets_none(kind: Kind) -> None:
    sub, requests = ask(kind, then(calls(PARIS)), {})
    assert results(sub) == ["Error: there is no tool 'get_weather'; there are: none"]
    assert "tools" not in requests[0].body


@pytest.mark.parametrize(
    ("choice", "later"),
    [
        ("required", "auto"),
        ({"type": "function", "function": {"name": "get_weather"}}, "auto"),
        ("auto", "auto"),
        ("none", "none"),
    ],
)
def test_a_tool_is_forced_once(kind: Kind, choice: Any, later: str) -> None:
    """Or the model could never answer."""
    _, requests = ask(kind, then(calls(PARIS)), body=BODY | {"tool_choice": choice})
    assert [request.body["tool_choice"] for request in requests] == [choice, later]


def test_reasoning_goes_back_under_its_key(kind: Kind) -> None:
    reply = Reply([delta(reasoning_content="Hm"), *calls(PARIS).parts])
    sub, requests = ask(kind, then(reply), reasoning_key="reasoning_content")
    closing(sub)
    assert requests[1].body["messages"][1]["reasoning_content"] == "Hm"


@pytest.mark.parametrize(
    ("arguments", "sent"),
    [
        ('{"city": "Paris"}', '{"city": "Paris"}'),
        ("", "{}"),
        ("[1]", "{}"),
        ('"{}"', "{}"),
        ('{"city": "Pa', "{}"),
        ('{"city": NaN}', '{"city":null}'),
        ('{"city": "a\tb"}', '{"city":"a\\tb"}'),
        ('{"city": "\\ud83d"}', '{"city":"�"}'),
    ],
)
def test_calls_go_back_as_json_that_servers_take(arguments: str, sent: str) -> None:
    with Upstream(then(calls(("a", "get_weather", arguments)))) as server:
        events = run_tools(BODY, [get_weather], base_url=server.url).run()
    assert isinstance(events, Conversation)
    said, answer = events.messages[1:3]
    assert said["tool_calls"][0]["function"]["arguments"] == sent
    assert answer["tool_call_id"] == "a"
    json.dumps(events.messages).encode()


def test_custom_calls_go_back_as_they_came(kind: Kind) -> None:
    made = {"index": 0, "id": "a", "type": "custom", "custom": {"name": "sql", "input": "select 1"}}
    sub, requests = ask(kind, then(Reply([delta(tool_calls=[made]), delta("tool_calls"), DONE])))
    assert len(results(sub)) == 1
    assert requests[1].body["messages"][1]["tool_calls"][0]["custom"] == {"name": "sql", "input": "select 1"}


def test_two_subscriptions_are_two_conversations(kind: Kind) -> None:
    with Upstream(then(calls(PARIS))) as server:
        made: list[Observable[Any]] = []

        def make(client: Any) -> Observable[Any]:
            made[:] = made or [run_tools(BODY, [get_weather], base_url=server.url, client=client)]
            return made[0]

        one, other = kind.runs(make, 2)
        assert one.values == other.values
        assert closing(one).messages is not closing(other).messages
        assert len(server.requests) == 4


def test_each_call_is_answered_once_whatever_happens(kind: Kind) -> None:
    async def broken_async() -> None:
        raise SystemExit

    def fails() -> None:
        raise ValueError("no")

    bad = ("b", "get_weather", '{"city": ')
    made = [PARIS, bad, ("c", "unknown", "{}"), ("d", "fails", "{}"), ("e", "broken_async", "{}"), ("f", *PARIS[1:])]
    sub, requests = ask(kind, then(calls(*made)), [get_weather, fails, broken_async])
    assert results(sub) == [
        "sunny in Paris",
        "Error: the arguments of get_weather must be a JSON object; got '{\"city\": '",
        "Error: there is no tool 'unknown'; there are: get_weather, fails, broken_async",
        "Error: ValueError: no",
        "Error: SystemExit",
        "sunny in Paris",
    ]
    told = [said for said in requests[1].body["messages"] if said["role"] == "tool"]
    assert [said["tool_call_id"] for said in told] == [id_ for id_, _, _ in made]
    assert [said["content"] for said in told] == results(sub)


def test_approval(kind: Kind) -> None:
    async def approve(made: ToolCall) -> bool | str:
        return True if "Paris" in made.arguments else "not there"

    sub, _ = ask(kind, then(calls(PARIS, ROME)), approve=approve)
    assert results(sub) == ["sunny in Paris", "Error: this call was not allowed: not there"]


def test_nothing_runs_on_the_reading_thread_or_the_loop(kind: Kind) -> None:
    user: ContextVar[str] = ContextVar("user")
    here = threading.get_ident()

    def sync() -> list[Any]:
        return [threading.get_ident() == here, user.get()]

    async def awaited() -> list[Any]:
        await asyncio.sleep(0)
        return [threading.get_ident() == here, user.get()]

    user.set("me")
    sub, _ = ask(kind, then(calls(("a", "sync", "{}"), ("b", "awaited", "{}"))), [sync, awaited])
    assert results(sub) == ['[false,"me"]', '[true,"me"]' if kind.looping else '[false,"me"]']


# ------------------------------------------------------------------------------------------------ when nothing is to run


def never() -> None:
    raise AssertionError("this must not run")


NEVER = ("call_1", "never", "{}")


@pytest.mark.parametrize("finish", ["length", "content_filter", "error", "MAX_TOKENS"])
@pytest.mark.parametrize("said", ["", "So "])
def test_nothing_runs_after_a_cut_by_the_provider(kind: Kind, finish: str, said: str) -> None:
    sub, requests = ask(kind, [Reply([delta(content=said), *calls(NEVER, finish=finish).parts])], [never])
    assert not {"ToolCall", "ToolResult"} & set(names(sub))
    assert closing(sub).messages == [ASKED, *([{"role": "assistant", "content": said}] if said else [])]
    assert len(requests) == 1


@pytest.mark.parametrize(
    ("tail", "kind_of_error"),
    [
        ([None], "connection"),
        ([], "truncated"),
        ([event(error={"message": "overloaded", "code": 400})], "api"),
        ([b"data: {no json\n\n", delta(content="x")], "protocol"),
        ([1.0], "timeout"),
    ],
)
def test_nothing_runs_after_an_error(kind: Kind, tail: list[Part], kind_of_error: str) -> None:
    parts: list[Part] = [part for part in calls(NEVER, finish=None).parts if part != DONE]
    sub, _ = ask(kind, [Reply(parts + tail)], [never], timeouts=Timeouts(idle=0.2), retry=Retry(attempts=1))
    error = broken(sub, kind_of_error)
    assert not {"ToolCall", "ToolResult", "Conversation"} & set(names(sub))
    assert error.conversation == [ASKED]
    assert [(made.name, made.arguments, made.complete) for made in error.partial[0].tool_calls] == [
        ("never", "{}", False)
    ]


def test_an_operators_own_error_passes_as_it_is(kind: Kind) -> None:
    def refuse(_: Any) -> Any:
        raise KeyError("mine")

    sub, _ = ask(kind, [calls(NEVER)], [never], decoder=decode().then(mapped(refuse)))
    assert isinstance(sub.end, KeyError)


def test_an_error_in_the_second_round_knows_the_first(kind: Kind) -> None:
    sub, requests = ask(kind, then(calls(PARIS), Reply([delta(content="It is"), None])))
    error = broken(sub, "connection")
    assert [part.text for part in error.partial] == ["It is"]
    assert error.conversation is not None
    assert error.conversation == requests[1].body["messages"]
    again, _ = ask(kind, then(calls(PARIS)), body={**BODY, "messages": error.conversation})
    assert closing(again).messages == [*error.conversation, {"role": "assistant", "content": "It is sunny."}]


def test_a_round_is_tried_again(kind: Kind) -> None:
    busy, gone = Reply(status=503), Reply([None])
    script = [busy, calls(PARIS), gone, busy, says("Sunny")]
    ran: list[str] = []

    def get_weather(city: str) -> None:
        ran.append(city)

    sub, _ = ask(kind, script, [get_weather], retry=AT_ONCE)
    closing(sub)
    assert ran == ["Paris"]
    assert [found.attempt for found in sub.values if isinstance(found, Retrying)] == [2, 2, 3]
    assert sub.text == "Sunny"


def test_a_restart_forgets_the_calls_of_the_broken_attempt(kind: Kind) -> None:
    script = [Reply([*calls(NEVER, finish=None).parts[:-1], None]), calls(PARIS), says("Sunny")]
    sub, requests = ask(kind, script, [get_weather, never], retry=Retry(backoff=0, on_break="restart"))
    assert Restarted() in sub.values
    assert results(sub) == ["sunny in Paris"]
    assert [made["id"] for made in requests[2].body["messages"][1]["tool_calls"]] == ["call_1"]
    assert len(requests[2].body["messages"]) == 3


# ------------------------------------------------------------------------------------------------------------ the limits


def test_rounds_are_bounded(kind: Kind) -> None:
    ran: list[str] = []

    def get_weather(city: str) -> None:
        ran.append(city)

    sub, requests = ask(kind, lambda _: calls(PARIS), [get_weather], max_rounds=2)
    error = broken(sub, "limit")
    assert "after 2 rounds" in error.message
    assert (len(requests), ran) == (2, ["Paris"])
    assert error.conversation == requests[1].body["messages"]
    assert error.partial[0].tool_calls[0].name == "get_weather"
    again, _ = ask(kind, [says("Enough")], body={**BODY, "messages": error.conversation})
    closing(again)


def test_time_is_up_in_mid_stream(kind: Kind) -> None:
    @in_real_time
    def _(unit: float) -> None:
        sub, _ = ask(kind, [Reply([delta(content="So"), LONG])], max_seconds=4 * unit)
        error = broken(sub, "limit")
        assert [part.text for part in error.partial] == ["So"]
        assert error.conversation == [ASKED]


def test_time_is_up_before_the_first_byte_of_the_second_round(kind: Kind) -> None:
    @in_real_time
    def _(unit: float) -> None:
        sub, _ = ask(kind, then(calls(PARIS), Reply([LONG])), max_seconds=6 * unit)
        assert len(broken(sub, "limit").conversation or ()) == 3


def test_time_is_up_while_tools_run(kind: Kind) -> None:
    @in_real_time
    def _(unit: float) -> None:
        cleaned, release = threading.Event(), threading.Event()

        async def awaited() -> None:
            try:
                await asyncio.sleep(LONG)
            finally:
                cleaned.set()

        def sync() -> None:
            release.wait(LONG)

        made = [PARIS, ("b", "awaited", "{}"), ("c", "sync", "{}")]
        sub, requests = ask(kind, [calls(*made)], [get_weather, awaited, sync], max_seconds=6 * unit)
        try:
            error = broken(sub, "limit")
            assert results(sub) == ["sunny in Paris"]
            assert cleaned.wait(LONG)
        finally:
            release.set()
        assert error.conversation is not None
        assert [said.get("tool_call_id") for said in error.conversation] == [None, None, "call_1", "b", "c"]
        assert [said["content"] for said in error.conversation[2:]] == [
            "sunny in Paris",
            "Error: this call did not end within the time that there was",
            "Error: this call did not end within the time that there was",
        ]
        assert len(requests) == 1


def test_time_is_up_between_two_rounds(kind: Kind) -> None:
    @in_real_time
    def _(unit: float) -> None:
        def slow(event: Any) -> None:
            if isinstance(event, ToolResult):
                time.sleep(6 * unit)

        with Upstream(then(calls(PARIS))) as server:
            sub = kind.run(
                lambda client: run_tools(
                    BODY, [get_weather], base_url=server.url, client=client, max_seconds=5 * unit
                ).pipe(rx.do_action(slow))
            )
            assert len(server.requests) == 1
        assert [said["role"] for said in broken(sub, "limit").conversation or ()] == ["user", "assistant", "tool"]


def test_no_retry_is_waited_for_beyond_the_time(kind: Kind) -> None:
    busy = Reply(status=503, headers={"retry-after": "60"})
    with soon():
        sub, requests = ask(kind, [busy], max_seconds=LONG / 2)
    assert isinstance(sub.end, StreamError)
    assert sub.end.conversation == [ASKED]
    assert len(requests) == 1


# --------------------------------------------------------------------------------------------------------------- leaving


class Slow:
    """Two tools that run until they are let go, one of each kind."""

    def __init__(self) -> None:
        self.release, self.began, self.ran_out, self.cleaned = (threading.Event() for _ in range(4))

    def sync(self) -> str:
        self.began.set()
        self.release.wait(LONG)
        self.ran_out.set()
        return "late"

    async def awaited(self) -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            self.cleaned.set()

    @property
    def tools(self) -> list[Any]:
        return [self.sync, self.awaited]

    reply = calls(("a", "awaited", "{}"), ("b", "sync", "{}"))

    def let_go(self) -> None:
        """The async one has been cancelled; now the other one runs out."""
        assert self.cleaned.wait(LONG)
        assert not self.ran_out.is_set()
        self.release.set()
        assert self.ran_out.wait(LONG)


def test_disposing_while_tools_run_with_a_blocking_client(blocking: Kind) -> None:
    slow, sub = Slow(), Sub()
    with Upstream([slow.reply]) as server, blocking.client() as client:
        talk = run_tools(BODY, slow.tools, base_url=server.url, client=client)
        disposable: Any = None

        def run() -> None:
            nonlocal disposable
            disposable = talk.subscribe(sub, scheduler=NewThreadScheduler())

        run()
        assert slow.began.wait(LONG)
        disposable.dispose()
        slow.let_go()
        wait_while(threads)
        seen = len(sub.values)
        time.sleep(0.02)
        assert (len(sub.values), sub.ends) == (seen, 0)
        assert names(sub)[-1] == "ToolCall"


@pytest.mark.parametrize("scheduler", [NewThreadScheduler, lambda: ThreadPoolScheduler(2)])
def test_disposing_a_conversation_that_was_moved_to_a_thread(blocking: Kind, scheduler: Any) -> None:
    """Its thread is free to bring the dispose while tools run."""
    slow, sub = Slow(), Sub()
    with Upstream([slow.reply]) as server, blocking.client() as client:
        talk = run_tools(BODY, slow.tools, base_url=server.url, client=client)
        disposable = talk.pipe(rx.subscribe_on(scheduler())).subscribe(sub)
        assert slow.began.wait(LONG)
        disposable.dispose()
        slow.let_go()
        wait_while(threads)
        assert sub.ends == 0


def test_ctrl_c_while_a_tool_is_awaited_cancels_it(blocking: Kind) -> None:
    """Without anybody who disposes: `subscribe()` has not returned."""
    cancelled = threading.Event()

    async def slow() -> None:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        try:
            await asyncio.sleep(LONG)
        finally:
            cancelled.set()

    with Upstream([calls(("a", "slow", "{}"))]) as server, blocking.client() as client:
        with pytest.raises(KeyboardInterrupt):
            run_tools(BODY, [slow], base_url=server.url, client=client).subscribe(Sub())
        assert cancelled.wait(LONG)


def test_results_are_pulled_as_they_come(blocking: Kind) -> None:
    seen = threading.Event()

    def slow() -> bool:
        return seen.wait(LONG)

    with (
        Upstream(then(calls(PARIS, ("b", "slow", "{}")))) as server,
        blocking.client() as client,
        iterate(run_tools(BODY, [get_weather, slow], base_url=server.url, client=client)) as pulled,
    ):
        for found in pulled:
            if isinstance(found, ToolResult):
                seen.set()  # the first one is here while the second call runs
                assert found.content in {"sunny in Paris", "true"}


@pytest.mark.parametrize("from_thread", [False, True])
def test_disposing_while_tools_run_with_an_async_client(looping: Kind, from_thread: bool) -> None:
    slow, sub = Slow(), Sub()

    async def work(client: Any) -> None:
        disposable = run_tools(BODY, slow.tools, base_url=server.url, client=client).subscribe(sub)
        await until(slow.began.is_set)
        if from_thread:
            await asyncio.to_thread(disposable.dispose)
        else:
            disposable.dispose()
        await until(slow.cleaned.is_set)
        slow.let_go()
        await settled()
        assert (names(sub)[-1], sub.ends) == ("ToolCall", 0)
        disposable.dispose()

    with Upstream([slow.reply]) as server:
        looping.act(work)


def test_disposing_after_the_loop_has_gone(looping: Kind) -> None:
    slow, sub = Slow(), Sub()
    disposables: list[Any] = []

    async def work(client: Any) -> None:
        disposables.append(run_tools(BODY, slow.tools, base_url=server.url, client=client).subscribe(sub))
        await until(slow.began.is_set)

    with Upstream([slow.reply]) as server:
        looping.act(work)  # the end of the loop cancels all
        slow.let_go()
        disposables[0].dispose()
    assert sub.ends == 0


LEAVING: dict[type, int] = {RoundStarted: 0, TextDelta: 1, ToolCall: 1, ToolResult: 1, Conversation: 2}
"""How many requests are sent by one who leaves there."""


def test_leaving_at_the_second_round(kind: Kind) -> None:
    with Upstream(then(calls(PARIS))) as server:
        sub = kind.run(
            lambda client: run_tools(BODY, [get_weather], base_url=server.url, client=client).pipe(
                rx.filter(lambda found: found == RoundStarted(2)), rx.take(1)
            )
        )
        assert (sub.values, len(server.requests)) == ([RoundStarted(2)], 1)


def test_a_timeout_of_the_subscribers_own_is_no_limit(looping: Kind) -> None:
    def raises(_: Any) -> None:
        raise TimeoutError("mine")

    async def work(client: Any) -> None:
        told: list[Any] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
        talk = run_tools(BODY, [get_weather], base_url=server.url, client=client, max_seconds=LONG)
        talk.pipe(select(ToolResult)).subscribe(raises)
        await until(lambda: told)
        assert str(told[0]) == "mine"

    with Upstream(then(calls(PARIS))) as server:
        looping.act(work)


RAN: dict[type, int] = {RoundStarted: 0, TextDelta: 0, ToolCall: 0, ToolResult: 2, Conversation: 6}
"""How many calls have begun at most, one at a time."""


@pytest.mark.parametrize("at", LEAVING)
def test_leaving_at_any_event(kind: Kind, at: type) -> None:
    """By an operator below that has enough."""
    reply = Reply([delta(content="So "), *calls(PARIS, ROME).parts])
    with Upstream(then(reply)) as server:
        sub = kind.run(
            lambda client: run_tools(BODY, [get_weather], base_url=server.url, client=client).pipe(
                rx.filter(lambda found: isinstance(found, at)), rx.take(1)
            )
        )
        assert sub.completed
        assert [type(found) for found in sub.values] == [at]
        wait_while(lambda: server.open)
        assert len(server.requests) == LEAVING[at]


@pytest.mark.parametrize("at", LEAVING)
def test_a_subscriber_that_raises_has_left(kind: Kind, at: type) -> None:
    ran: list[str] = []

    def get_weather(city: str) -> str:
        time.sleep(0.02)
        ran.append(city)
        return city

    def on_next(found: Any) -> None:
        seen.append(found)
        if isinstance(found, at):
            raise ZeroDivisionError

    seen: list[Any] = []
    sub = Sub(then=on_next)
    reply = Reply([delta(content="So "), *calls(PARIS, *[ROME] * 5).parts])
    with Upstream(then(reply)) as server:

        def talk(client: Any) -> Observable[Any]:
            return run_tools(BODY, [get_weather], base_url=server.url, client=client, parallel=1)

        if kind.looping:

            async def work(client: Any) -> None:
                told: list[Any] = []
                asyncio.get_running_loop().set_exception_handler(lambda _, context: told.append(context["exception"]))
                made = talk(client)
                if at is RoundStarted:  # it comes inside subscribe
                    with pytest.raises(ZeroDivisionError):
                        made.subscribe(sub)
                else:
                    made.subscribe(sub)
                    await until(lambda: told)
                    assert [type(error) for error in told] == [ZeroDivisionError]
                await settled()

            kind.act(work)
        else:
            with kind.client() as client, pytest.raises(ZeroDivisionError):
                talk(client).subscribe(sub)
        wait_while(lambda: server.open or threads())
        assert type(seen[-1]) is at
        assert sub.ends == 0
        assert len(ran) <= RAN[at]


# ----------------------------------------------------------------------------------------- tools that stream, and pulling


@pytest.mark.usefixtures("unhurried_drain")
def test_a_tool_may_stream_through_the_same_single_connection(kind: Kind) -> None:
    def script(request: Request) -> Reply:
        if request.body["messages"][0]["role"] == "system":
            return says("in", "ner")
        return says("outer") if answered(request) else calls(("a", "ask", "{}"), ("b", "ask", "{}"))

    inner = {"model": "m", "messages": [{"role": "system", "content": ""}]}

    def make(client: Any) -> Observable[Any]:
        def ask() -> str:
            found: list[str] = []
            completion(inner, base_url=server.url, client=client).pipe(text()).subscribe(found.append)
            return "".join(found)

        async def ask_async() -> str:
            stream = completion(inner, base_url=server.url, client=client).pipe(text())
            return "".join([piece async for piece in iterate(stream)])

        tools = {"ask": ask_async if kind.looping else ask}
        return run_tools(BODY, tools, base_url=server.url, client=client)

    with Upstream(script) as server:
        sub = kind.run(make, limits=kind.module.Limits(max_connections=1))
        assert results(sub) == ["inner", "inner"]
        closing(sub)
        assert server.connections == 1


def test_a_sync_tool_may_stream_beside_an_async_client(looping: Kind) -> None:
    def script(request: Request) -> Reply:
        return (
            says("outer")
            if answered(request)
            else says("inner")
            if "tools" not in request.body
            else calls(("a", "ask", "{}"))
        )

    def ask() -> str:
        found: list[Any] = []
        completion(BODY, base_url=server.url).pipe(message()).subscribe(found.append)
        return str(found[0].text)

    with Upstream(script) as server:
        sub = looping.run(lambda client: run_tools(BODY, [ask], base_url=server.url, client=client))
        assert results(sub) == ["inner"]
        closing(sub)


def test_pulling_with_a_blocking_client(blocking: Kind) -> None:
    with Upstream(then(calls(PARIS, ROME))) as server, blocking.client() as client:
        pulled = list(iterate(run_tools(BODY, [get_weather], base_url=server.url, client=client)))
        sub = Sub()
        run_tools(BODY, [get_weather], base_url=server.url, client=client).subscribe(sub)
        assert pulled == sub.values


def test_pulling_runs_no_tool_before_it_is_asked_to(blocking: Kind) -> None:
    ran: list[str] = []

    def get_weather(city: str) -> None:
        ran.append(city)

    with Upstream(then(calls(PARIS, ROME))) as server, blocking.client() as client:
        with iterate(run_tools(BODY, [get_weather], base_url=server.url, client=client)) as pulled:
            for found in pulled:
                if isinstance(found, ToolCall):
                    break
        assert ran == []
        with iterate(run_tools(BODY, [get_weather], base_url=server.url, client=client)) as pulled:
            for found in pulled:
                if isinstance(found, ToolResult):
                    break
        assert ran == ["Paris", "Rome"]
        time.sleep(0.05)
        assert len(server.requests) == 2


def test_pulling_with_an_async_client(looping: Kind) -> None:
    async def work(client: Any) -> None:
        talk = run_tools(BODY, [get_weather], base_url=server.url, client=client)
        pulled = [found async for found in iterate(talk)]
        sub = Sub()
        talk.subscribe(sub)
        await until(lambda: sub.ends)
        assert pulled == sub.values

    with Upstream(then(calls(PARIS, ROME))) as server:
        looping.act(work)


def test_closing_an_async_pull_waits_for_the_tools_to_be_cancelled(looping: Kind) -> None:
    slow = Slow()

    async def work(client: Any) -> None:
        pulled = iterate(run_tools(BODY, slow.tools, base_url=server.url, client=client))
        seen = 0
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.3):
                async for _ in pulled:
                    seen += 1
        assert slow.began.is_set()
        await pulled.aclose()
        assert slow.cleaned.is_set()
        slow.let_go()

    with Upstream([slow.reply]) as server:
        looping.act(work)


@pytest.mark.parametrize("scheduler", [ImmediateScheduler(), NewThreadScheduler()], ids=["immediate", "new thread"])
def test_other_schedulers(blocking: Kind, scheduler: Any) -> None:
    sub = Sub()
    with Upstream(lambda request: says("Done") if answered(request) > 3 else calls(PARIS, ROME)) as server:
        with blocking.client() as client:
            run_tools(BODY, [get_weather], base_url=server.url, client=client).subscribe(sub, scheduler=scheduler)
            assert sub.ended.wait(LONG)
        assert len(results(sub)) == 4
        closing(sub)


# ----------------------------------------------------------------------------------------------------------- who looks on


def test_a_spy_sees_rounds_and_their_tools(kind: Kind) -> None:
    seen: list[Any] = []

    class Watching(Spy):
        def __init__(self, where: tuple[Any, ...] = ()) -> None:
            self.where = where

        def scope(self, kind: str, number: int) -> Spy:
            return Watching((*self.where, kind if kind == "stream" else (kind, number)))

        def tool(self, name: str, id: str) -> Callable[[Exception | None], None]:  # noqa: A002
            return lambda error: seen.append((self.where, name, id, error))

        def request(self, method: str, url: str, headers: Mapping[str, str], body: object) -> None:
            seen.append(self.where[:3])

    def get_weather(city: str) -> str:
        completion(inner, base_url=server.url).subscribe()
        return city

    inner = {"model": "m", "messages": [{"role": "tool"}]}
    with Upstream(then(calls(PARIS))) as server, watched_by(Watching()):
        sub = kind.run(lambda client: run_tools(BODY, [get_weather], base_url=server.url, client=client))
    closing(sub)
    first, second = ("round", 1), ("round", 2)
    assert seen == [
        (first, "stream", ("attempt", 1)),
        (first, "stream", ("attempt", 1)),
        ((first,), "get_weather", "call_1", None),
        (second, "stream", ("attempt", 1)),
    ]


# ------------------------------------------------------------------------------------------------------- wrong from the start


@pytest.mark.parametrize(
    ("change", "options", "error", "why"),
    [
        ({"n": 2}, {}, ValueError, "n must be 1, not 2"),
        ({}, {"max_rounds": 0}, ValueError, "at least 1"),
        ({}, {"parallel": 0}, ValueError, "at least 1"),
        ({}, {"max_seconds": 0}, ValueError, "above 0"),
        *(({}, {name: wrong}, TypeError, name) for name in ("max_rounds", "parallel") for wrong in (None, "3", 2.5)),
        ({}, {"max_seconds": "3"}, TypeError, "max_seconds is a number of seconds"),
        ({}, {"max_seconds": float("nan")}, ValueError, "max_seconds is a number of seconds"),
        ({"messages": "hi"}, {}, TypeError, "is a list of messages, each a dict; not str"),
        ({"messages": ASKED}, {}, TypeError, "is a list of messages, each a dict; not dict"),
        ({"messages": None}, {}, TypeError, "is a list of messages, each a dict; not NoneType"),
        ({}, {"approve": True}, TypeError, "approve is a function"),
        ({}, {"until": 1.0}, TypeError, "max_seconds"),
        ({}, {"base_url": "nowhere"}, ValueError, "base_url"),
        ({}, {"nonsense": 1}, TypeError, "nonsense"),
    ],
)
def test_wrong_options_are_told_at_once(change: Any, options: Any, error: Any, why: str) -> None:
    with pytest.raises(error, match=why):
        run_tools({**BODY, **change}, [get_weather], **options)


def test_a_wrong_body_is_told_at_once() -> None:
    not_a_body: Any = [ASKED]
    with pytest.raises(TypeError, match="body is the request as a dict"):
        run_tools(not_a_body, [get_weather])
    run_tools({**BODY, "n": 1}, [get_weather])


def test_usage_is_summed_where_it_is_known() -> None:
    assert total([]) is None
    summed = total(
        [Usage(1, None, 3, {"cache": {"read": 1}, "tier": "a"}), Usage(1, 2, 3, {"cache": {"read": 2}, "tier": "b"})]
    )
    assert summed == Usage(2, 2, 6, {"cache": {"read": 3}, "tier": "b"})


# --------------------------------------------------------------------------------------------------------- a real server


def test_two_rounds_with_a_real_server(kind: Kind, embedded_server: EmbeddedServer) -> None:
    sub = kind.run(lambda client: run_tools(BODY, [get_weather], base_url=embedded_server.base_url, client=client))
    assert results(sub) == ["sunny in Paris"]
    assert sub.text.startswith("I looked it up")
    assert len(closing(sub).messages) == 4


def test_parallel_calls_with_a_real_server(kind: Kind, embedded_server: EmbeddedServer) -> None:
    both, body = threading.Barrier(2), {**BODY, "messages": [{"role": "user", "content": "Compare the weather"}]}
    body["stream_options"] = {"include_usage": True}

    def get_weather(city: str) -> str:
        both.wait(LONG)
        return f"sunny in {city}"

    sub = kind.run(lambda client: run_tools(body, [get_weather], base_url=embedded_server.base_url, client=client))
    assert results(sub) == ["sunny in Paris", "sunny in Zürich"]
    assert sub.text.startswith("Paris is warmer")
    usages = [found for found in sub.values if isinstance(found, Usage)]
    assert closing(sub).usage == total(usages[-2:]) is not None
