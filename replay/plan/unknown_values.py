# SPDX-License-Identifier: Apache-2.0
"""Count values that the overrides need but the tape lacks: ids of INSERTs, and the second of a NOW()."""

import duckdb

from ...common.duck import insert_rows, sql_text
from .catalog import DEFINES, bare, may_set_off, plain_definition
from .overrides import source_steps
from .rules import Plan

# Sources that record every generated id. An INSERT without a recorded id generated no id. Logs omit ids, or record them
# only with some settings.
KNOW_IDS = frozenset({"packets", "proxysql", "binlog"})
# Measuring points whose times are the arrival of a statement and the time of its answer. A server log has the second
# that the server used.
ARRIVALS = frozenset({"wire", "proxy"})
SECOND_NS = 1_000_000_000


# Condition for an INSERT of several rows. The later ids of the INSERT are the first id plus multiples of the increment.
MANY_ROWS = (
    "(insert_id IS NOT NULL OR insert_ids IS NOT NULL) AND coalesce(rows_affected, 2) > 1"
    " AND (command = 'bulk_execute' OR has_action(actions, 'many_rows')"
    " OR NOT coalesce(digest IN (SELECT digest FROM inserting_digests WHERE NOT copies_rows), false))"
)


def columns_asked(plan: Plan) -> list[str]:
    """Return the additional event columns that `count_window` needs."""
    overrides = plan.rules.overrides
    ids = ["insert_id", "insert_ids", "rows_affected"] if overrides.ids else []
    return (["first_byte_ns"] if overrides.clock else []) + ids


