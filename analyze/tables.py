# SPDX-License-Identifier: Apache-2.0
"""Each table of a report as CSV and Parquet."""

from pathlib import Path
from typing import Any

import duckdb

from ..errors import InputError
from ..schemas import sql_text
from .report import Report

FLAT = ("digest", "class", "text", "verdict", "why", "p", "new_errors")


def write_tables(report: Report, folder: Path) -> None:
    """Write every answer, and the digests' verdicts, into a new folder. Raises InputError where that fails."""
    tables: dict[str, list[dict[str, Any]]] = {**report.answers, "verdicts": [_flat(row) for row in report.digests]}
    try:
        folder.mkdir(mode=0o700)
        with duckdb.connect() as con:
            for name, rows in tables.items():
                if rows:
                    _write(con, rows, folder / name)
    except (OSError, duckdb.Error) as fault:
        raise InputError(f"--tables {folder}: can't be written: {fault}") from fault


def _flat(entry: dict[str, Any]) -> dict[str, Any]:
    """Return a digest's row without tables in it."""
    found = {name: entry[name] for name in FLAT}
    for side in ("a", "b"):
        for name in ("n", "errors", "total_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns"):
            found[f"{side}_{name}"] = (entry[side] or {}).get(name)
    for name in ("ratio", "low", "high", "detectable"):
        found[name] = (entry["shift"] or {}).get(name)
    found["lost_ns"] = (entry["pair"] or {}).get("lost_ns")
    return found


def _write(con: duckdb.DuckDBPyConnection, rows: list[dict[str, Any]], base: Path) -> None:
    names = list(rows[0])
    types = [_type([row[name] for row in rows]) for name in names]
    con.execute(
        "CREATE OR REPLACE TEMP TABLE kept ("
        + ", ".join(f'"{name}" {kind}' for name, kind in zip(names, types, strict=True))
        + ")"
    )
    places = ", ".join("?" * len(names))
    con.executemany(f"INSERT INTO kept VALUES ({places})", [[row[name] for name in names] for row in rows])
    for suffix, options in ((".csv", "FORMAT csv, HEADER"), (".parquet", "FORMAT parquet")):
        path = base.with_suffix(suffix)
        con.execute(f"COPY kept TO {sql_text(path)} ({options})")
        path.chmod(0o600)


def _type(values: list[Any]) -> str:
    """Return the DuckDB type that holds a column's values."""
    kinds = {type(value) for value in values if value is not None}
    if kinds <= {bool}:
        return "BOOLEAN"
    if kinds <= {int, bool}:
        return "BIGINT"
    return "DOUBLE" if kinds <= {int, float, bool} else "VARCHAR"
