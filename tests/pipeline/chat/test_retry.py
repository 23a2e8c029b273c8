"""Retry: again while nothing was seen, as long as asked for, and never after a dispose."""

from __future__ import annotations

import asyncio
import email.utils
import logging
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
import reactivex
from reactivex import Observable
from reactivex import operators as ops
from reactivex.scheduler import NewThreadScheduler
from reactivex.testing import TestScheduler

from operators import (
    ApiError,
    ConnectionLost,
    Finish,
    HttpError,
    LimitExceeded,
    Restarted,
    Retrying,
    Started,
    StreamError,
    TextDelta,
    ToolCall,
    TruncatedError,
    Usage,
    message,
    tool_calls,
)
from pipeline import Retry, completion
from pipeline.chat._retry import Attempts
from tests.pipeline.wire import (
    ANSWER,
    Call,
    Kind,
    Script,
    Sub,
    WireServer,
    answers,
    event,
    says_nothing,
    text,
)
from tests.support.timing import LONG, SOON, soon, until, wait_until, wait_while

BODY = {"model": "m", "messages": []}
FAST = Retry(backoff=0)
CUT: Script = answers(text("Hel"))
BUSY: Script = answers(b"busy", status=503)


def kinds(sub: Sub) -> list[type]:
    return [type(found) for found in sub.values]


# ------------------------------------------------------------------------------------------------------------ when it tries


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(BUSY, id="503"),
        pytest.param(answers(b"slow down", status=429), id="429"),
        pytest.param(answers(b"", status=408), id="408"),
        pytest.param(answers(b"", status=409), id="409"),
        pytest.param(lambda call: call.reset(), id="reset before the head"),
        pytest.param(answers(), id="nothing"),
        pytest.param(answers(text(None)), id="cut before it said anything"),
        pytest.param(answers(event({"error": {"message": "slow down", "code": 429}})), id="429 in band"),
        pytest.param(answers(event({"error": {"message": "oh", "type": "server_error"}})), id="server_error in band"),
    ],
)
def test_a_failure_that_may_pass_is_tried_again(kind: Kind, failure: Script) -> None:
    with WireServer(failure, failure, answers(ANSWER)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=FAST))
        assert len(server.calls) == 3
    assert kinds(sub) == [Retrying, Retrying, Started, TextDelta, TextDelta, Finish]
    assert [found.attempt for found in sub.values[:2]] == [2, 3]
    assert sub.completed


@pytest.mark.parametrize(
    "failure",
    [
        pytest.param(answers(b"", status=400), id="400"),
        pytest.param(answers(b"", status=401), id="401"),
        pytest.param(answers(b"", status=404), id="404"),
        pytest.param(answers(b"<html>"), id="page"),
        pytest.param(answers(event({"error": {"message": "no", "code": 400}})), id="400 in band"),
        pytest.param(answers(b"data: {nonsense\n\n", text("a")), id="no json"),
    ],
)
def test_a_failure_that_will_not_pass_is_told_at_once(kind: Kind, failure: Script) -> None:
    with WireServer(failure) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=FAST))
        assert len(server.calls) == 1
    assert isinstance(sub.end, StreamError)
    assert not sub.end.retryable
    assert sub.values == []


def test_after_visible_output_it_is_told_at_once_with_the_partial(kind: Kind) -> None:
    with WireServer(CUT, answers(ANSWER)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=FAST))
        assert len(server.calls) == 1
    assert kinds(sub) == [Started, TextDelta]
    assert isinstance(sub.end, TruncatedError)
    assert [found.text for found in sub.end.partial] == ["Hel"]


def test_usage_and_started_are_not_visible(kind: Kind) -> None:
    usage = event({"id": "c1", "choices": [], "usage": {"prompt_tokens": 1, "completion_tokens": 0, "total_tokens": 1}})
    with WireServer(answers(text(None), usage), answers(ANSWER)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=FAST))
        assert len(server.calls) == 2
    assert kinds(sub) == [Started, Usage, Retrying, Started, TextDelta, TextDelta, Finish]


def test_the_last_failure_is_told_with_its_own_partial(kind: Kind) -> None:
    with WireServer(BUSY, answers(b"still busy", status=503)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=FAST))
        assert len(server.calls) == 3
    assert isinstance(sub.end, HttpError)
    assert (sub.end.message, sub.end.partial) == ("still busy", ())


