# SPDX-License-Identifier: Apache-2.0
"""Write each table of a report as CSV and Parquet."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal, cast, get_args

import duckdb

from ...common.duck import open_database, plain_reason, write_table
from ...common.errors import InputError
from ...common.units import plain_micro
from ..database import Row
from ..model import DigestEntry, Report

Table = Sequence[Mapping[str, Any]]
DigestColumn = Literal["digest", "class", "text", "verdict", "why", "p", "new_errors", "failed_on_both"]
SideColumn = Literal["n", "errors", "total_ns", "p50_ns", "p95_ns", "p99_ns", "p999_ns", "max_ns"]
ShiftColumn = Literal["ratio", "low", "high", "detectable"]
DIGEST_COLUMNS: tuple[DigestColumn, ...] = get_args(DigestColumn)
SIDE_COLUMNS: tuple[SideColumn, ...] = get_args(SideColumn)
SHIFT_COLUMNS: tuple[ShiftColumn, ...] = get_args(ShiftColumn)

# Spreadsheets run a cell that begins with =, +, - or @ as a formula. Terminals obey control characters. CSV files must
# contain neither.
HARMLESS = r"""
CREATE OR REPLACE TEMP MACRO harmless(cell) AS
    CASE WHEN regexp_matches(cell, '^[=+\-@\t\r]') THEN chr(39) ELSE '' END
        || regexp_replace(cell, '[\x00-\x09\x0b-\x1f\x7f]', ' ', 'g')
"""


def write_tables(report: Report, folder: Path) -> None:
    """Write every answer and the verdicts on the digests into a new folder. Raises InputError if writing fails."""
    tables: dict[str, Table] = {**all_rows(report), "verdicts": flat_verdicts(report)}
    try:
        folder.mkdir(mode=0o700)
        with open_database() as con:
            for name, rows in tables.items():
                if rows:
                    _write(con, rows, folder / name)
    except (OSError, duckdb.Error) as error:
        reason = plain_reason(error) if isinstance(error, duckdb.Error) else error
        raise InputError(f"--tables {folder}: can't be written: {reason}") from error


def all_rows(report: Report) -> dict[str, Table]:
    """Return the rows of each analysis by name, for code that accepts any columns."""
    return cast(dict[str, Table], report.answers)


def flat_verdicts(report: Report) -> list[Row]:
    """Return one flat row per digest: its verdict and both sides' times."""
    return [_verdict(entry) for entry in report.digests]


def _verdict(entry: DigestEntry) -> Row:
    """Return a digest as one flat row."""
    row: Row = {name: entry[name] for name in DIGEST_COLUMNS}
    row["why"] = plain_micro(row["why"])
    for letter, side in (("a", entry["a"]), ("b", entry["b"])):
        row.update({f"{letter}_{name}": side[name] if side else None for name in SIDE_COLUMNS})
    shift, pair = entry["shift"], entry["pair"]
    shifts: Row = {name: shift[name] if shift else None for name in SHIFT_COLUMNS}
    return {**row, **shifts, "lost_ns": pair["lost_ns"] if pair else None}


def _write(con: duckdb.DuckDBPyConnection, rows: Table, base: Path) -> None:
    load_rows(con, rows, "written")
    con.execute(HARMLESS)
    cells = ", ".join(
        f'harmless("{name}") AS "{name}"' if kind == "VARCHAR" else f'"{name}"'
        for name, kind, *_ in con.execute("DESCRIBE written").fetchall()
    )
    write_table(con, f"SELECT {cells} FROM written", base.with_suffix(".csv"), "FORMAT csv, HEADER")
    write_table(con, "FROM written", base.with_suffix(".parquet"), "FORMAT parquet")


def load_rows(con: duckdb.DuckDBPyConnection, rows: Table, table: str) -> None:
    """Create a temporary table from at least one row. All rows have the same columns."""
    names = list(rows[0])
    types = [_type([row[name] for row in rows]) for name in names]
    listed = ", ".join(f'"{name}" {kind}' for name, kind in zip(names, types, strict=True))
    con.execute(f'CREATE OR REPLACE TEMP TABLE "{table}" ({listed})')
    places = ", ".join("?" * len(names))
    con.executemany(f'INSERT INTO "{table}" VALUES ({places})', [[row[name] for name in names] for row in rows])


def _type(values: list[Any]) -> str:
    """Return a DuckDB type that can store all values of a column."""
    types = {type(value) for value in values if value is not None}
    if types <= {bool}:
        return "BOOLEAN"
    if types <= {int, bool}:
        return "BIGINT"
    return "DOUBLE" if types <= {int, float, bool} else "VARCHAR"
