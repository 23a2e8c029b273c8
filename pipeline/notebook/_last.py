"""What was shown last, and whether a probe looks on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from pipeline.notebook._answer import Answer

_state: dict[str, Answer] = {}
_probing = False


def keep(answer: Answer) -> None:
    _state["last"] = answer


def last() -> Answer | None:
    """What `show()` or `%%chat` showed last, also when it was interrupted; None before that."""
    return _state.get("last")


def probe_what_is_shown(*, on: bool) -> None:
    """Streams that are shown from now on are seen by a probe, for %marbles; `%load_ext pipeline` turns it on."""
    global _probing  # noqa: PLW0603
    _probing = on


@contextmanager
def watching(answer: Answer) -> Iterator[None]:
    """What is subscribed inside is seen by a probe, if that is wanted."""
    if not _probing or find_spec("pipeline.probing") is None:
        yield
        return
    from pipeline.probing import probe

    with probe() as answer.probe:
        yield
