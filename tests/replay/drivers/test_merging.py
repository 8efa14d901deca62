# SPDX-License-Identifier: Apache-2.0
"""Tests of merged numbers. Counts are summed over all drivers. A quantile is the highest quantile of all drivers."""

import threading
import time
from dataclasses import asdict
from pathlib import Path
from typing import Any

import duckdb
from querytape.common.duck import sql_text
from querytape.native.bindings.engine import EndedBy, State
from querytape.replay.drivers.member import Member
from querytape.replay.drivers.merging import Ticks, merge, part_path, whole_plan, whole_stats
from querytape.replay.observe.ticks import Tick, TickLog
from querytape.replay.plan.rules import Rules
from querytape.schemas import open_folder, select_list

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def members(tmp_path: Path, count: int) -> list[Member]:
    """Return drivers that have not sent any message."""
    return [Member(number, [], tmp_path, threading.Condition()) for number in range(1, count + 1)]


def tick(**values: Any) -> dict[str, Any]:
    """Return a tick as a driver reports it."""
    base = Tick(0, 0, 0, 0, 0, 0, 0, 0, None, None, 0, 0)
    return asdict(base) | values


def test_ticks_of_all_drivers_are_summed(tmp_path: Path) -> None:
    """Each count is added once. A driver without a tick in this second keeps its last number of open sessions."""
    one, two = members(tmp_path, 2)
    log = TickLog(tmp_path / "ticks")
    ticks = Ticks(log, [one, two], time.monotonic_ns() - 5_000_000_000)
    one.ticks += [tick(done=1, sessions_open=9, reads=1), tick(done=2, sessions_open=5, p95_ns=7)]
    two.ticks.append(tick(done=10, sessions_open=3, p95_ns=4, late_p99_ns=8, errors=2))
    first = ticks.take()
    assert (first.done, first.sessions_open, first.reads, first.errors) == (13, 8, 1, 2)
    assert (first.p95_ns, first.late_p99_ns) == (7, 8)
    assert 5_000_000_000 <= first.at_ns < 60_000_000_000
    two.ticks.append(tick(done=1, sessions_open=2))
    second = ticks.take()
    assert (second.done, second.sessions_open, second.p95_ns) == (1, 7, None)
    one.lost = "it was"
    assert (ticks.take().sessions_open, ticks.done) == (2, 14)
    assert len(log.clock_pairs) == 3


def planned(**values: Any) -> dict[str, Any]:
    """Return a driver's report of its plan."""
    names = ("events", "planned", "sessions", "peak_sessions", "last_due_ns", "ids_unknown", "now_uncertain")
    return dict.fromkeys(names, 0) | {"reasons": [], "notes": []} | values


def test_plans_of_all_drivers_are_summed(tmp_path: Path) -> None:
    """A driver that has nothing to send has no plan."""
    one, two, idle = members(tmp_path, 3)
    one.planned = planned(planned=5, sessions=2, peak_sessions=2, last_due_ns=70, reasons=[["filtered", "write", 3]])
    two.planned = planned(planned=7, sessions=1, peak_sessions=1, last_due_ns=50, reasons=[["filtered", "write", 1]])
    idle.failed = {"error": "idle", "text": "nothing", "reasons": [["filtered", "user", 2]]}
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", [{}, {}, {}]))
    plan = whole_plan(tape, Rules(), tmp_path, [one, two, idle])
    assert (plan.events, plan.planned, plan.sessions, plan.peak_sessions, plan.last_due_ns) == (3, 12, 3, 3, 70)
    assert plan.reasons == {("filtered", "write"): 4, ("filtered", "user"): 2}


def reported(executed: int, p99: int | None) -> dict[str, Any]:
    """Return a driver's report at its end."""
    return {
        "accounting": {"executed": executed, "not_sent": 1, "timeouts": 2, "balanced": True},
        "generator": {"engine_cpu_ns": 10},
        "drain": {"cut": 1},
        "lateness": {"tool_p99_ns": p99},
    }


def test_final_counters_of_all_drivers_are_summed(tmp_path: Path) -> None:
    """A lost driver has no final report."""
    one, two, _lost = every = members(tmp_path, 3)
    one.info, two.info = reported(5, 30), reported(6, None)
    stats = whole_stats(every, 77, 88)
    assert (stats.executed, stats.timeouts, stats.engine_cpu_ns, stats.drain_timeout) == (11, 4, 20, 2)
    assert (stats.tool_p99_ns, stats.probe_p99_ns) == (30, None)
    assert (stats.zero_real_ns, stats.now_ns, stats.state, stats.ended_by) == (77, 88, State.DONE, EndedBy.NOTHING)


def test_parts_are_merged_into_a_run(tmp_path: Path) -> None:
    """Parts without a sessions file and missing parts are allowed."""
    tape = make_tape(tmp_path / "t.tape", [{}])
    run = tmp_path / "a.run"
    (run / "outcomes").mkdir(parents=True)
    members = [Member(number, [], part_path(run, number), threading.Condition()) for number in (1, 2, 3, 4)]
    for member in members[:3]:
        make_run(member.part, tape, [{"session": member.number * 10 + n} for n in range(member.number)])
        (member.part / "outcomes" / "part-00000.parquet").rename(member.part / "outcomes" / "part-run-00000.parquet")
    with duckdb.connect() as con:
        for member in members[:2]:
            file = member.part / "sessions.parquet"
            values = f"{50 - member.number} AS session, 0 AS clone, true AS opened_ahead, 1 AS executed, 0 AS injected"
            have = {"session", "clone", "opened_ahead", "executed", "injected"}
            listed = select_list("run", "sessions", have)
            con.execute(f"COPY (SELECT {listed} FROM (SELECT {values})) TO {sql_text(str(file))} (FORMAT parquet)")
        merge(run, members, con)
        assert con.execute(f"SELECT count(*) FROM '{run}/outcomes/*.parquet'").fetchall() == [(6,)]
        assert con.execute(f"SELECT session FROM '{run}/sessions.parquet'").fetchall() == [(48,), (49,)]
    names = sorted(path.name for path in (run / "outcomes").iterdir())
    assert names == [f"part-d0{number}-run-00000.parquet" for number in (1, 2, 3)]
    assert not (run / "drivers").exists()
