# SPDX-License-Identifier: Apache-2.0
"""Read the columns of the unique indexes. A statement with a value for each column of such an index finds one row."""

import duckdb

from .servers import loaded


def unique_keys(con: duckdb.DuckDBPyConnection) -> dict[str, set[tuple[str, ...]]]:
    """Return the columns of each unique index of either server, by bare table.

    The connection has the view schema_fact.
    """
    return {table: set(keys) for table, keys in _unique_keys(con).items()}


def shared_unique_keys(con: duckdb.DuckDBPyConnection) -> dict[str, frozenset[tuple[str, ...]]]:
    """Return, for each table, the unique keys that the optimizer can use on both servers."""
    asked = "SELECT lower(tbl), run, db FROM schema_fact WHERE kind = 'table'"
    places: dict[str, set[tuple[str, str]]] = {}
    for table, run, db in con.execute(asked).fetchall():
        places.setdefault(table, set()).add((run, db))
    shared = {
        table: frozenset(columns for columns, seen in keys.items() if seen == places.get(table))
        for table, keys in _unique_keys(con).items()
        if {run for run, _ in places.get(table, ())} == {"a", "b"}
    }
    return {table: keys for table, keys in shared.items() if keys}


def _unique_keys(con: duckdb.DuckDBPyConnection) -> dict[str, dict[tuple[str, ...], set[tuple[str, str]]]]:
    """Return the columns of each unique index by bare table, with the places in which the index is visible.

    A place is a (server, schema) pair.
    """
    found: dict[str, dict[tuple[str, ...], set[tuple[str, str]]]] = {}
    asked = "SELECT lower(tbl), facts, run, db FROM schema_fact WHERE kind = 'index'"
    for table, text, run, db in con.execute(asked).fetchall():
        facts = loaded(text)
        columns = tuple(str(facts.get("columns") or "").lower().split(","))
        if facts.get("not_unique") == "0" and all(columns):
            seen = found.setdefault(table, {}).setdefault(columns, set())
            if facts.get("visible") != "NO":
                seen.add((run, db))
    return found
