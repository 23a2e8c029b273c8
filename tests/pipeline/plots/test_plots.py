"""What the pictures show, and how they look on light and on dark."""

from __future__ import annotations

import sys
from io import BytesIO
from itertools import product
from typing import Any

import matplotlib.pyplot as plt
import pytest
from matplotlib.colors import to_rgb

from operators import Restarted, RoundStarted, Started, TextDelta, Usage
from pipeline import plots
from pipeline.plots._canvas import _ON_DARK, _ON_LIGHT
from tests.pipeline.plots.streams import CONVERSATION, Pairs, recorded, steady

KINDS = [plots.timeline, plots.gaps, plots.rate]
each_kind = pytest.mark.parametrize("draw", KINDS, ids=lambda draw: draw.__name__)


def legend(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


def texts(ax):
    return [text.get_text() for text in ax.texts]


def png(ax) -> bytes:
    out = BytesIO()
    ax.figure.savefig(out, format="png", dpi=40)
    return out.getvalue()


# ---------------------------------------------------------------------------------------------------- all of them


@each_kind
def test_it_draws_on_the_axes_that_are_given(draw) -> None:
    _, (above, below) = plt.subplots(2)
    assert draw(steady(), ax=below) is below
    assert not above.has_data()
    assert below.has_data()


@each_kind
@pytest.mark.parametrize("source", [[], [(0.0, Started())], [(0.0, TextDelta("a"))], steady(count=2), CONVERSATION])
def test_whatever_came_can_be_drawn(draw, source) -> None:
    assert png(draw(source, {"another": recorded("a", "b")})).startswith(b"\x89PNG")


@each_kind
def test_names_of_anyone_are_no_formulas_and_are_not_hidden(draw) -> None:
    ax = draw({r"$\frac{1}{$": steady(), "_hidden": steady()})
    shown = legend(ax) if ax.get_legend() else texts(ax)
    assert any(r"\$\frac{1}{\$" in text for text in shown)
    assert any("_hidden" in text for text in shown)
    assert png(ax)


@each_kind
def test_without_matplotlib_it_says_what_to_install(draw, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    with pytest.raises(ImportError, match=r'pip install "rxchat\[plots\]"'):
        draw(steady())


@each_kind
def test_the_style_decides_what_it_is_drawn_on(draw) -> None:
    with plt.style.context("dark_background"):
        assert to_rgb(draw(steady()).get_facecolor()) == (0, 0, 0)
    assert to_rgb(draw(steady()).get_facecolor()) == (1, 1, 1)


def luminance(colour) -> float:
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in to_rgb(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one, other) -> float:
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize(("colours", "ground"), [(_ON_LIGHT, "white"), (_ON_DARK, "#111111")])
def test_each_colour_stands_out_from_what_it_is_drawn_on(colours, ground) -> None:
    assert min(contrast(colour, ground) for colour in colours) >= 3.5


# How red, green and blue of linear light are seen without red, and without green cones (Viénot, Brettel, Mollon 1999).
_PROTAN = ((0.11238, 0.88762, 0), (0.11238, 0.88762, 0), (0.00401, -0.00401, 1))
_DEUTAN = ((0.29275, 0.70725, 0), (0.29275, 0.70725, 0), (-0.02234, 0.02234, 1))


@pytest.mark.parametrize(("colours", "eye"), [*product((_ON_LIGHT, _ON_DARK), (_PROTAN, _DEUTAN))])
def test_the_first_three_colours_differ_for_those_who_lack_red_or_green(colours, eye) -> None:
    def seen(colour):
        linear = [part**2.2 for part in to_rgb(colour)]
        return [max(0.0, sum(a * b for a, b in zip(row, linear, strict=True))) ** (1 / 2.2) for row in eye]

    three = [seen(colour) for colour in colours[:3]]
    for one, other in ((0, 1), (0, 2), (1, 2)):
        assert max(abs(a - b) for a, b in zip(three[one], three[other], strict=True)) > 0.15


# ---------------------------------------------------------------------------------------------------- timeline


def test_timeline_has_a_row_for_each_kind_and_each_call() -> None:
    ax = plots.timeline(CONVERSATION)
    rows = [text.get_text() for text in ax.get_yticklabels()]
    assert rows == [
        "reasoning", "get_weather", "tool result", "get_weather", "text", "refusal [1]", "audio", "events",
    ]  # fmt: skip


def test_timeline_tells_waits_stalls_rounds_retries_and_reasons() -> None:
    assert texts(plots.timeline(CONVERSATION)) == [
        "500 ms to the first", "2.3 s", "attempt 2", "tool_calls · round 2", "stop",
    ]  # fmt: skip
    assert "2.3 s" not in texts(plots.timeline(CONVERSATION, stall=2.5))


def test_timeline_leaves_out_what_has_no_room() -> None:
    late: Pairs = [(0.01, TextDelta("a")), (1.2, TextDelta("b")), (2.5, TextDelta("c")), (90.0, TextDelta("d"))]
    ax = plots.timeline(late)
    assert texts(ax) == ["10 ms to the first", "87.5 s"]
    assert len(ax.collections[:3]) == 3
    assert texts(plots.timeline(late[:3])) == ["10 ms to the first", "1.2 s", "1.3 s"]


def test_timeline_heads_each_of_several() -> None:
    assert texts(plots.timeline({"a": steady(), "b": steady(first=1.5)})) == [
        "a", "1.0 s to the first", "b", "1.5 s to the first",
    ]  # fmt: skip


@pytest.mark.parametrize("stall", [0, -1, float("nan")])
def test_timeline_refuses_a_stall_that_is_none(stall) -> None:
    with pytest.raises(ValueError, match="stall"):
        plots.timeline(steady(), stall=stall)


# ---------------------------------------------------------------------------------------------------- gaps


def test_gaps_tells_the_quantiles() -> None:
    uneven = [*steady(), (4.0, TextDelta("late"))]
    assert legend(plots.gaps({"even": steady(), "uneven": uneven})) == [
        "even · p50 100 ms · p99 100 ms",
        "uneven · p50 100 ms · p99 2.0 s",
    ]


def test_gaps_bars_add_up_to_one_and_the_line_ends_at_one() -> None:
    ax: Any = plots.gaps(steady(), [(0.1, TextDelta("a")), (0.7, TextDelta("b")), (0.7, TextDelta("c"))])
    bars = [patch.get_data().values.sum() for patch in ax.patches]
    assert bars == pytest.approx([1] * 4)
    assert [line.get_ydata()[-1] for line in ax.lines] == [1, 1]


def test_gaps_of_no_time_stand_at_the_left_edge() -> None:
    ax = plots.gaps([(0.1, TextDelta("a")), (0.1, TextDelta("b"))])
    assert ax.get_xticklabels()[0].get_text() == "≤0.1 ms"
    assert legend(ax) == ["stream · p50 0.1 ms · p99 0.1 ms"]


def test_gaps_says_that_there_are_none() -> None:
    assert legend(plots.gaps([(0.1, TextDelta("a"))])) == ["stream · no gaps"]


# ---------------------------------------------------------------------------------------------------- rate


def heights(ax):
    return ax.patches[0].get_data().values


def test_rate_shares_out_the_tokens_of_the_provider_by_length() -> None:
    pairs: Pairs = [
        (0.5, TextDelta("a")),
        (1.5, TextDelta("bcd")),
        (2.5, TextDelta("")),
        (2.5, Usage(completion_tokens=10)),
    ]
    ax = plots.rate(pairs, every=1)
    assert list(heights(ax)) == [2, 6, 2]
    assert legend(ax) == ["stream · 4.5 tokens/s"]


def test_rate_counts_the_tokens_of_each_round() -> None:
    first: Pairs = [(0.2, TextDelta("aaaa")), (0.3, Usage(completion_tokens=5)), (0.4, RoundStarted(2))]
    second: Pairs = [(1.5, TextDelta("b")), (1.7, TextDelta("c")), (1.8, Usage(completion_tokens=6))]
    ax = plots.rate([*first, *second], every=1)
    assert list(heights(ax)) == [5, 6]
    assert legend(ax) == ["stream · 6.67 tokens/s"]
    assert legend(plots.rate([*first, *second[:-1]])) == ["stream · 4 pieces/s"]


def test_rate_counts_pieces_where_no_tokens_are_told() -> None:
    ax = plots.rate(steady(), every=0.5)
    assert ax.get_ylabel() == "pieces/s"
    assert heights(ax).sum() * 0.5 == 11
    assert legend(ax) == ["stream · 10 pieces/s"]


def test_rate_leaves_out_what_was_void() -> None:
    pairs: Pairs = [(0.1, TextDelta("a")), (0.2, Usage(completion_tokens=99)), (0.3, Restarted()), *steady(every=0.001)]
    ax = plots.rate(pairs, every=1)
    assert list(heights(ax)) == [0, 11]
    assert legend(ax) == ["stream · 1,000 pieces/s"]


def test_rate_of_one_piece_is_unknown() -> None:
    assert legend(plots.rate([(0.1, TextDelta("a"))])) == ["stream · ? pieces/s"]


@pytest.mark.parametrize("every", [0, -1, float("nan"), float("inf")])
def test_rate_refuses_steps_that_are_none(every) -> None:
    with pytest.raises(ValueError, match="every"):
        plots.rate(steady(), every=every)
