# SPDX-License-Identifier: Apache-2.0
"""The tape's transactions, found once for all that must keep them whole or know what they commit."""

import duckdb

from ..schemas import sql_text
from .rules import Plan
from .storage import question, write_parquet


def find_transactions(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Write `plan.transactions`, with `is_chosen`: whether an event inside is what the selection asks for."""
    listed = ", ".join(sql_text(file) for file in plan.files)
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_events AS FROM read_parquet([{listed}])")
    con.execute(f"CREATE OR REPLACE TEMP TABLE found AS {question('transactions.sql')}")
    con.execute(
        "CREATE OR REPLACE TEMP TABLE wanted AS SELECT DISTINCT x.session, x.first_seq"
        " FROM (SELECT session, seq FROM tape_events"
        f"   WHERE class NOT IN ('transaction', 'session') AND {plan.rules.selection.event_sql()}) e"
        " ASOF JOIN found x ON e.session = x.session AND e.seq >= x.first_seq WHERE e.seq <= x.last_seq"
    )
    query = (
        "SELECT f.*, w.session IS NOT NULL AS is_chosen FROM found f"
        " LEFT JOIN wanted w ON f.session = w.session AND f.first_seq = w.first_seq ORDER BY f.session, f.first_seq"
    )
    write_parquet(con, query, plan.transactions)
    con.execute("DROP TABLE found")
    con.execute("DROP TABLE wanted")
