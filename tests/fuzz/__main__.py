"""Look for bodies that break a law: `python -m tests.fuzz --seconds 60`.

Starts from the bodies in `corpus/` and in `regressions/`, stops by itself, and leaves the checkout as it is. A body that
breaks a law is printed as Python bytes, kept in the folder given by `--findings`, and makes the exit status other than 0;
put into `regressions/` under a name that says what it is, `test_regressions.py` plays it ever after. Needs atheris (`pip
install -e ".[test]"`, which has it for Linux on x86-64): where it cannot be imported, this says so and ends with 0.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=60, help="how long to look")
    parser.add_argument("--seed", type=int, default=0, help="of the mutations; 0 takes another one each time")
    parser.add_argument("--findings", type=Path, help="a folder in which to keep what breaks a law")
    asked = parser.parse_args()
    try:
        importlib.import_module("atheris")
    except ImportError as error:
        print(
            f"skipped: no fuzzing without atheris ({error}); the Hypothesis tests ask the same: pytest -m slow tests/fuzz"
        )
        return 0
    with tempfile.TemporaryDirectory() as folder:
        new, findings = Path(folder, "new"), asked.findings or Path(folder, "findings")
        new.mkdir()
        findings.mkdir(parents=True, exist_ok=True)
        known = {*findings.iterdir()}
        status = fuzz(asked.seconds, asked.seed, new, findings)
        for found in sorted({*findings.iterdir()} - known):
            print(f"{found.name}: {found.read_bytes()!r}")
    return status


def fuzz(seconds: int, seed: int, new: Path, findings: Path) -> int:
    """`new` takes the bodies that reach new code, `findings` those that break a law. A process of its own, as the fuzzer
    ends the one it runs in."""
    options = {
        "max_total_time": seconds,
        "seed": seed,
        "artifact_prefix": f"{findings}/",
        "dict": HERE / "words.dict",
        "timeout": 10,  # seconds for one body: more is a hang
        "rss_limit_mb": 2048,
        "max_len": 2048,
        "verbosity": 0,
        "print_final_stats": 1,
    }
    flags = [f"-{name}={value}" for name, value in options.items()]
    folders = [new, HERE / "corpus", HERE / "regressions"]  # only the first is written to
    return subprocess.run([sys.executable, HERE / "fuzz_decode.py", *flags, *folders], check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
