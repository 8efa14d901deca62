# SPDX-License-Identifier: Apache-2.0
"""Complete the part of a lost driver. Events without an outcome become `not_sent` with the reason `driver_lost`.

The lead process plans the driver's tapes again with the same rules.
"""

from collections.abc import Sequence
from pathlib import Path

import duckdb

from ...common.duck import sql_files, write_parquet
from ...common.errors import FolderError
from ...common.files import remove_folder
from ...schemas.parquet_check import check_parquet
from ..plan.database import open_planner, plan_windows, show_feed, write_missing
from ..plan.make_plan import NothingToSend, PlanRequest, make_plan
from ..plan.rules import Plan
from ..run_folder import open_storage
from .member import Member
from .replacing import chain_of

REASON = "driver_lost"
NOTHING = "(SELECT NULL::BIGINT AS session, NULL::BIGINT AS seq, NULL::INTEGER AS clone WHERE false)"
OUTCOME_TIMES = ("due_ns", "queued_ns", "free_ns", "sent_ns", "first_ns", "done_ns")
SESSION_TIMES = ("connect_due_ns", "connect_ns", "connected_ns", "closed_ns")

Span = tuple[int, int | None]


def write_unreported(request: PlanRequest, spans: Sequence[Span]) -> int:
    """Complete the outcomes of a lost driver's part. Return for how many events it is unknown whether they were sent.

    - `request`: the driver's plan. Its `outcomes` contains the received outcomes. Its `spill` is inside the part.
    - `spans`: the times in which lost drivers may have sent events, since the start of the run. An end of None means
      that the driver may still be running.
    """
    outcomes = request.outcomes
    for folder in (outcomes, request.spill):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    for planned in outcomes.glob("part-plan-*.parquet"):
        planned.unlink()
    with open_storage(request.spill) as con:
        files = reported_files(outcomes, con)
    reported = f"read_parquet({sql_files(files)}, union_by_name = true)" if files else NOTHING
    try:
        plan = make_plan(request)
    except NothingToSend:
        return 0
    missing = write_missing(plan, reported, outcomes / "part-end", REASON)
    if not missing or not spans:
        return 0
    if plan.rules.pace.kind != "schedule" or (0, None) in spans:
        return missing
    return _due(plan, reported, spans)


def _due(plan: Plan, reported: str, spans: Sequence[Span]) -> int:
    """Return the number of unreported events that were due in one of the spans."""
    inside = " OR ".join(
        f"(due_ns >= {begin}" + (")" if end is None else f" AND due_ns <= {end})") for begin, end in spans
    )
    due = 0
    with open_planner(plan) as con:
        for turn in range(plan.rules.amplification.loop):
            con.execute(f"SET VARIABLE round = {turn}")
            for window in list(plan_windows(con, plan)):
                show_feed(con, plan, window)
                due += con.execute(
                    f"SELECT count(*) FROM window_feed f WHERE ({inside}) AND NOT EXISTS (SELECT 1"
                    f" FROM {reported} o WHERE copy_of(o.session, o.clone) = f.session AND o.seq = f.seq)"
                ).fetchall()[0][0]
    return due


def reported_files(outcomes: Path, con: duckdb.DuckDBPyConnection) -> list[Path]:
    """Return the files of reported outcomes. Incomplete files are removed and do not count."""
    whole = []
    for file in sorted(outcomes.glob("part-run-*.parquet")):
        try:
            check_parquet("run", "outcomes", (file,), con)
            whole.append(file)
        except (FolderError, duckdb.Error):
            file.unlink()
    return whole


def take_over(lost: Member, con: duckdb.DuckDBPyConnection) -> None:
    """Move the outcomes of the drivers that replaced a lost driver into its part. Their times become those of the run.

    The new drivers sent some statements for the session state again. The first outcome of an event counts, unless only
    a later driver sent the event.
    """
    outcomes = lost.part / "outcomes"
    outcomes.mkdir(mode=0o700, parents=True, exist_ok=True)
    old, sources = reported_files(outcomes, con), []
    if old:
        sources.append(f"SELECT *, 0 AS origin FROM read_parquet({sql_files(old)}, union_by_name = true)")
    for origin, member in enumerate(chain_of(lost)[1:], 1):
        files = reported_files(member.part / "outcomes", con)
        files += sorted((member.part / "outcomes").glob("part-end-*.parquet"))
        if member.begins is None or not files:
            continue
        later = _later(OUTCOME_TIMES, member.begins.due_ns)
        source = f"read_parquet({sql_files(files)}, union_by_name = true)"
        sources.append(f"SELECT * REPLACE ({later}), {origin} AS origin FROM {source}")
        if (sessions := member.part / "sessions.parquet").exists():
            later = _later(SESSION_TIMES, member.begins.due_ns)
            write_parquet(con, f"SELECT * REPLACE ({later}) FROM read_parquet({sql_files([sessions])})", sessions)
    if len(sources) > (1 if old else 0):
        first = "row_number() OVER (PARTITION BY session, seq, clone ORDER BY status <> 'executed', origin) = 1"
        query = f"SELECT * EXCLUDE (origin) FROM ({' UNION ALL BY NAME '.join(sources)}) QUALIFY {first}"
        write_parquet(con, query, outcomes / "part-run-all.parquet")
        for file in old:
            file.unlink()
    for member in chain_of(lost)[1:]:
        remove_folder(member.part / "outcomes")


def _later(names: Sequence[str], by_ns: int) -> str:
    return ", ".join(f"{name} + {by_ns} AS {name}" for name in names)
