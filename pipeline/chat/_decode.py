"""bytes → Event: the ready-made chain."""

from __future__ import annotations

from typing import get_args

import operators
from operators import Event, Operator, chunks, deltas, event_stream, lines, payloads, sse
from operators._chunks import Policy
from operators._plain_path import with_plain_path


def decode(
    *,
    think_tags: bool = False,
    cumulative: bool = False,
    extras: bool = False,
    flush: bool = True,
    errors: Policy = "raise",
) -> Operator[bytes, Event]:
    r"""From the reads of a response's body to events.

    It is `event_stream | lines | sse | payloads | chunks | deltas`, and below these `cumulative` (for providers that repeat
    the whole text so far) and `think_tags` (for reasoning that stands in the text, between tags) where they are asked
    for. `flush` is an option of `sse`, `extras` and `errors` are options of `chunks`. Ends as those do.

    >>> from pipeline import replay
    >>> body = b'data: {"choices":[{"index":0,"delta":{"content":"Hi"}}]}\n\ndata: [DONE]\n\n'
    >>> replay(body).pipe(decode()).subscribe(print) and None
    Started(id=None, model=None, role='assistant', choice=0)
    TextDelta(text='Hi', choice=0)
    """
    return chain(think_tags=think_tags, cumulative=cumulative, extras=extras, flush=flush, errors=errors)


def chain(
    *,
    think_tags: bool = False,
    cumulative: bool = False,
    extras: bool = False,
    flush: bool = True,
    errors: Policy = "raise",
    choices: int | None = None,
) -> Operator[bytes, Event]:
    """What decode() is made of; `choices` is how many were asked for."""
    if errors not in (known := get_args(Policy)):
        raise ValueError(f"decode(errors=…) is one of {', '.join(known)}; not {errors!r}")
    made = (
        event_stream()
        .then(lines())
        .then(sse(flush=flush))
        .then(payloads())
        .then(chunks(errors=errors, extras=extras))
        .then(deltas(choices=choices))
    )
    events = made if extras else with_plain_path(made)
    if cumulative:
        events = events.then(operators.cumulative())
    if think_tags:
        events = events.then(operators.think_tags())
    return events