def test_one_attempt_never_tries_again(kind: Kind) -> None:
    with WireServer(BUSY) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=Retry(attempts=1)))
        assert len(server.calls) == 1
    assert sub.values == []
    assert sub.end.status == 503


def test_a_retry_is_logged_and_seen(kind: Kind, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "rxchat.retry")
    with WireServer(BUSY, answers(ANSWER)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=FAST))
    assert sub.values[0] == Retrying(2, 0.0, "busy")
    assert [record.getMessage() for record in caplog.records] == ["attempt 1 failed (busy); trying again in 0.00 s"]


# -------------------------------------------------------------------------------------------------------- on_break="restart"


def test_restart_tells_to_begin_anew_and_reducers_do(kind: Kind) -> None:
    retry = Retry(backoff=0, on_break="restart")
    with WireServer(CUT, CUT, answers(ANSWER)) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=retry))
        whole = kind.run(
            lambda client: completion(BODY, base_url=server.url, client=client, retry=retry).pipe(message())
        )
    again = [Started, TextDelta, Retrying, Restarted]
    assert kinds(sub) == [*again, *again, Started, TextDelta, TextDelta, Finish]
    assert [found.text for found in whole.values] == ["Hello"]


def test_restart_counts_attempts_too(kind: Kind) -> None:
    with WireServer(CUT) as server:
        retry = Retry(attempts=2, backoff=0, on_break="restart")
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=retry))
        assert len(server.calls) == 2
    assert isinstance(sub.end, TruncatedError)
    assert [found.text for found in sub.end.partial] == ["Hel"]


def test_each_attempt_has_operators_of_its_own(kind: Kind) -> None:
    """Half a line, half a call and half an event of the first attempt do not leak into the second."""
    opened = {"index": 0, "id": "t1", "function": {"name": "f", "arguments": '{"a'}}
    half = event({"choices": [{"index": 0, "delta": {"tool_calls": [opened]}}]}) + b'data: {"choices": [{"delta": {"con'
    with WireServer(answers(half), answers(ANSWER)) as server:
        retry = Retry(backoff=0, on_break="restart")
        sub = kind.run(
            lambda client: completion(BODY, base_url=server.url, client=client, retry=retry).pipe(tool_calls())
        )
    assert sub.completed
    assert not any(isinstance(found, ToolCall) for found in sub.values)
    assert sub.text == "Hello"


# --------------------------------------------------------------------------------------------------------- how long it waits


def test_retry_after_in_seconds_and_as_a_date_is_waited_for(kind: Kind) -> None:
    soon = email.utils.formatdate(time.time() + 1, usegmt=True)
    with WireServer(
        answers(b"", status=429, headers={"retry-after-ms": "50"}),
        answers(b"", status=503, headers={"retry-after": soon}),
        answers(ANSWER),
    ) as server:
        began = time.monotonic()
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client, retry=Retry(backoff=60)))
        assert time.monotonic() - began >= 0.05 + sub.values[1].wait
    assert sub.values[0].wait == 0.05
    assert 0 <= sub.values[1].wait <= 1
    assert sub.completed


def test_a_server_that_asks_for_too_long_a_wait_is_given_up_at_once_and_that_is_said(kind: Kind) -> None:
    with WireServer(answers(b"come back tomorrow", status=429, headers={"retry-after": "86400"})) as server:
        sub = kind.run(lambda client: completion(BODY, base_url=server.url, client=client))
        assert len(server.calls) == 1
    assert (sub.values, sub.end.retry_after) == ([], 86400.0)
    assert sub.end.__notes__ == ["not tried again: it asks to wait 86400 s, Retry(max_wait=60) allows less"]


def failed(retry_after: float | None = None) -> StreamError:
    return HttpError("busy", status=503, retry_after=retry_after)


@pytest.mark.parametrize("attempt", [1, 2, 3, 4, 8])
def test_the_wait_is_random_between_nothing_and_a_bound_that_doubles(attempt: int) -> None:
    retry = Retry(attempts=10, backoff=0.5, max_wait=10)
    bound = min(0.5 * 2 ** (attempt - 1), 10)
    waits = [retry.wait(attempt, failed()) or 0.0 for _ in range(300)]
    assert all(0 <= wait <= bound for wait in waits)
    assert max(waits) > 0.8 * bound
    assert min(waits) < 0.2 * bound


