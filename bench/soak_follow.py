# SPDX-License-Identifier: Apache-2.0
"""Checks that a capture with --follow loses no event.

Run `make soak-follow minutes=60`. The script writes 5,000 statements per second into a log for an hour, and rotates the
log in all usual ways. It uses a whole core.
"""

import argparse
import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from itertools import cycle
from pathlib import Path
from statistics import median

from .soak import MAX_GROWTH, resident_mb

PER_SECOND, SESSIONS, DIGESTS = 5_000, 200, 300
TICK_S = 0.02
TURN_EVERY_S = 7
SAMPLE_EVERY_S = 5
START_S = 10  # startup, not measured: imports and the first parts
MAX_CPU = 0.04
KEPT_FILES = 2


class Log:
    """A slow log that is written as a server writes it. The log is rotated in the usual ways."""

    def __init__(self, path: Path) -> None:
        self.path, self.written, self._turn = path, 0, 0
        self._out = path.open("ab", buffering=0)
        ways: list[Callable[[Path], None]] = [self.rename, self.rename_and_pack, self.remove, self.copy, self.pack_copy]
        self._ways: Iterator[Callable[[Path], None]] = cycle(ways)

    def write(self, events: int) -> None:
        """Write this number of events, which end at the current time."""
        ns = time.time_ns()
        stamp = f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(ns // 10**9))}.{ns // 1000 % 10**6:06d}Z"
        second = ns // 10**9
        self._out.write(
            "".join(
                f"# Time: {stamp}\n# User@Host: app[app] @ web1 [10.0.0.5]  Id: {number % SESSIONS + 1:5d}\n"
                "# Query_time: 0.000310  Lock_time: 0.000001 Rows_sent: 1  Rows_examined: 12\n"
                f"SET timestamp={second};\nSELECT c{number % DIGESTS}, name FROM orders WHERE id = {number}"
                " AND state IN ('open', 'paid') ORDER BY created DESC LIMIT 10;\n"
                for number in range(self.written, self.written + events)
            ).encode()
        )
        self.written += events

    def turn_over(self) -> str:
        """Rotate the log in the next way and return the name of that way. Remove old files."""
        way, self._turn = next(self._ways), self._turn + 1
        way(self.path.with_name(f"{self.path.name}.{self._turn}"))
        for old in self.path.parent.glob(f"{self.path.name}.*"):
            if int(old.name.split(".")[2]) <= self._turn - KEPT_FILES:
                old.unlink()
        return way.__name__

    def rename(self, old: Path) -> None:
        """Rename the file. The server writes to the renamed file for a while."""
        self.path.rename(old)
        self.write(PER_SECOND // 100)
        self._begin()

    def rename_and_pack(self, old: Path) -> None:
        """Rename the file and compress it with gzip."""
        self.rename(old)
        self._pack(old)

    def remove(self, old: Path) -> None:
        """Remove the file. The server writes to the removed file for a while."""
        self.path.unlink()
        self.write(PER_SECOND // 100)
        self._begin()

    def copy(self, old: Path) -> None:
        """Copy the file and truncate it."""
        shutil.copyfile(self.path, old)
        os.truncate(self.path, 0)

    def pack_copy(self, old: Path) -> None:
        """Copy the file, truncate it, and compress the copy with gzip at once."""
        self.copy(old)
        self._pack(old)

    def _begin(self) -> None:
        self._out.close()
        self._out = self.path.open("ab", buffering=0)

    def _pack(self, old: Path) -> None:
        old.with_name(old.name + ".gz").write_bytes(gzip.compress(old.read_bytes(), 1))
        old.unlink()


def cpu_s(pid: int) -> float:
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def drive(log: Log, pid: int, minutes: float) -> tuple[list[float], float, float]:
    """Write events for `minutes`.

    Return the resident sizes, the CPU seconds of the process, and the seconds in which they were measured.
    """
    began = time.monotonic()
    sizes: list[float] = []
    first: tuple[float, float] | None = None
    turned = sampled = began
    while (now := time.monotonic()) < began + minutes * 60:
        due = int((now - began) * PER_SECOND) - log.written
        if due > 0:
            log.write(due)
        if now - turned >= TURN_EVERY_S:
            turned = now
            log.turn_over()
        if first is None and now - began >= START_S:
            first = (cpu_s(pid), now)
        if now - sampled >= SAMPLE_EVERY_S:
            sampled = now
            sizes.append(resident_mb(pid) or 0.0)
            print(f"{now - began:6.0f} s  {sizes[-1]:7.1f} MB  {log.written:,} events written", flush=True)
        time.sleep(TICK_S)
    used, at = first or (0.0, began)
    return sizes, cpu_s(pid) - used, time.monotonic() - at


def main() -> int:
    """Run the test.

    Return 1 if events are lost, memory grew by over 10 %, or the capture used more CPU than MAX_CPU.
    """
    parser = argparse.ArgumentParser(prog="make soak-follow")
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--keep", help="as of capture, such as 10m")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="qt-follow-") as folder:
        log, tape = Log(Path(folder) / "slow.log"), Path(folder) / "live.tape"
        command = [sys.executable, "-m", "querytape", "capture", "slowlog", str(log.path), "--follow", "-o", str(tape)]
        command += ["--keep", options.keep] if options.keep else []
        with subprocess.Popen(command) as child:
            while not (tape / "tape.json").exists() and child.poll() is None:
                time.sleep(TICK_S)
            sizes, used, lasted = drive(log, child.pid, options.minutes)
            child.send_signal(signal.SIGTERM)
            child.wait()
        info = json.loads((tape / "tape.json").read_text(encoding="utf-8"))
    quarter = max(len(sizes) // 4, 1)
    before, behind = sizes[quarter : 2 * quarter] or sizes, sizes[-quarter:]
    first, last = median(before), median(behind)
    taped = info["counts"]["events"] + (info.get("dropped") or {"events": 0})["events"]
    print(f"{log.written:,} events written, {taped:,} on the tape or dropped by --keep; {info['input']}")
    print(f"median of the second quarter {first:.1f} MB, of the last {last:.1f} MB: {last / first - 1:+.1%}")
    print(f"highest of the second quarter {max(before):.1f} MB, of the last {max(behind):.1f} MB")
    print(f"processor: {used:.1f} s in {lasted:.0f} s, {used / lasted:.1%} of one core")
    lost = taped != log.written or child.returncode != 0
    return 1 if lost or last > first * (1 + MAX_GROWTH) or used > lasted * MAX_CPU else 0


if __name__ == "__main__":
    sys.exit(main())
