# SPDX-License-Identifier: Apache-2.0
"""Replays a tape of 50 million events and checks that memory stays below a limit. Run `make volume events=50000000`."""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from ..replay.calibrate import make_even_tape, null_server
from .soak import resident_mb

SESSIONS, PER_SECOND = 64, 100_000
BOUND_MB = 1000
EVERY_S = 2


def main() -> int:
    """Run the test.

    Return 1 if the replay used more memory than the limit, or if the event counts of the replay do not add up.
    """
    parser = argparse.ArgumentParser(prog="make volume")
    parser.add_argument("--events", type=int, default=50_000_000)
    events = parser.parse_args().events
    with tempfile.TemporaryDirectory(prefix="qt-volume-") as folder, null_server() as port:
        tape, run = Path(folder) / "long.tape", Path(folder) / "long.run"
        make_even_tape(tape, SESSIONS, events, PER_SECOND)
        command = [sys.executable, "-m", "querytape", "replay", str(tape), "--pace", "none", "-o", str(run)]
        began, highest, last = time.monotonic(), 0.0, 0.0
        with subprocess.Popen(
            [*command, "--target", f"mysql://null@127.0.0.1:{port}"], stderr=subprocess.DEVNULL
        ) as child:
            while child.poll() is None:
                time.sleep(EVERY_S)
                size = resident_mb(child.pid) or 0.0
                highest = max(highest, size)
                if time.monotonic() - last > 30:
                    last = time.monotonic()
                    print(f"{last - began:6.0f} s  {size:7.1f} MB", flush=True)
        info = json.loads((run / "run.json").read_text())
        accounting, elapsed = info["accounting"], info["elapsed_ns"] / 1e9
    peak = max(highest, info["generator"]["rss_peak_bytes"] / 1e6)
    print(
        f"{accounting['executed']:,} of {events:,} events executed in {elapsed:,.0f} s"
        f" ({accounting['executed'] / elapsed:,.0f}/s), {time.monotonic() - began:,.0f} s with planning;"
        f" peak {peak:,.0f} MB of {BOUND_MB:,} MB"
    )
    return 0 if child.returncode == 0 and accounting["executed"] == events and peak <= BOUND_MB else 1


if __name__ == "__main__":
    sys.exit(main())
