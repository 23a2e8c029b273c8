"""An output of a cell that can be replaced."""

from __future__ import annotations

import contextvars
from typing import Any


def shell() -> Any:
    """The IPython that runs here, or None. Raises ImportError without the extra `notebook`."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError as error:
        raise ImportError(
            'showing a stream in a notebook needs the extra "notebook": pip install "rxchat[notebook]"'
        ) from error
    found: Any = get_ipython  # it has no types in older versions
    return found()


def in_kernel() -> bool:
    """Are outputs shown by a frontend, which can replace them? In a terminal they cannot."""
    return getattr(shell(), "kernel", None) is not None


class Output:
    """One output of the cell in which it was made. The first `show` makes it, each later one replaces it.

    It belongs to that cell whichever thread shows it, and whatever the kernel does meanwhile: which cell that is, the
    kernel finds in the context.
    """

    def __init__(self) -> None:
        self._id: str | None = None
        self._context = contextvars.copy_context()

    def show(self, bundle: dict[str, Any]) -> int:
        """Show it; the answer is how many characters were sent."""
        if shell() is None:
            print(bundle["text/plain"])  # noqa: T201 - there is no notebook, so its output is the program's
            return 0
        self._context.copy().run(self._send, bundle)
        return sum(len(part) for part in bundle.values() if isinstance(part, str))

    def _send(self, bundle: dict[str, Any]) -> None:
        from IPython.display import display, update_display

        if self._id is None:
            handle: Any = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call,unused-ignore]
            self._id = str(handle.display_id)
        else:
            update_display(bundle, raw=True, display_id=self._id)  # type: ignore[no-untyped-call,unused-ignore]
