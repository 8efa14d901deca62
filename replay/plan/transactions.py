# SPDX-License-Identifier: Apache-2.0
"""Finds the tape's transactions, for all that must keep them whole or know what they commit."""

import duckdb

from ...common.duck import load_sql, sql_files, sql_text, write_parquet
from ...common.errors import InputError
from ...schemas import Folder, tape_id
from .rules import Plan


def find_transactions(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Write `plan.transactions`, with `is_selected`: whether an event of its chain is what the selection asks for."""
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_events AS FROM read_parquet({sql_files(plan.files)})")
    con.execute(f"CREATE OR REPLACE TEMP TABLE new_transactions AS {load_sql(__package__, 'transactions.sql')}")
    selected = "SELECT NULL::BIGINT AS session, NULL::BIGINT AS first_seq LIMIT 0"
    if plan.rules.selection.by_event:
        selected = (
            "SELECT DISTINCT x.session, x.first_seq"
            " FROM (SELECT session, seq FROM tape_events"
            f"   WHERE class NOT IN ('transaction', 'session') AND {plan.rules.selection.event_sql()}) e"
            " ASOF JOIN new_transactions x ON e.session = x.session AND e.seq >= x.first_seq WHERE e.seq <= x.last_seq"
        )
    con.execute(f"CREATE OR REPLACE TEMP TABLE selected AS {selected}")
    query = (
        "SELECT f.*, bool_or(w.session IS NOT NULL) OVER (PARTITION BY f.session, f.chain) AS is_selected"
        " FROM new_transactions f"
        " LEFT JOIN selected w ON f.session = w.session AND f.first_seq = w.first_seq ORDER BY f.session, f.first_seq"
    )
    write_parquet(con, query, plan.transactions)
    con.execute("DROP TABLE new_transactions")
    con.execute("DROP TABLE selected")


def find_resumed(con: duckdb.DuckDBPyConnection, plan: Plan, run: Folder) -> None:
    """Write `plan.resumed`: session, from_seq; a transaction that was interrupted is sent again from its beginning.

    Raises InputError where the run is another tape's, or has nothing left to do.
    """
    tape_of_run = run.info.get("tape", {}).get("id")
    if tape_of_run != tape_id(plan.tape.info):
        raise InputError(f"--resume {run.path}: it is a run of another tape: {run.info.get('tape', {}).get('path')}")
    if run.info.get("finished") and not run.info.get("accounting", {}).get("not_sent"):
        raise InputError(f"--resume {run.path}: it came to its end")
    none = "(SELECT NULL::BIGINT AS session, NULL::BIGINT AS first_seq, NULL::BIGINT AS last_seq,"
    none += " NULL::BIGINT AS begin_seq LIMIT 0)"
    source = f"read_parquet({sql_text(plan.transactions)})" if plan.transactions.exists() else none
    write_parquet(
        con,
        "SELECT d.session, CASE WHEN d.next <= x.last_seq THEN x.begin_seq ELSE d.next END AS from_seq FROM ("
        " SELECT session, coalesce(max(seq) FILTER (status = 'executed' AND done_ns IS NOT NULL), 0) + 1 AS next"
        f" FROM {run.source('outcomes')} GROUP BY session) d"
        f" ASOF LEFT JOIN {source} x ON d.session = x.session AND d.next >= x.first_seq",
        plan.resumed,
    )
