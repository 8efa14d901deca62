# SPDX-License-Identifier: Apache-2.0
"""What is sent, and when: a tape and the rules become sessions and a stream of events for the engine.

Two walks over the tape. The first reads no statement: it counts, lists the sessions and writes an outcome for each
event that is not sent. The second gives the engine one sorted window after the other while the replay runs.
"""

from collections.abc import Callable, Iterable
from pathlib import Path

import duckdb

from ..errors import InputError
from ..schemas import Folder, FolderError, open_folder, select_list, sql_text
from .ordering import order_commits
from .planner import define_due, open_planner, plan_windows, show_feed, show_window
from .rules import Plan, Rules
from .storage import question, write_parquet
from .tables import Catalog
from .transactions import find_resumed, find_transactions


def make_plan(
    tape: Folder,
    rules: Rules,
    spill: Path,
    outcomes: Path,
    max_rows: int | None = None,
    tell: Callable[[int], None] = lambda events: None,
    catalog: Catalog | None = None,
) -> Plan:
    """Walk the tape once; leave the list of sessions in `spill` and the outcomes of what is not sent in `outcomes`.

    `tell` is called with the events looked at so far, once a window. `catalog`: the target's tables, for commit_order.
    Raises InputError where nothing is left to send.
    """
    plan = Plan(tape, rules, spill, files=tuple(sorted((tape.path / "events").glob("part-*.parquet"))))
    with open_planner(plan) as con:
        if rules.selection.by_event or rules.commit_order:
            find_transactions(con, plan)
        if rules.selection.resume:
            find_resumed(con, plan, _interrupted(rules.selection.resume))
        if rules.pace.max_idle_ns is not None:
            _find_gaps(con, plan, rules.pace.max_idle_ns, max_rows)
        for number, window in enumerate(plan_windows(con, plan, max_rows)):
            show_window(con, plan, window)
            _hold_statements(con)
            _add_window(con, number)
            _count(con, plan)
            _write_held(con, outcomes / f"part-plan-{number:05d}.parquet")
            tell(plan.events)
        if con.execute("FROM held_statements LIMIT 1").fetchall():
            write_parquet(con, "FROM held_statements", plan.held_statements)
        if not plan.planned:
            raise InputError(f"{tape.path}: nothing is left to send: {_held_text(plan)}")
        if _find_disordered(con, plan):
            _gather_again(con, plan, max_rows)
        _settle_times(con, plan)
        _list_sessions(con, plan)
        if rules.commit_order:
            order_commits(con, plan, catalog or Catalog(), max_rows)
        if rules.pace.apart:
            _sort_feed(con, plan, max_rows, "due_ns, session, seq", rules.copies.loop)
        elif rules.at_once:
            _sort_feed(con, plan, max_rows, "session, seq", 1)
    return plan


def _interrupted(path: Path) -> Folder:
    try:
        return open_folder("run", path)
    except FolderError as fault:
        raise InputError(f"--resume: {fault}") from fault


def _find_gaps(con: duckdb.DuckDBPyConnection, plan: Plan, most_ns: int, max_rows: int | None) -> None:
    """Find the stretches in which nothing that is sent runs; from then on the views cut them."""
    busy_until, cut, gaps = None, 0, []
    for window in plan_windows(con, plan, max_rows):
        show_window(con, plan, window)
        rows: Iterable[tuple[int, int]] = con.execute(
            "SELECT start_ns, before FROM (SELECT start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns,"
            " max(end_ns) OVER (ORDER BY start_ns, session, seq ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
            f" AS before FROM window_events WHERE reason IS NULL) WHERE start_ns - coalesce(before, 0) > {most_ns}"
            " ORDER BY start_ns"
        ).fetchall()
        for start, before in rows:
            quiet_since = max(value for value in (before, busy_until, 0) if value is not None)
            if quiet_since and start - quiet_since > most_ns:
                cut += start - quiet_since - most_ns
                gaps.append((start, cut))
        latest = con.execute(
            "SELECT max(start_ns + coalesce(duration_ns, 0)) FROM window_events WHERE reason IS NULL"
        ).fetchall()[0][0]
        busy_until = max(value for value in (latest, busy_until, 0) if value is not None)
    plan.gaps = gaps
    if gaps:
        con.executemany("INSERT INTO gaps VALUES (?, ?)", gaps)


def _add_window(con: duckdb.DuckDBPyConnection, number: int) -> None:
    verb = "CREATE OR REPLACE TEMP TABLE session_windows AS" if number == 0 else "INSERT INTO session_windows"
    con.execute(f"{verb} SELECT {number} AS number, * FROM ({question('plan_window.sql')})")


def _hold_statements(con: duckdb.DuckDBPyConnection) -> None:
    """Note the window's prepared statements that are not sent: nothing about them is."""
    con.execute(
        "INSERT INTO held_statements SELECT session, stmt, any_value(reason) FROM window_events"
        " WHERE command = 'prepare' AND stmt IS NOT NULL AND reason IS NOT NULL GROUP BY session, stmt"
    )


