"""The Stop button, with the view of it played by the test."""

from __future__ import annotations

import threading

import pytest
import reactivex
from reactivex.disposable import Disposable

from operators import TextDelta
from pipeline.notebook import _stop, show
from tests.pipeline.notebook.cells import WIDGET, latest
from tests.support.timing import LONG


@pytest.fixture
def at_once(monkeypatch):
    """The button comes at once; set when it is shown."""
    shown, show_it = threading.Event(), _stop.StopButton._show

    def shows(button):
        show_it(button)
        shown.set()

    monkeypatch.setattr(_stop, "AFTER", 0)
    monkeypatch.setattr(_stop.StopButton, "_show", shows)
    return shown


def watching(cells, shown, *said):
    """A stream in which, once the button is there, a view of it says all this."""
    left = threading.Event()

    def subscribe(observer, scheduler=None):
        observer.on_next(TextDelta("some"))
        assert shown.wait(LONG)
        for one in said:
            cells.said(0, one)
        if not latest().ended:
            observer.on_completed()
        return Disposable(left.set)

    return reactivex.create(subscribe), left


def test_it_answers_a_view_that_asks_and_is_gone_with_the_stream(cells, at_once):
    stream, _ = watching(cells, at_once, "here")
    shown = cells.run("answer = show(stream)", show=show, stream=stream)
    customs = [m["content"]["data"] for m in cells.messages if m["msg_type"] == "comm_msg"]
    assert {"method": "custom", "content": "heard"} in customs
    assert [WIDGET in one.data for one in shown] == [False, False]
    assert shown[1].data == {"text/plain": ""}
    assert not latest().cut
    assert any(m["msg_type"] == "comm_close" for m in cells.messages)


def test_a_click_leaves_the_stream_and_the_cell_goes_on(cells, at_once):
    stream, left = watching(cells, at_once, "here", "stop")
    shown = cells.run("answer = show(stream)\nprint('on')", show=show, stream=stream)
    assert left.wait(LONG)
    assert shown[0].plain.startswith("some\n\n✂ stopped")
    assert shown[-1].plain == "on\n"
    assert (latest().cut, latest().text) == (True, "some")


def test_what_is_over_soon_has_no_button(cells):
    shown = cells.run("answer = show(stream)", show=show, stream=reactivex.of(TextDelta("some")))
    assert len(shown) == 1
    assert not [m for m in cells.messages if m["msg_type"] == "comm_open"]


def test_it_can_be_left_out(cells, at_once):
    cells.run("answer = show(stream, stop=False)", show=show, stream=reactivex.of(TextDelta("some")))
    assert not [m for m in cells.messages if m["msg_type"] == "comm_open"]
