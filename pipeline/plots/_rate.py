"""Streams → how many tokens a second came, over time."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from operators import Restarted, RoundStarted, Usage
from pipeline.plots._canvas import canvas, plain, tidy
from pipeline.plots._named import Compared, named
from pipeline.plots._said import said
from pipeline.plots._timed import Timed

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def rate(*sources: Compared, every: float | None = None, ax: Axes | None = None, stream: int = 1) -> Axes:
    r"""From one or several streams to a picture of tokens a second over time, from the subscription on.

    Counted in steps of `every` seconds (None: a round number that makes some 40 steps). Tokens are the provider's, in each
    round shared out to the pieces by their length; where it told none, each piece counts as one, and the legend says
    "pieces". The legend has the mean from the first piece to the last.

    Sources, `ax` and `stream` are as for `gaps()`. Raises ValueError for an `every` that is not above 0, ImportError without
    matplotlib (extra `plots`), and what `Recording.load` raises.

    >>> import matplotlib
    >>> matplotlib.use("agg")
    >>> from operators import TextDelta
    >>> ax = rate({"m": [(0.1 * n, TextDelta("ab")) for n in range(21)] + [(2.0, Usage(completion_tokens=41))]})
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['m · 20 tokens/s']
    """
    if every is not None and not 0 < every < math.inf:
        raise ValueError(f"rate(every=…) is a number of seconds above 0, not {every!r}")
    streams = named(sources, stream)
    axes, ink = canvas(ax, size=(7.5, 3))
    weighed = {name: _weighed(events) for name, events in streams.items()}
    last = max((one.pieces[-1].at for one in weighed.values() if one.pieces), default=0.0)
    step = every or _round_step(last / 40)
    edges = [number * step for number in range(math.floor(last / step) + 2)]
    for number, (name, one) in enumerate(weighed.items()):
        counts = [0.0] * (len(edges) - 1)
        for at, tokens in one.pieces:
            counts[math.floor(at / step)] += tokens
        rates = [count / step for count in counts]
        colour = ink.colour(number)
        axes.stairs(rates, edges, fill=True, color=colour, alpha=0.2, linewidth=0)
        axes.stairs(rates, edges, color=colour, linestyle=ink.dash(number), linewidth=1.6, label=_label(name, one))
    axes.set_xlim(0, edges[-1])
    axes.set_ylim(bottom=0)
    axes.set_xlabel("seconds since the subscription")
    axes.set_ylabel("/s, ".join(sorted({_unit(one) for one in weighed.values()}, reverse=True)) + "/s")
    tidy(axes, ink, grid="y")
    axes.legend(
        loc="lower center", bbox_to_anchor=(0.5, 1), frameon=False, ncols=1 if len(weighed) > 2 else len(weighed)
    )
    return axes


class _Piece(NamedTuple):
    at: float
    tokens: float


class _Weighed(NamedTuple):
    pieces: list[_Piece]
    told: bool
    """The tokens are the provider's."""


def _weighed(events: list[Timed]) -> _Weighed:
    """From events to pieces with their share of the tokens that the provider counted last, in each round."""
    found: list[_Piece] = []
    told = True
    for one in _rounds(events):
        pieces, total = said(one), _total(one)
        lengths = [max(1, len(piece.text)) for piece in pieces]
        each = total / sum(lengths) if total and lengths else None
        told = told and (each is not None or not pieces)
        found += [
            _Piece(piece.at, 1 if each is None else each * length)
            for piece, length in zip(pieces, lengths, strict=True)
        ]
    return _Weighed(found, told)


def _rounds(events: list[Timed]) -> list[list[Timed]]:
    rounds: list[list[Timed]] = [[]]
    for timed in events:
        if isinstance(timed.event, RoundStarted):
            rounds.append([])
        rounds[-1].append(timed)
    return rounds


def _total(events: list[Timed]) -> int | None:
    """What was counted last, of the answer that counts."""
    total: int | None = None
    for _, event in events:
        if isinstance(event, Usage):
            total = event.completion_tokens
        elif isinstance(event, Restarted):
            total = None
    return total


def _label(name: str, weighed: _Weighed) -> str:
    pieces = weighed.pieces
    span = pieces[-1].at - pieces[0].at if pieces else 0.0
    mean = (sum(piece.tokens for piece in pieces) - 1) / span if span > 0 else 0.0
    told = f"{mean:,.0f}" if mean >= 100 else f"{mean:.3g}" if mean else "?"
    return f"{plain(name)} · {told} {_unit(weighed)}/s"


def _unit(weighed: _Weighed) -> str:
    return "tokens" if weighed.told and weighed.pieces else "pieces"


def _round_step(at_least: float) -> float:
    """
    >>> [_round_step(step) for step in (0.0, 0.03, 0.11, 0.3, 0.9)]
    [0.001, 0.05, 0.2, 0.5, 1.0]
    """
    decade = 10.0 ** math.floor(math.log10(max(at_least, 0.001)))
    return next(part * decade for part in (1, 2, 5, 10) if part * decade >= max(at_least, 0.001) * 0.999)