def _count(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Add one window's events to the plan's counts."""
    copies = plan.rules.copies.total
    rows = con.execute("SELECT reason, held_status(reason), count(*) FROM window_events GROUP BY reason").fetchall()
    for reason, status, n in rows:
        plan.events += n
        if reason is None:
            plan.planned += n * copies
        else:
            plan.reasons[status, reason] += n * copies
    for column, counts in (("db", plan.schemas), ('"user"', plan.users)):
        for name, n in con.execute(
            f"SELECT {column}, count(*) FROM window_events WHERE coalesce({column}, '') <> '' AND reason IS NULL"
            f" GROUP BY {column}"
        ).fetchall():
            counts[name] = counts.get(name, 0) + n


def _write_held(con: duckdb.DuckDBPyConnection, final: Path) -> None:
    """Write one window's filtered and skipped events as outcomes."""
    con.execute(
        "CREATE OR REPLACE TEMP VIEW held AS SELECT session, seq, clone,"
        " reason, held_status(reason) AS status"
        " FROM window_events, every_clone WHERE reason IS NOT NULL"
    )
    have = {"session", "seq", "clone", "status", "reason"}
    write_parquet(con, f"SELECT {select_list('run', 'outcomes', have)} FROM held", final)


def _held_text(plan: Plan) -> str:
    parts = [f"{n} {status} ({reason})" for (status, reason), n in plan.reasons.most_common()]
    hint = "; --allow-writes replays writes" if ("filtered", "write") in plan.reasons else ""
    return (", ".join(parts) or "it has no event") + hint


def _find_disordered(con: duckdb.DuckDBPyConnection, plan: Plan) -> int:
    """Find the sessions whose times run backwards somewhere: inside a window, or from one to the next."""
    con.execute(
        "CREATE OR REPLACE TEMP TABLE disordered AS SELECT session FROM ("
        "  SELECT session, disordered, min_seq < max(max_seq) OVER (PARTITION BY session ORDER BY number"
        "    ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS across FROM session_windows"
        ") GROUP BY session HAVING bool_or(disordered) OR bool_or(across)"
    )
    plan.disordered = int(con.execute("SELECT count(*) FROM disordered").fetchall()[0][0])
    return plan.disordered


def _gather_again(con: duckdb.DuckDBPyConnection, plan: Plan, max_rows: int | None) -> None:
    """Give the disordered sessions times that never run backwards, and list the sessions anew.

    Their events are copied, each no earlier than those before it in its session; the copy then counts as one more part.
    """
    listed = ", ".join(sql_text(file) for file in plan.files)
    write_parquet(
        con,
        "SELECT * REPLACE (max(start_ns) OVER (PARTITION BY session ORDER BY seq) AS start_ns)"
        f" FROM read_parquet([{listed}]) SEMI JOIN disordered USING (session) ORDER BY start_ns, session, seq",
        plan.repaired,
    )
    for number, window in enumerate(plan_windows(con, plan, max_rows)):
        show_window(con, plan, window)
        _add_window(con, number)


def _settle_times(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Make the first planned event the run's zero, what only makes a session's state before --from aside."""
    first, last = con.execute("SELECT min(timed_ns), max(end_ns) FROM session_windows").fetchall()[0]
    plan.zero_ns = int(first if first is not None else plan.rules.selection.from_ns or 0)
    define_due(con, plan)
    plan.round_ns = con.execute(f"SELECT due_of({last}, {plan.zero_ns})").fetchall()[0][0]
    define_due(con, plan)


def _list_sessions(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Write the sessions for the engine; find how many are open at once, and when the last event is due."""
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_sessions AS FROM {plan.tape.source('sessions')}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW charsets AS {question('charsets.sql')}")
    write_parquet(con, question("plan_sessions.sql"), plan.session_list)
    source = f"read_parquet({sql_text(plan.session_list)})"
    plan.sessions, plan.last_due_ns = con.execute(f"SELECT count(*), max(last_due_ns) FROM {source}").fetchall()[0]
    plan.peak_sessions = min(plan.sessions, plan.rules.at_once or plan.sessions)
    if plan.rules.pace.paced:
        plan.peak_sessions = con.execute(
            "SELECT max(open)::BIGINT FROM (SELECT sum(step) OVER (ORDER BY at_ns, step DESC ROWS UNBOUNDED PRECEDING)"
            f" AS open FROM (SELECT open_due_ns AS at_ns, 1 AS step FROM {source}"
            f" UNION ALL SELECT close_due_ns, -1 FROM {source}))"
        ).fetchall()[0][0]


def _sort_feed(con: duckdb.DuckDBPyConnection, plan: Plan, max_rows: int | None, order: str, rounds: int) -> None:
    """Write all that is fed where the tape's order is not the one wanted.

    Sessions that begin at another speed than they think are due in another order; where only so many are open at once,
    events of the others must not fill the queue.
    """
    parts: list[Path] = []
    for turn in range(rounds):
        con.execute(f"SET VARIABLE round = {turn}")
        for window in plan_windows(con, plan, max_rows):
            show_feed(con, plan, window)
            parts.append(plan.spill / f"feed-{len(parts):05d}.parquet")
            write_parquet(con, "FROM window_feed", parts[-1])
    listed = ", ".join(sql_text(part) for part in parts if part.exists())
    write_parquet(con, f"FROM read_parquet([{listed}]) ORDER BY {order}", plan.sorted_feed)
    for part in parts:
        part.unlink(missing_ok=True)
