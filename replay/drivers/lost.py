# SPDX-License-Identifier: Apache-2.0
"""What a lost driver had not told: not_sent, `driver_lost`. Its tapes are planned again here, as they were there."""

from collections.abc import Mapping
from pathlib import Path

import duckdb

from ...common.duck import sql_files
from ...common.errors import FolderError
from ...schemas import Folder
from ...schemas.parquet_check import check_parquet
from ..plan.database import open_planner, plan_windows, show_feed, write_missing
from ..plan.make_plan import NothingToSend, make_plan
from ..plan.rules import Plan, Rules
from ..storage import open_storage

REASON = "driver_lost"


def write_untold(
    tape: Folder,
    rules: Rules,
    span: tuple[int, int],
    part: Path,
    collations: Mapping[int, str],
    until_ns: int | None,
) -> int:
    """Complete the outcomes of a driver's part; return of how many events nobody knows whether they were sent.

    `span`: the first and last moment that all drivers send together. `until_ns`: from the run's zero, when the driver
    was dead for sure, so that what was due later was not sent; None = it may have gone on.
    """
    outcomes, spill = part / "outcomes", part / "again"
    for folder in (outcomes, spill):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for planned in outcomes.glob("part-plan-*.parquet"):
        planned.unlink()
    told = sql_source(outcomes)
    try:
        plan = make_plan(tape, rules, spill, outcomes, None, collations=collations, span=lambda first, last: span)
    except NothingToSend:
        return 0
    missing = write_missing(plan, told, outcomes / "part-end", REASON)
    if until_ns is None or rules.pace.kind != "schedule" or not missing:
        return missing
    return _due(plan, told, until_ns)


def _due(plan: Plan, told: str, until_ns: int) -> int:
    """Return how many untold events were due until then."""
    due = 0
    with open_planner(plan) as con:
        for turn in range(plan.rules.amplification.loop):
            con.execute(f"SET VARIABLE round = {turn}")
            for window in list(plan_windows(con, plan)):
                show_feed(con, plan, window)
                due += con.execute(
                    f"SELECT count(*) FROM window_feed f WHERE due_ns <= {until_ns} AND NOT EXISTS (SELECT 1"
                    f" FROM {told} o WHERE copy_of(o.session, o.clone) = f.session AND o.seq = f.seq)"
                ).fetchall()[0][0]
    return due


def sql_source(outcomes: Path) -> str:
    """Return a table of the outcomes that were told: files that are not whole do not count, and go."""
    whole = []
    with open_storage(outcomes.parent / "again") as con:
        for file in sorted(outcomes.glob("part-run-*.parquet")):
            try:
                check_parquet("run", "outcomes", (file,), con)
                whole.append(file)
            except (FolderError, duckdb.Error):
                file.unlink()
    if whole:
        return f"read_parquet({sql_files(whole)}, union_by_name = true)"
    return "(SELECT NULL::BIGINT AS session, NULL::BIGINT AS seq, NULL::INTEGER AS clone WHERE false)"
