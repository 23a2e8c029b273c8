"""show() in a kernel of its own process, as a notebook has it: live, interrupted, stopped."""

from __future__ import annotations

import contextlib
import queue
import threading
import time

import pytest

from pipeline.notebook._frames import FASTEST
from tests.pipeline.notebook.kernels import Kernel
from tests.pipeline.wire import ANSWER, DONE, Call, WireServer, event, text
from tests.support.timing import LONG

pytestmark = pytest.mark.slow

SETUP = """
import httpx, threading
from pipeline import Retry, completion, run_tools
from pipeline.notebook import last, show
body = {{"model": "m", "messages": [{{"role": "user", "content": "hi"}}]}}
options = dict(base_url={url!r}, api_key="", retry=Retry(attempts=1))
client = httpx.AsyncClient()
"""

BOTH = pytest.mark.parametrize(
    "shown",
    ["show(completion(body, **options))", "await show(completion(body, client=client, **options))"],
    ids=["sync", "async"],
)


class Hanging:
    """Says something, then nothing; and knows when it has."""

    def __init__(self) -> None:
        self.said = threading.Event()

    def __call__(self, call: Call) -> None:
        call.head()
        call.send(text("some"))
        self.said.set()
        call.until_gone()


def dripping(call: Call) -> None:
    call.head()
    for number in range(80):
        call.send(text(f"w{number} "))
        time.sleep(0.01)  # as a server does that thinks: this is what a cell is to keep up with
    call.send(text("end", "stop"), DONE)
    call.end()


def in_kernel(kernel: Kernel, server: WireServer) -> None:
    assert kernel.run(SETUP.format(url=server.url)).shown == []


@BOTH
def test_text_appears_while_its_cell_runs_and_frames_are_no_more_than_can_be_read(kernel, shown):
    with WireServer(dripping) as server:
        in_kernel(kernel, server)
        ran = kernel.run(f"print('before')\nanswer = {shown}\nprint('after')")
    assert [one.kind for one in ran.shown if one.plain] == ["stdout", "display_data", "stdout"]
    whole = " ".join(f"w{number}" for number in range(80)) + " end"
    states = [said.split("\n")[0] for _, said in ran.frames if said.startswith("w0")]
    assert len(set(states)) > 3
    assert all(whole.startswith(state.strip()) for state in states[:-1])
    assert states[-1] == whole
    times = [at for at, _ in ran.frames]
    assert len(times) <= (times[-1] - times[0]) / FASTEST + 3
    assert not ran.elsewhere


@BOTH
def test_an_interrupt_closes_the_connection_and_what_had_come_stays(kernel, shown):
    with WireServer(Hanging()) as server:
        in_kernel(kernel, server)
        ran = kernel.run(f"answer = {shown}\nprint('not reached')", interrupt="some")
        assert server.gone.wait(LONG)
    assert ran.shown[0].plain.startswith("some\n\n✂ interrupted")
    assert ran.shown[-1].plain.startswith(("KeyboardInterrupt", "CancelledError"))
    assert not [one for one in ran.shown if one.kind == "stdout"]
    [state] = kernel.run("last().text, last().cut, last().ended").shown
    assert state.plain == "('some', True, True)"


@BOTH
def test_a_click_on_stop_is_heard_while_the_cell_runs_and_the_cell_goes_on(kernel, shown):
    hanging = Hanging()
    subshell = kernel.subshell()
    if subshell is None:
        pytest.skip("this ipykernel hears nothing while a cell runs: from version 7 on it does")
    with WireServer(hanging) as server:
        in_kernel(kernel, server)
        kernel.run("from pipeline.notebook import _stop\n_stop.AFTER = 0")
        kernel.comms.queue.clear()
        kernel.told.queue.clear()
        clicker = threading.Thread(target=click, args=(kernel, subshell, hanging))
        clicker.start()
        ran = kernel.run(f"answer = {shown}\nprint('on')")
        clicker.join(LONG)
        assert server.gone.wait(LONG)
    assert ran.shown[0].plain.startswith("some\n\n✂ stopped")
    assert ran.shown[-1].plain == "on\n"


def click(kernel: Kernel, subshell: str, hanging: Hanging) -> None:
    """As a view does: it asks until it is answered, then it is clicked."""
    _layout, button = kernel.comms.get(timeout=LONG), kernel.comms.get(timeout=LONG)
    assert hanging.said.wait(LONG)
    for _ in range(20):
        kernel.say(button, "here", subshell)
        with contextlib.suppress(queue.Empty):
            assert kernel.told.get(timeout=0.25) == "heard"
            break
    kernel.say(button, "stop", subshell)


@BOTH
def test_what_a_tool_prints_lands_in_its_cell(kernel, shown):
    def ask(call: Call) -> None:
        part = {"index": 0, "id": "a", "type": "function", "function": {"name": "now", "arguments": "{}"}}
        call.answer(
            event({"id": "c1", "choices": [{"index": 0, "delta": {"tool_calls": [part]}}]}),
            text(None, "tool_calls"),
            DONE,
        )

    with WireServer(ask, lambda call: call.answer(ANSWER)) as server:
        in_kernel(kernel, server)
        kernel.run("def now() -> str:\n    print('in a tool')\n    return 'noon'")
        ran = kernel.run(f"answer = {shown.replace('completion(body,', 'run_tools(body, dict(now=now),')}")
    assert [one.plain for one in ran.shown if one.kind == "stdout"] == ["in a tool\n"]
    assert "← noon" in ran.shown[0].plain
    assert not ran.elsewhere


def test_an_async_stream_that_is_not_awaited_is_left_with_its_cell(kernel):
    with WireServer(Hanging()) as server:
        in_kernel(kernel, server)
        ran = kernel.run("answer = show(completion(body, client=client, **options))\nprint('on')")
        assert "await show(" in ran.shown[0].plain
        assert kernel.run("answer.cut").shown[0].plain == "True"


def test_a_connection_that_breaks_is_told_with_what_had_come(kernel):
    def breaking(call: Call) -> None:
        call.head()
        call.send(text("Half of "), text("it"))
        call.reset()

    with WireServer(breaking) as server:
        in_kernel(kernel, server)
        ran = kernel.run("answer = show(completion(body, **options))\nprint(answer.error.kind)")
    assert ran.shown[0].plain.startswith("Half of it\n\nerror: the connection broke")
    assert ran.shown[-1].plain == "connection\n"


def test_two_streams_in_one_cell_have_an_output_each(kernel):
    with WireServer(dripping) as server:
        in_kernel(kernel, server)
        ran = kernel.run(
            "import asyncio\n"
            "both = [show(completion(body, client=client, **options), stop=False) for _ in range(2)]\n"
            "await asyncio.gather(*both)\nprint('on')"
        )
    assert [one.plain.split("\n")[0][-6:] for one in ran.shown] == ["79 end", "79 end", "on"]
