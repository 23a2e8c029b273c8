"""llama.cpp's own chat server, in a process of its own on the loopback interface."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from importlib.resources import as_file, files
from importlib.util import find_spec
from os import SEEK_END
from pathlib import Path
from threading import Timer
from time import monotonic
from types import TracebackType
from typing import IO, Self

TINY = "rxchat-tiny"

# A GGUF of some gigabytes is read from a slow disk within this.
START_SECONDS = 60.0
CLOSE_SECONDS = 5.0
LOG_TAIL_BYTES = 2000


class EmbeddedServerError(RuntimeError):
    """The embedded server cannot be had; the message says what to do."""


class EmbeddedServer:
    """A GGUF → an OpenAI-compatible server that has it loaded, from construction until `close` or the end of `with`.

    Without a GGUF it serves the project's tiny model, which is `scripted`: it says fixed things, and at temperature 0,
    its default, the same each time. `context` is in tokens a request, `slots` the number of requests answered at once;
    more wait for their turn. A request that names no seed gets the same one each time, and a model that can reason does
    so where `chat_template_kwargs` has `enable_thinking`.

    Raises FileNotFoundError when there is no such GGUF, and EmbeddedServerError when xllamacpp is missing, when the
    server does not start (with the end of its log), or not within 60 s.
    """

    base_url: str
    model: str
    scripted: bool

    def __init__(self, gguf: Path | str | None = None, *, context: int = 4096, slots: int = 4) -> None:
        if not self.available():
            raise EmbeddedServerError('the embedded server needs xllamacpp: pip install "rxchat[demo]"')
        if context < 1 or slots < 1:
            raise ValueError(f"context and slots must be at least 1, not {context} and {slots}")
        self.scripted = gguf is None
        self.model = TINY if gguf is None else Path(gguf).stem
        with ExitStack() as stack:
            tiny = files("pipeline.embedded") / "tiny.gguf.xz"
            path = stack.enter_context(as_file(tiny)) if gguf is None else Path(gguf)
            if not path.is_file():
                raise FileNotFoundError(f"no GGUF at {path}")
            # a file, since nobody would read a pipe after the start
            log = stack.enter_context(tempfile.TemporaryFile())
            # by path: running it as a module would import the whole project first
            script = Path(__file__).with_name("_serve.py")
            temperature = 0.0 if self.scripted else 0.8
            arguments = (path, self.model, context, slots, temperature)
            self._process = subprocess.Popen(  # noqa: S603 - no shell, and the program is this Python
                [sys.executable, "-P", str(script), *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
            self.base_url = f"{self._address(log)}/v1"

    @staticmethod
    def available() -> bool:
        """Whether xllamacpp is installed. It is not imported: its native code has no place in this process."""
        return find_spec("xllamacpp") is not None

    @property
    def pid(self) -> int:
        """The process id of the server."""
        return self._process.pid

    def kill(self) -> None:
        """End the server at once, as a crash would: streams break off. Does nothing when it has ended."""
        self._process.kill()
        self.close()

    def close(self) -> None:
        """End the server and wait until it has gone. Streams that are being written break off. May be called twice."""
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()
        try:
            self._process.wait(CLOSE_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.close()

    def _address(self, log: IO[bytes]) -> str:
        """The started process → the address it reports. Raises EmbeddedServerError when it ends or hangs instead."""
        assert self._process.stdout is not None
        # a read of a pipe has no timeout on every system; the end of the process ends it
        too_late = Timer(START_SECONDS, self._process.kill)
        too_late.daemon = True
        began = monotonic()
        too_late.start()
        try:
            line = self._process.stdout.readline()
        except BaseException:
            self.kill()
            raise
        finally:
            too_late.cancel()
        if line:
            return str(json.loads(line)["address"])
        self.close()
        code = self._process.returncode
        how = f"ended with code {code}" if monotonic() - began < START_SECONDS else f"took over {START_SECONDS:.0f} s"
        raise EmbeddedServerError(
            f"the embedded server did not start for {self.model}: it {how}. Is the file a GGUF of a chat model that "
            f"fits into memory, with this context and these slots? The end of its log:\n{tail(log)}"
        )


def tail(log: IO[bytes]) -> str:
    """A log → its last lines, which llama.cpp may have cut inside a character."""
    log.seek(max(0, log.seek(0, SEEK_END) - LOG_TAIL_BYTES))
    return log.read().decode(errors="replace").strip()
