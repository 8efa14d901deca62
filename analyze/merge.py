# SPDX-License-Identifier: Apache-2.0
"""Merge tables of a summary that were made from separate shares of the sessions.

A column is a key, or it is combined by one of four functions: a sum, a minimum, a maximum, or the value of the first
event. Merging is therefore associative, and the result does not depend on the division into shares.
"""

from collections.abc import Sequence
from pathlib import Path

from ..common.duck import sql_files
from .database import AnalysisDatabase

# Columns with sums, in all tables.
SUMS = frozenset(
    (
        *("n", "events", "sessions", "not_sent", "errors", "rows_sent", "rows_affected", "logs"),
        *("service_ns", "total_ns", "lost_ns", "longer", "longer_ns", "shorter", "shorter_ns", "over_1ms"),
        *("differing", "rows_known", "sums_known", "after_set", "after_write", "after_lost", "more_sent"),
    )
)
MINIMA = frozenset({"least", "since", "first"})
MIN_PREFIX, MAX_PREFIXES, FIRST_SUFFIX = "first_", ("last_", "longest_"), "_at"
# Tables with rows of single events, which are not combined.
ROWS = frozenset({"few_rows", "suspects_acts", "suspects_ends", "suspects_limited"})
# The message of the lost connections with an error number.
LEAST_TEXT = frozenset({("lost_counts", "error")})


def merge_files(database: AnalysisDatabase, table: str, files: Sequence[Path]) -> None:
    """Replace the rows of an existing table by the merged rows of Parquet files of this table."""
    columns = [(name, kind) for name, kind, *_ in database.con.execute(f"DESCRIBE {table}").fetchall()]
    source = f"read_parquet({sql_files(files)})"
    names = ", ".join(f'"{name}"' for name, _ in columns)
    database.con.execute(f"DELETE FROM {table}")
    if table in ROWS:
        database.con.execute(f"INSERT INTO {table} SELECT {names} FROM {source}")
        return
    names_of_table = {name for name, _ in columns}
    selected, keys = [], []
    for name, kind in columns:
        combined = _combined(table, name, kind, names_of_table)
        selected.append(combined or f'"{name}"')
        if combined is None:
            keys.append(f'"{name}"')
    grouped = f" GROUP BY {', '.join(keys)}" if keys else ""
    database.con.execute(f"INSERT INTO {table} SELECT {', '.join(selected)} FROM {source}{grouped}")


def _combined(table: str, name: str, kind: str, names_of_table: set[str]) -> str | None:
    """Return the SQL that combines a column. Returns None for a key."""
    column = f'"{name}"'
    if f"{name}{FIRST_SUFFIX}" in names_of_table:
        return f'arg_min({column}, "{name}{FIRST_SUFFIX}")'
    if name in SUMS:
        return f"sum({column})::{kind}"
    if name in MINIMA or name.startswith(MIN_PREFIX) or name.endswith(FIRST_SUFFIX) or (table, name) in LEAST_TEXT:
        return f"min({column})"
    if name.startswith(MAX_PREFIXES):
        return f"max({column})"
    return None
