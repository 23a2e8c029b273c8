"""Where the cursor goes, and what a terminal that breaks its lines anew makes of it."""

import io

import pytest
from rich.console import Console

from pipeline.sinks._painter import Line
from pipeline.sinks._screen import Screen, _reflows


def line(text: str) -> Line:
    return Line(text, len(text))


def screen(columns: int = 20, *, reflows: bool | None = True) -> tuple[Screen, Console, io.StringIO]:
    file = io.StringIO()
    console = Console(file=file, force_terminal=True, width=columns, height=10, _environ={})
    return Screen(console, reflows=reflows), console, file


def test_what_becomes_shorter_is_erased_as_a_whole_first() -> None:
    """Never its end alone: that would erase the last character of a full line, and tmux does not count it as erased."""
    drawn, _, file = screen(5)
    drawn.draw([], [line("12345"), line("123"), line("12")])
    assert "\x1b[2K" not in file.getvalue()
    drawn.draw([line("1234")], [line("12345"), line("x")])
    assert "\r\x1b[2A\x1b[2K1234\n\x1b[?7l12345\n\x1b[2Kx\x1b[?7h" in file.getvalue()


def test_a_line_longer_than_the_screen_is_wide_takes_several_rows() -> None:
    drawn, _, file = screen(5)
    drawn.draw([], [line("12345"), line("123"), line("12")])
    drawn.draw([line("1234567")], [line("x")])
    assert "\r\x1b[2A\x1b[2K\n\x1b[J\x1b[A1234567\n\x1b[?7lx\x1b[?7h" in file.getvalue()


def test_lines_that_stand_are_passed_over() -> None:
    drawn, _, file = screen()
    drawn.draw([], [line("a"), line("b"), line("c")])
    file.truncate(0)
    file.seek(0)
    drawn.draw([], [line("a"), line("b"), line("c")])
    assert file.getvalue() == ""
    drawn.draw([], [line("a"), line("B"), line("d")])
    assert "a" not in file.getvalue()
    assert "\x1b[2A\x1b[?7l\nB\n\x1b[2Kd" in file.getvalue()


@pytest.mark.parametrize(("reflows", "up"), [(True, 5), (False, 2)])
def test_a_terminal_that_became_narrower_has_more_rows(*, reflows: bool, up: int) -> None:
    drawn, console, file = screen(20, reflows=reflows)
    drawn.draw([], [line("x" * 20), line(""), line("y" * 15)])
    console.width = 8
    drawn.draw([], [line("z")])
    assert f"\r\x1b[{up}A\x1b[2K\n\x1b[J\x1b[A" in file.getvalue()


def test_leaving_goes_to_the_next_line_once() -> None:
    drawn, _, file = screen()
    drawn.leave()
    assert file.getvalue() == ""
    drawn.draw([], [line("a")])
    drawn.leave()
    drawn.leave()
    assert file.getvalue().endswith("\n")
    assert file.getvalue().count("\n") == 1


def test_which_terminals_break_their_lines_anew() -> None:
    assert _reflows({"TERM": "xterm-256color"})
    assert _reflows({"TERM": "screen", "TMUX": "x"})
    assert not _reflows({"TERM": "screen"})
    assert not _reflows({"TERM": "linux"})
    assert not _reflows({"TERM": "xterm", "XTERM_VERSION": "XTerm(390)"})
    assert screen(reflows=None)[0]._reflows in {True, False}
