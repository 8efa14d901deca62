# SPDX-License-Identifier: Apache-2.0
"""Helpers for tests of plans: a tape that is planned without a server."""

from pathlib import Path
from typing import Any

from querytape.common.duck import small_database, sql_text
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.database import feed_streams, open_planner
from querytape.replay.plan.make_plan import PlanRequest, make_plan
from querytape.replay.plan.rules import Plan, Rules
from querytape.schemas import open_folder

from tests.helpers.tapes import make_tape


def planned(
    tmp_path: Path,
    events: Any,
    rules: Rules | None = None,
    parts: int = 1,
    max_rows: int | None = None,
    catalog: Catalog | None = None,
    **tape_json: Any,
) -> Plan:
    """Create a tape and plan it."""
    tape = make_tape(tmp_path / "t.tape", events, parts, **tape_json)
    return plan_tape(tape, tmp_path, rules, catalog=catalog or Catalog(), max_rows=max_rows)


def plan_tape(tape: Path, folder: Path, rules: Rules | None = None, **request: Any) -> Plan:
    """Plan a tape into two new folders, `spill` and `outcomes`."""
    for name in ("spill", "outcomes"):
        (folder / name).mkdir(parents=True)
    given = open_folder("tape", tape), rules or Rules(), folder / "spill", folder / "outcomes"
    return make_plan(PlanRequest(*given, **request))


def excluded(tmp_path: Path, columns: str = "session, seq, status, reason") -> list[tuple[Any, ...]]:
    """Return the outcomes that the plan itself wrote."""
    pattern = tmp_path / "outcomes" / "part-*.parquet"
    if not any((tmp_path / "outcomes").iterdir()):
        return []
    with small_database() as con:
        return con.execute(f"SELECT {columns} FROM {sql_text(str(pattern))} ORDER BY ALL").fetchall()


def fed(plan: Plan, *columns: str) -> list[tuple[Any, ...]]:
    """Return every row that the engine would receive, in order. Without `columns`, all columns are returned."""
    with open_planner(plan) as con:
        rows = []
        for stream in feed_streams(con, plan):
            rows += stream.project(", ".join(columns) or "*").fetchall()
    return rows
