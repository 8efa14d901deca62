# SPDX-License-Identifier: Apache-2.0
"""What went on meanwhile: the target's counters and this machine's, on ticks aligned to the wall clock.

One thread and one connection of its own. Only values that changed are kept; the first tick has all. What a tick took is
kept as well (`sampler`, `cost_ns`), so that it can be seen that it does not disturb.
"""

import threading
import time
from collections import Counter
from collections.abc import Iterator
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
from .storage import write_parquet

ENGINE_EVERY = 10  # ticks between two texts of SHOW ENGINE INNODB STATUS
CPU_FIELDS = ("user", "nice", "system", "idle", "iowait", "irq", "softirq", "steal")
Values = Iterator[tuple[str, str, float]]  # source, name, value


class Sampler:
    """Samples until it is stopped. `flush` and `gather` may be called from another thread."""

    def __init__(self, folder: Path, target: Target, interval_ns: int, local: bool) -> None:
        self._folder = folder
        self._target = target
        self._interval_ns = interval_ns
        self._local = local
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
        found = [*status(con), *processes(con), *(host() if self._local else ())]
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


def host(proc: Path = Path("/proc")) -> Values:
    """Yield this machine's counters since its start: CPU in ticks, switches, interrupts, disk and network bytes."""
    for line in _lines(proc / "stat"):
        word, *values = line.split()
        if word == "cpu":
            for name, value in zip(CPU_FIELDS, values, strict=False):
                yield "host", f"cpu {name}", float(value)
        elif word in ("ctxt", "procs_running", "procs_blocked"):
            yield "host", word, float(values[0])
        elif word == "intr":
            yield "host", "interrupts", float(values[0])
    for line in _lines(proc / "diskstats"):
        part = line.split()
        if len(part) > 9 and not part[2].startswith(("loop", "ram")):
            yield "host", f"disk {part[2]} read_bytes", float(part[5]) * 512
            yield "host", f"disk {part[2]} written_bytes", float(part[9]) * 512
    for line in _lines(proc / "net" / "dev"):
        name, colon, rest = line.partition(":")
        if colon:
            part = rest.split()
            yield "host", f"net {name.strip()} received_bytes", float(part[0])
            yield "host", f"net {name.strip()} sent_bytes", float(part[8])


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="ascii", errors="replace").splitlines()
    except OSError:
        return []
