# SPDX-License-Identifier: Apache-2.0
"""Is a tape whole? Its JSON, its files, their order, and whether the numbers in it agree."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ...schemas import FORMAT_VERSION, columns, sql_text
from ..recorder import open_storage

OTHERS = "--salvage makes a tape of the other parts"
TABLES = ("sessions", "digests", "problems")


@dataclass(frozen=True)
class Damage:
    """Something that is wrong with a tape, and what can still be had of it."""

    what: str
    saved: str = "querytape cannot repair it: capture again"
    lost: bool = False  # events can't be read: what follows from them can't be checked


def verify(path: Path, work: Path) -> Iterator[Damage]:
    """Yield what is wrong with a tape; nothing where it is whole. `work`: a folder for what memory does not hold."""
    try:
        info = json.loads((path / "tape.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as fault:
        yield Damage(
            f"tape.json can't be read: {fault}", "the events themselves may be whole: --salvage makes a tape of them"
        )
        return
    if info.get("format_version") != FORMAT_VERSION:
        yield Damage(
            f"format version {info.get('format_version')}; this querytape knows {FORMAT_VERSION}",
            "use the version of querytape that wrote it",
        )
        return
    if not info.get("finished"):
        yield Damage("its capture did not end", "`querytape inspect` completes it from the parts that were written")
    with open_storage(work) as con:
        damaged = list(_parts(con, path, info))
        yield from damaged
        if any(damage.lost for damage in damaged):
            return
        yield from _order(con, path)
        if info.get("finished"):
            yield from _balance(con, path, info)


def _parts(con: duckdb.DuckDBPyConnection, path: Path, info: dict[str, Any]) -> Iterator[Damage]:
    """Yield what is wrong with the parts' files."""
    listed = {entry["file"]: entry for entry in info["parts"]}
    found = {str(part.relative_to(path)) for part in (path / "events").glob("part-*.parquet")}
    for name in sorted(listed.keys() | found):
        entry = listed.get(name)
        if name not in found:
            yield Damage(
                f"{name} is missing: {listed[name]['rows']:,} events",
                "--salvage makes a tape of the other parts",
                lost=True,
            )
            continue
        if entry is None:
            yield Damage(f"{name} is not in tape.json", "remove it, or the tape has events that nothing counts")
            continue
        if (path / name).stat().st_size != entry["bytes"]:
            yield Damage(f"{name}: {(path / name).stat().st_size:,} bytes, tape.json says {entry['bytes']:,}")
        try:
            source = f"read_parquet({sql_text(path / name)})"
            rows = con.execute(
                f"SELECT count(*), count(statement), sum(octet_length(statement)) FROM {source}"
            ).fetchall()
            names = [row[0] for row in con.execute(f"DESCRIBE SELECT * FROM {source}").fetchall()]
        except duckdb.Error as fault:
            yield Damage(
                f"{name} can't be read: {str(fault).splitlines()[0]}",
                "--salvage makes a tape of the other parts",
                lost=True,
            )
            continue
        if rows[0][0] != entry["rows"]:
            yield Damage(f"{name}: {rows[0][0]:,} events, tape.json says {entry['rows']:,}")
        if names != [column for column, _ in columns("tape", "events")]:
            yield Damage(f"{name}: its columns are not those of format version {FORMAT_VERSION}")


def _order(con: duckdb.DuckDBPyConnection, path: Path) -> Iterator[Damage]:
    parts = f"read_parquet({sql_text(path / 'events' / 'part-*.parquet')}, filename = true, file_row_number = true)"
    unsorted = con.execute(
        "SELECT count(*) FROM (SELECT start_ns < lag(start_ns)"
        f" OVER (PARTITION BY filename ORDER BY file_row_number) AS back FROM {parts}) WHERE back"
    ).fetchall()[0][0]
    if unsorted:
        yield Damage(f"{unsorted:,} events stand before one that began earlier in the same part")
    holes = con.execute(
        "SELECT count(*) FROM (SELECT session FROM"
        f" {parts} GROUP BY session HAVING min(seq) <> 1 OR max(seq) <> count(*) OR count(DISTINCT seq) <> count(*))"
    ).fetchall()[0][0]
    if holes:
        yield Damage(
            f"{holes:,} sessions whose events are not numbered 1, 2, 3, ...: events are missing, or there twice",
            "a replay of it would leave those out: see --partial-ok",
        )


def _balance(con: duckdb.DuckDBPyConnection, path: Path, info: dict[str, Any]) -> Iterator[Damage]:
    counts = info.get("counts", {})
    events = f"read_parquet({sql_text(path / 'events' / 'part-*.parquet')})"
    found = {"events": con.execute(f"SELECT count(*) FROM {events}").fetchall()[0][0]}
    for table in TABLES:
        file = path / f"{table}.parquet"
        try:
            found[table] = con.execute(f"SELECT count(*) FROM read_parquet({sql_text(file)})").fetchall()[0][0]
        except duckdb.Error as fault:
            yield Damage(f"{file.name} can't be read: {str(fault).splitlines()[0]}", "it follows from the events")
    for name, number in found.items():
        if counts.get(name) != number:
            yield Damage(f"{number:,} {name}, tape.json says {counts.get(name)}")
    by_table = {"sessions": "session", "digests": "digest"}
    for table, key in by_table.items():
        if table not in found:
            continue
        other = con.execute(
            f"SELECT count(*) FROM (SELECT {key}, count(*) AS n FROM {events} WHERE {key} IS NOT NULL GROUP BY {key}) e"
            f" FULL JOIN read_parquet({sql_text(path / f'{table}.parquet')}) t USING ({key})"
            " WHERE e.n IS DISTINCT FROM t.events"
        ).fetchall()[0][0]
        if other:
            yield Damage(f"{other:,} rows of {table}.parquet don't agree with the events", "it follows from the events")
