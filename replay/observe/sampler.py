# SPDX-License-Identifier: Apache-2.0
"""Sample counters of the target and its machine during a run, at times aligned to the wall clock.

The sampler has its own thread and connection. The first sample contains all values. Later samples contain only changed
values. The cost of each sample is recorded (`sampler`, `cost_ns`), to show that sampling does not disturb the run.

Some counters are read only before and after the run. These are counters of writes (binary log, syncs, lock waits).
Counters of the query cache (MySQL before 8.0, MariaDB) are also read only before and after the run.
"""

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import duckdb
import pymysql
from pymysql.connections import Connection

from ...common.duck import write_rows
from ...common.errors import TargetError
from ...common.units import plural
from ...schemas import columns
from ...servers.queries import query_or_none, whole
from ...servers.target import Target, fault_text
from .host import Host, Values

ENGINE_EVERY = 10  # samples between two texts of SHOW ENGINE INNODB STATUS
OF_WRITES = (
    "Binlog_cache_use", "Binlog_stmt_cache_use", "Innodb_data_fsyncs", "Innodb_log_waits", "Innodb_os_log_fsyncs",
    "Innodb_row_lock_waits", "Uptime",
)  # fmt: skip
OF_QUERY_CACHE = ("Qcache_hits", "Qcache_inserts", "Qcache_not_cached", "Com_select")


class Sampler:
    """Samples counters from `start` to `stop`. `problem`: why sampling ended early. Another thread may call `flush`."""

    def __init__(self, folder: Path, target: Target, interval_ns: int, hosts: Sequence[Host]) -> None:
        self._folder = folder
        self._target = target
        self._interval_ns = interval_ns
        self._hosts = list(hosts)  # the target's machine and the local machine, if they are visible
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sampler", daemon=True)
        self._lock = threading.Lock()
        self._waiting: dict[str, list[tuple[Any, ...]]] = {"samples": [], "texts": []}
        self._before: dict[tuple[str, str], float] = {}
        self._newest: dict[tuple[str, str], float] = {}
        self._parts = 0
        self.problem: str | None = None

    def start(self) -> None:
        """Start sampling. Does nothing if the interval is 0."""
        if self._interval_ns > 0:
            self._thread.start()

    def stop(self) -> None:
        """Stop after the current sample."""
        self._end.set()
        if self._thread.is_alive():
            self._thread.join(10)
        for host in self._hosts:
            host.close()

    def newest(self) -> Mapping[tuple[str, str], float]:
        """Return the newest values by source and name. Any thread may call this."""
        with self._lock:
            return self._newest

    def _run(self) -> None:
        try:
            con = self._target.connect(5)
        except TargetError as error:
            self.problem = str(error)
            return
        number = 0
        try:
            while not self._end.wait(self._until_next()):
                self._tick(con, number)
                number += 1
            con.close()
        except (pymysql.Error, OSError, TargetError) as error:
            self.problem = f"sampling stopped after {plural(number, 'sample')}: {fault_text(error)}"

    def _until_next(self) -> float:
        """Return the seconds until the next multiple of the interval on the wall clock."""
        return (self._interval_ns - time.time_ns() % self._interval_ns) / 1e9

    def _tick(self, con: "Connection[Any]", number: int) -> None:
        real_ns, began = time.time_ns(), time.monotonic_ns()
        counters = [*self._host_values(), *status(con), *processes(con)]
        counters.append(("sampler", "cost_ns", float(time.monotonic_ns() - began)))
        rows = []
        for source, name, value in counters:
            if self._before.get((source, name)) != value:
                self._before[source, name] = value
                rows.append((real_ns, source, name, value))
        texts = []
        if number % ENGINE_EVERY == 0:
            texts = [
                (real_ns, "innodb_status", str(row[2]))
                for row in query_or_none(con, "SHOW ENGINE INNODB STATUS", 3) or ()
            ]
        newest = dict(self._before)
        with self._lock:
            self._newest = newest
            self._waiting["samples"] += rows
            self._waiting["texts"] += texts

    def _host_values(self) -> list[tuple[str, str, float]]:
        """Return the counters of the machines.

        A machine that fails is recorded as the problem and is not read again.
        """
        values: list[tuple[str, str, float]] = []
        for host in tuple(self._hosts):
            try:
                values += host.read()
            except TargetError as error:
                self.problem = str(error)
                host.close()
                self._hosts.remove(host)
        return values

    def flush(self, con: duckdb.DuckDBPyConnection) -> None:
        """Write the samples since the last flush as one part per table."""
        with self._lock:
            waiting, self._waiting = self._waiting, {"samples": [], "texts": []}
        try:
            self._write(con, waiting)
        except (duckdb.Error, ValueError, TypeError, OverflowError) as error:
            self.problem = f"could not write some samples: {fault_text(error)}"
        self._parts += 1

    def _write(self, con: duckdb.DuckDBPyConnection, waiting: dict[str, list[tuple[Any, ...]]]) -> None:
        for table, rows in waiting.items():
            if not rows:
                continue
            folder = self._folder / table
            folder.mkdir(mode=0o700, exist_ok=True)
            write_rows(con, columns("run", table), rows, folder / f"part-{self._parts:05d}.parquet")


def status(con: "Connection[Any]") -> Values:
    """Yield the numeric variables of SHOW GLOBAL STATUS."""
    for row in query_or_none(con, "SHOW GLOBAL STATUS", 2) or ():
        with suppress(ValueError, TypeError):
            yield "status", str(row[0]), float(row[1])


def processes(con: "Connection[Any]") -> Values:
    """Yield the number of threads per command and per state. The replay's own threads count too."""
    rows = query_or_none(con, "SHOW PROCESSLIST", 7) or ()
    for command, n in Counter(str(row[4]) for row in rows).items():
        yield "processlist", f"command {command}", float(n)
    for state, n in Counter(str(row[6]) for row in rows if row[6]).items():
        yield "processlist", f"state {state}", float(n)


def server_counters(target: Target, timeout_s: int, names: Sequence[str] = OF_WRITES) -> dict[str, int] | None:
    """Return the server's values of these counters by lower case name.

    Returns None if the server cannot be queried or has none of these counters.
    """
    try:
        with closing(target.connect(timeout_s)) as con:
            rows = query_or_none(con, question(names), 2) or ()
    except TargetError:
        return None
    return {str(row[0]).lower(): number for row in rows if (number := whole(row[1])) is not None} or None


def cache_counters(target: Target, timeout_s: int) -> dict[str, int] | None:
    """Return the counters of the query cache by lower case name.

    Returns None if the server has no query cache or cannot be queried.
    """
    found = server_counters(target, timeout_s, OF_QUERY_CACHE)
    return found if found and "qcache_hits" in found else None


def question(names: Sequence[str]) -> str:
    """Return the statement that reads these counters."""
    listed = ", ".join(f"'{name}'" for name in names)
    return f"SHOW GLOBAL STATUS WHERE Variable_name IN ({listed})"
