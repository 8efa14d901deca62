# SPDX-License-Identifier: Apache-2.0
"""Count the replays of the small TPC-C that end with different rows. docs/order.md has the resulting table. `python -m
tests.whole.tpcc.seeds --seeds 20` prints a line for each server, source and type of client. A client sends statements
(alternately text and prepared) or CALLs. Every second seed has foreign keys. Two servers run in parallel.
"""

import argparse
import signal
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from querytape.servers.sandbox import Server

from tests.helpers.workloads import differences

from . import workload
from .test_tpcc import CLIENTS, KINDS, ROUNDS, SOURCES, errors_of, record, replayed, started

WAYS = {"statements": ("text", "prepared"), "CALL": ("procedures",)}


@dataclass
class Cell:
    """The results of all seeds for one server, source and type of client."""

    kind: str
    source: str
    way: str
    seeds: int = 0
    different: int = 0
    waits: int = 0
    broken: int = 0

    def line(self) -> str:
        """Return the results as one row of the table."""
        seeds = f"{self.different} of {self.seeds}"
        return f"| {self.kind} | {self.source} | {self.way} | {seeds} | {self.broken:,} of {self.waits:,} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--servers", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES)
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that starts this program with `&` ignores SIGINT
    if why := workload.build():
        parser.error(why)
    print(f"{CLIENTS} clients, {ROUNDS} rounds", flush=True)
    with ProcessPoolExecutor(2) as pool:
        work = [(kind, given.sources, given.seeds) for kind in given.servers]
        for lines in pool.map(try_server, *zip(*work, strict=True)):
            print(*lines, sep="\n", flush=True)


def try_server(kind: str, sources: Sequence[str], seeds: int) -> list[str]:
    """Return the table rows of one server."""
    with started(kind) as server:
        cells = [Cell(kind, source, way) for source in sources for way in WAYS]
        return [try_cell(server, cell, seeds).line() for cell in cells]


def try_cell(server: Server, cell: Cell, seeds: int) -> Cell:
    """Record and replay the workload with each seed. Print every difference from the original."""
    # The text dialect is excluded. MariaDB's general log joins the parts of a multi-statement, and does not show that
    # the session allowed multi-statements.
    no_text = cell.source == "general" and cell.kind.startswith("mariadb")
    dialects = [each for each in WAYS[cell.way] if each != "text" or not no_text]
    for seed in range(1, seeds + 1):
        dialect, keys = dialects[seed // 2 % len(dialects)], seed % 2 == 0
        with tempfile.TemporaryDirectory() as folder:
            tape = Path(folder) / "t.tape"
            workload.create(server, keys=keys)
            record(server, cell.source, dialect, tape, seed=seed)
            rows = workload.contents(server)
            workload.create(server, keys=keys)
            summary = replayed(server, tape, Path(folder) / "t.run")
            different = differences(rows, workload.contents(server))
            errors = sorted(set(summary.errors) - errors_of(tape))
        broken = summary.info["accounting"]["order_broken"]
        cell.seeds += 1
        cell.different += different > 0
        cell.waits += summary.info["accounting"]["order_waits"]
        cell.broken += broken
        if different or errors or broken:
            found = f"{different} rows differ, new errors {errors}, {broken} waits broken"
            print(f"{cell.kind} {cell.source} {dialect} seed {seed}: {found}", flush=True)
    return cell


if __name__ == "__main__":
    main()
