"""What one part found: a table on the terminal, and the same as JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from tests.bench.measure import Ratio


class Target(NamedTuple):
    """What a figure must be: at most, or at least."""

    limit: float
    at_least: bool = False

    def missed_by(self, value: float) -> float:
        """How many times worse than the target; at most 1 when it is met.

        >>> Target(2).missed_by(3), Target(40, at_least=True).missed_by(10)
        (1.5, 4.0)
        """
        return self.limit / value if self.at_least else value / self.limit

    def __str__(self) -> str:
        return f"{'≥' if self.at_least else '≤'} {self.limit:.3g}"


class Figure(NamedTuple):
    """One line of a table: what something costs, and how that compares."""

    table: str
    what: str
    value: float
    unit: str
    ratio: Ratio | None = None
    to: str = ""
    """What the ratio is to."""
    target: Target | None = None
    """Of the ratio, or of the value where there is none."""

    def against(self, ratio: Ratio, to: str, target: Target | None = None) -> Figure:
        """The same, compared with another one."""
        return self._replace(ratio=ratio, to=to, target=target)

    @property
    def judged(self) -> float:
        return self.ratio.median if self.ratio else self.value

    @property
    def missed_by(self) -> float:
        return 0 if self.target is None else self.target.missed_by(self.judged)

    @property
    def holds(self) -> bool | None:
        return None if self.target is None else self.missed_by <= 1

    @property
    def far_off(self) -> bool:
        """A ratio that is worse than twice its target. A delay in milliseconds says more of what else the machine does."""
        return self.ratio is not None and self.missed_by > 2

    @property
    def name(self) -> str:
        return f"{self.table}: {self.what}" + (f", × {self.to}" if self.to else "")

    def number(self) -> str:
        value = f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.3g}"
        return f"{value} {self.unit}".rstrip()

    def compared(self) -> str:
        if self.ratio is None:
            return ""
        median, low, high = (f"{value:.3g}" for value in self.ratio)
        return f"{median} × {self.to}" + (f" ({low} … {high})" if low != high else "")

    def verdict(self, yes: str, no: str) -> str:
        return "" if self.target is None else f"{self.target} {yes if self.holds else no}"


class Report:
    """Is told of each figure as it is found."""

    def __init__(self, *, quick: bool) -> None:
        self.quick = quick
        self.figures: list[Figure] = []
        self.left_out: list[str] = []
        self.curves: dict[str, Any] = {}
        """What the picture shows."""

    def add(self, figure: Figure) -> None:
        if not self.figures or self.figures[-1].table != figure.table:
            print(f"\n{figure.table}")
        self.figures.append(figure)
        line = f"  {figure.what:<64} {figure.number():>15}  {figure.compared():<48} {figure.verdict('holds', 'MISSED')}"
        print(line.rstrip(), flush=True)

    def leave_out(self, what: str) -> None:
        self.left_out.append(what)
        print(f"  left out: {what}", flush=True)


def as_json(figure: Figure) -> dict[str, Any]:
    known = figure._asdict()
    for name in ("ratio", "target"):
        if known[name] is not None:
            known[name] = known[name]._asdict()
    return {name: value for name, value in known.items() if value not in (None, "")} | {"holds": figure.holds}


def from_json(known: Mapping[str, Any]) -> Figure:
    """
    >>> figure = Figure("A table", "this", 3.0, "µs", Ratio(1.5, 1.4, 1.6), "that", Target(2))
    >>> from_json(as_json(figure)) == figure
    True
    """
    parts = {"ratio": Ratio, "target": Target}
    fields = {name: parts[name](**value) if name in parts else value for name, value in known.items()}
    del fields["holds"]
    return Figure(**{"unit": "", **fields})


def tables(figures: Iterable[Figure]) -> str:
    """All of them, each under its title, in Markdown."""
    lines: list[str] = []
    table = None
    for figure in figures:
        if figure.table != table:
            table = figure.table
            lines.append(
                f"\n### {table}\n\n| what | value | median of ratios (quartiles) | target |\n|---|---:|---|---|"
            )
        lines.append(_row(figure.what, figure.number(), figure.compared(), figure.verdict("✓", "✗")))
    return "\n".join(lines).strip()


def targets(figures: Iterable[Figure]) -> str:
    """One table of all that has a target."""
    lines = ["| what | measured | target |\n|---|---:|---|"]
    for figure in figures:
        if figure.target:
            measured = figure.compared().partition(" (")[0] or figure.number()
            lines.append(_row(f"{figure.table}: {figure.what}", measured, figure.verdict("✓", "✗")))
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
