"""matplotlib → axes to draw on, and colours that can be told apart on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from pipeline.sinks._visible import visible

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_ON_LIGHT = ("#0072b2", "#d55e00", "#007a5a", "#a64d85", "#8a6d00", "#5b5b5b")
_ON_DARK = ("#56b4e9", "#ff9a4d", "#2fd0a0", "#e78ac3", "#f0e442", "#c9c9c9")
"""The hues of Okabe and Ito, which can be told apart by those who see red and green as one: darker, and lighter."""
_DASHES = ("-", "--", "-.", ":")


class Ink(NamedTuple):
    """What the colours of a style are not: those of the data, and of what stands back."""

    colours: tuple[str, ...]
    text: Any
    muted: str
    band: str

    def colour(self, number: int) -> str:
        return self.colours[number % len(self.colours)]

    def dash(self, number: int) -> str:
        """Told apart without any colour, too."""
        return _DASHES[number % len(_DASHES)]


def canvas(ax: Axes | None, *, size: tuple[float, float]) -> tuple[Axes, Ink]:
    """From axes, or None, to axes and the colours for them. What they stand on decides: `plt.style` works as ever.

    Raises ImportError without matplotlib.
    """
    try:
        import matplotlib.pyplot as plt
        from matplotlib.colors import to_rgba
    except ImportError as missing:
        raise ImportError('plots need matplotlib: pip install "rxchat[plots]"') from missing
    if ax is None:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    red, green, blue, _ = to_rgba(ax.get_facecolor())
    if 0.2126 * red + 0.7152 * green + 0.0722 * blue > 0.4:
        return ax, Ink(_ON_LIGHT, plt.rcParams["text.color"], "#69727d", "#f1e4c8")
    return ax, Ink(_ON_DARK, plt.rcParams["text.color"], "#9aa4af", "#3a3117")


def tidy(ax: Any, ink: Ink, *, grid: str) -> None:
    """Take away what says nothing."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(axis=grid, color=ink.muted, alpha=0.25, linewidth=0.8)
    ax.set_axisbelow(True)


def seconds(value: float) -> str:
    """A time as people say it.

    >>> seconds(0.0123), seconds(0.4), seconds(2.5), seconds(0.00004)
    ('12 ms', '400 ms', '2.5 s', '<0.1 ms')
    """
    if value < 0.0001:
        return "<0.1 ms"
    if value < 0.01:
        return f"{value * 1000:.1f} ms"
    return f"{value * 1000:.0f} ms" if value < 1 else f"{value:.1f} s"


def plain(text: str) -> str:
    r"""A text of anyone's → as matplotlib shows it: what stands between dollars is no formula, and no name is hidden.

    >>> plain("$x$"), plain("_m"), plain("a\n" + "b" * 50)
    ('\\$x\\$', ' _m', 'a␊bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb…')
    """
    shown = (
        visible(text if len(text) <= 40 else f"{text[:39]}…").replace("\n", "␊").replace("\t", "␉").replace("$", r"\$")
    )
    return " " + shown if shown.startswith("_") else shown
