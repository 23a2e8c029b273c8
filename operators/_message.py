"""Event → Message: the stream as a whole."""

from __future__ import annotations

from operators._assembly import Assembly
from operators._errors import StreamError
from operators._events import Event, Message, RoundStarted
from operators._operator import Out, Stage, operator


@operator
def message(out: Out[Message]) -> Stage[Event]:
    r"""From events to one Message a choice, in choice order, on completion.

    Folds ToolCallDelta itself, so it needs no `tool_calls()` above. A call that is not finished stays in `tool_calls` with
    `complete=False`. A new round emits the messages of the last one and begins afresh; a restart begins afresh.

    When the stream breaks, everything that came is in the `partial` of the error, unless that is filled already. Raises
    TypeError for bytes and text, which are no events.

        TextDelta('H')  TextDelta('i')  Finish('stop')  |
        message()
        -               -               -               (Message(text='Hi',finish_reason='stop') |)

    >>> import reactivex
    >>> from operators import TextDelta
    >>> reactivex.of(TextDelta("H"), TextDelta("i")).pipe(message()).subscribe(lambda m: print(m.text)) and None
    Hi
    """
    assembly = Assembly("message()")

    def on_next(event: Event) -> None:
        if type(event) is RoundStarted:
            emit()
        assembly.add(event)

    def emit() -> None:
        for whole in assembly.messages(ended=True):
            out.on_next(whole)

    try:
        yield on_next
    except StreamError as error:
        error.partial = error.partial or assembly.messages(ended=False)
        raise
    emit()
