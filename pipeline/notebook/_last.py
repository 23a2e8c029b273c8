"""What was shown last, and whether a probe looks on."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from pipeline.notebook._answer import Answer


class _Kernel:
    """What is known of the kernel in which this runs."""

    answer: Answer | None = None
    probing = False


def last() -> Answer | None:
    """What `show()` or `%%chat` showed last, also when it was interrupted; None before that."""
    return _Kernel.answer


def probe_what_is_shown(*, on: bool) -> None:
    """Streams that are shown from now on are seen by a probe, for %marbles; `%load_ext pipeline` turns it on."""
    _Kernel.probing = on


def keep(answer: Answer) -> AbstractContextManager[object]:
    """This is the last one; what is subscribed inside belongs to it, and is seen by a probe if that is wanted."""
    _Kernel.answer = answer
    if not _Kernel.probing:
        return nullcontext()
    from pipeline.probing import probe

    answer.probe = probe()
    return answer.probe
