# SPDX-License-Identifier: Apache-2.0
"""Determine before the replay which commits each event waits for under --order commit.

These events are commits: COMMIT or ROLLBACK of a transaction with locks, locking statements outside transactions, and
DDL. The commits of a table are numbered. An event waits for the first N commits on each of its tables. docs/order.md
has the rules.

- Table 0 means every table, for statements whose tables are unknown.
- Table 1 contains the commits of statements whose tables are unknown. Every event waits for these commits.
- Table 2 represents the user-level locks.
"""

from collections.abc import Mapping
from contextlib import closing
from typing import Any

import duckdb

from ...common.duck import insert_rows, load_sql, sql_text, write_parquet
from ...common.units import plural
from ...native.bindings.sweep import PLACES, sweep_commits
from ...schemas.names import (
    FACT_EXCLUSIVE,
    FACT_LAST,
    FACT_LOCKS,
    FACT_LONG,
    FACT_OWN,
    FACT_READS,
    FACT_STATEMENT,
    FACT_WAITS,
    PROPERTIES,
    TABLE_FIRST,
    TABLE_UNKNOWN,
    TABLE_USER_LOCKS,
    USE_ADDS_ROWS,
    USE_ASKS,
    USE_FREES_LOCK,
    USE_LATER,
    USE_LOOKS_AT_LOCK,
    USE_TAKES_LOCK,
)
from .catalog import bare, changes_trigger, names_in_ddl, redefines, tables_of
from .database import WHOLE_TAPE_MEMORY, plan_windows, show_window
from .locked_rows import find_earlier_ends
from .overlapping_writes import note_overlapping
from .rules import Plan
from .table_uses import ADD_WINDOW, GATHER, NamedTables, uses_of
from .windows import raise_memory

USES = {  # how a statement uses its tables and user-level locks
    PROPERTIES["asks_rows"]: USE_ASKS,
    PROPERTIES["adds_rows"]: USE_ADDS_ROWS,
}
USER_LOCKS = {
    PROPERTIES["takes_user_lock"]: USE_TAKES_LOCK,
    PROPERTIES["frees_user_lock"]: USE_FREES_LOCK,
    PROPERTIES["looks_at_user_lock"]: USE_LOOKS_AT_LOCK,
}
OVERLAP_NS = 1_000_000_000  # in ns; a longer statement did not spend all its time on lock waits
WHOLE_SECONDS_NS = 1_000_000_000
FACTS = " + ".join(
    f"CASE WHEN {condition} THEN {bit} ELSE 0 END"
    for bit, condition in (
        (
            FACT_LOCKS,
            "class IN ('write', 'ddl') OR digest_no IS NULL"
            " OR has_action(actions, 'locking_read') OR has_action(actions, 'lock_tables')",
        ),
        (FACT_OWN, "class = 'ddl' AND has_action(actions, 'implicit_commit')"),
        (FACT_READS, "class = 'read'"),
        (FACT_STATEMENT, "class NOT IN ('session', 'transaction')"),
        (FACT_EXCLUSIVE, "class = 'ddl' OR has_action(actions, 'lock_tables')"),
        (FACT_WAITS, "has_action(actions, 'lock_tables')"),
    )
)
CALLS_AT_ONCE = (
    "{} outside transactions overlapped. No tape contains the commits inside a CALL, so these calls keep the order of"
    " their ends, and rows may differ"
)
# A CALL overlaps an earlier CALL that is still running, or the next CALL. CALLs of one session never overlap.
COUNT_CALLS = (
    "SELECT count(*) FROM (SELECT start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns FROM all_events"
    " SEMI JOIN call_digests USING (digest_no) WHERE sent AND tx_first IS NULL"
    " WINDOW by_start AS (ORDER BY start_ns, session, seq)"
    " QUALIFY start_ns <= max(end_ns) OVER (by_start ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)"
    " OR end_ns >= lead(start_ns) OVER by_start)"
)
TRIGGERS_CHANGE = (
    "the tape creates or drops triggers ({}). For the plan, a trigger exists during the whole tape, so DDL may be sent"
    " too early"
)
ONLY_ARRIVALS = (
    "the log contains only arrival times. The replay keeps the arrival order of commits. It also keeps the arrival"
    " order of writes to the same row outside transactions"
)


