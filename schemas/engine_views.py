# SPDX-License-Identifier: Apache-2.0
"""Define the tables of a tape or run as views in other engines, which read the same Parquet files.

The statements contain the paths of the files, so the engine must see the files at these paths.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from duckdb import sqltype

from ..common.errors import InputError
from ..common.staged import address_of, shown_path
from .folders import TABLES, Folder
from .tables import columns
from .tape_set import NUMBERED, TapeSet
from .trino_tables import define_table, file_columns, type_name

SUMMARY = "summary"


@dataclass(frozen=True)
class Engine:
    """An engine that reads Parquet files.

    - `source`: its expression for the files of a path or a pattern.
    - `view`: the words that begin a view. `quote`: the quotation mark of names.
    - `schemes`: how it writes the schemes of object stores. It cannot read a store that is not listed.
    """

    source: Callable[[str], str]
    view: str = "CREATE OR REPLACE VIEW"
    quote: str = '"'
    schemes: tuple[tuple[str, str], ...] = (("s3://", "s3://"),)


def _text(path: str) -> str:
    return "'" + path.replace("'", "''") + "'"


ENGINES = {
    "clickhouse": Engine(lambda path: f"{'s3' if '://' in path else 'file'}({_text(path)}, Parquet)"),
    "duckdb": Engine(
        lambda path: f"read_parquet({_text(path)}, union_by_name = true)",
        schemes=(("s3://", "s3://"), ("gs://", "gs://"), ("az://", "az://")),
    ),
    "spark": Engine(
        lambda path: f"parquet.`{path.replace('`', '``')}`",
        "CREATE OR REPLACE TEMPORARY VIEW",
        "`",
        (("s3://", "s3a://"), ("gs://", "gs://")),
    ),
}
# Trino has tables of folders (trino_tables.py). Its local addresses need a catalog with local.location=/.
TRINO = "trino"
TRINO_SCHEMES = (("s3://", "s3://"), ("gs://", "gs://"))
NAMES = (*ENGINES, TRINO)


def define_views(folder: Folder, engine: str) -> list[str]:
    """Return the statements for all tables of a tape, a set or a run, and for its kept summary.

    `engine`: a name of NAMES. A table without rows becomes a comment. Raises InputError if the engine cannot read the
    object store.
    """
    if engine == TRINO:
        return [*_trino(folder)]
    found = ENGINES[engine]
    lines = []
    for table in TABLES[folder.kind]:
        name, selects = f"{folder.kind}_{table}", [*_selects(folder, table, found)]
        if selects:
            lines.append("\n".join([f"{found.view} {name} AS", "\nUNION ALL\n".join(selects)]) + ";")
        else:
            lines.append(f"-- {name} has no rows.")
    for file in _summary(folder):
        source = found.source(_path(file, found.schemes))
        lines.append(f"{found.view} summary_{file.stem} AS\nSELECT * FROM {source};")
    return lines


def _summary(folder: Folder) -> list[Path]:
    return sorted((folder.path / SUMMARY).glob("*.parquet"))


def _selects(folder: Folder, table: str, engine: Engine) -> Iterator[str]:
    """Yield a query for each place of a table."""
    quote = engine.quote
    for place, shifts in _numbered_places(folder, table):
        listed = ", ".join(
            f"{quote}{name}{quote}" + (f" + {shifts[name]} AS {quote}{name}{quote}" if shifts.get(name) else "")
            for name, _ in columns(folder.kind, table)
        )
        source = engine.source(_path(place, engine.schemes))
        yield f"SELECT {listed if any(shifts.values()) else '*'} FROM {source}"


def _numbered_places(folder: Folder, table: str) -> Iterator[tuple[Path, dict[str, int]]]:
    """Yield the files or patterns of a table, and the numbers that a set adds to columns of their rows."""
    if not isinstance(folder, TapeSet) or table not in NUMBERED:
        for place in _places(folder.files(table)):
            yield place, {}
        return
    for member in folder.members:
        for place in _places(member.tape.files(table)):
            yield place, {"session": member.sessions, "file": member.files}


def _places(files: Iterable[Path]) -> list[Path]:
    """Return the files, or one pattern for the parts of a table."""
    listed = list(files)
    parts = {file.parent for file in listed if file.name.startswith("part-")}
    return [folder / "*.parquet" for folder in sorted(parts)] if parts else listed


def _path(file: Path, schemes: Iterable[tuple[str, str]]) -> str:
    """Return the absolute path of a file or folder, or its address in the engine's form."""
    if all(address_of(folder) is None for folder in (file, *file.parents)):
        return str(file.absolute())
    address = shown_path(file)
    for ours, theirs in schemes:
        if address.startswith(ours):
            return theirs + address.removeprefix(ours)
    raise InputError(f"{address}: this engine has no address for this object store. Copy the folder: tape copy")


def _trino(folder: Folder) -> Iterator[str]:
    for table in TABLES[folder.kind]:
        name, places = f"{folder.kind}_{table}", [*_numbered_places(folder, table)]
        if places:
            listed = [(column, type_name(sqltype(kind))) for column, kind in columns(folder.kind, table)]
            yield from define_table(name, listed, places, _trino_address)
        else:
            yield f"-- {name} has no rows."
    for file in _summary(folder):
        yield from define_table(f"{SUMMARY}_{file.stem}", file_columns(file), [(file, {})], _trino_address)


def _trino_address(folder: Path) -> str:
    path = _path(folder, TRINO_SCHEMES)
    return path if "://" in path else f"local://{path}"
