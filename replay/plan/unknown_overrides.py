# SPDX-License-Identifier: Apache-2.0
"""Counts what the overrides are asked for and the tape does not know: ids of INSERTs, the second of a NOW()."""

import duckdb

from ...common.duck import sql_text
from .catalog import Catalog, bare
from .rules import Plan

# Sources whose INSERTs without an id generated none. Logs leave ids out, or have them with some settings only.
KNOW_IDS = frozenset({"packets", "proxysql", "binlog"})
# Where a tape's times are the arrival of a statement, and of its answer; a server's log has the second that it used.
ARRIVALS = frozenset({"wire", "proxy"})
SECOND_NS = 1_000_000_000


def columns_asked(plan: Plan) -> list[str]:
    """Return the columns of events that `count_window` needs besides those of every plan."""
    overrides = plan.rules.overrides
    return (["first_byte_ns"] if overrides.clock else []) + (["insert_id", "insert_ids"] if overrides.ids else [])


def count_window(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Add what one window's events to be sent lack to the plan's counts."""
    copies = plan.rules.amplification.total
    if plan.rules.overrides.ids:
        source = set(str(plan.tape.info.get("source")).split("+"))
        silent = "" if not source <= KNOW_IDS else " WHERE answers_without_id"
        unknown = (
            "insert_ids = '' OR (insert_id IS NULL AND insert_ids IS NULL"
            f" AND digest IN (SELECT digest FROM inserting_digests{silent}))"
        )
        rows = con.execute(
            "SELECT CASE WHEN insert_ids = '' THEN NULL ELSE digest END AS of_digest, count(*)"
            " FROM window_events WHERE reason IS NULL AND executes(command)"
            f" AND class = 'write' AND coalesce(errno, 0) = 0 AND ({unknown}) GROUP BY of_digest"
        ).fetchall()
        for digest, n in rows:
            plan.without_id[digest] += n * copies
    if plan.rules.overrides.clock and plan.tape.info.get("measuring_point") in ARRIVALS:
        answer = "tape_ns + coalesce(first_byte_ns, duration_ns, 0)"
        plan.now_uncertain += copies * int(
            con.execute(
                "SELECT count(*) FROM window_events WHERE reason IS NULL AND executes(command)"
                " AND clock_of(class, actions, flags, tape_ns) IS NOT NULL"
                f" AND tape_ns // {SECOND_NS} <> ({answer}) // {SECOND_NS}"
            ).fetchall()[0][0]
        )


def define_digests(con: duckdb.DuckDBPyConnection) -> None:
    """Make table inserting_digests: those whose statement adds rows, and whether an answer has no room for their id."""
    con.execute(
        "CREATE TEMP TABLE inserting_digests AS SELECT digest, bool_or(regexp_matches(normalized,"
        " '^load |\\breturning\\b', 'i')) AS answers_without_id FROM tape_digests WHERE regexp_matches(normalized,"
        " '^(/\\*! ?)?(set statement .* for )?(insert|replace)\\b|^load (data|xml)\\b', 'i') GROUP BY digest"
    )


def count_unknown_ids(con: duckdb.DuckDBPyConnection, plan: Plan, catalog: Catalog) -> None:
    """Count the INSERTs whose ids are not known: only into tables that generate ids, where the target told which.

    A text of several statements without a digest here did generate ids.
    """
    named = {}
    if catalog.numbering is not None and any(plan.without_id):
        asked = ", ".join(sql_text(str(digest)) for digest in plan.without_id if digest)
        named = dict(con.execute(f"SELECT digest, tables FROM tape_digests WHERE digest IN ({asked})").fetchall())
    for digest, n in plan.without_id.items():
        tables = named.get(digest)
        if (
            digest is None
            or catalog.numbering is None
            or not tables
            or {bare(name) for name in tables} & catalog.numbering
        ):
            plan.ids_unknown += n
