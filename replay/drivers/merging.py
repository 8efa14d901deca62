# SPDX-License-Identifier: Apache-2.0
"""Merge the results of several drivers: ticks, plans, final counters, and the files of one run."""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import sql_files, write_parquet
from ...common.files import remove_folder
from ...native.bindings.engine import LATENESS, EndedBy, EngineStats, State
from ...schemas import Folder, columns
from ..observe.ticks import HIGHEST, LATEST, SUMMED, Tick, TickLog
from ..plan.rules import Plan, Rules
from .member import Member

PLANNED = ("planned", "sessions", "peak_sessions", "ids_unknown", "now_uncertain")
PARTS = "drivers"  # folder of the parts inside the run's folder


def whole_plan(tape: Folder, rules: Rules, spill: Path, members: Sequence[Member], events: int | None = None) -> Plan:
    """Return the sum of all drivers' plans. Only the counts of the plans are added.

    The peak number of sessions is the sum over the drivers, which is an upper limit.
    """
    plan = Plan(tape, rules, spill, events=int(tape.info["counts"]["events"]) if events is None else events)
    plan.reasons = sum((member.reasons for member in members), Counter())
    for planned in (member.planned for member in members if member.planned is not None):
        for name in PLANNED:
            setattr(plan, name, getattr(plan, name) + int(planned[name]))
        plan.last_due_ns = max(plan.last_due_ns, int(planned["last_due_ns"] or 0))
        plan.order_notes += [note for note in planned["notes"] if note not in plan.order_notes]
    return plan


class Ticks:
    """Combines the ticks of all drivers into one tick per second on the lead's clock."""

    def __init__(self, log: TickLog, members: Sequence[Member], zero_ns: int) -> None:
        self._log, self._members, self._zero_ns = log, members, zero_ns
        self._latest: dict[int, dict[str, Any]] = {}
        self.done = 0

    def take(self) -> Tick:
        """Return and keep the sum of all drivers' ticks since the last call.

        Each quantile is the highest of any driver. The caller holds the lock `news` of the members.
        """
        now, real = time.monotonic_ns(), time.time_ns()
        said = []
        for member in self._members:
            while member.ticks:
                said.append(member.ticks.popleft())
                self._latest[member.number] = said[-1]
            if member.over:
                self._latest.pop(member.number, None)
        values: dict[str, Any] = {name: sum(int(tick[name]) for tick in said) for name in SUMMED}
        values |= {name: sum(int(tick[name]) for tick in self._latest.values()) for name in LATEST}
        for name in HIGHEST:
            values[name] = max((tick[name] for tick in said if tick[name] is not None), default=None)
        self._log.clock_pairs.append((now, real))
        self.done += values["done"]
        return self._log.add(Tick(at_ns=now - self._zero_ns, real_ns=real, **values))


def lateness_of(infos: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return `lateness` of run.json for several drivers. Each value is the highest of any driver."""
    said = [info["lateness"] for info in infos]
    return {name: max((one[name] for one in said if one.get(name) is not None), default=None) for name in LATENESS}


def whole_ticks(files: Sequence[tuple[Path, int]]) -> str:
    """Return a query that merges the tick files of several drivers second by second, as `Ticks` does.

    `files`: each file, and the time at which its driver began in ns since the start of the run.
    """
    how = dict.fromkeys((*SUMMED, *LATEST), "sum") | dict.fromkeys(("at_ns", "real_ns", *HIGHEST), "max")
    listed = ", ".join(f'{how[name]}("{name}")::{kind} AS "{name}"' for name, kind in columns("run", "ticks"))
    sources = " UNION ALL BY NAME ".join(
        f"SELECT * REPLACE (at_ns + {begin_ns} AS at_ns) FROM read_parquet({sql_files([file])})"
        for file, begin_ns in files
    )
    return f"SELECT {listed} FROM ({sources}) GROUP BY at_ns // 1000000000 ORDER BY 1"


def whole_stats(members: Sequence[Member], zero_real_ns: int, now_ns: int) -> EngineStats:
    """Return the sum of the engines' counters. Each quantile is the highest of any driver."""
    infos = [member.info for member in members if member.info is not None]
    values: dict[str, Any] = {field.name: 0 for field in fields(EngineStats)}
    for info in infos:
        for name, n in info["accounting"].items():
            if name in values:
                values[name] += n
        values["engine_cpu_ns"] += info["generator"]["engine_cpu_ns"]
        values["drain_timeout"] += info["drain"]["cut"]
    values |= dict.fromkeys(HIGHEST) | lateness_of(infos)
    values |= {"zero_real_ns": zero_real_ns, "now_ns": now_ns, "state": State.DONE, "ended_by": EndedBy.NOTHING}
    return EngineStats(**values)


def part_path(run: Path, number: int) -> Path:
    """Return the folder of a driver's part during the run."""
    return run / PARTS / f"{number:02d}"


def merge(run: Path, members: Sequence[Member], con: duckdb.DuckDBPyConnection) -> None:
    """Move the files of the drivers into the run's tables and remove the parts of the drivers."""
    for member in members:
        if member.replaces is not None:  # the part of the lost driver has its outcomes
            continue
        for file in sorted((member.part / "outcomes").glob("part-*.parquet")):
            name = file.name.removeprefix("part-")
            file.rename(run / "outcomes" / f"part-d{member.number:02d}-{name}")
    sessions = [file for member in members if (file := member.part / "sessions.parquet").exists()]
    if sessions:
        listed = sql_files(sessions)
        write_parquet(con, f"FROM read_parquet({listed}) ORDER BY session, clone", run / "sessions.parquet")
    remove_folder(run / PARTS)
