# SPDX-License-Identifier: Apache-2.0
"""Replays for an hour against the null server. Checks that memory and lateness stay constant.

Run `make soak minutes=60`.
"""

import argparse
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import duckdb

from ..replay.calibrate import make_even_tape, null_server

SESSIONS, PER_SECOND = 200, 2_000
EVERY_S = 5
MAX_GROWTH = 0.10


def resident_mb(pid: int) -> float | None:
    """Return a process's resident memory in MB. Return None if the process has ended."""
    try:
        text = Path(f"/proc/{pid}/status").read_text(encoding="ascii")
    except OSError:
        return None
    match = re.search(r"^VmRSS:\s+(\d+) kB", text, re.M)
    return int(match[1]) / 1024 if match else None


def lateness(run: Path) -> tuple[float, float]:
    """Return the lateness in the second quarter and in the last quarter of the run.

    Each value is the median of the p99 lateness of each second, in ns.
    """
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT late_p99_ns FROM '{run}/ticks.parquet' WHERE late_p99_ns IS NOT NULL ORDER BY at_ns"
        ).fetchall()
    values = [row[0] for row in rows]
    quarter = max(len(values) // 4, 1)
    return median(values[quarter : 2 * quarter] or values), median(values[-quarter:])


def main() -> int:
    """Run the soak test.

    Return 1 if memory grew by over 10 % from the second quarter to the last, or the replay failed.
    """
    parser = argparse.ArgumentParser(prog="make soak")
    parser.add_argument("--minutes", type=int, default=60)
    minutes = parser.parse_args().minutes
    with tempfile.TemporaryDirectory(prefix="qt-soak-") as folder, null_server(1_000_000) as port:
        tape, run = Path(folder) / "soak.tape", Path(folder) / "soak.run"
        make_even_tape(tape, SESSIONS, PER_SECOND * 60, PER_SECOND)
        command = [sys.executable, "-m", "querytape", "replay", str(tape), "--loop", str(minutes), "-o", str(run)]
        began, sizes = time.monotonic(), []
        with subprocess.Popen(
            [*command, "--target", f"mysql://null@127.0.0.1:{port}"], stderr=subprocess.DEVNULL
        ) as child:
            while child.poll() is None:
                time.sleep(EVERY_S)
                if (size := resident_mb(child.pid)) is not None:
                    sizes.append(size)
                    print(f"{time.monotonic() - began:6.0f} s  {size:7.1f} MB", flush=True)
        early, late = lateness(run)
    quarter = max(len(sizes) // 4, 1)
    settled = sizes[quarter : 2 * quarter] or sizes
    first, last = median(settled), median(sizes[-quarter:])
    print(f"second quarter {first:.1f} MB, last quarter {last:.1f} MB: {last / first - 1:+.1%}")
    print(f"late, median of a second's p99: second quarter {early / 1e3:.0f} us, last quarter {late / 1e3:.0f} us")
    return 1 if child.returncode != 0 or last > first * (1 + MAX_GROWTH) else 0


if __name__ == "__main__":
    sys.exit(main())
