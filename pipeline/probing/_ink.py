"""The pen: words, lines and colours as SVG."""

from __future__ import annotations

from pipeline.probing._looks import Colours, Hue, look
from pipeline.probing._shown import escaped

LEFT = 186.0
"""Where the streams begin; left of it are the names."""

CELL = 6.05
"""The width of a cell of the labels' font, at its size of 10."""

MONO = "ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace"
SANS = "system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu Sans',sans-serif"


class Ink:
    """Draws in the colours of one theme."""

    def __init__(self, colours: Colours) -> None:
        self.colours = colours

    def hue(self, kind: str) -> Hue:
        return self.colours.hues[look(kind).hue]

    def words(
        self,
        x: float,
        y: float,
        text: str,
        colour: str,
        *,
        size: float = 11,
        anchor: str = "",
        bold: bool = False,
        mono: bool = False,
    ) -> str:
        if not text:
            return ""
        more = f' text-anchor="{anchor}"' if anchor else ""
        more += ' font-weight="600"' if bold else ""
        more += f' font-family="{MONO}"' if mono else ""
        return f'<text x="{n(x)}" y="{n(y)}" fill="{colour}" font-size="{n(size)}"{more}>{escaped(text)}</text>'

    def line(
        self, x: float, y: float, to_x: float, to_y: float, colour: str, *, width: float = 1, dash: str = ""
    ) -> str:
        dashed = f' stroke-dasharray="{dash}"' if dash else ""
        return f'<path d="M{n(x)} {n(y)}L{n(to_x)} {n(to_y)}" stroke="{colour}" stroke-width="{n(width)}"{dashed}/>'


def n(number: float) -> str:
    """A number with one decimal, and without it where that is 0."""
    return f"{number:.1f}".removesuffix(".0")


def with_tooltip(text: str, *parts: str) -> str:
    """The parts, with a text that shows where they are pointed at; line ends in it are ours, and stay."""
    return f"<g><title>{chr(10).join(escaped(line) for line in text.split(chr(10)))}</title>{''.join(parts)}</g>"
