# SPDX-License-Identifier: Apache-2.0
"""Builds a report in 1, 7 and 64 partitions and checks that the JSON is byte-identical.

`make pieces` runs this check.
"""

import argparse
import hashlib
import sys
import tempfile
from pathlib import Path

from .bench_report import apart, make_run, make_tape
from .pairs import run_program

PARTITIONS = (1, 7, 64)


def main() -> int:
    """Run the check. Return 1 if two reports differ."""
    parser = argparse.ArgumentParser(prog="make pieces")
    parser.add_argument("--events", type=int, default=10_000_000)
    parser.add_argument("--memory", default="1500MB")
    parser.add_argument("--processes", type=int, default=1)
    options = parser.parse_args()
    found = set()
    with tempfile.TemporaryDirectory(prefix="qt-pieces-") as folder:
        tape = apart(make_tape, Path(folder) / "x.tape", options.events)
        runs = [apart(make_run, Path(folder) / f"{side}.run", options.events) for side in "ab"]
        for partitions in PARTITIONS:
            file = Path(folder) / "report.json"
            command = (
                *(sys.executable, "-m", "querytape", "report", str(tape), *map(str, runs), "--json", str(file)),
                *("--partitions", str(partitions), "--memory", options.memory, "--processes", str(options.processes)),
            )
            ran = run_program(*command)
            sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
            found.add(sha256)
            print(
                f"{options.events:,} events a side in {partitions} partitions: {ran.wall_s:,.0f} s,"
                f" {ran.cpu_s:,.0f} s of CPU, peak {ran.peak_bytes / 1e6:,.0f} MB, JSON {sha256[:16]}",
                flush=True,
            )
    print("the same bytes" if len(found) == 1 else "NOT the same bytes")
    return 0 if len(found) == 1 else 1


if __name__ == "__main__":
    sys.exit(main())
