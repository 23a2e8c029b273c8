"""What one part found: a table on the terminal, and the same as JSON and Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import groupby
from typing import Any, NamedTuple

from tests.bench.measure import Ratio


class Target(NamedTuple):
    """What a figure must be: at most, or at least."""

    limit: float
    at_least: bool = False
    far: float = 2.0
    """How many times worse is far off."""

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
    alike: Ratio | None = None
    alike_to: str = ""
    """The same comparison, like for like: what the ratio is to reads over the same transport. It has no target."""
    note: str = ""
    """What else must be known of it."""
    void: bool = False
    """The target is missed, whatever the value: the note says what for."""

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
        return None if self.target is None else self.missed_by <= 1 and not self.void

    @property
    def far_off(self) -> bool:
        """A ratio that is worse than twice its target, or an exponent that makes the longest cost twice what it may.

        A delay in milliseconds says more of what else the machine does."""
        return self.target is not None and self.unit != "ms" and self.missed_by > self.target.far

    @property
    def name(self) -> str:
        return f"{self.table}: {self.what}" + (f", × {self.to}" if self.to else "")

    @property
    def said(self) -> str:
        return self.what + (f" ({self.note})" if self.note else "")

    def number(self) -> str:
        value = f"{self.value:,.0f}" if self.value >= 100 else f"{self.value:.3g}"
        return f"{value} {self.unit}".rstrip()

    def compared(self) -> str:
        if self.ratio is None:
            return ""
        median, low, high = (f"{value:.3g}" for value in self.ratio)
        return f"{median} × {self.to}" + (f" ({low} … {high})" if low != high else "")

    def like_for_like(self) -> str:
        return f"{self.alike.median:.3g} × {self.alike_to}" if self.alike else ""

    def verdict(self, yes: str, no: str) -> str:
        return "" if self.target is None else f"{self.target} {yes if self.holds else no}"


ALIKE = "over the same transport, not judged"


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
        line = f"  {figure.said:<64} {figure.number():>15}  {figure.compared():<48} {figure.verdict('holds', 'MISSED')}"
        if figure.alike:
            line = f"{line:<148} like for like {figure.like_for_like()}"
        print(line.rstrip(), flush=True)

    def leave_out(self, what: str) -> None:
        self.left_out.append(what)
        print(f"  left out: {what}", flush=True)


def as_json(figure: Figure) -> dict[str, Any]:
    known = figure._asdict()
    for name in ("ratio", "target", "alike"):
        if known[name] is not None:
            known[name] = known[name]._asdict()
    return {name: value for name, value in known.items() if value not in (None, "", False)} | {"holds": figure.holds}


def from_json(known: Mapping[str, Any]) -> Figure:
    """
    >>> figure = Figure("A table", "this", 3.0, "µs", Ratio(1.5, 1.4, 1.6), "that", Target(2))
    >>> from_json(as_json(figure)) == figure
    True
    """
    parts = {"ratio": Ratio, "target": Target, "alike": Ratio}
    fields = {name: parts[name](**value) if name in parts else value for name, value in known.items()}
    del fields["holds"]
    return Figure(**{"unit": "", **fields})


def tables(figures: Iterable[Figure]) -> str:
    """All of them, each under its title, in Markdown."""
    lines: list[str] = []
    for table, rows in groupby(figures, key=lambda figure: figure.table):
        found = list(rows)
        alike = any(figure.alike for figure in found)
        head = ["what", "value", "median of ratios (quartiles)", *([ALIKE] if alike else []), "target"]
        lines += [f"\n### {table}\n", _row(*head), _row("---", "---:", *["---"] * (len(head) - 2))]
        for figure in found:
            also = [figure.like_for_like()] if alike else []
            lines.append(_row(figure.said, figure.number(), figure.compared(), *also, figure.verdict("✓", "✗")))
    return "\n".join(lines).strip()


def targets(figures: Iterable[Figure]) -> str:
    """One table of all that has a target."""
    lines = [_row("what", "measured", "target", ALIKE), _row("---", "---:", "---", "---")]
    for figure in figures:
        if figure.target:
            measured = figure.compared().partition(" (")[0] or figure.number()
            row = f"{figure.table}: {figure.said}", measured, figure.verdict("✓", "✗"), figure.like_for_like()
            lines.append(_row(*row))
    return "\n".join(lines)


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"
