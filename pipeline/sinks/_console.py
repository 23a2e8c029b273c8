"""Event → the terminal, or a pipe."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal, TextIO

from rich.console import Console

from pipeline._makes_sink import makes_sink
from pipeline.sinks._live import LiveConsole
from pipeline.sinks._plain import PlainConsole
from pipeline.sinks._tally import Prices


@makes_sink
def console(
    file: TextIO | None = None,
    *,
    console: Console | None = None,
    live: bool | None = None,
    show_reasoning: bool | Literal["folded"] | None = None,
    show_calls: bool | None = None,
    show_footer: bool | None = None,
    prices: tuple[float, float] | tuple[float, float, str] | None = None,
    errors: TextIO | None = None,
    clock: Callable[[], float] | None = time.monotonic,
) -> LiveConsole | PlainConsole:
    r"""From events to a terminal: the answer as it comes, reasoning dimmed, tool calls as they grow, and a footer.

    On a terminal it is a live view: markdown is laid out, calls are panels, and a line at the foot says what is being waited
    for, how long it has taken, and how many tokens came how fast; at most 15 times a second. What is done scrolls away
    as ordinary text and is never touched again. `live=False` writes each piece as it comes instead, and so does None
    where there is no terminal that can do more (a pipe, TERM=dumb, an encoding other than UTF-8). The view begins when
    the sink is made, so make it where you subscribe. It ends with the stream; a subscription that is left early tells
    no one, so then call `dispose()`, which says that the stream was left, or use the sink in a `with`.

    The footer has the finish_reason, the tokens where a Usage has come, the time to the first token and the tokens a second;
    with `prices` (dollars for a million tokens in and out, or another sign: `(0.15, 0.6, "€")`) what they cost. Several
    choices are shown one after the other; without a live view, so are calls that come interleaved. Retries, restarts,
    gaps and errors are said in a line of their own. `show_reasoning="folded"` shows its last lines while it grows, then
    how long it was.

    Writes to `file` (stdout), or to a `console` of rich's. If that is no terminal, the text of the answer alone is written,
    as it comes, with a line end at the end: reasoning, calls and footer only if they are asked for with True. What went
    wrong is then said on `errors` (stderr). Nothing that the model says is obeyed by a terminal: control characters are
    shown as symbols, in a pipe too, since most pipes end in a terminal. NO_COLOR and FORCE_COLOR are heeded.

    `clock` gives seconds; None leaves times out, as for a body that was recorded. A sink shows one stream, and raises
    RuntimeError when it gets another one after that; it raises what the file raises.

    >>> import reactivex, sys
    >>> from operators import Finish, ReasoningDelta, TextDelta
    >>> from pipeline.sinks import console
    >>> said = reactivex.of(ReasoningDelta("So ..."), TextDelta("Hi "), TextDelta("there"), Finish("stop"))
    >>> said.subscribe(console(sys.stdout)) and None
    Hi there
    >>> said.subscribe(console(sys.stdout, show_reasoning=True, show_footer=True, clock=None)) and None
    [reasoning]
    So ...
    <BLANKLINE>
    [answer]
    Hi there
    <BLANKLINE>
    stop
    """
    paper = console or Console(file=file, force_jupyter=False, highlight=False)
    cost = None if prices is None else Prices(prices[0], prices[1], prices[2] if len(prices) == 3 else "$")
    if _can_be_live(paper) if live is None else live:
        return LiveConsole(
            paper,
            show_reasoning=True if show_reasoning is None else show_reasoning,
            show_calls=show_calls is not False,
            show_footer=show_footer is not False,
            clock=clock,
            prices=cost,
        )
    return PlainConsole(
        paper,
        show_reasoning=None if show_reasoning is None else bool(show_reasoning),
        show_calls=show_calls,
        show_footer=show_footer,
        errors=errors,
        clock=clock,
        prices=cost,
    )


def _can_be_live(paper: Console) -> bool:
    """Can this move its cursor, and show what is drawn here? Colour forced into a pipe does not make it a terminal."""
    return (
        paper.is_terminal
        and paper.file.isatty()
        and not paper.is_dumb_terminal
        and not paper.legacy_windows
        and paper.encoding.startswith("utf")
    )
