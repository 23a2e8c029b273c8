"""An output of a cell that can be replaced."""

from __future__ import annotations

from typing import Any


def shell() -> Any:
    """The IPython that runs here, or None. Raises ImportError without the extra `notebook`."""
    try:
        from IPython.core.getipython import get_ipython
    except ImportError as error:
        raise ImportError('showing a stream in a notebook needs the extra "notebook": pip install "rxchat[notebook]"') from error
    found: Any = get_ipython  # it has no types in older versions
    return found()


def in_kernel() -> bool:
    """Are outputs shown by a frontend, which can replace them? In a terminal they cannot."""
    return getattr(shell(), "kernel", None) is not None


class Output:
    """One output. The first `show` makes it, each later one replaces it; what is the same is not sent again."""

    def __init__(self) -> None:
        self._id: str | None = None
        self._last: dict[str, Any] | None = None

    def show(self, bundle: dict[str, Any]) -> None:
        from IPython.display import display, update_display

        if bundle == self._last:
            return
        self._last = bundle
        if self._id is None:
            handle: Any = display(bundle, raw=True, display_id=True)  # type: ignore[no-untyped-call,unused-ignore]
            self._id = str(handle.display_id) if handle is not None else ""
        else:
            update_display(bundle, raw=True, display_id=self._id)  # type: ignore[no-untyped-call,unused-ignore]
