"""What growing arguments say, as frozen values."""

from __future__ import annotations

import json
from typing import Any, Literal

from operators._json_scan import JsonScan, Path
from operators._stream_event import StreamEvent


class ArgumentEvent(StreamEvent, frozen=True, dict=True):
    """The base of what `arguments()` adds.

    `path` leads from the top to the value in question: keys of objects and indexes of lists. `key` is the tool call's,
    None where the JSON stands in the text.
    """

    @property
    def where(self) -> str:
        """The path as text, as in `$.items[2].name`. Rendered when asked for.

        >>> ArgumentDelta(("items", 2, "full name"), "Jo").where
        '$.items[2]["full name"]'
        """
        path: Path = getattr(self, "path", ())
        return "$" + "".join(
            f".{step}" if isinstance(step, str) and step.isidentifier() else f"[{json.dumps(step, ensure_ascii=False)}]"
            for step in path
        )

    def partial(self) -> Any:
        """The arguments as far as they have come by now, open strings included; None if nothing is known of them.

        It is a value that no longer changes, to be read and not written to: what is closed in it is shared. It costs
        the length of what is open: the string, and the number of entries of the lists and objects around it.
        """
        scan: JsonScan | None = self.__dict__.get("_scan")
        return None if scan is None else scan.partial()


class ArgumentOpened(ArgumentEvent, frozen=True):
    """An object or a list began."""

    path: Path
    kind: Literal["object", "list"]
    key: int | None = 0
    choice: int = 0


class ArgumentDelta(ArgumentEvent, frozen=True):
    """A string grew by `text`, which has its escapes resolved and is never empty."""

    path: Path
    text: str
    key: int | None = 0
    choice: int = 0


class ArgumentClosed(ArgumentEvent, frozen=True):
    """A value is whole. With the empty path it is all of the arguments."""

    path: Path
    value: Any
    key: int | None = 0
    choice: int = 0


class ArgumentsInvalid(ArgumentEvent, frozen=True):
    """The arguments are no JSON, by what stands at `path`. Nothing more is said of them."""

    path: Path
    error: str
    key: int | None = 0
    choice: int = 0


class ArgumentsChecked(ArgumentEvent, frozen=True):
    """The arguments as the type that was asked for; if they do not fit, `error` says why and `value` is as it came."""

    value: Any
    error: str | None = None
    key: int | None = 0
    choice: int = 0
