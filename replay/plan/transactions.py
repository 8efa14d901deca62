# SPDX-License-Identifier: Apache-2.0
"""Find the tape's transactions, for code that must keep transactions whole or needs to know their commits."""

import duckdb

from ...common.duck import insert_rows, load_sql, sql_text, write_parquet
from ...common.errors import InputError
from ...common.units import plural
from ...schemas import Folder, ddl, event_selection, tape_id
from ...servers.prepared import verb_and_xid
from .commit_order import known_times
from .rules import Plan

TAKEN_FOR_VICTIMS = (
    "{} probably failed with a deadlock, because ROLLBACK or BEGIN followed. The log has no error numbers, so the"
    " replay sends ROLLBACK instead"
)


UNKNOWN_WRITES = (
    "{:,} writes or commits without an answer on the tape are sent, although the original server may not have executed"
    " them"
)
# Two kinds of statements: failed XA commands whose transaction was rolled back, and victims inside an XA transaction.
# For each victim, the query also returns the statement that began the transaction.
XA_VICTIMS = """
    SELECT e.session, e.seq, has_action(e.actions, 'xa') AS own,
        CASE WHEN has_action(e.actions, 'xa') THEN e.statement ELSE b.statement END AS named
    FROM (FROM tape_events WHERE executes(command) AND rolled_back(errno)) e
    ASOF LEFT JOIN (
        SELECT session, seq, statement, actions FROM tape_events
        WHERE executes(command) AND (rolled_back(errno) OR coalesce(errno, 0) = 0
            AND (has_action(actions, 'begin') OR has_action(actions, 'commit') OR has_action(actions, 'rollback')))
    ) b ON e.session = b.session AND e.seq > b.seq
    WHERE has_action(e.actions, 'xa') OR (has_action(b.actions, 'xa') AND has_action(b.actions, 'begin'))
"""


def find_transactions(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Write `plan.transactions`. Also write `plan.companions` if single events are selected."""
    con.execute(f"CREATE OR REPLACE TEMP VIEW tape_events AS FROM {plan.source()}")
    event_selection.find_transactions(con, plan.rules.selection, "found_transactions")
    if plan.rules.commit_order and _find_victims(con, plan):
        event_selection.find_transactions(con, plan.rules.selection, "found_transactions")
    if plan.rules.commit_order:
        _find_xa_victims(con)
        if con.execute("FROM victims LIMIT 1").fetchall():
            write_parquet(con, "FROM victims", plan.victims)
        if _has_durations(con):
            _find_unanswered(con, plan)
    write_parquet(con, "FROM found_transactions", plan.transactions)
    con.execute("DROP TABLE found_transactions")
    if plan.rules.selection.by_event:
        write_parquet(con, ddl("companions"), plan.companions)


def _find_victims(con: duckdb.DuckDBPyConnection, plan: Plan) -> int:
    """Find the statements that a deadlock rolled back, if the log has no error numbers.

    The view tape_events then shows error 1213 for these statements.
    """
    if not con.execute("SELECT 1 FROM tape_events WHERE errno IS NULL AND executes(command) LIMIT 1").fetchall():
        return 0
    precision = int(plan.tape.info.get("precision_ns") or 0)
    arrivals = known_times(plan.tape.info, precision, _has_durations(con)) == "arrivals"
    con.execute(f"SET VARIABLE arrivals = {arrivals}")
    con.execute(f"SET VARIABLE precision_ns = {0 if arrivals else precision}")
    con.execute(f"INSERT INTO victims BY NAME {load_sql(__package__, 'victims.sql')}")
    found = int(con.execute("SELECT count(*) FROM victims").fetchall()[0][0])
    if found:
        plan.order_notes.append(TAKEN_FOR_VICTIMS.format(plural(found, "statement")))
        con.execute(
            "CREATE OR REPLACE TEMP VIEW tape_events AS SELECT e.* REPLACE"
            " (CASE WHEN v.session IS NOT NULL THEN 1213 ELSE e.errno END AS errno)"
            f" FROM {plan.source()} e"
            " LEFT JOIN victims v ON e.session = v.session AND e.seq = v.seq"
        )
    return found


def _find_unanswered(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Exclude unanswered statements that were rolled back with their session.

    Add a note with the number of all other unanswered writes.
    """
    con.execute(f"CREATE OR REPLACE TEMP TABLE unanswered AS {load_sql(__package__, 'unanswered.sql')}")
    con.execute("INSERT INTO excluded_events FROM unanswered WHERE reason IS NOT NULL")
    unknown = int(con.execute("SELECT count(*) FROM unanswered WHERE reason IS NULL").fetchall()[0][0])
    if unknown:
        plan.order_notes.append(UNKNOWN_WRITES.format(unknown))
    con.execute("DROP TABLE unanswered")


def _has_durations(con: duckdb.DuckDBPyConnection) -> bool:
    """Return whether the tape has the answer time of at least one statement."""
    return bool(con.execute("SELECT count(duration_ns) > 0 FROM tape_events").fetchall()[0][0])


def _find_xa_victims(con: duckdb.DuckDBPyConnection) -> None:
    """Choose the statement to send instead of a deadlock victim inside an XA transaction.

    Servers reject ROLLBACK inside an XA transaction. XA END allows the client's later XA ROLLBACK. A victim that would
    prepare or commit becomes XA ROLLBACK.
    """
    if not con.execute("FROM tape_digests WHERE has_action(actions, 'xa') LIMIT 1").fetchall():
        return
    rows = []
    for session, seq, own, named in con.execute(XA_VICTIMS).fetchall():
        verb, xid = verb_and_xid(bytes(named or b"").decode("utf-8", "replace"))
        if xid is None:  # unreadable name: ROLLBACK, as for a victim outside XA
            continue
        ends = "END" if not own else "ROLLBACK" if verb in ("prepare", "commit") else ""
        rows.append((session, seq, f"XA {ends} {xid.literal}".encode() if ends else named))
    con.execute("CREATE OR REPLACE TEMP TABLE xa_victims AS FROM victims LIMIT 0")
    insert_rows(con, "xa_victims", rows)
    con.execute("DELETE FROM victims v USING xa_victims x WHERE v.session = x.session AND v.seq = x.seq")
    con.execute("INSERT INTO victims FROM xa_victims; DROP TABLE xa_victims")


def find_resumed(con: duckdb.DuckDBPyConnection, plan: Plan, run: Folder) -> None:
    """Write `plan.resumed`: session, from_seq. An interrupted transaction is sent again from its beginning.

    Raises InputError if the run belongs to another tape or if the run is complete.
    """
    tape_of_run = run.info.get("tape", {}).get("id")
    if tape_of_run != tape_id(plan.tape.info):
        raise InputError(
            f"--resume {run.path}: the run belongs to another tape: {run.info.get('tape', {}).get('path')}"
        )
    if run.info.get("finished") and not run.info.get("accounting", {}).get("not_sent"):
        raise InputError(f"--resume {run.path}: the run is complete")
    plan.resumed_info = run.info
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
