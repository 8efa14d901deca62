# SPDX-License-Identifier: Apache-2.0
"""Finds out which commits each event waits for under --order commit, from the tape, before anything is sent.

A commit is a COMMIT or ROLLBACK of a transaction that took locks, a locking statement outside of one, or DDL.
Commits of a table are numbered; an event waits for the first so many on each of its tables. The rules: docs/order.md.
Table 0 is every table: for statements of which it is not known what they touch. Table 1 holds the commits of such
statements: everything waits for those.
"""

import re
from collections.abc import Mapping
from typing import Any

import duckdb

from ...common.duck import insert_rows, load_sql, sql_text, write_parquet
from .catalog import Catalog, tables_of
from .database import plan_windows, show_window
from .rules import Plan
from .windows import raise_memory

ALL, UNKNOWN, FIRST = 0, 1, 2
PLACES = 3  # of each table: its commits, statements of transactions that took locks, those that add rows
EXECUTABLE = re.compile(r"/\*!|\*/")  # of comments that a server executes: their words are words
ADDS = re.compile(r"(insert|replace|load)\b", re.IGNORECASE)
ASKS_TOO = re.compile(r"^(replace|load)\b|\bselect\b|\bon duplicate key\b", re.IGNORECASE)
OVERLAP_NS = 1_000_000_000  # a statement that took longer is not taken to have waited for locks all the time
WHOLE_SECONDS_NS = 1_000_000_000
EVENT_BYTES = 256  # of memory for each event: lists do not spill to disk
EVENTS = "SELECT *, start_ns AS at_ns, start_ns + coalesce(duration_ns, 0) AS end_ns FROM all_events WHERE sent"
ARRIVALS = (
    "FROM (SELECT * REPLACE (CASE WHEN command = 'execute' THEN coalesce(lag(start_ns) OVER by_seq, start_ns)"
    " ELSE start_ns END AS start_ns), start_ns AS at_ns, coalesce(lead(start_ns) OVER by_seq, start_ns) AS end_ns"
    " FROM all_events WINDOW by_seq AS (PARTITION BY session ORDER BY seq)) WHERE sent"
)
CALLS = re.compile(r"call\b", re.IGNORECASE)
CALLS_AT_ONCE = (
    "CALLs outside of transactions overlapped: what a procedure commits by itself is on no tape. They keep the order in"
    " which they ended; where the server answered in another order than it committed, rows differ"
)
# A CALL overlaps one that began before it and goes on, or the next one: those of one session never overlap.
COUNT_CALLS = (
    "SELECT count(*) FROM (SELECT start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns FROM all_events"
    " SEMI JOIN call_digests USING (digest) WHERE sent AND tx_seq IS NULL"
    " WINDOW by_start AS (ORDER BY start_ns, session, seq)"
    " QUALIFY start_ns <= max(end_ns) OVER (by_start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    " OR end_ns >= lead(start_ns) OVER by_start)"
)
ONLY_ARRIVALS = (
    "the tape's log tells when statements arrived, not when they ended: commits keep the order in which they arrived;"
    " of two writes of one row, each its own transaction, the first to arrive is taken to have been first"
)


def order_commits(con: duckdb.DuckDBPyConnection, plan: Plan, catalog: Catalog, max_rows: int | None = None) -> None:
    """Write `plan.order`: session, seq, waits (as the engine reads them); set `plan.order_tables`."""
    plan.order_tables = _number_tables(con, plan, catalog)
    _gather_events(con, plan, max_rows)
    columns = "NULL::BIGINT AS session, NULL::BIGINT AS first_seq, NULL::BIGINT AS end_seq"
    none = f"(SELECT {columns} LIMIT 0)"
    source = f"read_parquet({sql_text(plan.transactions)})" if plan.transactions.exists() else none
    con.execute(f"CREATE OR REPLACE TEMP VIEW transactions AS FROM {source}")
    precision = int(plan.tape.info.get("precision_ns") or 0)
    times = known_times(plan.tape.info, precision, _has_durations(con))
    arrivals = (
        times == "arrivals"
    )  # their order is known, whatever the clock's; a statement may have waited all the time
    con.execute(f"SET VARIABLE times = {sql_text(times)}")
    con.execute(f"SET VARIABLE precision_ns = {0 if arrivals else precision}")
    con.execute(f"SET VARIABLE overlap_ns = {2**62 if arrivals else OVERLAP_NS}")
    con.execute(f"CREATE OR REPLACE TEMP VIEW order_events AS {ARRIVALS if arrivals else EVENTS}")
    ((events,),) = con.execute("SELECT count(*) FROM all_events").fetchall()
    raise_memory(con, events * EVENT_BYTES)
    write_parquet(con, load_sql(__package__, "commit_order.sql"), plan.order)
    if not arrivals and (at_once := con.execute(COUNT_CALLS).fetchall()[0][0]):
        plan.order_notes.append(f"{at_once:,} {CALLS_AT_ONCE}")
    con.execute("DROP VIEW order_events; DROP TABLE all_events")
    if arrivals:
        plan.order_notes.append(ONLY_ARRIVALS)


