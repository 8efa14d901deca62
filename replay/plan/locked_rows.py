# SPDX-License-Identifier: Apache-2.0
"""Find the rows that statements write or lock, and writes that had certainly ended before their answer.

Only conditions of the form `column = value` identify a row.
"""

import re

import duckdb

from ...common.duck import insert_rows, load_sql
from ...native.bindings.grammar import parse_statements
from ...schemas.executed_statements import executed_statements
from .rules import Plan

LONGEST = 10_000  # characters; the conditions of a longer statement are not examined
# The conditions of a normalized UPDATE, DELETE or locking read of one table.
_CONDITIONS = re.compile(
    r"(?:update (?:low_priority |ignore )?\S+ set .+?|delete (?:low_priority |quick |ignore )*from \S+) where (.+)"
    r"|select .+? from \S+ where (.+?) (?:for update|for share|lock in share mode)",
    re.DOTALL,
)
_EQUALS = re.compile(r"([\w$.`]+) ?= ?(?:\?|\d+)")


def equal_columns(conditions: str) -> set[str] | None:
    """Return the columns of normalized conditions. None if a condition is not of the form `column = value`."""
    equal = [_EQUALS.fullmatch(each.strip()) for each in conditions.split(" and ")]
    return None if None in equal else {each[1].split(".")[-1].strip("`") for each in equal if each}


def locks_by_values(normalized: str) -> bool:
    """Return whether a normalized statement locks exactly the rows of one table whose columns equal values."""
    found = _CONDITIONS.fullmatch(normalized) if len(normalized) < LONGEST else None
    return found is not None and equal_columns(found[1] or found[2]) is not None


def find_rows(con: duckdb.DuckDBPyConnection, plan: Plan, digests: str, condition: str) -> None:
    """Make the table written_rows (id, tbl, name, value): the rows that statements write or lock.

    `digests`, `condition`: see `executed_statements`, which also defines `id`.
    """
    parsed = parse_statements(con.sql(executed_statements(plan.source(), digests, condition)), "keys")
    with con.cursor() as writer:
        writer.register("parsed_rows", parsed)
        try:
            writer.execute(
                "CREATE OR REPLACE TABLE written_rows AS SELECT id, tbl, name, value FROM parsed_rows"
                " WHERE what = 'key' AND value IS NOT NULL"
            )
        finally:
            writer.unregister("parsed_rows")
            parsed.close()


def find_earlier_ends(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Fill the table earlier_ends (session, seq, ended_ns) of `order_events`.

    A write outside of transactions gets a row if a transaction locked the row that it wrote before its answer, and kept
    the lock until after its answer. The write had then ended before the transaction had its lock.
    """
    picked = "class IN ('write', 'read') AND normalized IS NOT NULL AND has_property(properties, 'asks_rows')"
    found = con.execute(
        f"SELECT digest, normalized FROM tape_digests WHERE {picked}"
        " AND (class = 'write' OR has_action(actions, 'locking_read'))"
    ).fetchall()
    con.execute("CREATE OR REPLACE TEMP TABLE locking_digests (digest VARCHAR, digest_no INTEGER)")
    insert_rows(con, "locking_digests", [(digest, None) for digest, text in found if locks_by_values(text)])
    con.execute(
        "UPDATE locking_digests SET digest_no = k.digest_no FROM known_digests k"
        " WHERE locking_digests.digest = k.digest"
    )
    both = con.execute(
        "SELECT coalesce(bool_or(tx_first IS NULL) AND bool_or(tx_first IS NOT NULL), false)"
        " FROM all_events SEMI JOIN locking_digests USING (digest_no) WHERE sent"
    ).fetchall()[0][0]
    if both:
        con.execute(load_sql(__package__, "lock_times.sql"))
        if con.execute("FROM near_locks LIMIT 1").fetchall():
            sound = "coalesce(errno, 0) = 0 AND greatest(rows_affected, rows_sent) > 0"
            near = "session * 2147483648 + seq IN (SELECT id FROM near_locks)"
            find_rows(con, plan, "SELECT digest FROM locking_digests", f"{sound} AND {near}")
            con.execute(
                "CREATE OR REPLACE TEMP TABLE near_schemas AS SELECT session * 2147483648 + seq AS id, db"
                f" FROM {plan.source()} WHERE {near}"
            )
            con.execute(f"INSERT INTO earlier_ends {load_sql(__package__, 'earlier_ends.sql')}")
            con.execute("DROP TABLE written_rows; DROP TABLE near_schemas")
        con.execute("DROP TABLE near_locks; DROP TABLE lock_times")
    con.execute("DROP TABLE locking_digests")
