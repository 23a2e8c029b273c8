"""The process of the embedded server: `_serve.py MODEL ALIAS CONTEXT SLOTS TEMPERATURE` → one line of JSON on stdout.

It is run by its path, so that it needs nothing but the standard library and xllamacpp, and starts without importing the
project. It lives until its stdin is closed, which the system does when the parent is gone, however it went.
"""

from __future__ import annotations

import json
import lzma
import os
import shutil
import signal
import sys
import tempfile
from importlib import import_module
from pathlib import Path
from typing import Any


def plain(model: Path, directory: Path) -> Path:
    """A model, perhaps compressed → the path of a plain GGUF, unpacked into `directory` if need be."""
    if model.suffix != ".xz":
        return model
    out = directory / model.stem
    with lzma.open(model) as packed, out.open("wb") as unpacked:
        shutil.copyfileobj(packed, unpacked)
    return out


def start(model: Path, alias: str, context: int, slots: int, temperature: float) -> Any:
    """A plain GGUF → xllamacpp's running server, its model loaded. Raises what xllamacpp raises."""
    # by name: it has no types to check
    xllamacpp: Any = import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.model_alias = {alias}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.use_jinja = True
    params.ui = False
    # else a chat template that can reason does so unasked
    params.enable_reasoning = 0
    # read, not mapped: the unpacked file can go as soon as the server is up
    params.load_mode = xllamacpp.llama_load_mode.LLAMA_LOAD_MODE_NONE
    # there is nothing to fit on a GPU, and looking for one costs start-up time
    params.n_gpu_layers = 0
    params.fit_params = False
    params.n_parallel = slots
    params.n_ctx = context * slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = min(2, os.cpu_count() or 1)
    params.sampling.temp = temperature
    params.sampling.seed = 1
    return xllamacpp.Server(params)


def main() -> None:
    """Arguments → a served model. Ends the process when stdin does; raises what the start raises."""
    # Ctrl-C, or a notebook's interrupt, is for the parent
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    # what native code prints to stdout belongs to the log
    with os.fdopen(os.dup(1), "w", encoding="utf-8") as answer:
        os.dup2(2, 1)
        model, alias, context, slots, temperature = sys.argv[1:]
        with tempfile.TemporaryDirectory() as directory:
            server = start(plain(Path(model), Path(directory)), alias, int(context), int(slots), float(temperature))
        print(json.dumps({"address": server.listening_address}), file=answer)
    sys.stdin.buffer.read()
    # no waiting for streams that are still being written
    os._exit(0)


if __name__ == "__main__":
    main()
