# SPDX-License-Identifier: Apache-2.0
"""A plan as a database: its rules as variables and macros, its tape as views, one window of time after the other.

window_tape    the tape's events, silent stretches cut; `tape_ns` is when each began on the tape
window_chosen  with what the selection asks of session and transaction
window_events  with `reason`: NULL = it is sent
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb

from ..schemas import CLASSES, COMMANDS, DANGER_SHIFT, DANGERS, FLAGS, select_list, sql_text
from .rules import NARROW, Plan
from .storage import open_storage, question, write_parquet
from .windows import WINDOW_ROWS, Window, row_groups, windows


def open_planner(plan: Plan) -> duckdb.DuckDBPyConnection:
    """Return a database that knows the plan: variables, macros, and `due_of` for its zero."""
    con = open_storage(plan.spill)
    rules = plan.rules
    _set(con, "flag_bits", FLAGS)
    _set(con, "danger_names", {code: name for name, code in DANGERS.items()})
    _set(con, "commands", COMMANDS)
    _set(con, "classes", {name: code for code, name in enumerate(CLASSES)})
    allowed = ", ".join(sql_text(name) for name in sorted(rules.allowed))
    con.execute(f"SET VARIABLE allowed = [{allowed}]::VARCHAR[]")
    con.execute(f"SET VARIABLE allow_writes = {rules.allow_writes}")
    con.execute(f"SET VARIABLE danger_shift = {DANGER_SHIFT}")
    con.execute(f"SET VARIABLE lead_ns = {rules.lead_ns}")
    con.execute(f"SET VARIABLE copies = {rules.copies.total}")
    con.execute(f"SET VARIABLE amplify = {rules.copies.amplify}")
    con.execute("SET VARIABLE round = 0")
    con.execute(f"SET VARIABLE commit_order = {rules.commit_order}")
    con.execute(f"SET VARIABLE split = {rules.split}")
    con.execute(question("plan.sql"))
    con.execute("CREATE TEMP TABLE held_statements (session BIGINT, stmt BIGINT, reason VARCHAR)")
    if plan.held_statements.exists():
        con.execute(f"INSERT INTO held_statements FROM read_parquet({sql_text(plan.held_statements)})")
    con.execute("CREATE TEMP TABLE gaps (at_ns BIGINT, cut_ns BIGINT)")
    if plan.gaps:
        con.executemany("INSERT INTO gaps VALUES (?, ?)", plan.gaps)
    _define_selection(con, plan)
    define_due(con, plan)
    return con


def define_due(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Make `due_of(start_ns, base_ns)` and `shift_of(session, clone)` for the plan's zero and length."""
    due = plan.rules.pace.due_sql(plan.zero_ns)
    con.execute(f"CREATE OR REPLACE TEMP MACRO due_of(start_ns, base_ns) AS {due}")
    shift = plan.rules.copies.shift_sql(plan.round_ns)
    con.execute(f"CREATE OR REPLACE TEMP MACRO shift_of(session, clone) AS {shift}")


