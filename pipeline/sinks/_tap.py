"""bytes → bytes: logs what passes."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from operators import Operator, Out, Stage, operator
from pipeline.sinks._log import logger_of, shortened


def tap(
    logger: logging.Logger | str | None = None, *, limit: int = 1000, secrets: Iterable[str] = ()
) -> Operator[bytes, bytes]:
    r"""From lines to the same lines, each of them logged at DEBUG as it passes.

    Put it under `lines()`; above it, it logs reads. Keys, tokens and the given `secrets` become `***`; a line of more than
    `limit` characters is cut. Blank lines, which only end an event, are not logged. Without DEBUG it does next to nothing.

        'data: 1'  ''  |
        tap()
        'data: 1'  ''  |

    >>> import sys
    >>> from operators import lines
    >>> from pipeline import replay
    >>> logger = logging.Logger("example", logging.DEBUG)
    >>> logger.addHandler(logging.StreamHandler(sys.stdout))
    >>> replay(b'data: {"echo": "Bearer abc"}\n\n').pipe(lines(), tap(logger)).subscribe() and None
    line 'data: {"echo": "Bearer ***"}'
    """
    to = logger_of(logger)
    hidden = tuple(secrets)

    def tap(out: Out[bytes]) -> Stage[bytes]:
        def on_next(line: bytes) -> None:
            if line and to.isEnabledFor(logging.DEBUG):
                shown = shortened(line.decode("utf-8", "replace"), limit, hidden)
                to.debug("line %r", shown, extra={"rxchat": {"event": "line", "line": shown, "bytes": len(line)}})
            out.on_next(line)

        yield on_next

    return operator(tap)()  # made here, so that its repr, which spies see, has no secrets in it
