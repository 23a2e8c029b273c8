"""Event → Event: adds each finished tool call."""

from __future__ import annotations

from operators._calls import CallFold
from operators._events import Event, Finish, Restarted, RoundStarted, Started, TextDelta, ToolCall, ToolCallDelta
from operators._no_events import NO_EVENTS, no_event
from operators._operator import Out, Stage, operator


@operator
def tool_calls(out: Out[Event], *, snapshots: bool = False) -> Stage[Event]:
    r"""From events to the same events and a ToolCall for each finished call, once.

    The calls come when the stream completes, before its completion, in choice order and then in the provider's order:
    arguments and whole calls may follow the finish_reason. A call is finished when its choice ended otherwise than by
    `length`, a filter or an error, and its arguments are a JSON object. What is not finished has no ToolCall here; it is
    in `Message.tool_calls` with `complete=False`. A new round hands out the calls of the last one, a restart drops them.

    With `snapshots=True` the growing call follows each of its fragments, as a ToolCallSnapshot that joins on demand.

        ToolCallDelta(0,0,'a','f','{}')  Finish('tool_calls')  |
        tool_calls()
        ToolCallDelta(0,0,'a','f','{}')  Finish('tool_calls')  (ToolCall(0,0,'a','f','{}',True) |)

    >>> import reactivex
    >>> from operators import ToolCallDelta, select
    >>> reactivex.of(ToolCallDelta(0, 0, "a", "f"), ToolCallDelta(0, 0, "a", arguments="{}")).pipe(
    ...     tool_calls(), select(ToolCall)).subscribe(lambda call: print(call.name, call.arguments)) and None
    f {}
    """
    folds: dict[int, CallFold] = {}
    reasons: dict[int, str] = {}
    stream_id: str | None = None

    def on_next(event: Event) -> None:
        nonlocal stream_id
        kind = type(event)
        if kind is TextDelta:
            out.on_next(event)
            return
        if kind is ToolCallDelta:
            assert isinstance(event, ToolCallDelta)
            call = fold_of(event.choice).add(event)
            out.on_next(event)
            if snapshots:
                out.on_next(call.snapshot())
            return
        if kind is Finish:
            assert isinstance(event, Finish)
            reasons.setdefault(event.choice, event.reason)
        elif kind is Started:
            assert isinstance(event, Started)
            stream_id = stream_id or event.id
        elif kind is ToolCall:
            assert isinstance(event, ToolCall)
            fold_of(event.choice).given[event.key] = event
        elif kind is RoundStarted or kind is Restarted:
            if kind is RoundStarted:
                hand_out()
            folds.clear()
            reasons.clear()
            stream_id = None
        elif kind in NO_EVENTS:
            raise no_event("tool_calls()", event)
        out.on_next(event)

    def fold_of(choice: int) -> CallFold:
        fold = folds.get(choice)
        if fold is None:
            fold = folds[choice] = CallFold()
        return fold

    def hand_out() -> None:
        for choice, fold in sorted(folds.items()):
            for call in fold.wholes(stream_id, reasons.get(choice), ended=True):
                if call.complete and call.key not in fold.given:
                    out.on_next(call)

    yield on_next
    hand_out()
