"""Event → str: the answer's text alone."""

from __future__ import annotations

from operators._errors import StreamError
from operators._events import Event, Message, Restarted, RoundStarted, TextDelta
from operators._no_events import NO_EVENTS, no_event
from operators._operator import Out, Stage, operator


@operator
def text(out: Out[str], *, choice: int = 0) -> Stage[Event]:
    r"""From events to the whole text of one choice, once, on completion; "" if there was none.

    `completion(body).pipe(text()).run()` blocks until it is there, `await completion(body, client=client).pipe(text())`
    awaits it; both raise the stream's error, whose `partial` has the text that came. For text as it grows, `select(TextDelta)`. Of a tool conversation it is
    the text of the last round. Raises TypeError for bytes and text, which are no events.

        TextDelta('H')  TextDelta('i')  |
        text()
        -               -               ('Hi' |)

    >>> import reactivex
    >>> from operators import TextDelta
    >>> reactivex.of(TextDelta("H"), TextDelta("i")).pipe(text()).run()
    'Hi'
    """
    parts: list[str] = []
    unsure = True  # whether events come at all

    def on_next(event: Event) -> None:
        nonlocal unsure
        if isinstance(event, TextDelta):
            if event.choice == choice:
                parts.append(event.text)
        elif isinstance(event, (RoundStarted, Restarted)):
            parts.clear()
        elif unsure:
            unsure = False
            if type(event) in NO_EVENTS:
                raise no_event("text()", event)

    try:
        yield on_next
    except StreamError as error:
        if parts and not error.partial:
            error.partial = (Message(choice=choice, text="".join(parts)),)
        raise
    out.on_next("".join(parts))