def plan_windows(con: duckdb.DuckDBPyConnection, plan: Plan, max_rows: int | None = None) -> Iterator[Window]:
    """Yield the tape's windows in order of time."""
    files = [*plan.files, *([plan.repaired] if plan.repaired.exists() else [])]
    copies = plan.rules.copies.amplify
    if max_rows is None and copies > 1:
        max_rows = max(WINDOW_ROWS // copies, 1000)
    bound = {} if max_rows is None else {"max_rows": max_rows}
    return windows(row_groups(con, files), **bound)


def show_window(con: duckdb.DuckDBPyConnection, plan: Plan, window: Window, whole: bool = False) -> None:
    """Make `window_events` the events of one window, with the `reason` why one is not sent."""
    names = "*" if whole else ", ".join([*NARROW, '"user"', "digest"])
    inside = f"start_ns >= {window.begin_ns} AND start_ns < {window.end_ns}"
    repaired = str(plan.repaired)
    parts = [file for file in window.files if file != repaired]
    selects = []
    if parts:
        listed = ", ".join(sql_text(file) for file in parts)
        copied = f"(SELECT session FROM read_parquet({sql_text(repaired)}))"
        skip = f" AND session NOT IN {copied}" if plan.disordered else ""
        selects.append(f"SELECT {names} FROM read_parquet([{listed}]) WHERE {inside}{skip}")
    if repaired in window.files:
        selects.append(f"SELECT {names} FROM read_parquet({sql_text(repaired)}) WHERE {inside}")
    events = " UNION ALL BY NAME ".join(selects)
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_tape AS {_squeezed(plan, events)}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_chosen AS {_chosen(plan)}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_events AS {question('plan_events.sql')}")


def _squeezed(plan: Plan, events: str) -> str:
    if not plan.gaps:
        return f"SELECT *, start_ns AS tape_ns FROM ({events})"
    return (
        f"SELECT t.* REPLACE (t.start_ns - coalesce(g.cut_ns, 0) AS start_ns), t.start_ns AS tape_ns"
        f" FROM ({events}) t ASOF LEFT JOIN gaps g ON t.start_ns >= g.at_ns"
    )


def _chosen(plan: Plan) -> str:
    """Add what the selection asks: is_chosen, is_needed (its session may have something selected later on), tx_*.

    is_done: an interrupted run had it; is_early: sent only because it makes the state of what is selected.
    """
    choice = plan.rules.selection
    columns, joins = ["t.*"], ["window_tape t"]
    if choice.by_session or choice.by_time or choice.resume:
        joins.append("LEFT JOIN chosen_sessions c ON t.session = c.session")
        later = f"c.last_ns >= {choice.from_ns or 0}"
        if plan.resumed.exists():
            later += " AND c.events >= coalesce(r.from_seq, 0)"
        columns += ["c.session IS NOT NULL AS is_chosen", f"coalesce({later}, false) AS is_needed"]
    early = [] if choice.from_ns is None else [f"t.tape_ns < {choice.from_ns}"]
    if plan.resumed.exists():
        joins.append(f"LEFT JOIN read_parquet({sql_text(plan.resumed)}) r ON t.session = r.session")
        early.append("coalesce(t.seq < r.from_seq, false)")
        columns.append("coalesce(t.seq < r.from_seq, false) AS is_done")
    else:
        columns.append("false AS is_done")
    columns.append(f"({' OR '.join(early) or 'false'}) AS is_early")
    if plan.transactions.exists():
        joins.append(
            f"ASOF LEFT JOIN read_parquet({sql_text(plan.transactions)}) x"
            " ON t.session = x.session AND t.seq >= x.first_seq"
        )
        inside = "t.seq <= x.last_seq"
        columns += [
            f"CASE WHEN {inside} THEN x.first_seq END AS tx_seq",
            f"CASE WHEN {inside} THEN x.start_ns END AS tx_start_ns",
            f"coalesce({inside} AND x.is_chosen, false) AS tx_chosen",
        ]
    else:
        columns += ["NULL::BIGINT AS tx_seq", "NULL::BIGINT AS tx_start_ns", "false AS tx_chosen"]
    return f"SELECT {', '.join(columns)} FROM {' '.join(joins)}"


def _define_selection(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    rules, forcing = plan.rules, plan.rules.forcing
    choice = rules.selection
    if choice.by_session or choice.by_time or choice.resume:
        con.execute(f"CREATE TEMP TABLE chosen_sessions AS {choice.sessions_sql(plan.tape.source('sessions'))}")
    con.execute(
        "CREATE TEMP MACRO left_out(session, command, class, digest, db, flags, tape_ns, is_chosen, is_needed, tx_seq,"
        f" tx_start_ns, tx_chosen, is_done) AS {choice.left_out_sql()}"
    )
    con.execute(f"CREATE TEMP MACRO schema_of(db) AS {forcing.schema_sql('db')}")
    con.execute(f"CREATE TEMP MACRO account_of(name) AS {forcing.account_sql('name')}")
    con.execute(f"CREATE TEMP MACRO clock_of(class, statement, flags, tape_ns) AS {forcing.clock_sql()}")
    con.execute(f"CREATE TEMP MACRO forced_id(class, insert_id) AS {forcing.ids_sql()}")


def _bases(plan: Plan) -> str:
    """Return a table of when each session begins, where that is scaled by itself."""
    if not plan.rules.pace.apart or not plan.session_list.exists():
        return "(SELECT NULL::BIGINT AS session, NULL::BIGINT AS base_ns WHERE false)"
    return f"(SELECT DISTINCT session, base_ns FROM read_parquet({sql_text(plan.session_list)}))"


def show_feed(con: duckdb.DuckDBPyConnection, plan: Plan, window: Window) -> None:
    """Make `window_feed` what the engine gets of one window, by due time."""
    show_window(con, plan, window, whole=True)
    con.execute(f"CREATE OR REPLACE TEMP VIEW session_bases AS FROM {_bases(plan)}")
    none = "(SELECT NULL::BIGINT AS session, NULL::BIGINT AS seq, NULL::VARCHAR AS waits WHERE false)"
    source = f"read_parquet({sql_text(plan.order)})" if plan.order.exists() else none
    con.execute(f"CREATE OR REPLACE TEMP VIEW commit_order AS FROM {source}")
    threads = f"SELECT session, thread_id, first_ns FROM {plan.tape.source('sessions')} WHERE thread_id IS NOT NULL"
    con.execute(f"CREATE OR REPLACE TEMP VIEW threads AS {threads}")
    nobody = "SELECT NULL::BIGINT AS session, NULL::BIGINT AS seq, NULL::BIGINT AS victim LIMIT 0"
    kills = question("plan_kills.sql") if "kill" in plan.rules.allowed else nobody
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_kills AS {kills}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_feed AS {question('plan_feed.sql')}")


def feed_stream(con: duckdb.DuckDBPyConnection, plan: Plan, window: Window) -> Any:
    """Return one window's events for `Engine.feed`; nothing else may run on `con` until they are read."""
    show_feed(con, plan, window)
    return con.sql("FROM window_feed ORDER BY due_ns, session, seq")


def feed_streams(con: duckdb.DuckDBPyConnection, plan: Plan) -> Iterator[Any]:
    """Yield all that is to be fed, a stream after the other; each is to be read before the next."""
    if plan.sorted_feed.exists():
        rounds = plan.rules.copies.loop if plan.rules.at_once else 1
        for turn in range(rounds):
            columns = f"* REPLACE (session + ({turn}::BIGINT << 40) AS session)"
            yield con.sql(f"SELECT {columns} FROM read_parquet({sql_text(plan.sorted_feed)})")
        return
    for turn in range(plan.rules.copies.loop):
        con.execute(f"SET VARIABLE round = {turn}")
        for window in list(plan_windows(con, plan)):
            yield feed_stream(con, plan, window)


def session_stream(con: duckdb.DuckDBPyConnection, plan: Plan) -> Any:
    """Return the sessions for `Engine.sessions`."""
    return con.sql(
        "SELECT engine_session AS session, open_due_ns, events, db, opened_ahead, account, client_flags, charset"
        f" FROM read_parquet({sql_text(plan.session_list)}) ORDER BY open_due_ns, engine_session"
    )


def write_missing(plan: Plan, run_files: str, final: Path, reason: str) -> int:
    """Write a not_sent outcome for each planned event that has none in `run_files` (an SQL table); return how many."""
    total = 0
    with open_planner(plan) as con:
        for number, window in enumerate(plan_windows(con, plan)):
            show_window(con, plan, window)
            con.execute(
                "CREATE OR REPLACE TEMP VIEW missing AS SELECT session, seq, clone, 'not_sent' AS status,"
                f" {sql_text(reason)} AS reason FROM window_events w, every_clone WHERE reason IS NULL"
                f" AND NOT EXISTS (SELECT 1 FROM {run_files} o"
                " WHERE o.session = w.session AND o.seq = w.seq AND o.clone = every_clone.clone)"
            )
            have = {"session", "seq", "clone", "status", "reason"}
            query = f"SELECT {select_list('run', 'outcomes', have)} FROM missing"
            total += write_parquet(con, query, final.with_name(f"{final.stem}-{number:05d}.parquet"))
    return total


def _set(con: duckdb.DuckDBPyConnection, name: str, mapping: dict[Any, Any]) -> None:
    """Set a DuckDB variable to a MAP."""
    con.execute(f"SET VARIABLE {name} = MAP(?, ?)", [list(mapping.keys()), list(mapping.values())])
