# SPDX-License-Identifier: Apache-2.0
"""Counts how often the small TPC-C is replayed to other rows: the table of docs/order.md.

`python -m tests.whole.tpcc.seeds --seeds 20` prints a line for each server and source. Seeds alternate between the dialects,
and between tables with and without foreign keys. Two servers work at the same time.
"""

import argparse
import signal
import tempfile
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from querytape.servers.sandbox import Server

from tests.helpers.workloads import differences

from . import workload
from .test_tpcc import CLIENTS, KINDS, ROUNDS, SOURCES, errors_of, record, replayed, started
from .workload import DIALECTS


@dataclass
class Cell:
    """What the seeds of one server and one source came to."""

    kind: str
    source: str
    seeds: int = 0
    different: int = 0
    waits: int = 0
    broken: int = 0
    errors: int = 0

    def line(self) -> str:
        """Return it as a row of the table, then what the table leaves out."""
        seeds = f"{self.different} of {self.seeds}"
        return f"| {self.kind} | {self.source} | {seeds} | {self.broken:,} of {self.waits:,} | {self.errors} with new errors"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--servers", nargs="+", choices=KINDS, default=KINDS)
    parser.add_argument("--sources", nargs="+", choices=SOURCES, default=SOURCES)
    given = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell that runs this with `&` has it ignored
    if why := workload.build():
        parser.error(why)
    print(f"{CLIENTS} clients, {ROUNDS} rounds", flush=True)
    with ProcessPoolExecutor(2) as pool:
        work = [(kind, given.sources, given.seeds) for kind in given.servers]
        for lines in pool.map(try_server, *zip(*work, strict=True)):
            print(*lines, sep="\n", flush=True)


def try_server(kind: str, sources: Sequence[str], seeds: int) -> list[str]:
    """Return the lines of one server."""
    with started(kind) as server:
        return [try_source(server, kind, source, seeds).line() for source in sources]


def try_source(server: Server, kind: str, source: str, seeds: int) -> Cell:
    """Record and replay with each seed."""
    cell = Cell(kind, source)
    # MariaDB's general log has several statements of one command as one, and not that they were allowed: not in its text.
    dialects = DIALECTS[1:] if source == "general" and kind.startswith("mariadb") else DIALECTS
    ways = list(product(dialects, (False, True)))
    for seed in range(1, seeds + 1):
        dialect, keys = ways[seed % len(ways)]
        with tempfile.TemporaryDirectory() as folder:
            tape = Path(folder) / "t.tape"
            workload.create(server, keys=keys)
            record(server, source, dialect, tape, seed=seed)
            rows = workload.contents(server)
            workload.create(server, keys=keys)
            summary = replayed(server, tape, Path(folder) / "t.run")
            different = differences(rows, workload.contents(server))
            errors = set(summary.errors) - errors_of(tape)
        cell.seeds += 1
        cell.different += different > 0
        cell.waits += summary.info["accounting"]["order_waits"]
        cell.broken += summary.info["accounting"]["order_broken"]
        cell.errors += bool(errors)
        if different or errors or summary.info["accounting"]["order_broken"]:
            text = f"{kind} {source} {dialect} seed {seed}: {different} rows differ, new errors {sorted(errors)}"
            print(f"{text}, {summary.info['accounting']['order_broken']} waits broken", flush=True)
    return cell


if __name__ == "__main__":
    main()
