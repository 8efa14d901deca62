# SPDX-License-Identifier: Apache-2.0
"""Complete the part of a lost driver. Events without an outcome become `not_sent` with the reason `driver_lost`.

The lead process plans the driver's tapes again with the same rules.
"""

from collections.abc import Sequence
from contextlib import suppress
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
    files = sorted(outcomes.glob("part-run-*.parquet"))
    whole = whole_files(files, con)
    for file in set(files) - set(whole):
        file.unlink()
    return whole


def whole_files(files: Sequence[Path], con: duckdb.DuckDBPyConnection) -> list[Path]:
    """Return the files of outcomes that are complete."""
    whole = []
    for file in files:
        with suppress(FolderError, duckdb.Error):
            check_parquet("run", "outcomes", (file,), con)
            whole.append(file)
    return whole


def whole_chain(parts: Sequence[tuple[Sequence[Path], int]]) -> str:
    """Return a query that merges the outcomes of a lost driver and of the drivers that replaced it, in this order.

    `parts`: the files of each driver, and the time at which it began in ns since the start of the run. At least one
    driver must have a file.

    The new drivers sent some statements for the session state again. The first outcome of an event counts, unless only
    a later driver sent the event.
    """
    sources = [
        f"SELECT * REPLACE ({_later(OUTCOME_TIMES, begin_ns)}), {origin} AS origin"
        f" FROM read_parquet({sql_files(files)}, union_by_name = true)"
        for origin, (files, begin_ns) in enumerate(parts)
        if files
    ]
    first = "row_number() OVER (PARTITION BY session, seq, clone ORDER BY status <> 'executed', origin) = 1"
    return f"SELECT * EXCLUDE (origin) FROM ({' UNION ALL BY NAME '.join(sources)}) QUALIFY {first}"


def later_sessions(file: Path, begin_ns: int) -> str:
    """Return a query of a driver's sessions, with the times of the run. `begin_ns`: when it began, since the start."""
    return f"SELECT * REPLACE ({_later(SESSION_TIMES, begin_ns)}) FROM read_parquet({sql_files([file])})"


def take_over(lost: Member, con: duckdb.DuckDBPyConnection) -> None:
    """Move the outcomes of the drivers that replaced a lost driver into its part. Times become those of the run."""
    outcomes = lost.part / "outcomes"
    outcomes.mkdir(mode=0o700, parents=True, exist_ok=True)
    old = reported_files(outcomes, con)
    parts: list[tuple[list[Path], int]] = [(old, 0)]
    for member in chain_of(lost)[1:]:
        files = reported_files(member.part / "outcomes", con)
        files += sorted((member.part / "outcomes").glob("part-end-*.parquet"))
        if member.begins is None or not files:
            continue
        parts.append((files, member.begins.due_ns))
        if (sessions := member.part / "sessions.parquet").exists():
            write_parquet(con, later_sessions(sessions, member.begins.due_ns), sessions)
    if len(parts) > 1:
        write_parquet(con, whole_chain(parts), outcomes / "part-run-all.parquet")
        for file in old:
            file.unlink()
    for member in chain_of(lost)[1:]:
        remove_folder(member.part / "outcomes")


def _later(names: Sequence[str], by_ns: int) -> str:
    return ", ".join(f"{name} + {by_ns} AS {name}" for name in names)