@pytest.mark.parametrize(
    ("retry", "attempt", "error", "expected"),
    [
        (Retry(), 1, failed(0), 0),
        (Retry(), 2, failed(60), 60),
        (Retry(), 1, failed(60.5), None),
        (Retry(), 3, failed(1), None),
        (Retry(attempts=1), 1, failed(), None),
        (Retry(), 1, HttpError("no", status=404, retry_after=1), None),
        (Retry(), 1, ApiError("no", code="invalid"), None),
        (Retry(backoff=0), 1, ConnectionLost("gone"), 0),
    ],
)
def test_how_long_it_waits(retry: Retry, attempt: int, error: StreamError, expected: float | None) -> None:
    assert retry.wait(attempt, error) == expected


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"attempts": 0}, r"^Retry\(attempts=…\) is a whole number, at least 1; not 0"),
        ({"backoff": -1}, r"^Retry\(backoff=…\) is a number of seconds, at least 0; not -1"),
        ({"max_wait": -1}, r"^Retry\(max_wait=…\) is a number of seconds, at least 0; not -1"),
        ({"max_wait": float("nan")}, "not nan"),
        ({"on_break": "explode"}, 'is "raise" or "restart", not \'explode\''),
    ],
)
def test_wrong_options_are_told(options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        Retry(**options)


@pytest.mark.parametrize("options", [{"attempts": "3"}, {"attempts": 2.5}, {"backoff": None}, {"max_wait": "60"}])
def test_options_of_the_wrong_type_are_told(options: dict[str, Any]) -> None:
    with pytest.raises(TypeError, match=r"^Retry\(\w+=…\) is a .*number"):
        Retry(**options)


# ------------------------------------------------------------------------------------------------------------ virtual time


def attempts(
    *outcomes: list[Any], retry: Retry, scheduler: TestScheduler, **options: Any
) -> tuple[Sub, list[float], Any]:
    """Attempts that emit and end as given, a second after they began; when each one began."""
    began: list[float] = []

    def attempt(number: int, seen: Callable[[], None]) -> Observable[Any]:
        began.append(scheduler.clock)
        *values, end = outcomes[number - 1]
        last = reactivex.throw(end) if isinstance(end, Exception) else reactivex.empty()
        said = reactivex.from_iterable(values).pipe(ops.do_action(lambda _: seen()), ops.concat(last))
        return reactivex.timer(1.0).pipe(ops.flat_map(lambda _: said))

    sub = Sub()
    return sub, began, Attempts(attempt, retry, **options).subscribe(sub, scheduler=scheduler)


def test_in_virtual_time_it_waits_as_long_as_asked_for() -> None:
    scheduler = TestScheduler()
    text_delta = TextDelta("Hi")
    sub, began, _ = attempts([failed(20)], [failed(30)], [text_delta, None], retry=Retry(), scheduler=scheduler)
    scheduler.start()
    assert began == [0, 21, 52]
    assert sub.values == [Retrying(2, 20, "busy"), Retrying(3, 30, "busy"), text_delta]
    assert sub.completed


def test_a_dispose_while_it_waits_ends_it() -> None:
    scheduler = TestScheduler()
    sub, began, subscription = attempts([failed(20)], [None], retry=Retry(), scheduler=scheduler)
    scheduler.advance_to(10)
    assert sub.values == [Retrying(2, 20, "busy")]
    subscription.dispose()
    scheduler.start()
    assert (began, sub.ends) == ([0], 0)


def test_a_dispose_on_the_news_of_a_retry_ends_it() -> None:
    scheduler = TestScheduler()
    sub, began, subscription = attempts([failed(20)], [None], retry=Retry(), scheduler=scheduler)
    sub.then = lambda _: subscription.dispose()
    scheduler.start()
    assert (began, sub.values, sub.ends) == ([0], [Retrying(2, 20, "busy")], 0)


def test_after_a_dispose_on_the_news_of_a_retry_nothing_is_told() -> None:
    """Not even that what came is void."""
    scheduler = TestScheduler()
    outcome: list[Any] = [TextDelta("Hi"), ConnectionLost("gone")]
    sub, began, subscription = attempts(
        outcome, [None], retry=Retry(backoff=0, on_break="restart"), scheduler=scheduler
    )
    sub.then = lambda event: subscription.dispose() if isinstance(event, Retrying) else None
    scheduler.start()
    assert (began, [type(event) for event in sub.values], sub.ends) == ([0], [TextDelta, Retrying], 0)


def test_an_error_that_is_none_of_the_table_is_told_as_it_is() -> None:
    scheduler, error = TestScheduler(), KeyError("mine")
    sub, began, _ = attempts([error], retry=Retry(), scheduler=scheduler)
    scheduler.start()
    assert (began, sub.end) == ([0], error)


def test_no_attempt_is_made_that_would_begin_after_the_time_is_up() -> None:
    scheduler = TestScheduler()
    until_then = time.monotonic() + 10
    sub, began, _ = attempts([failed(20)], [None], retry=Retry(), scheduler=scheduler, until=until_then)
    scheduler.start()
    assert (began, sub.values) == ([0], [])
    assert isinstance(sub.end, LimitExceeded)
    assert isinstance(sub.end.__cause__, HttpError)
    assert sub.end.__cause__.status == 503


# ---------------------------------------------------------------------------------------------------------------- cancel


def on_new_thread(source: Any, sub: Sub) -> Any:
    return source.subscribe(sub, scheduler=NewThreadScheduler())


def with_subscribe_on(source: Any, sub: Sub) -> Any:
    return source.pipe(ops.subscribe_on(NewThreadScheduler())).subscribe(sub)


@pytest.mark.parametrize("start", [on_new_thread, with_subscribe_on])
def test_a_blocking_wait_ends_at_once_on_dispose_from_another_thread(blocking: Kind, start: Callable[..., Any]) -> None:
    before = threading.active_count()
    with WireServer(answers(b"", status=503, headers={"retry-after": "60"})) as server, blocking.client() as client:
        sub = Sub()
        subscription = start(completion(BODY, base_url=server.url, client=client), sub)
        assert sub.came.wait(LONG)
        with soon():
            subscription.dispose()
    wait_while(lambda: threading.active_count() > before)
    assert (kinds(sub), sub.ends, len(server.calls)) == ([Retrying], 0, 1)


@pytest.mark.parametrize("way", ["dispose", "from another thread"])
def test_an_async_wait_ends_on_dispose(looping: Kind, way: str) -> None:
    with WireServer(answers(b"", status=503, headers={"retry-after-ms": "50"})) as server:

        async def work(client: Any) -> None:
            sub = Sub()
            subscription = completion(BODY, base_url=server.url, client=client).subscribe(sub)
            await until(lambda: sub.values)
            if way == "dispose":
                subscription.dispose()
            else:
                await asyncio.to_thread(subscription.dispose)
            await asyncio.sleep(0.1)
            assert (len(server.calls), sub.ends) == (1, 0)

        looping.act(work)


def test_a_dispose_in_the_second_attempt_reaches_it(blocking: Kind) -> None:
    with WireServer(BUSY, says_nothing) as server, blocking.client() as client:
        sub = Sub()
        source = completion(BODY, base_url=server.url, client=client, retry=FAST)
        subscription = on_new_thread(source, sub)
        wait_until(lambda: len(server.calls) >= 2)
        subscription.dispose()
        assert server.gone.wait(SOON)
        assert sub.ends == 0


def test_attempts_do_not_pile_up_on_the_stack(blocking: Kind) -> None:
    """Each attempt is made from the end of the one before; none of them runs inside another."""
    import inspect

    depths: list[int] = []

    def script(call: Call) -> None:
        call.answer(b"", status=503)

    with WireServer(script) as server, blocking.client() as client:
        sub = Sub(then=lambda _: depths.append(len(inspect.stack(0))))
        retry = Retry(attempts=30, backoff=0)
        completion(BODY, base_url=server.url, client=client, retry=retry).subscribe(sub)
        assert len(server.calls) == 30
    assert max(depths) == min(depths)
