"""1. From a body to what a program does with it: ours up to each stage, the floor, and the peers."""

from __future__ import annotations

from tests.bench.bodies import BODIES, CUTS
from tests.bench.measure import Costs, in_turn
from tests.bench.peers import COMPETITORS, FLOOR, OURS, OURS_HTTPX, STAGED, Competitor, Sink
from tests.bench.report import Figure, Report, Target

TO_FLOOR = {"16 KiB": Target(2.0), "1 event": Target(2.0)}
"""What decode() may cost, in floors. On text: the floor hands on bare text, and so do most streams."""

PEERS = {
    "StreamParser over iter_lines, json": {"1 event": Target(3, at_least=True), "16 KiB": Target(1.5, at_least=True)},
    "httpx-sse, json": {"1 event": Target(3, at_least=True), "16 KiB": Target(3, at_least=True)},
    "openai create(stream=True)": {"1 event": Target(40, at_least=True), "16 KiB": Target(40, at_least=True)},
    "openai .stream()": {"1 event": Target(80, at_least=True), "16 KiB": Target(80, at_least=True)},
}
"""How many times what ours costs, with its transport."""


def run(report: Report) -> None:
    quick = report.quick
    competitors = [one for one in COMPETITORS if not one.missing()]
    for one in COMPETITORS:
        if one.missing():
            report.leave_out(f"{one.name} ({', '.join(one.missing())} not installed)")
    matrix: dict[str, dict[str, dict[str, float]]] = {}
    for kind in ("text",) if quick else BODIES:
        for cut in ("1 event", "16 KiB") if quick else CUTS:
            with_stages = () if quick else STAGED
            costs = _measure((*competitors, *with_stages), kind, cut, quick=quick)
            matrix.setdefault(kind, {})[cut] = {name: costs.each(name) * 1e6 for name in costs}
            _tell(report, costs, kind, cut)
    report.curves["parsing"] = matrix


def _measure(competitors: tuple[Competitor, ...], kind: str, cut: str, *, quick: bool) -> Costs:
    events = 2_000 if quick else 5_000
    if cut == "1 byte":
        events //= 10
    made: dict[float, tuple[list[bytes], int]] = {}
    runs = {}
    sink = Sink()
    for one in competitors:
        if one.share not in made:
            body = BODIES[kind](max(40, int(events * one.share)))
            made[one.share] = body.reads(CUTS[cut]), len(body.events)
        reads, count = made[one.share]
        runs[one.name] = (_bound(one.make(reads), sink), count)
    return in_turn(runs, 5 if quick else 9)


def _bound(run, sink: Sink):
    return lambda: run(sink)


def _tell(report: Report, costs: Costs, kind: str, cut: str) -> None:
    part = f"1. Parsing: {kind}, reads of {cut}"
    report.add(Figure(part, FLOOR, costs.each(FLOOR) * 1e6, "µs/event"))
    for name in costs:
        if name == FLOOR:
            continue
        ours = name.startswith("ours")
        if ours or name.startswith(("up to", "transport")):
            target = TO_FLOOR.get(cut) if name == OURS and kind == "text" else None
            report.add(Figure(part, f"{name} / floor", *costs.ratio(name, FLOOR)[:1], "×", *costs.ratio(name, FLOOR)[1:], target))
        else:
            target = PEERS.get(name, {}).get(cut) if kind == "text" else None
            report.add(Figure(part, f"{name} / {OURS}", *_figure(costs, name, OURS), target))
            report.add(Figure(part, f"{name} / {OURS_HTTPX}", *_figure(costs, name, OURS_HTTPX)))
    


def _figure(costs: Costs, name: str, to: str) -> tuple[float, str, float, float]:
    ratio = costs.ratio(name, to)
    return ratio.median, "×", ratio.low, ratio.high
