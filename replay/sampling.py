# SPDX-License-Identifier: Apache-2.0
"""What went on meanwhile: the target's counters and its machine's, on ticks aligned to the wall clock.

One thread and one connection of its own. Only values that changed are kept; the first tick has all. What a tick took is
kept as well (`sampler`, `cost_ns`), so that it can be seen that it does not disturb.
"""

import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import duckdb
import pymysql
from pymysql.connections import Connection

from ..errors import TargetError
from ..schemas import columns
from ..servers.facts import ask
from ..servers.target import Target, fault_text
from .hosts import Host, Values
from .storage import write_parquet

ENGINE_EVERY = 10  # ticks between two texts of SHOW ENGINE INNODB STATUS


class Sampler:
    """Samples until it is stopped. `flush` and `gather` may be called from another thread."""

    def __init__(self, folder: Path, target: Target, interval_ns: int, host: Host | None) -> None:
        self._folder = folder
        self._target = target
        self._interval_ns = interval_ns
        self._host = host  # the target's machine, None where it cannot be seen
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._lock = threading.Lock()
        self._waiting: dict[str, list[tuple[Any, ...]]] = {"samples": [], "texts": []}
        self._before: dict[tuple[str, str], float] = {}
        self._parts = 0
        self.problem: str | None = None

    def start(self) -> None:
        """Begin; nothing is sampled where the interval is 0."""
        if self._interval_ns > 0:
            self._thread.start()

    def stop(self) -> None:
        """End after the tick at hand."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(10)
        if self._host is not None:
            self._host.close()

    def _run(self) -> None:
        try:
            con = self._target.connect(5)
        except TargetError as fault:
            self.problem = str(fault)
            return
        number = 0
        try:
            while not self._end.wait(self._until_next()):
                self._tick(con, number)
                number += 1
            con.close()
        except (pymysql.Error, OSError) as fault:
            self.problem = f"ended after {number:,} samples: {fault_text(fault)}"

    def _until_next(self) -> float:
        """Return seconds until the wall clock's next multiple of the interval."""
        return (self._interval_ns - time.time_ns() % self._interval_ns) / 1e9

    def _tick(self, con: "Connection[Any]", number: int) -> None:
        real_ns, began = time.time_ns(), time.monotonic_ns()
        found = [*status(con), *processes(con), *self._host_values()]
        found.append(("sampler", "cost_ns", float(time.monotonic_ns() - began)))
        rows = []
        for source, name, value in found:
            if self._before.get((source, name)) != value:
                self._before[source, name] = value
                rows.append((real_ns, source, name, value))
        texts = []
        if number % ENGINE_EVERY == 0:
            texts = [(real_ns, "innodb_status", str(row[2])) for row in ask(con, "SHOW ENGINE INNODB STATUS") or ()]
        with self._lock:
            self._waiting["samples"] += rows
            self._waiting["texts"] += texts

    def _host_values(self) -> list[tuple[str, str, float]]:
        """Return the machine's counters; one that is lost is told, and not asked again."""
        if self._host is None:
            return []
        try:
            return list(self._host.read())
        except TargetError as fault:
            self.problem = str(fault)
            self._host.close()
            self._host = None
            return []

    def flush(self, con: duckdb.DuckDBPyConnection) -> None:
        """Write what was sampled since the last flush as one part of each table."""
        with self._lock:
            waiting, self._waiting = self._waiting, {"samples": [], "texts": []}
        for table, rows in waiting.items():
            if not rows:
                continue
            folder = self._folder / table
            folder.mkdir(mode=0o700, exist_ok=True)
            listed = ", ".join(f'"{name}" {type_}' for name, type_ in columns("run", table))
            con.execute(f"CREATE OR REPLACE TEMP TABLE new_rows ({listed})")
            places = ", ".join("?" * len(rows[0]))
            con.executemany(f"INSERT INTO new_rows VALUES ({places})", rows)
            write_parquet(con, "FROM new_rows", folder / f"part-{self._parts:05d}.parquet")
        self._parts += 1


def status(con: "Connection[Any]") -> Values:
    """Yield the numeric counters of SHOW GLOBAL STATUS."""
    for name, value in ask(con, "SHOW GLOBAL STATUS") or ():
        with suppress(ValueError):
            yield "status", str(name), float(value)


def processes(con: "Connection[Any]") -> Values:
    """Yield how many threads are in each command and state, the replay's own among them."""
    rows = ask(con, "SHOW PROCESSLIST") or ()
    for command, n in Counter(str(row[4]) for row in rows).items():
        yield "processlist", f"command {command}", float(n)
    for state, n in Counter(str(row[6]) for row in rows if row[6]).items():
        yield "processlist", f"state {state}", float(n)
