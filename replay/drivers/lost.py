# SPDX-License-Identifier: Apache-2.0
"""Complete the part of a lost driver. Events without an outcome become `not_sent` with the reason `driver_lost`.

The lead process plans the driver's tapes again with the same rules.
"""

import duckdb

from ...common.duck import sql_files
from ...common.errors import FolderError
from ...schemas.parquet_check import check_parquet
from ..plan.database import open_planner, plan_windows, show_feed, write_missing
from ..plan.make_plan import NothingToSend, PlanRequest, make_plan
from ..plan.rules import Plan
from ..run_folder import open_storage

REASON = "driver_lost"


def write_unreported(request: PlanRequest, until_ns: int | None) -> int:
    """Complete the outcomes of a lost driver's part. Return for how many events it is unknown whether they were sent.

    - `request`: the driver's plan. Its `outcomes` contains the received outcomes. Its `spill` is inside the part.
    - `until_ns`: time since the start at which the driver was certainly dead. Later events were not sent. None means
      that
      the driver may still be running.
    """
    outcomes = request.outcomes
    for folder in (outcomes, request.spill):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for planned in outcomes.glob("part-plan-*.parquet"):
        planned.unlink()
    reported = sql_source(request)
    try:
        plan = make_plan(request)
    except NothingToSend:
        return 0
    missing = write_missing(plan, reported, outcomes / "part-end", REASON)
    if until_ns is None or plan.rules.pace.kind != "schedule" or not missing:
        return missing
    return _due(plan, reported, until_ns)


def _due(plan: Plan, reported: str, until_ns: int) -> int:
    """Return the number of unreported events that were due before `until_ns`."""
    due = 0
    with open_planner(plan) as con:
        for turn in range(plan.rules.amplification.loop):
            con.execute(f"SET VARIABLE round = {turn}")
            for window in list(plan_windows(con, plan)):
                show_feed(con, plan, window)
                due += con.execute(
                    f"SELECT count(*) FROM window_feed f WHERE due_ns <= {until_ns} AND NOT EXISTS (SELECT 1"
                    f" FROM {reported} o WHERE copy_of(o.session, o.clone) = f.session AND o.seq = f.seq)"
                ).fetchall()[0][0]
    return due


def sql_source(request: PlanRequest) -> str:
    """Return an SQL table expression of the reported outcomes. Incomplete files are removed and do not count."""
    whole = []
    with open_storage(request.spill) as con:
        for file in sorted(request.outcomes.glob("part-run-*.parquet")):
            try:
                check_parquet("run", "outcomes", (file,), con)
                whole.append(file)
            except (FolderError, duckdb.Error):
                file.unlink()
    if whole:
        return f"read_parquet({sql_files(whole)}, union_by_name = true)"
    return "(SELECT NULL::BIGINT AS session, NULL::BIGINT AS seq, NULL::INTEGER AS clone WHERE false)"
