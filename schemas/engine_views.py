# SPDX-License-Identifier: Apache-2.0
"""Define the tables of a tape or run as views in other engines, which read the same Parquet files.

The statements contain the paths of the files, so the engine must see the files at these paths.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..common.errors import InputError
from ..common.staged import address_of, shown_path
from .folders import TABLES, Folder
from .tables import columns
from .tape_set import NUMBERED, TapeSet

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
# Trino has no files, only folders of files. Its tables are made in a schema of the Hive connector.
TRINO = "trino"
TRINO_TYPES = {"VARCHAR": "varchar", "BLOB": "varbinary", "INTEGER": "integer", "VARCHAR[]": "array(varchar)"}
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
    for file in sorted((folder.path / SUMMARY).glob("*.parquet")):
        lines.append(f"{found.view} summary_{file.stem} AS\nSELECT * FROM {found.source(_path(file, found))};")
    return lines


def _selects(folder: Folder, table: str, engine: Engine) -> Iterator[str]:
    """Yield a query for each tape of a set, with the numbers of the set, or one query for a single folder."""
    if not isinstance(folder, TapeSet) or table not in NUMBERED:
        for place in _places(folder.files(table)):
            yield f"SELECT * FROM {engine.source(_path(place, engine))}"
        return
    for member in folder.members:
        shifts = {"session": member.sessions, "file": member.files}
        quote = engine.quote
        listed = ", ".join(
            f"{quote}{name}{quote}" + (f" + {shifts[name]} AS {quote}{name}{quote}" if shifts.get(name) else "")
            for name, _ in columns(folder.kind, table)
        )
        for place in _places(member.tape.files(table)):
            yield f"SELECT {listed if any(shifts.values()) else '*'} FROM {engine.source(_path(place, engine))}"


def _places(files: Iterable[Path]) -> list[Path]:
    """Return the files, or one pattern for the parts of a table."""
    listed = list(files)
    parts = {file.parent for file in listed if file.name.startswith("part-")}
    return [folder / "*.parquet" for folder in sorted(parts)] if parts else listed


def _path(file: Path, engine: Engine) -> str:
    """Return the absolute path of a file, or its address in the engine's form."""
    if all(address_of(folder) is None for folder in file.parents):
        return str(file.absolute())
    address = shown_path(file)
    for ours, theirs in engine.schemes:
        if address.startswith(ours):
            return theirs + address.removeprefix(ours)
    raise InputError(f"{address}: this engine has no address for this object store. Copy the folder: tape copy")


def _trino(folder: Folder) -> Iterator[str]:
    for table in TABLES[folder.kind]:
        name = f"{folder.kind}_{table}"
        parts = [place for place in _places(folder.files(table)) if place.name == "*.parquet"]
        if len(parts) != 1:
            yield f"-- {name}: Trino reads only folders. Copy the files of this table into a folder of its own."
            continue
        place = parts[0].parent
        stored = any(address_of(each) for each in place.parents)
        address = _text(f"{shown_path(place) if stored else f'file://{place.absolute()}'}/")
        listed = [
            f'    "{column}" {TRINO_TYPES.get(kind, kind.lower())}' for column, kind in columns(folder.kind, table)
        ]
        made = [f"CREATE TABLE {name} (", ",\n".join(listed), ")"]
        yield "\n".join([*made, f"WITH (external_location = {address}, format = 'PARQUET');"])