def count_window(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Add the number of missing values to the plan's counts, for the sent events of one window."""
    copies = plan.rules.amplification.total
    if plan.rules.overrides.ids:
        _count_ids(con, plan, copies)
    if plan.rules.overrides.clock and plan.tape.info.get("measuring_point") in ARRIVALS:
        answer = "tape_ns + coalesce(first_byte_ns, duration_ns, 0)"
        plan.now_uncertain += copies * int(
            con.execute(
                "SELECT count(*) FROM window_events WHERE reason IS NULL AND executes(command)"
                " AND clock_of(class, actions, flags, tape_ns) IS NOT NULL"
                f" AND tape_ns // {SECOND_NS} <> ({answer}) // {SECOND_NS}"
            ).fetchall()[0][0]
        )


def _count_ids(con: duckdb.DuckDBPyConnection, plan: Plan, copies: int) -> None:
    """Count INSERTs without an id by digest. The key None counts INSERTs that lack an id, whatever their table is."""
    source = set(str(plan.tape.info.get("source")).split("+"))
    silent = "" if not source <= KNOW_IDS else " WHERE answers_without_id"
    sure = "insert_ids = '' OR digest IN (FROM hiding_digests)"
    unknown = (
        "insert_id IS NULL AND insert_ids IS NULL AND class = 'write'"
        f" AND digest IN (SELECT digest FROM inserting_digests{silent})"
    )
    sent = "reason IS NULL AND executes(command) AND coalesce(errno, 0) = 0"
    if not plan.steps_known:
        sure += f" OR ({MANY_ROWS})"
    rows = con.execute(
        f"SELECT CASE WHEN {sure} THEN NULL ELSE digest END AS of_digest, count(*)"
        f" FROM window_events WHERE {sent} AND ({sure} OR ({unknown})) GROUP BY of_digest"
    ).fetchall()
    for digest, n in rows:
        plan.without_id[digest] += n * copies
    if plan.steps_known and lock_mode(plan) == "2":
        con.execute(
            "INSERT INTO bulk_inserts SELECT session, digest, tape_ns, tape_ns + coalesce(duration_ns, 0)"
            f" FROM window_events JOIN inserting_digests USING (digest) WHERE {sent} AND copies_rows"
            " AND insert_id IS NOT NULL AND coalesce(rows_affected, 2) > 1"
        )


def lock_mode(plan: Plan) -> str:
    """Return the source's innodb_autoinc_lock_mode. If the mode is unknown, return 2, the least certain mode."""
    server = plan.tape.info.get("server") or {}
    return str((server.get("variables") or {}).get("innodb_autoinc_lock_mode", "2"))


def define_digests(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Make the tables inserting_digests (digests that add rows), hiding_digests and bulk_inserts. Set
    `plan.steps_known`.

    - `answers_without_id`: the answer cannot contain the id.
    - `copies_rows`: the rows come from a query, so the statement takes ids in portions.
    - hiding_digests: digests that may make a trigger or routine insert rows.
    """
    con.execute(
        "CREATE TEMP TABLE inserting_digests AS SELECT digest, any_value(tables) AS tables,"
        " bool_or(has_property(properties, 'hides_ids')) AS answers_without_id,"
        " bool_or(has_property(properties, 'copies_rows')) AS copies_rows"
        " FROM tape_digests WHERE has_property(properties, 'adds_rows') GROUP BY digest"
    )
    con.execute("CREATE TEMP TABLE hiding_digests (digest VARCHAR)")
    con.execute("CREATE TEMP TABLE bulk_inserts (session BIGINT, digest VARCHAR, start_ns BIGINT, end_ns BIGINT)")
    hidden = plan.catalog.hidden
    if hidden:
        rows = con.execute("SELECT digest, normalized, tables, calls FROM tape_digests").fetchall()
        insert_rows(
            con,
            "hiding_digests",
            [
                (digest,)
                for digest, text, tables, calls in rows
                if not DEFINES.match(plain_definition(text or ""))
                and may_set_off(text, map(bare, tables or ()), map(bare, calls or ())) & hidden
            ],
        )
    source = source_steps(plan.tape.info)
    # SET GLOBAL changes the auto_increment steps of later sessions. SET ... = DEFAULT sets the target's steps.
    back = "" if source == plan.catalog.steps else " OR has_property(properties, 'sets_id_steps_back')"
    resets = f"has_property(properties, 'sets_id_steps_global'){back}"
    found = con.execute(f"FROM tape_digests WHERE {resets} LIMIT 1").fetchall()
    plan.steps_known = source is not None and not found


def count_unknown_ids(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Count the INSERTs with unknown ids.

    If the target listed the tables that generate ids, only INSERTs into these tables count. INSERTs counted without a
    digest always generated ids.
    """
    named, numbering = {}, plan.catalog.numbering
    if numbering is not None and any(plan.without_id):
        asked = ", ".join(sql_text(str(digest)) for digest in plan.without_id if digest)
        named = dict(con.execute(f"SELECT digest, tables FROM tape_digests WHERE digest IN ({asked})").fetchall())
    for digest, n in plan.without_id.items():
        tables = named.get(digest)
        if digest is None or numbering is None or not tables or {bare(name) for name in tables} & numbering:
            plan.ids_unknown += n
    plan.ids_unknown += _interleaved(con, plan) * plan.rules.amplification.total


def _interleaved(con: duckdb.DuckDBPyConnection, plan: Plan) -> int:
    """Return how many INSERTs took ids in portions while another session inserted into one of the same tables."""
    if not plan.rules.overrides.ids or not con.execute("FROM bulk_inserts LIMIT 1").fetchall():
        return 0
    tables = con.execute("SELECT digest, tables FROM inserting_digests").fetchall()
    names = [(digest, name) for digest, some in tables for name in ({bare(each) for each in some or ()} or {""})]
    con.execute("CREATE TEMP TABLE digest_tables (digest VARCHAR, name VARCHAR)")
    insert_rows(con, "digest_tables", names)
    return int(
        con.execute(
            "SELECT count(*) FROM bulk_inserts b WHERE EXISTS (SELECT 1 FROM"
            f" (SELECT session, digest, start_ns, start_ns + coalesce(duration_ns, 0) AS end_ns FROM {plan.source()}"
            " SEMI JOIN inserting_digests USING (digest)) o JOIN digest_tables p ON o.digest = p.digest"
            " JOIN digest_tables q ON p.name = q.name WHERE q.digest = b.digest"
            " AND o.session <> b.session AND o.start_ns < b.end_ns AND o.end_ns > b.start_ns)"
        ).fetchall()[0][0]
    )
