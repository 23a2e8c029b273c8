"""What a probe has seen, as a picture."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pipeline.probing._looks import THEMES, Theme
from pipeline.probing._plain import plain_of
from pipeline.probing._svg import svg_of

if TYPE_CHECKING:
    from pipeline.probing._probe import Probe

__all__ = ["Marbles", "Theme"]


class Marbles:
    """The picture of what a probe has seen: a row for each stage, a marble for each item, a thread from cause to effect.

    It draws itself where a notebook shows it, as SVG; `str()` of it is for terminals. `stages` are the names of those to
    show, "all" for all of them; None leaves out those that show just what the row above them shows. `width` is in pixels, or
    in characters of a terminal. `theme` "auto" is light, and dark for readers who prefer that. Drawn when it is asked for:
    of a stream that goes on, each picture shows a bit more.

    Where a notebook shows SVG as an image, as JupyterLab does, nothing is told where the pointer is;
    `IPython.display.HTML(marbles.svg())` does there what it does elsewhere.

    Raises ValueError for stages that are not there, for a theme that there is not, for a width that is too narrow.
    """

    def __init__(
        self,
        seen: Probe,
        *,
        stages: Iterable[str] | Literal["all"] | None = None,
        width: int | None = None,
        theme: Theme = "auto",
    ) -> None:
        if theme not in THEMES:
            raise ValueError(f'marbles(theme=…) is "auto", "light" or "dark", not {theme!r}')
        if width is not None and not (isinstance(width, int) and width >= 60):  # type: ignore[redundant-expr]
            raise ValueError(f"marbles(width=…) is a number of pixels, or of characters, of at least 60, not {width!r}")
        self._seen, self._width = seen, width
        self._theme: Theme = theme
        self._stages: Collection[str] | Literal["all"] | None = None
        if isinstance(stages, str):
            self._stages = "all" if stages == "all" else (stages,)
        elif stages is not None:
            self._stages = tuple(stages)

    def svg(self) -> str:
        """The picture as SVG: no script, no links, nothing from elsewhere."""
        width = None if self._width is None else max(self._width, 480)
        return svg_of(self._seen, stages=self._stages, width=width, theme=self._theme)

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write it to a file: as SVG, or as text where the name ends in .txt. Answers with the path.

        Raises ValueError for a name that ends in anything else, and OSError.
        """
        file = Path(path)
        if file.suffix not in {".svg", ".txt"}:
            raise ValueError(f"a picture is saved as .svg or as .txt, not as {file.name!r}")
        file.write_text(str(self) if file.suffix == ".txt" else self.svg(), encoding="utf-8")
        return file

    def __str__(self) -> str:
        return plain_of(self._seen, stages=self._stages, width=self._width)

    def __repr__(self) -> str:
        return f"<marbles of {self._seen!r}>"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"image/svg+xml": self.svg(), "text/plain": str(self)}
