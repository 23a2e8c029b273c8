"""The calls of one turn: run side by side by threads or by an event loop, answered in order, each once."""

from __future__ import annotations

import asyncio
import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from typing import Any

import pytest

from operators import Spy, ToolCall, ToolResult, watched_by
from pipeline.chat._tool_runs import OwnLoop, Turn
from pipeline.chat._tools import as_tools
from tests.support.timing import LONG, in_real_time, wait_until, wait_while


def call(name: str, arguments: str = "{}", n: int = 0) -> ToolCall:
    return ToolCall(n, n, f"id{n}", name, arguments, complete=True)


class Runner:
    """One of the two ways to run a turn."""

    def __init__(self, way: str) -> None:
        self.looping = way == "async"
        self.own_loop = OwnLoop()

    def turn(self, calls: list[ToolCall], *functions: Any, approve: Any = None, parallel: int = 8) -> Turn:
        return Turn(calls, as_tools(functions), approve, parallel, self.own_loop)

    def run(self, turn: Turn, seconds: float | None = None) -> list[ToolResult]:
        given: list[ToolResult] = []
        if not self.looping:
            given.extend(turn.results(seconds))
            return given

        async def main() -> None:
            try:
                async with asyncio.timeout(seconds):
                    await turn.aresults(given.append)
            except TimeoutError:
                pass

        asyncio.run(main())
        return given

    def answers(self, calls: list[ToolCall], *functions: Any, **options: Any) -> list[str]:
        turn = self.turn(calls, *functions, **options)
        given = self.run(turn)
        assert turn.ended
        assert [result.call for result in given] == calls
        assert turn.answers() == given
        assert all((result.error is None) == (not result.content.startswith("Error: ")) for result in given)
        return [result.content for result in given]

    def answer(self, made: ToolCall, *functions: Any, **options: Any) -> str:
        return self.answers([made], *functions, **options)[0]


@pytest.fixture(params=["blocking", "async"])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    """Both ways, and no thread of theirs outlives the test."""
    runner = Runner(request.param)
    yield runner
    runner.own_loop.close()
    wait_while(lambda: [thread for thread in threading.enumerate() if thread.name.startswith("rxchat")])


# ------------------------------------------------------------------------------------------------------- what is called


async def double(n: int) -> int:
    await asyncio.sleep(0)
    return 2 * n


class Doubler:
    async def __call__(self, n: int) -> int:
        return await double(n)


def hidden(n: int) -> Any:
    """A function that only its result shows to be async."""
    return double(n)


@pytest.mark.parametrize(
    "function",
    [lambda n: 2 * n, double, hidden, Doubler(), functools.partial(double), functools.partial(Doubler())],
    ids=["sync", "async", "gives an awaitable", "async object", "partial of async", "partial of object"],
)
def test_every_kind_of_function_is_called_and_awaited(runner: Runner, function: Any) -> None:
    turn = Turn([call("f", '{"n": 21}')], as_tools({"f": function}), None, 1, runner.own_loop)
    assert [result.content for result in runner.run(turn)] == ["42"]


def test_arguments_of_any_name(runner: Runner) -> None:
    def f(self: int, function: int, func: int, call: int, args: int) -> list[int]:
        return [self, function, func, call, args]

    given = '{"self": 1, "function": 2, "func": 3, "call": 4, "args": 5}'
    assert runner.answer(call("f", given), f) == "[1,2,3,4,5]"


def test_no_arguments_at_all(runner: Runner) -> None:
    def now() -> str:
        return "noon"

    assert runner.answers([call("now", "", 0), call("now", " ", 1), call("now", "{}", 2)], now) == ["noon"] * 3


# ------------------------------------------------------------------------------------------------ answered, come what may


def raising(error: BaseException) -> Callable[[], None]:
    def f() -> None:
        raise error

    return f


def raising_async(error: BaseException) -> Callable[[], Any]:
    async def f() -> None:
        await asyncio.sleep(0)
        raise error

    return f


class Unsayable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("it has no words")


class Outcome(BaseException):
    """As those of pytest, which are no Exceptions."""


