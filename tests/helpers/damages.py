# SPDX-License-Identifier: Apache-2.0
"""Damage tapes and runs as a disk, a user or a forger might. A number selects each damage."""

import json
import os
import random
import shutil
from pathlib import Path
from typing import Any

import duckdb
from querytape.common.files import file_entry
from querytape.schemas import TABLES
from querytape.schemas.tables import declared

from .duck import database

VALUES: tuple[Any, ...] = (
    *(None, True, -1, 0, 2**40, 2**62, 2**63 - 1, -(2**63), 2**80, 0.5, "", "x", "\x1b[31m", "../../etc/passwd"),
    *([], [None], [[1]], {}, {"a": None}, [{}], ["x"] * 3, {"": {"": []}}),
)
COLUMN_VALUES = (
    *(
        "NULL",
        "-1::BIGINT",
        "0::BIGINT",
        "(1::BIGINT << 40)",
        "9223372036854775807::BIGINT",
        "4611686018427387904::BIGINT",
    ),
    *(
        "'x'",
        "''",
        "repeat('x', 100000)",
        "'\u202e<script>'",
        "1.5::DOUBLE",
        "true",
        "[1]",
        "'\\xFF\\x00'::BLOB",
        "{'a': 1}",
    ),
    *("-4611686018427387904::BIGINT", "TIMESTAMP '2020-01-01'", "170141183460469231731687303715884105727::HUGEINT"),
)


def damage(folder: Path, kind: str, number: int) -> str:
    """Damage a tape or run and return a description. The same number produces the same damage."""
    rng = random.Random(number)
    acts = (_json_value, _json_value, _json_bytes, _column, _column, _column, _file, _bytes, _special)
    return acts[number % len(acts)](folder, kind, rng)


def _json_value(folder: Path, kind: str, rng: random.Random) -> str:
    """Replace or remove a random value in the JSON."""
    marker = folder / f"{kind}.json"
    info = json.loads(marker.read_text())
    places = list(_places(info))
    holder, key = rng.choice(places)
    if rng.random() < 0.2:
        del holder[key]
        done = f"{key} taken out"
    else:
        holder[key] = rng.choice(VALUES)
        done = f"{key} = {holder[key]!r}"
    marker.write_text(json.dumps(info))
    return f"{marker.name}: {done}"


def _places(value: Any) -> Any:
    """Yield (object or list, key or index) for every position in a JSON value."""
    if isinstance(value, (dict, list)):
        for key in list(value) if isinstance(value, dict) else range(len(value)):
            yield value, key
            yield from _places(value[key])


def _json_bytes(folder: Path, kind: str, rng: random.Random) -> str:
    return damage_bytes(folder / f"{kind}.json", rng)


def damage_bytes(file: Path, rng: random.Random) -> str:
    """Change, cut or insert bytes of a text file."""
    content = bytearray(file.read_bytes())
    at = rng.randrange(len(content))
    choice = rng.randrange(3)
    if choice == 0:
        content[at] = rng.randrange(256)
    elif choice == 1:
        del content[at:]
    else:
        content[at:at] = rng.choice([b"\xff\xfe", b"[" * 100_000, b"9" * 5000, b'"\\ud800"', b"NaN", b"\x00"])
    file.write_bytes(bytes(content))
    return f"{file.name}: bytes at {at}"


def _column(folder: Path, kind: str, rng: random.Random) -> str:
    """Forge a column of a file in all or some rows, or omit the column. The JSON is updated to match the file."""
    table, file = rng.choice(_files(folder, kind))
    column = rng.choice(declared(kind, table)).name
    value = rng.choice((*COLUMN_VALUES, ""))
    some = rng.random() < 0.3
    with database() as con:
        con.execute(f"CREATE TABLE t AS FROM '{file}'")
        change = f'EXCLUDE ("{column}")' if not value else f'REPLACE ({value} AS "{column}")'
        try:
            part = f"SELECT * {change} FROM t" + (" LIMIT 1" if some and value else "")
            rest = " UNION ALL BY NAME (FROM t OFFSET 1)" if some and value else ""
            con.execute(f"COPY (({part}){rest}) TO '{file}.new' (FORMAT parquet)")
        except duckdb.Error:
            con.execute(f"COPY (SELECT * {change} FROM t) TO '{file}.new' (FORMAT parquet)")
    Path(f"{file}.new").rename(file)
    _agree(folder, kind, file)
    return f"{file.name} of {table}: {column} = {value[:40] or 'left out'}"


def _agree(folder: Path, kind: str, file: Path) -> None:
    """Update the entry of the file in the JSON."""
    marker = folder / f"{kind}.json"
    info = json.loads(marker.read_text())
    for key in ("parts", "tables", "files"):
        for entry in info.get(key, ()):
            if entry.get("file") == str(file.relative_to(folder)):
                entry |= file_entry(folder, file, entry["rows"])
    marker.write_text(json.dumps(info))


def _files(folder: Path, kind: str) -> list[tuple[str, Path]]:
    parts = [(table, file) for table in TABLES[kind] for file in sorted(folder.glob(f"{table}/part-*.parquet"))]
    return parts + [(table, file) for table in TABLES[kind] if (file := folder / f"{table}.parquet").exists()]


def _file(folder: Path, kind: str, rng: random.Random) -> str:
    """Remove, copy, swap or empty a file."""
    table, file = rng.choice(_files(folder, kind))
    choice = rng.randrange(5)
    if choice == 0:
        file.unlink()
    elif choice == 1:
        shutil.copy(file, file.with_name("part-00077.parquet"))
    elif choice == 2:
        file.write_bytes(b"")
    elif choice == 3:
        shutil.copy(rng.choice(_files(folder, kind))[1], folder / "swapped")
        (folder / "swapped").rename(file)
        _agree(folder, kind, file)
    else:
        shutil.rmtree(folder / table, ignore_errors=True)
    return f"{file.name} of {table}: {('removed', 'copied', 'emptied', 'swapped', 'folder removed')[choice]}"


def _bytes(folder: Path, kind: str, rng: random.Random) -> str:
    """Truncate a file or flip some of its bytes. The JSON is updated to match the file size."""
    table, file = rng.choice(_files(folder, kind))
    content = bytearray(file.read_bytes())
    at = rng.randrange(len(content))
    if rng.random() < 0.4:
        del content[at:]
    else:
        for _ in range(rng.choice((1, 8, 64))):
            content[rng.randrange(len(content))] = rng.randrange(256)
    file.write_bytes(bytes(content))
    if rng.random() < 0.7:
        _agree(folder, kind, file)
    return f"{file.name} of {table}: bytes"


def _special(folder: Path, kind: str, rng: random.Random) -> str:
    """Replace a file with a link, a pipe, a folder or a file without permissions."""
    choices = [*_files(folder, kind), (kind, folder / f"{kind}.json")]
    table, file = rng.choice(choices)
    choice = rng.randrange(4)
    other = file.with_name("other.bin")
    file.rename(other)
    if choice == 0:
        file.symlink_to(other)
    elif choice == 1:
        os.mkfifo(file)
    elif choice == 2:
        file.mkdir()
    else:
        file.symlink_to("/nowhere/at/all")
    return f"{file.name} of {table}: {('link', 'pipe', 'folder', 'dangling link')[choice]}"
