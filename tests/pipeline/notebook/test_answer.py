"""show() where no notebook is: in a script, and awaited in a loop."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import threading
from collections.abc import Iterator

import httpx
import pytest
import reactivex
from reactivex import operators as rx
from reactivex.subject import Subject

from operators import Event, Finish, TextDelta
from pipeline import completion, run_tools
from pipeline.notebook import Answer, _answer, last, show
from pipeline.notebook._view import View
from tests.pipeline.wire import ANSWER, DONE, Call, WireServer, event, text
from tests.support.timing import LONG

BODY = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}


def hanging(call: Call) -> None:
    call.head()
    call.send(text("some"))
    call.until_gone()


@pytest.fixture
def never() -> Iterator[Subject[Event]]:
    """A stream that says something only when it is told to."""
    stream: Subject[Event] = Subject()
    yield stream
    assert not stream.observers


def test_in_a_script_it_is_printed_when_it_has_ended(capsys):
    with WireServer(lambda call: call.answer(ANSWER)) as server:
        answer = show(completion(BODY, base_url=server.url, api_key=""))
    assert capsys.readouterr().out.startswith("Hello\n\nstop · ")
    assert answer is last()
    assert answer.text == "Hello"


def test_an_async_client_is_awaited(capsys):
    async def main() -> Answer:
        async with httpx.AsyncClient() as client:
            shown = show(completion(BODY, base_url=server.url, api_key="", client=client))
            assert not shown.ended
            assert "running" in repr(shown)
            return await shown

    with WireServer(lambda call: call.answer(ANSWER)) as server:
        answer = asyncio.run(main())
    assert (answer.text, answer.ended, answer.cut) == ("Hello", True, False)
    assert capsys.readouterr().out.startswith("Hello")


def test_awaited_once_more_it_is_there_at_once():
    async def main() -> None:
        answer = await show(reactivex.of(TextDelta("a"), Finish("stop")))
        assert await answer is answer

    asyncio.run(main())


def test_cancelling_who_awaits_closes_the_connection():
    async def main() -> None:
        async with httpx.AsyncClient() as client:
            came = asyncio.Event()
            stream = completion(BODY, base_url=server.url, api_key="", client=client)
            answer = show(stream.pipe(rx.do_action(lambda _: came.set())))
            waiting = asyncio.ensure_future(answer)
            await came.wait()
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            assert (answer.cut, answer.ended) == (True, True)
            assert await asyncio.to_thread(server.gone.wait, LONG)

    with WireServer(hanging) as server:
        asyncio.run(main())


@pytest.mark.skipif(not hasattr(signal, "SIGUSR1"), reason="there is no such signal")
def test_an_interrupt_is_heard_though_nothing_happens_in_the_loop(never):
    """A kernel's handler of SIGINT appends to the queue of the loop, which does not wake a loop that sleeps."""

    async def main() -> None:
        loop = asyncio.get_running_loop()
        answer = show(never)
        waiting = asyncio.ensure_future(answer)
        signal.signal(signal.SIGUSR1, lambda *_: [loop.call_soon(waiting.cancel)])
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGUSR1)).start()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        assert answer.cut

    before = signal.getsignal(signal.SIGUSR1)
    try:
        asyncio.run(main())
    finally:
        signal.signal(signal.SIGUSR1, before)


def test_stopping_from_another_thread_wakes_who_awaits(never):
    async def main() -> Answer:
        answer = show(never)
        never.on_next(TextDelta("some"))
        threading.Thread(target=answer.stop).start()
        return await answer

    answer = asyncio.run(main())
    assert (answer.cut, answer.text) == (True, "some")


def test_what_is_no_event_is_raised_to_who_awaits(never):
    async def main() -> None:
        answer = show(never)
        asyncio.get_running_loop().call_soon(never.on_next, b"data: {}")
        await answer

    with pytest.raises(TypeError, match="is a decode\\(\\) missing"):
        asyncio.run(main())


def test_what_comes_after_the_end_is_too_late(never):
    answer = show(never)
    never.on_next(TextDelta("some"))
    answer.stop()
    answer.on_next(TextDelta(" more"))
    answer.stop()
    assert answer.text == "some"
    assert len(answer.events) == 1


def test_a_tool_conversation_is_there_as_a_whole():
    def ask(call: Call) -> None:
        part = {"index": 0, "id": "a", "type": "function", "function": {"name": "now", "arguments": "{}"}}
        delta = {"tool_calls": [part]}
        call.answer(event({"id": "c1", "choices": [{"index": 0, "delta": delta}]}), text(None, "tool_calls"), DONE)

    with WireServer(ask, lambda call: call.answer(ANSWER)) as server:
        answer = show(run_tools(BODY, {"now": lambda: "noon"}, base_url=server.url, api_key=""))
    assert answer.conversation is not None
    assert [message["role"] for message in answer.conversation] == ["user", "assistant", "tool", "assistant"]
    assert [len(message.tool_calls) for message in answer.messages] == [1, 0]
    assert answer.message.text == "Hello"


def test_only_so_many_events_are_kept(monkeypatch):
    monkeypatch.setattr(_answer, "KEPT", 3)
    answer = show(reactivex.of(*(TextDelta(letter) for letter in "abcde"), Finish("stop")))
    assert len(answer.events) == 3
    assert answer.text == "abcde"


def test_an_answer_to_which_nothing_came_is_empty():
    answer = show(reactivex.empty())
    assert (answer.text, answer.messages, answer.message.finish_reason, answer.ended) == ("", (), None, True)
    assert repr(answer) == "<answer: 0 messages, completed>"


def test_what_fails_while_it_is_shown_does_not_keep_the_answer_from_ending():
    class Failing(View):
        def end(self, error: Exception | None, mark: str) -> None:
            raise ZeroDivisionError

    told: list[str] = []

    class Telling(View):
        def end(self, error: Exception | None, mark: str) -> None:
            told.append(mark)

    answer = Answer(Failing(reasoning=True, live=False), Telling(reasoning=True, live=False))
    with pytest.raises(ZeroDivisionError):
        answer.stop()
    assert answer.ended
    assert told == ["stopped"]


def test_without_ipython_it_says_which_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython.core.getipython", None)
    with pytest.raises(ImportError, match=r'pip install "rxchat\[notebook\]"'):
        show(reactivex.empty())


def test_without_anywidget_a_timeline_says_which_extra_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "anywidget", None)
    with pytest.raises(ImportError, match=r'pip install "rxchat\[notebook\]"'):
        show(reactivex.empty(), timeline=True)
