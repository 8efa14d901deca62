# SPDX-License-Identifier: Apache-2.0
"""Count the writes of one row whose order is a guess, because their times on the tape overlap.

Only writes outside of transactions count. The values in the conditions of UPDATE and DELETE identify the row. Two
statements that only add numbers to columns do not count, because their order does not matter.
"""

import re

import duckdb

from ...common.duck import insert_rows, load_sql
from ...common.units import plural
from .locked_rows import LONGEST, equal_columns, find_rows
from .rules import Plan

MOST_WRITES = 500_000  # writes whose rows are compared; the first ones are taken
SAME_ROW = (
    "{} outside transactions overlapped an earlier write to the same row. Their order is unknown. The replay keeps the"
    " order of their ends, so rows may differ"
)
# An UPDATE that sets each column to its own value plus or minus a number, where columns equal given values. The form is
# that of normalized texts.
_SET = re.compile(r"update (?:low_priority |ignore )?\S+ set (.+?) where (.+)", re.DOTALL)
_ADDS = re.compile(r"(\S+?) ?= ?\1 ?[-+] ?(?:\?|\d+)")
# A write conflicts with the earlier writes of its row. An addition conflicts only with other statements than additions.
_COUNT = """
    SELECT count(DISTINCT id) FROM (
        SELECT w.id, w.adds, w.from_ns, max(w.to_ns) OVER before AS any_ns,
            max(w.to_ns) FILTER (NOT w.adds) OVER before AS other_ns
        FROM written_rows AS r
        JOIN single_writes AS w ON r.id = w.id
        WINDOW before AS (
            PARTITION BY r.tbl, r.name, r.value ORDER BY w.from_ns, w.id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING)
    )
    WHERE from_ns < CASE WHEN adds THEN other_ns ELSE any_ns END
"""


def note_overlapping(con: duckdb.DuckDBPyConnection, plan: Plan) -> None:
    """Add a note to the plan if the order of writes of one row is a guess. The table all_events must exist."""
    count = count_overlapping(con, plan)
    if count:
        full = con.execute("SELECT count(*) >= getvariable('most_writes') FROM single_writes").fetchall()[0][0]
        plan.order_notes.append(SAME_ROW.format(f"{'at least ' if full else ''}{plural(count, 'write')}"))
    con.execute("DROP TABLE single_writes; DROP TABLE row_writes")


def count_overlapping(con: duckdb.DuckDBPyConnection, plan: Plan) -> int:
    """Return the number of writes that began before an earlier write of the same row had ended.

    Makes the tables row_writes and single_writes.
    """
    text = f"CASE WHEN length(normalized) < {LONGEST} THEN normalized END"
    picked = "class = 'write' AND has_property(properties, 'asks_rows')"
    found = con.execute(f"SELECT digest, {text} FROM tape_digests WHERE {picked}").fetchall()
    con.execute("CREATE OR REPLACE TEMP TABLE row_writes (digest VARCHAR, adds BOOLEAN)")
    insert_rows(con, "row_writes", [(digest, only_adds(known or "")) for digest, known in found])
    con.execute(f"SET VARIABLE most_writes = {MOST_WRITES}")
    con.execute(f"CREATE OR REPLACE TEMP TABLE single_writes AS {load_sql(__package__, 'overlapping_writes.sql')}")
    if not con.execute("FROM single_writes WHERE NOT adds LIMIT 1").fetchall():
        return 0
    sound = "coalesce(errno, 0) = 0 AND session * 2147483648 + seq IN (SELECT id FROM single_writes)"
    find_rows(con, plan, "SELECT digest FROM row_writes", sound)
    ((count,),) = con.execute(_COUNT).fetchall()
    con.execute("DROP TABLE written_rows")
    return int(count)


def only_adds(normalized: str) -> bool:
    """Return whether a normalized UPDATE only adds numbers to columns, and asks for other columns by `=` alone."""
    parts = _SET.fullmatch(normalized)
    if parts is None:
        return False
    added = [_ADDS.fullmatch(each.strip()) for each in parts[1].split(",")]
    asked = equal_columns(parts[2])
    if None in added or asked is None:
        return False
    return asked.isdisjoint(each[1].split(".")[-1].strip("`") for each in added if each)
