"""A stream of events → the output of a cell."""

from __future__ import annotations

from reactivex import Observable

from operators import Event
from pipeline.notebook._answer import Answer, Onlooker
from pipeline.notebook._last import keep, watching
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

    Interrupting the cell closes the connection, and what had come stays, marked as cut; the interrupt is raised on. A cell
    that awaits also has a Stop button while the stream runs, if anywidget is there (`stop=False`: none), after which the
    cell goes on. A stream that breaks says so, and is no exception: see `error`, as with `collect()`.

    `timeline=True` draws a `timeline()` below it while it runs.

    An async client's stream is awaited in its cell; else it is left when the cell ends. Raises TypeError for what emits no
    events, ImportError without the extra `notebook`.
    """
    onlookers: tuple[Onlooker, ...] = ()
    if timeline:
        from pipeline.notebook._timeline import Timeline

        onlookers = (Timeline(),)
    live = in_kernel()
    answer = Answer(View(reasoning=reasoning, live=live), onlookers, stoppable=stop and live)
    keep(answer)
    with watching(answer):
        answer.run(stream)
    return answer