@pytest.mark.parametrize("make", [raising, raising_async])
@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ValueError("no such city"), "ValueError: no such city"),
        (KeyError("city"), "KeyError: 'city'"),
        (RuntimeError(), "RuntimeError"),
        (TimeoutError("slow"), "TimeoutError: slow"),
        (SystemExit(3), "SystemExit: 3"),
        (OSError("half \ud83d"), "OSError: half \ufffd"),
        (Unsayable("no"), "Unsayable"),
        (Outcome("skipped"), "Outcome: skipped"),
    ],
)
def test_what_a_tool_raises_is_its_answer(runner: Runner, make: Any, error: BaseException, said: str) -> None:
    turn = runner.turn([call("f"), call("g", n=1)], make(error), lambda_named_g)
    assert [(r.error, r.content) for r in runner.run(turn)] == [(said, f"Error: {said}"), (None, "g")]


def test_what_a_tool_raises_shows_no_secret(runner: Runner, caplog: pytest.LogCaptureFixture) -> None:
    """Neither to the model nor in the log, and what cannot be said breaks no log."""
    wrong = RuntimeError("401 for http://h/?api_key=marked-4711 with Authorization: Bearer marked-4711")
    said = "RuntimeError: 401 for http://h/?api_key=*** with Authorization: Bearer ***"
    assert runner.answers([call("f")], raising(wrong)) == [f"Error: {said}"]
    assert runner.answers([call("f")], raising(Unsayable())) == ["Error: Unsayable"]
    plain = "ValueError: password: must have 8 characters"
    assert runner.answers([call("f")], raising(ValueError(plain[12:]))) == [f"Error: {plain}"], (
        "the model can mend that"
    )
    assert [record.getMessage() for record in caplog.records] == [
        f"the tool f raised {said}",
        "the tool f raised Unsayable",
        "the tool f raised ValueError: password: *** have 8 characters",
    ]


def lambda_named_g() -> str:
    return "g"


lambda_named_g.__name__ = "g"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (StopIteration(), "StopIteration"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (asyncio.CancelledError(), "CancelledError"),
    ],
)
def test_what_a_thread_raises_ends_its_call_alone(runner: Runner, error: BaseException, said: str) -> None:
    assert runner.answers([call("f"), call("g", n=1)], raising(error), lambda_named_g) == [f"Error: {said}", "g"]


@pytest.mark.parametrize("by", ["an error", "its task"])
def test_a_tool_that_cancels_itself_is_answered(runner: Runner, by: str) -> None:
    async def f() -> None:
        if by == "an error":
            raise asyncio.CancelledError
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(LONG)

    first, second = runner.answers([call("f"), call("g", n=1)], f, lambda_named_g)
    assert (first.lower().replace("error", "").strip(": "), second) == ("cancelled", "g")


@pytest.mark.parametrize(
    ("made", "said"),
    [
        (call("h"), "there is no tool 'h'; there are: f"),
        (call(""), "there is no tool ''; there are: f"),
        (call("f", '{"n": '), "the arguments of f must be a JSON object; got '{\"n\": '"),
        (call("f", "[1]"), "the arguments of f must be a JSON object; got '[1]'"),
        (call("f", '"{\\"n\\": 1}"'), 'the arguments of f must be a JSON object; got \'"{\\\\"n\\\\": 1}"\''),
        (call("f", "null"), "the arguments of f must be a JSON object; got 'null'"),
        (call("f", '{"n": "many"}'), "Expected `int`, got `str` - at `$.n`"),
        (call("f", '{"m": 1}'), "f takes no argument 'm'; it takes n"),
        (call("f"), "Object missing required field `n`"),
    ],
)
def test_calls_that_cannot_be_made_are_answered(runner: Runner, made: ToolCall, said: str) -> None:
    ran: list[int] = []

    def f(n: int) -> None:
        ran.append(n)

    def approve(_: ToolCall) -> bool:
        raise AssertionError("nobody is asked about a call that cannot be made")

    assert runner.answer(made, f, approve=approve) == f"Error: {said}"
    assert ran == []


def test_without_any_tool(runner: Runner) -> None:
    assert runner.answer(call("f")) == "Error: there is no tool 'f'; there are: none"


def test_a_result_that_cannot_be_written(runner: Runner) -> None:
    class Odd:
        def __repr__(self) -> str:
            raise ValueError("odd")

    def f() -> Odd:
        return Odd()

    assert runner.answer(call("f"), f) == "Error: ValueError: odd"


