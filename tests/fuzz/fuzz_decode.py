"""A coverage-guided fuzzer on the laws of a body: `python tests/fuzz/fuzz_decode.py --seconds 60`.

Starts from the bodies in `corpus/` and in `regressions/`, stops by itself. A finding is written into `regressions/`, where
`test_regressions.py` plays it ever after, and makes the exit status other than 0. Needs atheris (`pip install -e ".[test]"`),
which there is for Linux only: without it, it says so and ends with 0.
"""

from __future__ import annotations

import argparse
import importlib
import logging
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=int, default=60, help="how long to look")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations; 0 takes another one each time")
    asked = parser.parse_args()
    try:
        atheris = importlib.import_module("atheris")
    except ImportError as error:
        print(f"skipped: atheris cannot be imported here ({error})")
        return
    with atheris.instrument_imports(include=["operators", "pipeline.chat._decode"]):
        from tests.fuzz.laws import glance
    logging.getLogger("rxchat").setLevel(logging.CRITICAL)
    found = tempfile.mkdtemp(prefix="rxchat-fuzz-")  # the first folder takes what reaches new code; ours are only read
    atheris.Setup(
        [
            sys.argv[0],
            f"-max_total_time={asked.seconds}",
            f"-seed={asked.seed}",
            f"-artifact_prefix={HERE / 'regressions'}/",
            f"-dict={HERE / 'words.dict'}",
            "-timeout=10",  # seconds for one body: more is a hang
            "-rss_limit_mb=2048",
            "-max_len=2048",
            "-print_final_stats=1",
            found,
            str(HERE / "corpus"),
            str(HERE / "regressions"),
        ],
        glance,
    )
    atheris.Fuzz()


if __name__ == "__main__":
    main()
