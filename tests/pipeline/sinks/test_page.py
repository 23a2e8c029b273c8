"""Blocks that wait for one above them, and where blank lines stand."""

from operators import ToolCall, ToolResult
from pipeline.sinks._block import Words, remark
from pipeline.sinks._call import Call, Result
from pipeline.sinks._page import Page
from pipeline.sinks._painter import Painter
from pipeline.sinks._screen import Screen
from tests.pipeline.sinks._terminal import View

CALL = ToolCall(0, 0, "call_1", "now", "{}", complete=True)


def test_a_block_that_is_done_waits_for_the_one_above() -> None:
    view = View(columns=20)
    page = Page(Screen(view.console, reflows=False), Painter(view.console))
    first, call = Words(""), Call()
    first.add("one\ntwo")
    call.grow("f", '{"a": 1}')
    call.ended = True
    for block in (first, call, Result(ToolResult(CALL, "12:00"))):
        page.add(block)
    page.add(remark("said", ""), blank=False)
    panel = ["╭─ f ───────────────", "│ a: 1", "╰───────────────────"]
    for more in ("", "!"):
        first.add(more)
        page.draw([])
        assert view.shown == ["one", f"two{more}", "", *panel, "", "✓ now  12:00", "said"]
    first.add("\nthree")
    first.ended = True
    page.end()
    assert view.shown == ["one", "two!", "three", "", *panel, "", "✓ now  12:00", "said"]
