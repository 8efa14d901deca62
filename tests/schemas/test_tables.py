# SPDX-License-Identifier: Apache-2.0
"""The columns of tapes and runs, as defined in the SQL schema."""

import pytest
from querytape.schemas import TABLES, columns, ddl, select_list
from querytape.schemas.tables import declared

from tests.helpers.duck import database


@pytest.mark.parametrize("kind", ["tape", "run", "plans"])
def test_columns_match_the_sql(kind: str) -> None:
    """Names, types and order equal those in the SQL schema. TABLES lists all tables."""
    with database() as con:
        con.execute(ddl(kind))
        rows = con.execute(
            "SELECT table_name, column_name, data_type FROM duckdb_columns() WHERE NOT internal ORDER BY table_name, column_index"
        ).fetchall()
    by_table = {table: tuple((name, type_) for owner, name, type_ in rows if owner == table) for table, _, _ in rows}
    assert by_table == {table: columns(kind, table) for table in TABLES[kind]}


def test_unknown_table_is_an_error() -> None:
    with pytest.raises(KeyError, match=r"tape\.sql defines no table 'outcomes'"):
        columns("tape", "outcomes")


def test_select_list_has_every_column_of_the_table() -> None:
    """The columns are in order. A column that the input has is cast to its type. A column that the input lacks is NULL."""
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
def test_numeric_columns_have_limits(kind: str, table: str, column: str, limits: tuple[int, int] | None) -> None:
    """The limits of times keep the sum of two times within 64 bits. The limit of session numbers leaves room for copies
    of sessions.
    """
    (found,) = [one for one in declared(kind, table) if one.name == column]
    assert found.limits == limits
