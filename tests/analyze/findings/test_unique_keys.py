# SPDX-License-Identifier: Apache-2.0
"""Unique indexes of the servers, and the unique indexes that both servers can use."""

import json

import duckdb
from querytape.analyze.findings.unique_keys import shared_unique_keys, unique_keys

KEY = {"columns": "id", "not_unique": "0"}
OTHER = {"columns": "A,b", "not_unique": "0"}


def test_shared_key_exists_in_each_table_with_the_name() -> None:
    """A key is shared if each table with the same name has the key and the optimizer can use it."""
    rows: list[tuple[str, str, str, str, str, dict[str, str]]] = [
        (run, "table", "shop", table, "", {}) for run in "ab" for table in ("Orders", "users")
    ]
    rows += [(run, "index", "shop", "Orders", "PRIMARY", KEY) for run in "ab"]
    rows += [
        ("a", "index", "shop", "Orders", "u", OTHER),
        ("b", "index", "shop", "Orders", "u", OTHER | {"visible": "NO"}),
    ]
    rows += [(run, "index", "shop", "users", "k", {"columns": "id", "not_unique": "1"}) for run in "ab"]
    assert keys(rows) == ({"orders": {("id",), ("a", "b")}}, {"orders": {("id",)}})
    rows += [("a", "table", "old", "orders", "", {})]
    assert keys(rows) == ({"orders": {("id",), ("a", "b")}}, {})


def keys(rows: list[tuple[str, str, str, str, str, dict[str, str]]]) -> tuple[object, object]:
    """Return two values: the unique keys of either server, and the unique keys that both servers have."""
    with duckdb.connect() as con:
        con.execute(
            "CREATE TABLE schema_fact (run VARCHAR, kind VARCHAR, db VARCHAR, tbl VARCHAR, name VARCHAR, facts VARCHAR)"
        )
        con.executemany(
            "INSERT INTO schema_fact VALUES (?, ?, ?, ?, ?, ?)", [(*row[:5], json.dumps(row[5])) for row in rows]
        )
        return unique_keys(con), shared_unique_keys(con)
