# SPDX-License-Identifier: Apache-2.0
"""Verify that a tape is intact: its JSON, its files, the order of its events and its counts."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import plain_reason, sql_files, sql_text
from ...common.errors import FolderError
from ...common.files import is_held, sha256_of
from ...common.text import printable
from ...common.units import plural
from ...schemas import FORMAT_VERSION, check_parquet, check_shape, columns, open_folder, read_json
from ...schemas.tape_set import SET, TapeSet
from ..storage import open_storage

FOLLOWS = "the events are not affected: --salvage writes a new tape from the events"
OTHER_PARTS = "--salvage writes a new tape from the remaining parts"
GATHERED_AGAIN = f"remove {SET}, and make a set of the intact tapes with `querytape tape set`"
DEALT_AGAIN = (
    f"split the original tape again with `querytape tape deal`. If the original tape is gone, {GATHERED_AGAIN}"
)
TABLES = ("sessions", "digests", "problems")
# Reads every value of every column, because reading finds damage.
_ALL = ", ".join(f'count("{name}"), max(hash("{name}"))' for name, _ in columns("tape", "events"))


@dataclass(frozen=True)
class Damage:
    """A fault of a tape and its remedy."""

    what: str
    saved: str = "querytape cannot repair this damage: capture again"
    lost: bool = False  # true if events are unreadable; later checks are then skipped


def verify(path: Path, work: Path) -> Iterator[Damage]:
    """Yield the faults of a tape, or nothing if the tape is intact. `work`: folder for temporary files."""
    if not (path / "tape.json").exists() and ((path / SET).exists() or _tapes_in(path)):
        yield from _set(path, work)
        return
    marker = path / "tape.json"
    try:
        info = read_json("tape", marker)
        if info["format_version"] == FORMAT_VERSION:
            check_shape("tape", marker, info)
    except FolderError as error:
        yield Damage(str(error), "the events may be intact: --salvage writes a new tape from readable events")
        return
    if info["format_version"] != FORMAT_VERSION:
        yield Damage(
            f"found format version {info['format_version']}, but this querytape reads {FORMAT_VERSION}",
            "use the querytape version that wrote the tape",
        )
        return
    if not info.get("finished"):
        if is_held(path):
            yield Damage(
                "the capture is still running",
                ("`querytape tape cut` and `querytape inspect` can read the published parts"),
            )
            return
        yield Damage(
            "the capture did not finish",
            "run `querytape inspect` to complete the tape from the written parts. Copy a tape in a store first",
        )
    with open_storage(work) as con:
        damaged = [*_parts(con, path, info), *_tables(path, info)]
        yield from damaged
        if any(damage.lost for damage in damaged):
            return
        parts = [path / entry["file"] for entry in info.get("parts", ())]
        if parts:
            yield from _order(con, parts, dropped=bool(info.get("dropped")))
        if info.get("finished"):
            yield from _counts(con, path, parts, info)


def _tapes_in(path: Path) -> list[str]:
    """Return the names of the tapes in a folder."""
    try:
        return sorted(each.name for each in path.iterdir() if (each / "tape.json").exists())
    except OSError:
        return []


def _set(path: Path, work: Path) -> Iterator[Damage]:
    """Yield the faults of a set: faults of its tapes, of its list of tapes, and of its own files."""
    inside, damaged = _tapes_in(path), False
    for name in inside:
        for damage in verify(path / name, work):
            damaged = True
            yield replace(damage, what=f"{name}: {damage.what}")
    if not (path / SET).exists():
        yield Damage(
            f"the folder has {plural(len(inside), 'tape')} but no {SET}",
            "run `querytape tape set` to make a set of the tapes",
        )
        return
    try:
        info = read_json("set", path / SET)
        check_shape("set", path / SET, info)
    except FolderError as error:
        yield Damage(str(error), GATHERED_AGAIN)
        return
    again = DEALT_AGAIN if info.get("dealt_from") else GATHERED_AGAIN
    listed = {printable(entry["folder"], 80) for entry in info.get("tapes", ())}
    for name in sorted(listed - set(inside)):
        damaged = True
        yield Damage(f"{name} is missing", again, lost=True)
    for name in sorted(set(inside) - listed):
        yield Damage(
            f"{SET} does not list {name}, so this tape is not read",
            (f"remove {name}, which is a copy or belongs to another set"),
        )
    if not damaged:
        yield from _what_it_says(path, again)


def _what_it_says(path: Path, again: str) -> Iterator[Damage]:
    """Yield the faults in the files of a set whose tapes are intact."""
    try:
        tape_set = open_folder("tape", path)
    except FolderError as error:
        yield Damage(str(error), again)
        return
    if isinstance(tape_set, TapeSet):
        for entry in tape_set.digests:
            yield from (replace(each, saved=again) for each in _changed(path / entry["file"], entry["file"], entry))


def _parts(con: duckdb.DuckDBPyConnection, path: Path, info: dict[str, Any]) -> Iterator[Damage]:
    """Yield the faults of the event files."""
    listed = {entry["file"]: entry for entry in info.get("parts", ())}
    files = {str(part.relative_to(path)) for part in (path / "events").glob("part-*.parquet")}
    for name in sorted(listed.keys() | files):
        entry = listed.get(name)
        if name not in files:
            yield Damage(f"{name} is missing: {listed[name]['rows']:,} events", OTHER_PARTS, lost=True)
        elif entry is None:
            if info.get("finished"):
                yield Damage(
                    f"tape.json does not list {name}", (f"remove {name}, which is a copy or belongs to another tape")
                )
        else:
            yield from _part(con, path / name, name, entry)


def _part(con: duckdb.DuckDBPyConnection, file: Path, name: str, entry: dict[str, Any]) -> Iterator[Damage]:
    """Yield the faults of one event file. Reads the whole file."""
    changed = list(_changed(file, name, entry))
    yield from changed
    try:
        (rows,) = check_parquet("tape", "events", [file]).values()
        con.execute(f"SELECT {_ALL} FROM read_parquet({sql_text(file)})").fetchall()
    except FolderError as error:
        yield Damage(f"{name} cannot be read: {error}", OTHER_PARTS, lost=True)
        return
    except duckdb.Error as error:
        yield Damage(f"{name} cannot be read: {plain_reason(error)}", OTHER_PARTS, lost=True)
        return
    if rows != entry["rows"]:
        yield Damage(f"{name}: {rows:,} events, but tape.json lists {entry['rows']:,}")


def _changed(file: Path, name: str, entry: dict[str, Any]) -> Iterator[Damage]:
    """Yield a fault if the size or checksum of a file differs from tape.json."""
    try:
        size = file.lstat().st_size
        if size != entry["bytes"]:
            yield Damage(f"{name}: {size:,} bytes, but tape.json lists {entry['bytes']:,}")
        elif entry.get("sha256") and file.is_file() and sha256_of(file) != entry["sha256"]:
            yield Damage(f"{name}: the SHA-256 differs from tape.json. The file was changed after it was written")
    except OSError as error:
        yield Damage(f"{name} cannot be read: {error.strerror}", lost=True)


def _tables(path: Path, info: dict[str, Any]) -> Iterator[Damage]:
    """Yield missing or changed files of sessions, digests and problems."""
    for entry in info.get("tables", ()):
        if not (path / entry["file"]).exists():
            yield Damage(f"{entry['file']} is missing: {entry['rows']:,} rows", FOLLOWS)
        else:
            yield from _changed(path / entry["file"], entry["file"], entry)


def _order(con: duckdb.DuckDBPyConnection, files: list[Path], dropped: bool = False) -> Iterator[Damage]:
    """Yield faults in the order of start times within a part, and in the numbering of the events of a session.

    `dropped`: the first events of a session may be missing, so the numbering of its events may start later.
    """
    parts = f"read_parquet({sql_files(files)}, filename = true, file_row_number = true)"
    unsorted = con.execute(
        "SELECT count(*) FROM (SELECT start_ns < lag(start_ns)"
        f" OVER (PARTITION BY filename ORDER BY file_row_number) AS back FROM {parts}) WHERE back"
    ).fetchall()[0][0]
    if unsorted:
        yield Damage(f"{plural(unsorted, 'event')} out of order: the previous event of the same part began later")
    holes = con.execute(
        "SELECT count(*) FROM (SELECT session FROM"
        f" {parts} GROUP BY session HAVING {'false' if dropped else 'min(seq) <> 1'}"
        " OR max(seq) - min(seq) + 1 <> count(*) OR count(DISTINCT seq) <> count(*))"
    ).fetchall()[0][0]
    if holes:
        yield Damage(
            f"{plural(holes, 'session')} with missing or duplicate events (not numbered 1, 2, 3, ...)",
            "a replay skips sessions with missing or duplicate events (see --partial-ok)",
        )


def _counts(con: duckdb.DuckDBPyConnection, path: Path, parts: list[Path], info: dict[str, Any]) -> Iterator[Damage]:
    """Yield the counts in tape.json and in the tables that differ from the number of events."""
    counts = info.get("counts", {})
    events = f"read_parquet({sql_files(parts)})" if parts else "(SELECT NULL AS session, NULL AS digest WHERE false)"
    rows = {"events": con.execute(f"SELECT count(*) FROM {events}").fetchall()[0][0]}
    for table in TABLES:
        file = path / f"{table}.parquet"
        try:
            (rows[table],) = check_parquet("tape", table, [file]).values()
        except FolderError as error:
            yield Damage(f"{file.name} cannot be read: {error}", FOLLOWS)
    for name, number in rows.items():
        if counts.get(name) != number:
            yield Damage(f"{number:,} {name}, but tape.json lists {counts.get(name)}")
    by_table = {"sessions": "session", "digests": "digest"}
    for table, key in by_table.items():
        if table not in rows:
            continue
        other = con.execute(
            f"SELECT count(*) FROM (SELECT {key}, count(*) AS n FROM {events} WHERE {key} IS NOT NULL GROUP BY {key}) e"
            f" FULL JOIN read_parquet({sql_text(path / f'{table}.parquet')}) t USING ({key})"
            " WHERE e.n IS DISTINCT FROM t.events"
        ).fetchall()[0][0]
        if other:
            yield Damage(f"{table}.parquet does not match the events in {plural(other, 'row')}", FOLLOWS)
