"""The target of a coverage-guided fuzzer: the laws of a body. `python -m tests.fuzz` runs it as it should be run.

By itself it takes what libFuzzer takes: `python tests/fuzz/fuzz_decode.py -max_total_time=60 NEW tests/fuzz/corpus`.
"""

from __future__ import annotations

import importlib
import logging
import sys
from pathlib import Path


def main() -> None:
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    atheris = importlib.import_module("atheris")  # late, as the doctests import this file
    with atheris.instrument_imports(include=["operators", "pipeline.chat._decode"]):
        from tests.fuzz.laws import glance
    logging.getLogger("rxchat").setLevel(logging.CRITICAL)
    atheris.Setup(sys.argv, glance)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
