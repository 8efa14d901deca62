# SPDX-License-Identifier: Apache-2.0
"""Finds out which commits each event waits for under --order commit, from the tape, before anything is sent.

A commit is a COMMIT or ROLLBACK with what its transaction wrote or locked, a write outside of one, or DDL. Commits of a
table are numbered; an event waits for the first so many on each of its tables (commit_order.sql says which).
Table 0 is every table: for statements of which it is not known what they touch. Table 1 holds the commits of such
statements: everything waits for those.
"""

import duckdb

from ...common.duck import load_sql, sql_text, write_parquet
from .catalog import Catalog, tables_of
from .database import plan_windows, show_window
from .rules import Plan

ALL, UNKNOWN, FIRST = 0, 1, 2
OVERLAP_NS = 1_000_000_000  # a statement that took longer is not taken to have waited for locks all the time
WHOLE_SECONDS_NS = 1_000_000_000


def order_commits(con: duckdb.DuckDBPyConnection, plan: Plan, catalog: Catalog, max_rows: int | None = None) -> None:
    """Write `plan.order`: session, seq, waits (as the engine reads them); set `plan.order_tables`."""
    plan.order_tables = _number_tables(con, plan, catalog)
    con.execute(
        "CREATE OR REPLACE TEMP TABLE order_events (session BIGINT, seq BIGINT, start_ns BIGINT, end_ns BIGINT,"
        " command VARCHAR, class VARCHAR, actions BIGINT, digest VARCHAR, tx_seq BIGINT)"
    )
    for window in plan_windows(con, plan, max_rows):
        show_window(con, plan, window)
        con.execute(
            "INSERT INTO order_events SELECT session, seq, start_ns, start_ns + coalesce(duration_ns, 0), command,"
            " class, actions, digest, tx_seq FROM window_events"
            " WHERE reason IS NULL AND class IS NOT NULL AND command <> 'prepare'"
        )
    columns = "NULL::BIGINT AS session, NULL::BIGINT AS first_seq, NULL::BIGINT AS end_seq"
    none = f"(SELECT {columns} LIMIT 0)"
    source = f"read_parquet({sql_text(plan.transactions)})" if plan.transactions.exists() else none
    con.execute(f"CREATE OR REPLACE TEMP VIEW transactions AS FROM {source}")
    con.execute(f"SET VARIABLE overlap_ns = {OVERLAP_NS}")
    precision = int(plan.tape.info.get("precision_ns") or 0)
    con.execute(f"SET VARIABLE precision_ns = {precision}")
    con.execute(f"SET VARIABLE whole_seconds = {precision >= WHOLE_SECONDS_NS}")
    write_parquet(con, load_sql(__package__, "commit_order.sql"), plan.order)
    con.execute("DROP TABLE order_events")


def _number_tables(con: duckdb.DuckDBPyConnection, plan: Plan, catalog: Catalog) -> int:
    """Fill digest_tables (digest, table_no) and return how many places there are: two for each table."""
    digests = con.execute(
        "SELECT digest, tables, coalesce(calls, []), class, has_action(actions, 'snapshot')"
        f" FROM {plan.tape.source('digests')}"
    ).fetchall()
    numbers: dict[str, int] = {}
    rows: list[tuple[str, int]] = []
    for digest, named, calls, statement_class, snapshot in digests:
        tables = tables_of(named, calls, statement_class, snapshot, catalog)
        if tables is None:
            rows.append((digest, UNKNOWN))
        else:
            rows += [(digest, numbers.setdefault(name, FIRST + len(numbers))) for name in sorted(tables)]
    con.execute("CREATE OR REPLACE TEMP TABLE known_digests (digest VARCHAR)")
    con.execute("CREATE OR REPLACE TEMP TABLE digest_tables (digest VARCHAR, table_no INTEGER)")
    if digests:
        con.executemany("INSERT INTO known_digests VALUES (?)", [(digest,) for digest, *_ in digests])
    if rows:
        con.executemany("INSERT INTO digest_tables VALUES (?, ?)", rows)
    return 2 * (FIRST + len(numbers))
