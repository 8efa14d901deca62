# SPDX-License-Identifier: Apache-2.0
"""Log a run second by second. Each tick is the difference between two readings of the engine's counters."""

import resource
import shutil
import time
from dataclasses import astuple, dataclass, fields
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import sql_files, write_parquet, write_rows
from ...native.bindings.engine import EngineStats
from ...schemas import columns

# Columns of a tick. The groups show how the values of several drivers are combined. SUMMED adds all ticks. LATEST adds
# the newest tick of each driver. HIGHEST takes the maximum.
COUNTED = ("reads", "writes", "others", "errors", "order_waits", "order_broken")  # counted by the engine
SUMMED = ("done", "cpu_ns", *COUNTED)
LATEST = ("sessions_open", "queued_bytes")
HIGHEST = ("p95_ns", "late_p99_ns")


@dataclass(frozen=True)
class Tick:
    """One row of `ticks` (schemas/run.sql). The fields have the names of the columns of that table."""

    at_ns: int
    real_ns: int
    sessions_open: int
    done: int
    reads: int
    writes: int
    others: int
    errors: int
    p95_ns: int | None
    late_p99_ns: int | None
    queued_bytes: int
    cpu_ns: int
    order_waits: int = 0
    order_broken: int = 0


def process_cpu_ns() -> int:
    """Return the CPU time of this process so far, over all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e9)


class TickLog:
    """Makes ticks from the engine's counters. It belongs to one thread, but another thread may call `flush`."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: list[Tick] = []
        self._parts = 0
        self._before: EngineStats | None = None
        self._cpu_before = process_cpu_ns()
        self.clock_pairs: list[tuple[int, int]] = []

    def take(self, stats: EngineStats) -> Tick:
        """Return and keep the changes of the counters since the last call."""
        before, cpu = self._before, process_cpu_ns()
        self.clock_pairs.append((time.monotonic_ns(), time.time_ns()))
        names = ("executed", "not_sent", *COUNTED)
        since = {name: getattr(stats, name) - (getattr(before, name) if before else 0) for name in names}
        values: dict[str, Any] = {name: since[name] for name in COUNTED}
        values |= {name: getattr(stats, name) for name in (*LATEST, *HIGHEST)}
        values |= {"done": since["executed"] + since["not_sent"], "cpu_ns": cpu - self._cpu_before}
        self._before, self._cpu_before = stats, cpu
        return self.add(Tick(at_ns=stats.now_ns, real_ns=self.clock_pairs[-1][1], **values))

    def add(self, tick: Tick) -> Tick:
        """Keep a tick that other code made."""
        self._waiting.append(tick)
        return tick

    def flush(self, con: duckdb.DuckDBPyConnection) -> None:
        """Write the ticks since the last flush as one Parquet file."""
        ticks, self._waiting = self._waiting, []
        if not ticks:
            return
        self._folder.mkdir(mode=0o700, exist_ok=True)
        assert [field.name for field in fields(Tick)] == [name for name, _ in columns("run", "ticks")]
        write_rows(con, columns("run", "ticks"), [astuple(tick) for tick in ticks], self._part(self._parts))
        self._parts += 1

    def _part(self, number: int) -> Path:
        return self._folder / f"part-{number:05d}.parquet"

    def gather(self, con: duckdb.DuckDBPyConnection) -> None:
        """Merge the part files of the ticks into one file."""
        self.flush(con)
        if self._parts:
            parts = sql_files(self._part(number) for number in range(self._parts))
            write_parquet(con, f"FROM read_parquet({parts}) ORDER BY at_ns", self._folder.with_suffix(".parquet"))
            shutil.rmtree(self._folder)