# -------------------------------------------------------------------------------------------------------------- approval


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(
    ("said", "answer"),
    [
        (True, "ran"),
        (False, "Error: this call was not allowed"),
        ("too dear", "Error: this call was not allowed: too dear"),
        ("", "Error: this call was not allowed"),
        (None, "Error: this call was not allowed"),
        (1, "Error: this call was not allowed: approve said 1"),
        (ValueError("unsure"), "Error: ValueError: unsure"),
    ],
)
def test_approval(runner: Runner, is_async: bool, said: Any, answer: str) -> None:
    asked: list[ToolCall] = []
    ran: list[int] = []

    def approve(made: ToolCall) -> Any:
        asked.append(made)
        if isinstance(said, Exception):
            raise said
        return said

    async def approve_async(made: ToolCall) -> Any:
        await asyncio.sleep(0)
        return approve(made)

    def f() -> str:
        ran.append(1)
        return "ran"

    assert runner.answer(call("f"), f, approve=approve_async if is_async else approve) == answer
    assert asked == [call("f")]
    assert len(ran) == (said is True)


# ------------------------------------------------------------------------------------------------------------ side by side


def test_answers_come_in_call_order(runner: Runner) -> None:
    ended: list[int] = []
    last = threading.Event()

    def f(n: int) -> int:
        if n < 2:
            assert last.wait(LONG)
        else:
            last.set()
        ended.append(n)
        return n

    made = [call("f", f'{{"n": {n}}}', n) for n in range(3)]
    assert runner.answers(made, f) == ["0", "1", "2"]
    assert ended[0] == 2


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("parallel", [1, 3])
def test_at_most_so_many_at_once(runner: Runner, is_async: bool, parallel: int) -> None:
    running, most = 0, 0
    lock = threading.Lock()

    def enter(step: int) -> None:
        nonlocal running, most
        with lock:
            running += step
            most = max(most, running)

    def f() -> None:
        enter(1)
        time.sleep(0.01)
        enter(-1)

    async def g() -> None:
        enter(1)
        await asyncio.sleep(0.01)
        enter(-1)

    assert (
        runner.answers([call("g" if is_async else "f", n=n) for n in range(8)], f, g, parallel=parallel) == ["null"] * 8
    )
    assert most == parallel


def test_which_threads_run_what(runner: Runner) -> None:
    def sync() -> int:
        return threading.get_ident()

    async def awaited() -> int:
        return threading.get_ident()

    made = [call("sync"), call("awaited", n=1), call("awaited", n=2)]
    here = str(threading.get_ident())
    ran, *others = runner.answers(made, sync, awaited)
    assert ran != here
    assert len(set(others)) == 1
    assert (others[0] == here) is runner.looping


def test_one_loop_for_all_turns_of_a_conversation() -> None:
    runner = Runner("blocking")

    async def f() -> int:
        return id(asyncio.get_running_loop())

    turns = [runner.answers([call("f", n=n) for n in range(3)], f) for _ in range(2)]
    assert len({loop for turn in turns for loop in turn}) == 1
    runner.own_loop.close()
    runner.own_loop.close()  # twice does no harm
    assert runner.answer(call("f"), f) == "Error: RuntimeError: the conversation is over"


def test_context_variables_are_seen_and_stay_apart(runner: Runner) -> None:
    user: ContextVar[str] = ContextVar("user", default="nobody")

    def sync() -> str:
        before = user.get()
        user.set("another")
        return before

    async def awaited() -> str:
        return sync()

    token = user.set("somebody")
    try:
        made = [call(name, n=n) for n, name in enumerate(["sync", "awaited"] * 2)]
        assert runner.answers(made, sync, awaited, parallel=1) == ["somebody"] * 4
        assert user.get() == "somebody"
    finally:
        user.reset(token)


# ----------------------------------------------------------------------------------------------------------- who looks on


def test_a_spy_sees_each_call(runner: Runner) -> None:
    seen: list[Any] = []

    class Watching(Spy):
        def tool(self, name: str, id: str) -> Callable[[Exception | None], None] | None:  # noqa: A002
            seen.append((name, id))
            return seen.append if name != "g" else None

    error = ValueError("no")
    with watched_by(Watching()):
        runner.answers([call("f"), call("g", n=1), call("h", n=2)], raising(error), lambda_named_g, parallel=1)
    refused = seen.pop()
    assert seen == [("f", "id0"), error, ("g", "id1"), ("h", "id2")]
    assert "there is no tool 'h'" in str(refused)


def test_an_onlookers_own_error_goes_to_the_producer(runner: Runner) -> None:
    class Broken(Spy):
        def tool(self, name: str, id: str) -> None:  # noqa: A002
            raise ZeroDivisionError

    with watched_by(Broken()):
        turn = runner.turn([call("g"), call("g", n=1)], lambda_named_g)
    with pytest.raises(ZeroDivisionError):
        runner.run(turn)


