"""What growing arguments cost: at the end against the start, and against parsing them again at each fragment."""

from __future__ import annotations

import itertools
import json
import time

import jiter
from reactivex import Subject

from operators import Event, ToolCallDelta
from operators._arguments import arguments

FRAGMENT = 4


def text_of(length: int, shape: str) -> str:
    """JSON arguments of about this length: a list of small objects, or one long string with some escapes."""
    if shape == "string":
        line = 'a line of text, with "quotes" and an é\n'
        return json.dumps({"content": line * (length // len(line))})
    item = {"name": "Grace Hopper", "born": 1906, "tags": ["navy", "cobol"], "note": "first of the line\n"}
    return json.dumps({"items": [item] * (length // len(json.dumps(item)))})


def fragments(text: str) -> list[Event]:
    return [ToolCallDelta(0, 0, "call", "", text[at : at + FRAGMENT]) for at in range(0, len(text), FRAGMENT)]


def seconds(events: list[Event], parts: int) -> list[float]:
    """The time that each of so many equal parts of the stream takes."""
    source: Subject[Event] = Subject()
    source.pipe(arguments()).subscribe(lambda _: None)
    size = len(events) // parts
    marks = [time.perf_counter()]
    for part in range(parts):
        for event in events[part * size : (part + 1) * size]:
            source.on_next(event)
        marks.append(time.perf_counter())
    return [after - before for before, after in itertools.pairwise(marks)]


def growth(length: int, shape: str, runs: int = 3) -> float:
    """The cost of a fragment in the last tenth over that in the first tenth; of each, the best of some runs."""
    events = fragments(text_of(length, shape))
    taken = [seconds(events, 10) for _ in range(runs)]
    return min(run[-1] for run in taken) / min(run[0] for run in taken)


def times_cheaper(length: int) -> float:
    """How many times the cost of this operator it costs to parse the whole text so far at each fragment, with jiter."""
    text = text_of(length, "items")
    ours = min(sum(seconds(fragments(text), 1)) for _ in range(3))
    data = text.encode()
    begun = time.perf_counter()
    for end in range(FRAGMENT, len(data) + FRAGMENT, FRAGMENT):
        jiter.from_json(data[:end], partial_mode="trailing-strings")
    return (time.perf_counter() - begun) / ours
