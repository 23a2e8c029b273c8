"""A stream of events → the output of a cell."""

from __future__ import annotations

from importlib.util import find_spec

from reactivex import Observable

from operators import Event
from pipeline.notebook._answer import Answer
from pipeline.notebook._last import keep
from pipeline.notebook._onlooker import Onlooker
from pipeline.notebook._outputs import in_kernel
from pipeline.notebook._view import View


def show(stream: Observable[Event], *, reasoning: bool = True, stop: bool = True, timeline: bool = False) -> Answer:
    """From events to the cell in which this is called: the answer as it comes, and what came of it.

        answer = show(completion(body))                                 # a blocking client
        answer = await show(completion(body, client=AsyncClient()))     # an async one
        answer.message, answer.text, answer.error

    The text is laid out as markdown, reasoning is folded away once it is over, tool calls grow, and a line below says how
    many tokens came how fast; drawn at most 15 times a second. What stays in the notebook is plain HTML and text, which
    needs no kernel. Nothing that a model says runs, loads anything, or is typeset: a link is followed by a click alone,
    and only to http, https and mailto; images are their address; HTML and TeX are shown as written.

    Interrupting the cell closes the connection, and what had come stays, marked as cut; the interrupt is raised on. Where
    anywidget is installed and the frontend lets messages in while a cell runs (JupyterLab does, with ipykernel 7), there
    is a Stop button too, after which the cell goes on; `stop=False`: none. A stream that breaks says so, and is no
    exception: see `error`, as with `collect()`.

    `timeline=True` draws a timeline below it while it runs, of which a picture stays; `timeline(answer)` plays it again.

    An async client's stream is awaited in its cell; else it is left when the cell ends. Raises TypeError for what emits no
    events, ImportError without the extra `notebook`.
    """
    if not isinstance(stream, Observable):
        raise TypeError(f"show() shows an Observable of events, not {type(stream).__name__}")
    live = in_kernel()
    onlookers: list[Onlooker] = []
    if stop and live and find_spec("anywidget") is not None:
        from pipeline.notebook._stop import StopButton

        onlookers.append(StopButton())
    if timeline:
        from pipeline.notebook._live_timeline import LiveTimeline

        onlookers.append(LiveTimeline())
    answer = Answer(View(reasoning=reasoning, live=live), *onlookers)
    with keep(answer):
        answer.run(stream)
    return answer