def order_commits(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Write `plan.order` and set `plan.order_tables`.

    The columns of `plan.order` are session, seq, tape_ns and waits (in the engine's format).
    """
    tables, uses, called, named = _number_tables(con, plan)
    plan.order_tables = PLACES * tables
    _gather_events(con, plan)
    if plan.table_uses is not None:
        plan.table_uses = uses_of(con, named, plan.catalog)
    raise_memory(con, max(plan.memory_bytes, WHOLE_TAPE_MEMORY))
    _find_membership(con, plan)
    precision = int(plan.tape.info.get("precision_ns") or 0)
    times = known_times(plan.tape.info, precision, _has_durations(con))
    arrivals = times == "arrivals"
    con.execute(f"SET VARIABLE times = {sql_text(times)}")
    con.execute(f"SET VARIABLE precision_ns = {precision}")
    con.execute(f"SET VARIABLE overlap_ns = {OVERLAP_NS}")
    con.execute(f"SET VARIABLE long = {FACT_LONG}")
    con.execute(f"SET VARIABLE last = {FACT_LAST}")
    con.execute(f"SET VARIABLE waits = {FACT_WAITS}")
    con.execute(f"SET VARIABLE locks = {FACT_LOCKS}")
    con.execute(f"SET VARIABLE own = {FACT_OWN}")
    con.execute(f"SET VARIABLE reads = {FACT_READS}")
    con.execute(f"SET VARIABLE asks = {USE_ASKS}")
    con.execute(f"SET VARIABLE later = {USE_LATER}")
    con.execute(f"SET VARIABLE first_table = {TABLE_FIRST}")
    con.execute("CREATE OR REPLACE TEMP TABLE later_uses (session BIGINT, seq BIGINT, later_no BIGINT)")
    con.execute("CREATE OR REPLACE TEMP TABLE earlier_ends (session BIGINT, seq BIGINT, ended_ns BIGINT)")
    con.execute(f"CREATE OR REPLACE TEMP VIEW order_events AS {load_sql(__package__, 'order_events.sql')}")
    if not arrivals:
        find_earlier_ends(con, plan)
    _write_order(con, plan, tables, uses, times)
    if called and not arrivals and (at_once := con.execute(COUNT_CALLS).fetchall()[0][0]):
        plan.order_notes.append(CALLS_AT_ONCE.format(plural(at_once, "CALL")))
    if not arrivals:
        note_overlapping(con, plan)
    sent_triggers = (
        "SELECT count(*) FROM all_events JOIN known_digests USING (digest_no) WHERE sent AND changes_trigger"
    )
    if changes := con.execute(sent_triggers).fetchall()[0][0]:
        plan.order_notes.append(TRIGGERS_CHANGE.format(plural(changes, "statement")))
    con.execute("DROP VIEW order_events; DROP TABLE all_events; DROP TABLE later_uses; DROP TABLE earlier_ends")
    raise_memory(con, plan.memory_bytes)
    if arrivals:
        plan.order_notes.append(ONLY_ARRIVALS)


def _write_order(
    con: duckdb.DuckDBPyConnection, plan: Plan, tables: int, uses: list[tuple[int, int, int]], times: str
) -> None:
    of_digest: dict[int, set[int]] = {-1: {TABLE_UNKNOWN}}
    for digest, table, _ in uses:
        of_digest.setdefault(digest, set()).add(table)
    taken = con.execute(
        f"SELECT coalesce(digest_no, -1), bool_or(duration_ns > {OVERLAP_NS} AND facts & {FACT_LOCKS} <> 0),"
        f" bool_or(facts & {FACT_EXCLUSIVE} <> 0) FROM all_events WHERE sent"
        f" AND facts & {FACT_STATEMENT + FACT_EXCLUSIVE} <> 0 GROUP BY digest_no"
    ).fetchall()
    long_tables = {table for digest, is_long, _ in taken if is_long for table in of_digest.get(digest, ())}
    exclusive = {table for digest, _, takes in taken if takes for table in of_digest.get(digest, ())}
    if TABLE_UNKNOWN in exclusive:
        exclusive.update(range(tables))
    elif exclusive:
        exclusive.add(TABLE_UNKNOWN)
    unknown = any(TABLE_UNKNOWN in of_digest.get(digest, ()) for digest, _, _ in taken)
    uses = _with_later_uses(con, uses)
    events = con.sql("FROM order_events ORDER BY lo_ns, session, seq")
    swept = sweep_commits(
        *(events, uses, tables),
        long_tables=long_tables,
        exclusive_tables=exclusive,
        times=times,
        unknown=unknown,
        overlap_ns=OVERLAP_NS,
    )
    with closing(swept), con.cursor() as writer:
        writer.register("swept", swept)
        write_parquet(writer, "FROM swept", plan.order)
        writer.unregister("swept")


def _with_later_uses(con: duckdb.DuckDBPyConnection, uses: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Give each first plain read of a transaction the tables of DDL that the transaction uses later (rule 11).

    Such a read gets a new digest number in the table `later_uses`. Return the uses of all digest numbers.
    """
    if not con.execute("FROM known_digests WHERE redefines LIMIT 1").fetchall():
        return uses
    con.execute("CREATE OR REPLACE TEMP TABLE known_uses (digest_no INTEGER, table_no INTEGER, what INTEGER)")
    insert_rows(con, "known_uses", uses)
    more = con.execute(load_sql(__package__, "order_later_uses.sql")).fetchall()
    con.execute("DROP TABLE known_uses; DROP TABLE reads_with_more")
    return uses + [(int(digest), int(table), int(what)) for digest, table, what in more]


def known_times(info: Mapping[str, Any], precision_ns: int, durations: bool) -> str:
    """Return which times of an event are on the tape, at least in the right order: both, ends or arrivals.

    A general log is written when statements arrive. Other logs without durations are written when statements end.
    """
    if not durations and "general" in str(info.get("source")).split("+"):
        return "arrivals"
    return "both" if durations and precision_ns < WHOLE_SECONDS_NS else "ends"


def _gather_events(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Fill the table `gathered` with all events, including unsent events.

    digest_no is NULL if the digest is unknown.
    """
    con.execute(
        "CREATE OR REPLACE TEMP TABLE gathered (session BIGINT, seq BIGINT, tape_ns BIGINT, start_ns BIGINT,"
        " duration_ns BIGINT, command VARCHAR, digest_no INTEGER, facts BIGINT, sent BOOLEAN)"
    )
    con.execute(GATHER)
    for window in plan_windows(con, plan):
        show_window(con, plan, window)
        if plan.table_uses is not None:
            con.execute(ADD_WINDOW.format(facts=FACTS))
        con.execute(
            f"INSERT INTO gathered SELECT session, seq, tape_ns, start_ns, duration_ns, command, digest_no, {FACTS},"
            " reason IS NULL AND command <> 'prepare' AND (class IS NOT NULL OR resets_session(command))"
            " FROM window_events LEFT JOIN known_digests USING (digest)"
        )


def _find_membership(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Make the table all_events from `gathered`. Add the transaction of each event, if it has one."""
    joined, first, end = "", "NULL::BIGINT", "NULL::BIGINT"
    if plan.transactions.exists():
        joined = (
            f" ASOF LEFT JOIN read_parquet({sql_text(plan.transactions)}) x"
            " ON g.session = x.session AND g.seq >= x.first_seq"
        )
        first, end = (f"CASE WHEN g.seq <= x.last_seq THEN x.{name} END" for name in ("first_seq", "end_seq"))
    con.execute(
        f"CREATE OR REPLACE TEMP TABLE all_events AS SELECT g.*, {first} AS tx_first, {end} AS tx_end"
        f" FROM gathered g{joined}"
    )
    con.execute("DROP TABLE gathered")


def _has_durations(con: duckdb.DuckDBPyConnection) -> bool:
    return bool(con.execute("SELECT count(duration_ns) > 0 FROM all_events WHERE sent").fetchall()[0][0])


def _number_tables(
    con: duckdb.DuckDBPyConnection, plan: Plan
) -> tuple[int, list[tuple[int, int, int]], bool, list[NamedTables]]:
    """Number the digests (tables known_digests, call_digests) and the tables.

    Return the number of tables, the uses of the tables, whether any procedure is called, and the tables that each
    digest names. A use has three numbers: digest, table and flags. The flags mean that the statement requests rows or
    adds rows.
    """
    digests = con.execute(
        "SELECT digest, tables, coalesce(calls, []), class, has_action(actions, 'snapshot'), coalesce(properties, 0),"
        " CASE WHEN class = 'ddl' THEN normalized END, CASE WHEN class = 'write' THEN coalesce(normalized, '') END"
        f" FROM {plan.tape.source('digests')} ORDER BY digest"
    ).fetchall()
    numbers: dict[str, int] = {}
    uses: list[tuple[int, int, int]] = []
    called: list[tuple[int]] = []
    of_digests: list[NamedTables] = []
    for digest_no, (_, named, calls, statement_class, snapshot, properties, ddl, write) in enumerate(digests):
        called += [(digest_no,)] if properties & PROPERTIES["calls_procedure"] else []
        if user_lock := sum(what for bit, what in USER_LOCKS.items() if properties & bit):
            uses.append((digest_no, TABLE_USER_LOCKS, user_lock))
        named = named if ddl is None else names_in_ddl(ddl, named, plan.catalog)
        tables = tables_of(named, calls, statement_class, snapshot, plan.catalog)
        changes_schema = bool(properties & PROPERTIES["changes_schema"])
        names = set(map(bare, named or ()))
        hidden = tables is not None and bool(plan.catalog.hidden_by(names, statement_class))
        of_digests.append(NamedTables(None if tables is None or hidden else named, bool(user_lock), changes_schema))
        if tables is None:
            uses.append((digest_no, TABLE_UNKNOWN, USE_ASKS | USE_ADDS_ROWS))
        else:
            what = sum(use for bit, use in USES.items() if properties & bit)
            what |= plan.catalog.uses_by_triggers(write, names) if hidden and write is not None else 0
            uses += [(digest_no, numbers.setdefault(name, TABLE_FIRST + len(numbers)), what) for name in sorted(tables)]
    con.execute(
        "CREATE OR REPLACE TEMP TABLE known_digests"
        " (digest VARCHAR, digest_no INTEGER, redefines BOOLEAN, changes_trigger BOOLEAN)"
    )
    con.execute("CREATE OR REPLACE TEMP TABLE call_digests (digest_no INTEGER)")
    known = [
        (digest, number, redefines(ddl), changes_trigger(ddl)) for number, (digest, *_, ddl, _) in enumerate(digests)
    ]
    insert_rows(con, "known_digests", known)
    insert_rows(con, "call_digests", called)
    return TABLE_FIRST + len(numbers), uses, bool(called), of_digests
