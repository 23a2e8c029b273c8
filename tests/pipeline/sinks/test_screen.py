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


def test_a_full_line_is_not_erased_at_its_end() -> None:
    drawn, _, file = screen(5)
    drawn.draw([line("12345"), line("123"), line("1234567890")], [line("12345"), line("x")])
    assert "12345\n123\x1b[K\n1234567890\n" in file.getvalue()
    assert "12345\x1b[K" not in file.getvalue()


def test_lines_that_stand_are_passed_over() -> None:
    drawn, _, file = screen()
    drawn.draw([], [line("a"), line("b"), line("c")])
    file.truncate(0)
    file.seek(0)
    drawn.draw([], [line("a"), line("b"), line("c")])
    assert file.getvalue() == ""
    drawn.draw([], [line("a"), line("B"), line("d")])
    assert "a" not in file.getvalue()
    assert "\x1b[2A\x1b[?7l\nB\x1b[K\n\x1b[Jd" in file.getvalue()


@pytest.mark.parametrize(("reflows", "up"), [(True, 5), (False, 2)])
def test_a_terminal_that_became_narrower_has_more_rows(*, reflows: bool, up: int) -> None:
    drawn, console, file = screen(20, reflows=reflows)
    drawn.draw([], [line("x" * 20), line(""), line("y" * 15)])
    console.width = 8
    drawn.draw([], [line("z")])
    assert f"\r\x1b[{up}A\x1b[J" in file.getvalue()


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
