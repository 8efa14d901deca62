# SPDX-License-Identifier: Apache-2.0
"""--order commit: which commits each event waits for, worked out from the tape before anything is sent.

A commit is a COMMIT or ROLLBACK with what its transaction wrote or locked, a write outside of one, or DDL. Commits of a
table are numbered; an event waits for the first so many on each of its tables (ordering.sql says which).
Table 0 is every table: for statements of which it is not known what they touch. Table 1 holds the commits of such
statements: everything waits for those.
"""

import re

import duckdb

from ..schemas import sql_text
from .planner import plan_windows, show_window
from .rules import Plan
from .storage import question, write_parquet
from .tables import Catalog, created, tables_of

ALL, UNKNOWN, FIRST = 0, 1, 2
OVERLAP_NS = 1_000_000_000  # a statement that took longer is not taken to have waited for locks all the time
WHOLE_SECONDS_NS = 1_000_000_000
LOCKING_READ = re.compile(r"\bfor (update|share)\b|\block in share mode\b")


def order_commits(con: duckdb.DuckDBPyConnection, plan: Plan, catalog: Catalog, max_rows: int | None = None) -> None:
    """Write `plan.order`: session, seq, waits (as the engine reads them); set `plan.order_tables`."""
    plan.order_tables = _number_tables(con, plan, catalog)
    con.execute(
        "CREATE OR REPLACE TEMP TABLE order_events (session BIGINT, seq BIGINT, start_ns BIGINT, end_ns BIGINT,"
        " command VARCHAR, class VARCHAR, digest VARCHAR, tx_seq BIGINT)"
    )
    for window in plan_windows(con, plan, max_rows):
        show_window(con, plan, window)
        con.execute(
            "INSERT INTO order_events SELECT session, seq, start_ns, start_ns + coalesce(duration_ns, 0), command,"
            " class, digest, tx_seq FROM window_events"
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
    write_parquet(con, question("ordering.sql"), plan.order)
    con.execute("DROP TABLE order_events")


def _number_tables(con: duckdb.DuckDBPyConnection, plan: Plan, catalog: Catalog) -> int:
    """Fill digest_tables (digest, table_no) and return how many places there are: two for each table."""
    digests = con.execute(f"SELECT digest, normalized, class FROM {plan.tape.source('digests')}").fetchall()
    known = Catalog(catalog.tables | created(text for _, text, _ in digests), catalog.opaque, catalog.together)
    numbers: dict[str, int] = {}
    rows: list[tuple[str, int]] = []
    for digest, normalized, kind in digests:
        found = tables_of(normalized, kind, known)
        if found is None:
            rows.append((digest, UNKNOWN))
        else:
            rows += [(digest, numbers.setdefault(name, FIRST + len(numbers))) for name in sorted(found)]
    con.execute("CREATE OR REPLACE TEMP TABLE known_digests (digest VARCHAR, locks BOOLEAN)")
    con.execute("CREATE OR REPLACE TEMP TABLE digest_tables (digest VARCHAR, table_no INTEGER)")
    if digests:
        locks = [(digest, bool(LOCKING_READ.search(text))) for digest, text, _ in digests]
        con.executemany("INSERT INTO known_digests VALUES (?, ?)", locks)
    if rows:
        con.executemany("INSERT INTO digest_tables VALUES (?, ?)", rows)
    return 2 * (FIRST + len(numbers))
