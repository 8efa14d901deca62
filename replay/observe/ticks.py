# SPDX-License-Identifier: Apache-2.0
"""Logs a run second by second: makes differences of the engine's counters, keeps and writes them during the run."""

import resource
import shutil
import time
from dataclasses import astuple, dataclass, fields
from pathlib import Path

import duckdb

from ...common.duck import sql_files, write_parquet, write_rows
from ...native.bindings.engine import EngineStats
from ...schemas import columns


@dataclass(frozen=True)
class Tick:
    """One row of `ticks` (schemas/run.sql), by the same names."""

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
    """Return the CPU time of this process so far, all threads."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e9)


class TickLog:
    """Makes ticks of the engine's counters; belongs to one thread, but `flush` may be called from another."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._waiting: list[Tick] = []
        self._parts = 0
        self._before: EngineStats | None = None
        self._cpu_before = process_cpu_ns()
        self.clock_pairs: list[tuple[int, int]] = []

    def take(self, stats: EngineStats) -> Tick:
        """Return what happened since the last call, and keep it for the run."""
        before, cpu = self._before, process_cpu_ns()
        self.clock_pairs.append((time.monotonic_ns(), time.time_ns()))

        def since(name: str) -> int:
            return int(getattr(stats, name)) - (int(getattr(before, name)) if before else 0)

        tick = Tick(
            at_ns=stats.now_ns,
            real_ns=self.clock_pairs[-1][1],
            sessions_open=stats.sessions_open,
            done=since("executed") + since("not_sent"),
            reads=since("reads"),
            writes=since("writes"),
            others=since("others"),
            errors=since("errors"),
            p95_ns=stats.p95_ns,
            late_p99_ns=stats.late_p99_ns,
            queued_bytes=stats.queued_bytes,
            cpu_ns=cpu - self._cpu_before,
            order_waits=since("order_waits"),
            order_broken=since("order_broken"),
        )
        self._before, self._cpu_before = stats, cpu
        return self.add(tick)

    def add(self, tick: Tick) -> Tick:
        """Keep a tick that was made elsewhere."""
        self._waiting.append(tick)
        return tick

    def flush(self, con: duckdb.DuckDBPyConnection) -> None:
        """Write the ticks since the last flush as one part."""
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
        """Make one file of the parts."""
        self.flush(con)
        if self._parts:
            parts = sql_files(self._part(number) for number in range(self._parts))
            write_parquet(con, f"FROM read_parquet({parts}) ORDER BY at_ns", self._folder.with_suffix(".parquet"))
            shutil.rmtree(self._folder)
