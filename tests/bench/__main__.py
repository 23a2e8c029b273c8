"""Measure: `python -m tests.bench [--quick] [--only PART] [--out DIR]`.

The parts are parsing, sockets, many, growing and starting; all of them take some fifteen minutes. What is found is printed, and
kept as JSON, Markdown and a picture. Peers that are not installed are left out (`pip install -e '.[bench]'` installs them).
On a machine with other work, delays say little (each is told with how long others had the core); `chrt --rr 1` takes precedence.

`--quick` takes less than a minute, needs no peers, writes nothing, and fails only on a broken benchmark or on a ratio that is, twice in
a row, more than twice as bad as its target.
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
from tests.bench.results import keep, load, machine, versions

PARTS: dict[str, Callable[[Report], None]] = {
    "parsing": parsing.run,
    "sockets": sockets.run,
    "many": many.run,
    "growing": growing.run,
    "starting": starting.run,
}


def main(arguments: list[str] | None = None) -> int:
    asked = argparse.ArgumentParser(
        prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    asked.add_argument("--quick", action="store_true", help="the smoke version")
    asked.add_argument("--only", action="append", choices=PARTS, metavar="PART", help="this part; may be given again")
    asked.add_argument("--out", type=Path, default=Path(__file__).parent / "results", help="the folder to write to")
    asked.add_argument("--note", default="", help="what should be known of the machine, as that it was busy")
    options = asked.parse_args(arguments)
    print(f"{machine()}, load {load()}")
    print(", ".join(f"{name} {version}" for name, version in versions().items()))

    missed: list[str] = []
    failed: list[str] = []
    for part in options.only or PARTS:
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
            keep(options.out, part, report, seconds=seconds, note=options.note)
        missed += [f"{one.name}: {one.judged:.3g}, wanted {one.target}" for one in report.figures if one.holds is False]
        if options.quick:
            failed += [
                f"{one.name}: {one.judged:.3g}, twice over {one.target}" for one in report.figures if one.far_off
            ]
    print(f"\nTargets missed: {len(missed)}", *missed, sep="\n  ")
    if failed:
        print("\nFAILED", *failed, sep="\n  ")
    return bool(failed)


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