def known_times(info: Mapping[str, Any], precision_ns: int, durations: bool) -> str:
    """Return which of an event's times the tape knows, at least in their order: both, ends or arrivals.

    A general log is written as statements arrive; every other log that has no durations, when they have ended.
    """
    if not durations and "general" in str(info.get("source")).split("+"):
        return "arrivals"
    return "both" if durations and precision_ns < WHOLE_SECONDS_NS else "ends"


def _gather_events(con: duckdb.DuckDBPyConnection, plan: Plan, max_rows: int | None) -> None:
    """Fill all_events, what is not sent included."""
    con.execute(
        "CREATE OR REPLACE TEMP TABLE all_events (session BIGINT, seq BIGINT, start_ns BIGINT, duration_ns BIGINT,"
        " command VARCHAR, class VARCHAR, actions BIGINT, digest VARCHAR, tx_seq BIGINT, sent BOOLEAN)"
    )
    for window in plan_windows(con, plan, max_rows):
        show_window(con, plan, window)
        con.execute(
            "INSERT INTO all_events SELECT session, seq, start_ns, duration_ns, command, class, actions, digest,"
            " tx_seq, reason IS NULL AND class IS NOT NULL AND command <> 'prepare' FROM window_events"
        )


def _has_durations(con: duckdb.DuckDBPyConnection) -> bool:
    return bool(con.execute("SELECT count(duration_ns) > 0 FROM all_events WHERE sent").fetchall()[0][0])


def _number_tables(con: duckdb.DuckDBPyConnection, plan: Plan, catalog: Catalog) -> int:
    """Fill digest_tables (digest, table_no, asks, adds) and return how many places there are: three for each table."""
    digests = con.execute(
        "SELECT digest, tables, coalesce(calls, []), class, has_action(actions, 'snapshot'), normalized"
        f" FROM {plan.tape.source('digests')} ORDER BY digest"
    ).fetchall()
    numbers: dict[str, int] = {}
    rows: list[tuple[str, int, bool, bool]] = []
    called: list[tuple[str]] = []
    for digest, named, calls, statement_class, snapshot, normalized in digests:
        text = EXECUTABLE.sub("", normalized).lstrip()
        adds = bool(ADDS.match(text))
        asks = not adds or bool(ASKS_TOO.search(text))
        called += [(digest,)] if CALLS.match(text) else []
        tables = tables_of(named, calls, statement_class, snapshot, catalog)
        if tables is None:
            rows.append((digest, UNKNOWN, True, True))
        else:
            rows += [(digest, numbers.setdefault(name, FIRST + len(numbers)), asks, adds) for name in sorted(tables)]
    con.execute("CREATE OR REPLACE TEMP TABLE known_digests (digest VARCHAR)")
    con.execute(
        "CREATE OR REPLACE TEMP TABLE digest_tables (digest VARCHAR, table_no INTEGER, asks BOOLEAN, adds BOOLEAN)"
    )
    con.execute("CREATE OR REPLACE TEMP TABLE call_digests (digest VARCHAR)")
    insert_rows(con, "known_digests", [(digest,) for digest, *_ in digests])
    insert_rows(con, "call_digests", called)
    insert_rows(con, "digest_tables", rows)
    return PLACES * (FIRST + len(numbers))
