"""Measure: `python -m tests.bench [--quick] [--only PART] [--out DIR]`.

The parts are parsing, sockets, many, growing and starting; all of them take some forty minutes. What is found is printed, and
kept as JSON, Markdown and a picture. Peers that are not installed are left out (`pip install -e '.[bench]'` installs them).
Parts are added to what the folder has of this machine and these versions. What it has of others is replaced, but for the picture of the
README only by a whole run: parts go to `build/bench`, unless --out says otherwise.
On a machine with other work, delays say little (each is told with how long others had the core); `chrt --rr 1` takes precedence.

`--quick` takes less than a minute, needs no peers, writes nothing, and fails only on a broken benchmark or on what is, twice in a row,
more than twice as bad as its target: a ratio, or the longest cost by an exponent.
"""

from __future__ import annotations

import argparse
import logging
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from pathlib import Path

from tests.bench import growing, many, parsing, sockets, starting
from tests.bench.report import Report
from tests.bench.results import Unusable, check, commit, keep, load, machine, parts_in, versions

PARTS: dict[str, Callable[[Report], None]] = {
    "parsing": parsing.run,
    "sockets": sockets.run,
    "many": many.run,
    "growing": growing.run,
    "starting": starting.run,
}

RESULTS, ELSEWHERE = Path(__file__).parent / "results", Path("build/bench")


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--quick", action="store_true", help="the smoke version")
    asked.add_argument("--only", action="append", choices=PARTS, metavar="PART", help="this part; may be given again")
    asked.add_argument("--out", type=Path, help="the folder to write to; if not given, tests/bench/results")
    asked.add_argument("--note", default="", help="what should be known of the machine, as that it was busy")
    options = asked.parse_args(arguments)
    parts = list(options.only or PARTS)
    out = Path()
    if not options.quick:
        try:
            out = _folder(options.out, parts)
        except Unusable as why:
            print(f"{asked.prog}: {why}", file=sys.stderr)
            return 2
    print(", ".join(filter(None, (machine(), f"load {load()}", commit() and f"commit {commit()}"))))
    print(", ".join(f"{name} {version}" for name, version in versions().items()))

    missed: list[str] = []
    failed: list[str] = []
    for part in parts:
        began = time.monotonic()
        try:
            report = _measured(part, quick=options.quick)
        except Exception as error:
            traceback.print_exc()
            failed.append(f"{part} is broken: {error!r}")
            continue
        seconds = time.monotonic() - began
        print(f"\n{part} took {seconds:.0f} s")
        if not options.quick:
            keep(out, part, report, seconds=seconds, note=options.note)
        missed += [f"{one.name}: {one.judged:.3g}, wanted {one.target}" for one in report.figures if one.holds is False]
        if options.quick:
            failed += [f"{one.name}: {one.judged:.3g}, far from {one.target}" for one in report.figures if one.far_off]
    print(f"\nTargets missed: {len(missed)}", *missed, sep="\n  ")
    if failed:
        print("\nFAILED", *failed, sep="\n  ")
    return bool(failed)


def _folder(asked: Path | None, parts: list[str]) -> Path:
    """Where the results go, which is told if it is not where they would be looked for, or if others are lost by it."""
    folder = asked or RESULTS
    check(folder)
    before, others = parts_in(folder)
    lost = [part for part in before if part not in parts]
    if others and lost:
        why = f"{folder} has {', '.join(lost)} of another machine or other versions ({', '.join(others)})"
        if asked is None:
            folder = ELSEWHERE
            check(folder)
            print(f"{why}: this goes to {folder}")
        else:
            print(f"{why}: that is replaced")
    return folder


def _measured(part: str, *, quick: bool) -> Report:
    """What the part finds; in short, the better of two tries, if a ratio is far off at the first."""
    report = Report(quick=quick)
    PARTS[part](report)
    far_off = [figure.name for figure in report.figures if figure.far_off]
    if quick and far_off:
        print(f"\nOnce more, as these are far off: {'; '.join(far_off)}")
        before = {figure.name: figure for figure in report.figures}
        report = Report(quick=quick)
        PARTS[part](report)
        report.figures = [
            min(figure, before.get(figure.name, figure), key=lambda one: one.missed_by) for figure in report.figures
        ]
    return report


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))  # so that no process is left behind
    warnings.simplefilter("ignore")  # the peers'
    logging.disable(logging.WARNING)
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
