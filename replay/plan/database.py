# SPDX-License-Identifier: Apache-2.0
"""Opens a plan as a database: rules become variables and macros. Each time window of the tape becomes views.

- window_tape: the tape's events without the silent stretches that were cut; `tape_ns` is the start time on the tape
- window_selected: adds columns about session and transaction, for the selection
- window_events: adds `reason`, which shows why an event is not sent; NULL means that it is sent
- window_feed: the columns that the engine gets
"""

import os
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import duck_path, insert_rows, load_sql, sql_text, write_parquet
from ...schemas import ACTIONS, select_list
from ...schemas.event_selection import SelectionTables, define_macros, preparing_sql, selection_sql
from ..run_folder import open_storage
from .rules import NARROW, Plan
from .unknown_values import columns_asked, define_digests
from .windows import BASE_MEMORY, WINDOW_BYTES, WINDOW_ROWS, Window, measure, raise_memory, windows

# Measuring points whose tapes contain each text as the client sent it. For an EXECUTE, a server log contains the
# executed statement. Some logs contain the EXECUTE as well.
CLIENT_TEXTS = ("wire", "proxy")
# Results of planning. Each non-empty result is a separate file. The class `Plan` describes them.
FOUND = {
    "excluded_statements": "session BIGINT, stmt BIGINT, reason VARCHAR",
    "excluded_events": "session BIGINT, seq BIGINT, reason VARCHAR",
    "victims": "session BIGINT, seq BIGINT, statement BLOB",
    "kills": "session BIGINT, seq BIGINT, start_ns BIGINT, thread BIGINT, ends_session BOOLEAN",
}
WHOLE_TAPE_MEMORY = 1 << 30  # memory in bytes to sort the whole tape


def open_planner(plan: Plan) -> duckdb.DuckDBPyConnection:
    """Return a database with the plan's variables and macros.

    Its macro `due_of` counts from the zero time of the plan.
    """
    con = open_storage(plan.spill)
    raise_memory(con, plan.memory_bytes)
    rules = plan.rules
    allowed = ", ".join(sql_text(name) for name in sorted(rules.allowed))
    con.execute(f"SET VARIABLE allowed = [{allowed}]::VARCHAR[]")
    con.execute(f"SET VARIABLE allow_writes = {rules.allow_writes}")
    con.execute(f"SET VARIABLE sends_sql_prepare = {plan.tape.info.get('measuring_point') in CLIENT_TEXTS}")
    con.execute(f"SET VARIABLE lead_ns = {rules.lead_ns}")
    con.execute(f"SET VARIABLE copies = {rules.amplification.total}")
    con.execute(f"SET VARIABLE amplify = {rules.amplification.amplify}")
    known = ", ".join(f"{int(number)}: {sql_text(names)}" for number, names in plan.collations.items())
    con.execute(f"SET VARIABLE collations = CAST(MAP {{{known}}} AS MAP(INTEGER, VARCHAR))")
    con.execute("SET VARIABLE round = 0")
    con.execute(f"SET VARIABLE rollback = {ACTIONS['rollback']}")
    con.execute(f"SET VARIABLE commit_action = {ACTIONS['commit']}")
    con.execute(f"SET VARIABLE commit_order = {rules.commit_order}")
    con.execute(f"SET VARIABLE split = {rules.split}")
    define_macros(con)
    con.execute(load_sql(__package__, "macros.sql"))
    for name, columns in FOUND.items():
        con.execute(f"CREATE TEMP TABLE {name} ({columns})")
        path = getattr(plan, name)
        if path.exists():
            con.execute(f"INSERT INTO {name} FROM read_parquet({sql_text(path)})")
    con.execute(f"CREATE TEMP VIEW tape_digests AS FROM {plan.tape.source('digests')}")
    _read_digests(con, plan)
    con.execute(f"CREATE TEMP TABLE refused_digests AS {load_sql(__package__, 'refused_digests.sql')}")
    con.execute("CREATE TEMP TABLE gaps (at_ns BIGINT, cut_ns BIGINT)")
    insert_rows(con, "gaps", plan.gaps)
    _define_selection(con, plan)
    define_due(con, plan)
    return con


@contextmanager
def all_cores(con: duckdb.DuckDBPyConnection, plan: Plan) -> Iterator[None]:
    """Let queries use all cores. A piece of a followed tape uses one core, because its replay is already running."""
    con.execute(f"SET threads = {1 if plan.piece else len(os.sched_getaffinity(0))}")
    try:
        yield
    finally:
        con.execute("SET threads = 1")


def take_planner(plan: Plan) -> duckdb.DuckDBPyConnection:
    """Return the database that made the plan. If this database was not kept, return a new database.

    The caller closes the database.
    """
    con, plan.planner = plan.planner, None
    return con if con is not None else open_planner(plan)


