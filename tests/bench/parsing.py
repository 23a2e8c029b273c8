"""From a body to what a program does with it: ours up to each stage, the floor, and the peers."""

from __future__ import annotations

from tests.bench.bodies import BODIES, CUTS
from tests.bench.measure import Costs, in_turn
from tests.bench.peers import (
    BY_HAND,
    COMPETITORS,
    FLOOR,
    HTTPX_SSE,
    LANGCHAIN,
    LITELLM,
    OPENAI_CREATE,
    OPENAI_STREAM,
    OURS,
    OURS_COMPLETION2,
    OURS_COMPLETION2_ASYNC,
    OURS_RESPONSE,
    PYDANTIC_AI,
    STAGED,
    Competitor,
    Sink,
    without_missing,
)
from tests.bench.report import Figure, Report, Target

TO_FLOOR = {"16 KiB": Target(2.0), "1 event": Target(2.0)}
"""What decode() may cost, in floors. On text: the floor hands on bare text, and so do most streams."""

CHEAPER = {
    BY_HAND: {"1 event": Target(3, at_least=True), "16 KiB": Target(1.5, at_least=True)},
    HTTPX_SSE: {"1 event": Target(3, at_least=True), "16 KiB": Target(3, at_least=True)},
    OPENAI_CREATE: {"1 event": Target(40, at_least=True), "16 KiB": Target(40, at_least=True)},
    OPENAI_STREAM: {"1 event": Target(80, at_least=True), "16 KiB": Target(80, at_least=True)},
}
"""How many times what decode() costs, alone. Theirs is with a mock transport, whose own cost is a line of the table."""

LIKE_FOR_LIKE = {
    BY_HAND: OURS_RESPONSE,
    HTTPX_SSE: OURS_RESPONSE,
    OPENAI_CREATE: OURS_COMPLETION2,
    OPENAI_STREAM: OURS_COMPLETION2,
    LANGCHAIN: OURS_COMPLETION2,
    PYDANTIC_AI: OURS_COMPLETION2_ASYNC,
    LITELLM: OURS_COMPLETION2,
}
"""What of ours does the same over the same transport: for a whole client, completion()."""

NOTES = {one.name: one.note for one in COMPETITORS}
QUICK = {FLOOR, OURS, OURS_RESPONSE, OURS_COMPLETION2, BY_HAND, HTTPX_SSE, OPENAI_CREATE}


def run(report: Report) -> None:
    competitors = without_missing(COMPETITORS, report)
    if report.quick:
        competitors = [one for one in competitors if one.name in QUICK]
    else:
        competitors += STAGED
    for kind in ("text",) if report.quick else BODIES:
        for cut in ("1 event", "16 KiB") if report.quick else CUTS:
            costs = _measured(competitors, kind, cut, quick=report.quick)
            _tell(report, costs, kind, cut)
            report.curves[f"{kind}, {cut}"] = {name: costs.each(name) for name in costs}


def _measured(competitors: list[Competitor], kind: str, cut: str, *, quick: bool) -> Costs:
    events = 1_500 if quick else 3_000
    if cut == "1 byte":
        events //= 10
    body = BODIES[kind](events)
    reads = body.reads(CUTS[cut])
    sink = Sink()
    runs = {}
    for one in competitors:
        read = one.make(reads)
        runs[one.name] = (lambda read=read: read(sink)), len(body.events)
    return in_turn(runs, 5 if quick else 7, fewer={one.name: one.rounds for one in competitors})


def _tell(report: Report, costs: Costs, kind: str, cut: str) -> None:
    table = f"Parsing {kind}, reads of {cut}"

    def add(name: str, to: str, target: Target | None = None, alike: str = "") -> None:
        figure = Figure(table, name, costs.each(name), "µs/event", costs.ratio(name, to), _short(to), target)
        if alike:
            figure = figure._replace(alike=costs.ratio(name, alike), alike_to=_short(alike))
        report.add(figure._replace(note=NOTES.get(name, "")))

    text = kind == "text"
    report.add(Figure(table, FLOOR, costs.each(FLOOR), "µs/event"))
    for name in costs:
        if name.startswith(("ours", "up to", "transport")):
            add(name, FLOOR, TO_FLOOR.get(cut) if text and name == OURS else None)
        elif name != FLOOR:
            add(name, OURS, CHEAPER.get(name, {}).get(cut) if text else None, LIKE_FOR_LIKE[name])


def _short(name: str) -> str:
    return name.partition(": ")[2] if name.startswith("ours") else name.partition(":")[0]
