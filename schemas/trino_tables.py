# SPDX-License-Identifier: Apache-2.0
"""Define tables over Parquet files in Trino's Hive connector.

The connector has tables of whole folders only. A table of some files of a folder is a view, whose condition on "$path"
makes Trino open only these files.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from duckdb.sqltypes import DuckDBPyType

from ..common.duck import small_database, sql_text

# DuckDB's names of types that have other names in Trino. Trino has no unsigned numbers.
_NAMES = {"blob": "varbinary", "float": "real", "utinyint": "smallint", "usmallint": "integer", "uinteger": "bigint"}


def file_columns(file: Path) -> list[tuple[str, str]]:
    """Return the name and the Trino type of each column of a Parquet file."""
    with small_database() as con:
        found = con.sql(f"FROM read_parquet({sql_text(file)})")
        return [(name, type_name(kind)) for name, kind in zip(found.columns, found.types, strict=True)]


def type_name(kind: DuckDBPyType) -> str:
    """Return Trino's name of a DuckDB type."""
    if kind.id not in ("list", "struct"):
        return _NAMES.get(kind.id, kind.id)
    inside = [(name, type_name(each)) for name, each in kind.children if isinstance(each, DuckDBPyType)]
    if kind.id == "list":
        return f"array({inside[0][1]})"
    fields = ", ".join(f'"{name}" {each}' for name, each in inside)
    return f"row({fields})"


def define_table(
    name: str,
    columns: Sequence[tuple[str, str]],
    places: Sequence[tuple[Path, Mapping[str, int]]],
    address: Callable[[Path], str],
) -> Iterator[str]:
    """Yield the statements that define a table.

    `columns`: names and Trino types. `places`: files, or patterns of whole folders, and the numbers that are added to
    columns of their rows. `address`: returns the address of a file or folder in Trino.
    """
    if len(places) == 1 and _is_folder(places[0][0]) and not any(places[0][1].values()):
        yield _folder_table(name, columns, address(places[0][0].parent))
        return
    selects = []
    for number, (place, shifts) in enumerate(places, start=1):
        files = f"{name}_files" + (f"_{number}" if len(places) > 1 else "")
        folder = address(place.parent)
        yield _folder_table(files, columns, folder)
        listed = ", ".join(
            f'"{column}"' + (f' + {shifts[column]} AS "{column}"' if shifts.get(column) else "")
            for column, _ in columns
        )
        where = "" if _is_folder(place) else f'\nWHERE "$path" = {sql_text(f"{folder}/{place.name}")}'
        selects.append(f"SELECT {listed} FROM {files}{where}")
    yield "\n".join([f"CREATE OR REPLACE VIEW {name} AS", "\nUNION ALL\n".join(selects)]) + ";"


def _is_folder(place: Path) -> bool:
    return "*" in place.name


def _folder_table(name: str, columns: Sequence[tuple[str, str]], folder: str) -> str:
    listed = ",\n".join(f'    "{column}" {kind}' for column, kind in columns)
    location = sql_text(f"{folder}/")
    return f"CREATE TABLE {name} (\n{listed}\n)\nWITH (external_location = {location}, format = 'PARQUET');"