# ----------------------------------------------------------------------------------------------------------- ended early


def test_time_is_up(runner: Runner) -> None:
    @in_real_time
    def _(unit: float) -> None:
        release, ended = threading.Event(), threading.Event()
        cleaned: list[int] = []

        def slow() -> str:
            release.wait(LONG)
            ended.set()
            return "late"

        async def awaited() -> None:
            try:
                await asyncio.sleep(LONG)
            finally:
                cleaned.append(1)

        made = [call(name, n=n) for n, name in enumerate(["g", "slow", "awaited", "g"])]
        turn = runner.turn(made, lambda_named_g, slow, awaited)
        try:
            assert [result.content for result in runner.run(turn, 2 * unit)] == ["g"]
            assert not turn.ended
            late = "Error: this call did not end within the time that there was"
            assert [result.content for result in turn.answers()] == ["g", late, late, "g"]
            runner.own_loop.close()
        finally:
            release.set()
        assert ended.wait(LONG)
        wait_until(lambda: cleaned)


def test_no_time_at_all(runner: Runner) -> None:
    turn = runner.turn([call("f")], f := raising(ValueError()))
    assert f.__name__ == "f"
    runner.run(turn, 0.0)
    assert len(turn.answers()) == 1


def test_leaving_wakes_the_reader_and_begins_nothing_more() -> None:
    runner = Runner("blocking")
    began, release = threading.Semaphore(0), threading.Event()
    count = 0

    def f() -> None:
        nonlocal count
        count += 1
        began.release()
        release.wait(LONG)

    turn = runner.turn([call("f", n=n) for n in range(5)], f, parallel=1)
    given: list[ToolResult] = []
    reader = threading.Thread(target=lambda: given.extend(turn.results(None)))
    reader.start()
    assert began.acquire(timeout=LONG)
    turn.leave()
    reader.join(LONG)
    assert not reader.is_alive()
    release.set()
    time.sleep(0.02)
    assert (given, count) == ([], 1)


def test_a_reader_that_goes_in_the_middle_leaves() -> None:
    ran: list[int] = []

    def f(n: int) -> None:
        time.sleep(0.01)
        ran.append(n)

    results = Runner("blocking").turn([call("f", f'{{"n": {n}}}', n) for n in range(5)], f, parallel=1).results(None)
    next(results)
    results.close()
    time.sleep(0.05)
    assert ran in ([0], [0, 1])


def test_cancelling_the_task_cancels_what_is_awaited_and_lets_threads_run_out() -> None:
    seen: list[str] = []
    release, ran_out = threading.Event(), threading.Event()

    async def awaited() -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            await asyncio.sleep(0)  # it may even take its time
            seen.append("cleaned")

    def sync() -> None:
        release.wait(LONG)
        ran_out.set()

    async def main() -> None:
        turn = Runner("async").turn([call("awaited"), call("sync", n=1)], awaited, sync)
        task = asyncio.create_task(turn.aresults(lambda result: seen.append(result.content)))
        await asyncio.sleep(0.02)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert seen == ["cleaned"]
        release.set()
        await asyncio.to_thread(ran_out.wait, LONG)
        await asyncio.sleep(0.01)  # its result comes, and nobody takes it
        assert len(asyncio.all_tasks()) == 1

    asyncio.run(main())
    assert seen == ["cleaned"]


def test_a_thread_that_ends_after_its_loop_minds_nothing() -> None:
    release = threading.Event()

    def sync() -> None:
        release.wait(LONG)

    async def main() -> None:
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.02):
                await Runner("async").turn([call("sync")], sync).aresults(print)

    asyncio.run(main())
    release.set()
    for thread in threading.enumerate():
        if thread.name == "rxchat tool":
            thread.join(LONG)


def test_an_emit_that_raises_cancels_the_rest() -> None:
    cleaned: list[int] = []

    async def awaited() -> None:
        try:
            await asyncio.sleep(LONG)
        finally:
            cleaned.append(1)

    def emit(_: ToolResult) -> None:
        raise ZeroDivisionError

    async def main() -> None:
        turn = Runner("async").turn([call("g"), call("awaited", n=1)], lambda_named_g, awaited)
        with pytest.raises(ZeroDivisionError):
            await turn.aresults(emit)

    asyncio.run(main())
    assert cleaned == [1]
