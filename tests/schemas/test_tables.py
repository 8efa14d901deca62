# SPDX-License-Identifier: Apache-2.0
"""The columns of tapes and runs, as the SQL defines them."""

import pytest
from querytape.schemas import TABLES, columns, ddl, select_list
from querytape.schemas.tables import declared

from tests.helpers.duck import database


@pytest.mark.parametrize("kind", ["tape", "run", "plans"])
def test_columns_are_what_duckdb_makes_of_the_sql(kind: str) -> None:
    """Names, types and order are those of the tables that the SQL creates; no table is missing in TABLES."""
    with database() as con:
        con.execute(ddl(kind))
        rows = con.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index"
        ).fetchall()
    by_table = {table: tuple((name, type_) for owner, name, type_ in rows if owner == table) for table, _, _ in rows}
    assert by_table == {table: columns(kind, table) for table in TABLES[kind]}


def test_unknown_table() -> None:
    """A table that is not defined is a mistake in the program, and is named."""
    with pytest.raises(KeyError, match=r"tape\.sql defines no table 'outcomes'"):
        columns("tape", "outcomes")


def test_select_list() -> None:
    """Every column is there, in order: cast where the input has it, NULL where not."""
    listed = select_list("tape", "problems", {"line", "kind"})
    with database() as con:
        cursor = con.execute(f"SELECT {listed} FROM (SELECT 7::INTEGER AS line, 'bad_time' AS kind, 1 AS more)")
        names = [column[0] for column in cursor.description or []]
        assert names == [name for name, _ in columns("tape", "problems")]
        assert cursor.fetchall() == [(None, 7, None, "bad_time", None)]


@pytest.mark.parametrize(
    ("kind", "table", "column", "limits"),
    [
        ("tape", "events", "session", (1, 2**31 - 1)),
        ("tape", "events", "seq", (1, 2**31 - 1)),
        ("tape", "events", "file", (0, 2**31 - 1)),
        ("tape", "events", "stmt", (0, 2**31 - 1)),
        ("run", "outcomes", "clone", (0, 2**31 - 1)),
        ("tape", "events", "start_ns", (0, 2**62)),
        ("tape", "events", "duration_ns", (-(2**62), 2**62)),
        ("run", "outcomes", "sent_ns", (-(2**62), 2**62)),
        ("tape", "events", "flags", (0, 2**63 - 1)),
        ("tape", "events", "offset", (0, 2**63 - 1)),
        ("tape", "events", "rows_sent", None),
        ("tape", "events", "db", None),
        ("run", "outcomes", "error", None),
    ],
)
def test_limits(kind: str, table: str, column: str, limits: tuple[int, int] | None) -> None:
    """Numbers that others are computed from have limits: sums of two times fit 64 bits, sessions leave room for copies."""
    (found,) = [one for one in declared(kind, table) if one.name == column]
    assert found.limits == limits
