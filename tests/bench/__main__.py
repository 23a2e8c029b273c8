"""Run the benchmarks: `python -m tests.bench [--quick] [--only 1,2] [--note …]`.

The whole takes some fifteen minutes and writes its table, as JSON, Markdown and a picture, to `results/` beside this file.
`--quick` takes less than a minute, needs no peers, writes nothing, and fails only on a broken benchmark or on a ratio that is
more than twice as bad as its target.
"""

from __future__ import annotations

import argparse
import logging
import sys
import warnings
from pathlib import Path

from tests.bench import growing, many, parsing, sockets, starting
from tests.bench.report import Report, machine, versions

PARTS = {"1": parsing, "2": sockets, "3": many, "4": growing, "5": starting}


def main() -> int:
    asked = argparse.ArgumentParser(prog="python -m tests.bench", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--quick", action="store_true", help="the smoke version")
    asked.add_argument("--only", default="1,2,3,4,5", help="parts, as in 1,4")
    asked.add_argument("--results", type=Path, default=Path(__file__).parent / "results", help="the folder to write to")
    asked.add_argument("--note", default="", help="what should be known of the machine, as that it was busy")
    options = asked.parse_args()
    warnings.simplefilter("ignore")  # the peers'
    logging.disable(logging.WARNING)
    report = Report(quick=options.quick)
    print(machine())
    print(", ".join(f"{name} {version}" for name, version in versions().items()))
    for part in options.only.split(","):
        PARTS[part].run(report)
    if not options.quick:
        report.write(options.results, options.note)
    print(f"\n{sum(figure.holds is True for figure in report.figures)} targets hold, {len(report.missed())} are missed")
    for figure in report.missed():
        print(f"  {figure.part}: {figure.what}: {figure.value:.3g}, wanted {figure.target}")
    if options.quick and report.far_off():
        print("worse than twice the target: " + "; ".join(figure.what for figure in report.far_off()))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