def _read_digests(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Make the tables preparing_digests and inserting_digests if the rules need these tables.

    The memory limit is higher for this step, because the texts of digests may be large.
    """
    raise_memory(con, BASE_MEMORY + 4 * int(plan.tape.info.get("largest_event") or 0))
    if plan.rules.selection.by_event:
        con.execute(f"CREATE TEMP TABLE preparing_digests AS {preparing_sql('tape_digests')}")
    if plan.rules.overrides.ids:
        define_digests(con, plan)
    raise_memory(con, plan.memory_bytes)


def define_due(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Define the macros `due_of(start_ns, base_ns)` and `shift_of(session, clone)` for a plan."""
    due = plan.rules.pace.due_sql(plan.zero_ns)
    con.execute(f"CREATE OR REPLACE TEMP MACRO due_of(start_ns, base_ns) AS {due}")
    shift = plan.rules.amplification.shift_sql(plan.round_ns)
    con.execute(f"CREATE OR REPLACE TEMP MACRO shift_of(session, clone) AS {shift}")


def plan_windows(con: duckdb.DuckDBPyConnection, plan: Plan) -> Iterator[Window]:
    """Yield the tape's windows in time order."""
    files = [*plan.files, *([plan.repaired] if plan.repaired.exists() else [])]
    copies = plan.rules.amplification.amplify
    max_bytes = max(WINDOW_BYTES // copies, 1)
    for file in files:
        if file not in plan.measured and (measured := measure(con, file, max_bytes)):
            plan.measured[file] = measured
    max_rows = plan.max_rows or (WINDOW_ROWS if copies == 1 else max(WINDOW_ROWS // copies, 1000))
    ranges = [piece for file in files if file in plan.measured for piece in plan.measured[file].pieces]
    together: Counter[int] = Counter()  # events with the same start time share a window, even if they are large
    for piece in ranges:
        together[piece.first_ns] += piece.bytes
    excess = max(together.values(), default=0) - max_bytes
    raise_memory(con, plan.memory_bytes + 3 * max(excess, 0) * copies)
    return windows(ranges, max_rows, max_bytes)


def show_window(con: duckdb.DuckDBPyConnection, plan: Plan, window: Window, whole: bool = False) -> None:
    """Make the view `window_events` with the events of one window.

    Its column `reason` shows why an event is not sent.
    """
    names = "*" if whole else ", ".join([*NARROW, '"user"', "digest", *columns_asked(plan)])
    inside = f"start_ns >= {window.begin_ns} AND start_ns < {window.end_ns}"
    repaired = duck_path(plan.repaired)
    parts = [file for file in window.files if file != repaired]
    selects = []
    if parts:
        copied = f"(SELECT session FROM read_parquet({sql_text(plan.repaired)}))"
        skip = f" AND session NOT IN {copied}" if plan.disordered else ""
        selects.append(f"SELECT {names} FROM {plan.tape.events_of(parts)} WHERE {inside}{skip}")
    if repaired in window.files:
        selects.append(f"SELECT {names} FROM read_parquet({sql_text(plan.repaired)}) WHERE {inside}")
    events = " UNION ALL BY NAME ".join(selects)
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_tape AS {_without_gaps(plan, events)}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_selected AS {select(plan, 'window_tape')}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_events AS {load_sql(__package__, 'events.sql')}")


def _without_gaps(plan: Plan, events: str) -> str:
    if not plan.gaps:
        return f"SELECT *, start_ns AS tape_ns FROM ({events})"
    return (
        f"SELECT t.* REPLACE (t.start_ns - coalesce(g.cut_ns, 0) AS start_ns), t.start_ns AS tape_ns"
        f" FROM ({events}) t ASOF LEFT JOIN gaps g ON t.start_ns >= g.at_ns"
    )


def select(plan: Plan, source: str) -> str:
    """Return a query of events with columns for the selection, and the column `filtered` (event_selection.py).

    - is_done: the interrupted run sent the event.
    - is_picked: an earlier run or report marks the event for sending again. True if no earlier run or report is given.
    - is_led: an event marked for sending again comes later in the session.
    - is_visited: the session has an event marked for sending again.
    - is_early: the event is sent only for the session state of selected events.
    """
    selection = plan.rules.selection
    columns, joins, needed = ["false AS is_done"], [], "true"
    picks = ["true AS is_picked", "true AS is_led", "true AS is_visited"]
    if plan.resumed.exists():
        joins = [f"LEFT JOIN read_parquet({sql_text(plan.resumed)}) r ON t.session = r.session"]
        columns = ["coalesce(t.seq < r.from_seq, false) AS is_done"]
        needed = "c.events >= coalesce(r.from_seq, 0)"
    if plan.picks.exists():
        picks = ["k.seq IS NOT NULL AS is_picked", "coalesce(t.seq <= v.last_seq, false) AS is_led"]
        picks += ["v.session IS NOT NULL AS is_visited"]
        joins += [
            f"LEFT JOIN read_parquet({sql_text(plan.picks)}) k ON t.session = k.session AND t.seq = k.seq",
            f"LEFT JOIN read_parquet({sql_text(plan.picked_sessions)}) v ON t.session = v.session",
        ]
    by_session = selection.by_session or selection.by_time or selection.resume
    tables = SelectionTables(
        sessions="selected_sessions" if by_session else None,
        transactions=_parquet_or_none(plan.transactions) if selection.by_event else None,
        companions=_parquet_or_none(plan.companions),
        preparing="preparing_digests" if selection.by_event else None,
    )
    query = selection_sql(selection, source, tables, [*columns, *picks], joins, needed=needed)
    led = "NOT (is_picked OR tx_selected)"
    return f"SELECT *, is_before OR is_done OR {led} OR has_flag(flags, 'carried') AS is_early FROM ({query})"


def _parquet_or_none(path: Path) -> str | None:
    return f"read_parquet({sql_text(path)})" if path.exists() else None


def _define_selection(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    rules, overrides = plan.rules, plan.rules.overrides
    selection = rules.selection
    if selection.by_session or selection.by_time or selection.resume:
        con.execute(f"CREATE TEMP TABLE selected_sessions AS {selection.sessions_sql(plan.tape.source('sessions'))}")
    con.execute(f"CREATE TEMP MACRO schema_of(db) AS {overrides.schema_sql('db')}")
    con.execute(f"CREATE TEMP MACRO account_of(name) AS {overrides.account_sql('name')}")
    con.execute(f"CREATE TEMP MACRO clock_of(class, actions, flags, tape_ns) AS {overrides.clock_sql()}")
    con.execute(f"CREATE TEMP MACRO insert_ids_of(class, insert_ids) AS {overrides.many_ids_sql()}")
    con.execute(f"CREATE TEMP MACRO insert_id_of(class, insert_id) AS {overrides.ids_sql()}")


def _session_bases(plan: Plan) -> str:
    """Return a table of the start times of sessions, if connects are scaled separately."""
    if not plan.rules.pace.scales_separately or not plan.session_list.exists():
        return "(SELECT NULL::BIGINT AS session, NULL::BIGINT AS base_ns WHERE false)"
    return f"(SELECT DISTINCT session, base_ns FROM read_parquet({sql_text(plan.session_list)}))"


def show_feed(con: duckdb.DuckDBPyConnection, plan: Plan, window: Window) -> None:
    """Make the view `window_feed` with the engine's columns of one window, including due times."""
    show_window(con, plan, window, whole=True)
    con.execute(f"CREATE OR REPLACE TEMP VIEW session_bases AS FROM {_session_bases(plan)}")
    no_order = "(SELECT NULL::BIGINT AS session, NULL::BIGINT AS seq, NULL::VARCHAR AS waits WHERE false)"
    inside = f"read_parquet({sql_text(plan.order)}) WHERE tape_ns >= {window.begin_ns} AND tape_ns < {window.end_ns}"
    source = inside if plan.order.exists() else no_order
    con.execute(f"CREATE OR REPLACE TEMP VIEW commit_order AS FROM {source}")
    view_threads(con, plan)
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_kills AS {load_sql(__package__, 'kills.sql')}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW window_feed AS {load_sql(__package__, 'feed.sql')}")


def view_threads(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Make the view `threads`: the connection id of each session and the time when the session began.

    If a connection id has two sessions at one moment, the later session counts.
    """
    threads = (
        f"SELECT max(session) AS session, thread_id, first_ns FROM {plan.tape.source('sessions')}"
        " WHERE thread_id IS NOT NULL GROUP BY thread_id, first_ns"
    )
    con.execute(f"CREATE OR REPLACE TEMP VIEW threads AS {threads}")


def feed_stream(con: duckdb.DuckDBPyConnection, plan: Plan, window: Window) -> Any:
    """Return the events of one window for `Engine.feed`. No other query may run on `con` until the events are read."""
    show_feed(con, plan, window)
    return con.sql("FROM window_feed ORDER BY due_ns, session, seq")


def feed_streams(con: duckdb.DuckDBPyConnection, plan: Plan) -> Iterator[Any]:
    """Yield the streams of all events to feed. The caller must read each stream before it takes the next stream."""
    if plan.sorted_feed.exists():
        rounds = plan.rules.amplification.loop if plan.rules.max_concurrent_sessions else 1
        for turn in range(rounds):
            columns = f"* REPLACE (copy_of(session, {turn}) AS session)"
            yield con.sql(f"SELECT {columns} FROM read_parquet({sql_text(plan.sorted_feed)})")
        return
    for turn in range(plan.rules.amplification.loop):
        con.execute(f"SET VARIABLE round = {turn}")
        for window in list(plan_windows(con, plan)):
            yield feed_stream(con, plan, window)


def session_stream(con: duckdb.DuckDBPyConnection, plan: Plan) -> Any:
    """Return the sessions for `Engine.sessions`."""
    return con.sql(
        "SELECT engine_session AS session, open_due_ns, events, db, opened_ahead, account, client_flags, charset,"
        " collation_id, names"
        f" FROM read_parquet({sql_text(plan.session_list)}) ORDER BY open_due_ns, engine_session"
    )


def write_missing(plan: Plan, run_files: str, final: Path, reason: str) -> int:
    """Write a not_sent outcome for each planned event without an outcome. Return the number of these events.

    `run_files`: an SQL table of the existing outcomes.
    """
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
