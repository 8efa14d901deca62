# SPDX-License-Identifier: Apache-2.0
"""A new tape from old ones: merged, cut to a time window, filtered. SQL does it; nothing is held whole in memory."""

import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ... import __version__
from ...errors import InputError
from ...schemas import CLASSES, Folder, columns, make_private, open_folder, publish, sql_text, write_json
from ..finish import finish
from ..recorder import create_folder, open_storage

FACTS = (
    "thread_id",
    "user",
    "host",
    "db",
    "port",
    "client_flags",
    "charset",
    "attributes",
    "open_at_start",
    "encrypted",
)
ROWS_A_PART = 1_000_000


@dataclass(frozen=True)
class Choice:
    """Which events to keep: each list is alternatives, all that are given must hold. Times: nanoseconds since 1970."""

    users: Sequence[str] = ()
    dbs: Sequence[str] = ()
    digests: Sequence[str] = ()
    classes: Sequence[str] = ()
    sessions: Sequence[int] = ()
    from_ns: int | None = None
    to_ns: int | None = None

    def where(self) -> str:
        """Return it as SQL. Raises InputError for a class or digest that is none."""
        if wrong := [name for name in self.classes if name not in CLASSES]:
            raise InputError(f"--class: expected one of {', '.join(CLASSES)}, found {wrong[0]!r}")
        if wrong := [name for name in self.digests if len(name) != 16]:
            raise InputError(f"--digest: expected 16 hexadecimal digits, found {wrong[0]!r}")
        texts = (('"user"', self.users), ("db", self.dbs), ("digest", self.digests), ("class", self.classes))
        parts = [f"{name} IN ({', '.join(map(sql_text, values))})" for name, values in texts if values]
        if self.sessions:
            parts.append(f"session IN ({', '.join(str(int(session)) for session in self.sessions)})")
        if self.from_ns is not None:
            parts.append(f"start_ns >= {self.from_ns}")
        if self.to_ns is not None:
            parts.append(f"start_ns < {self.to_ns}")
        return " AND ".join(parts) or "true"

    def __str__(self) -> str:
        """Return it as a note for people."""
        named = (("user", self.users), ("db", self.dbs), ("digest", self.digests), ("class", self.classes))
        said = [f"{name} {', '.join(values)}" for name, values in named if values]
        said += [f"session {', '.join(map(str, self.sessions))}"] if self.sessions else []
        said += ["a window of time"] if self.from_ns is not None or self.to_ns is not None else []
        return "; ".join(said)


def derive(tapes: Sequence[Path], out: Path, choice: Choice) -> dict[str, Any]:
    """Write a new tape of the chosen events of one tape or several; return its JSON.

    Sessions of several tapes are numbered on; `seq` is numbered anew without holes. Raises InputError where the tapes'
    durations were taken at different points, or nothing is left.
    """
    where = choice.where()
    folders = [open_folder("tape", path) for path in tapes]
    for folder in folders:
        if not folder.finished:
            raise InputError(
                f"{folder.path}: not finished: run `querytape inspect {folder.path}` first, which completes it"
            )
    points = {str(folder.info.get("measuring_point")) for folder in folders}
    if len(points) > 1:
        raise InputError(f"durations taken at different points ({', '.join(sorted(points))}) can't be on one tape")
    create_folder(out)
    info = start(folders)
    with open_storage(out) as con:
        gather(con, folders)
        chosen = con.execute(f"SELECT count(*) FROM everything WHERE {where}").fetchall()[0][0]
        if not chosen:
            shutil.rmtree(out)
            raise InputError(f"no event is left of {', '.join(map(str, tapes))}: no tape was written")
        info["parts"] = write_parts(con, out, where)
        write_facts(con, out)
    write_json(out / "tape.json", info)
    note = [{"kind": "filtered", "text": f"only a part was kept: {choice}"}] if where != "true" else []
    return finish(out, info, [*inherited(folders), *note])


def start(folders: Sequence[Folder]) -> dict[str, Any]:
    """Return the JSON of a tape that comes of others."""
    first = folders[0].info
    files = [entry for folder in folders for entry in folder.info["files"]]
    same_server = all(folder.info.get("server") == first.get("server") for folder in folders)
    return {
        **{key: first.get(key) for key in ("format_version", "created", "measuring_point", "server_version")},
        "tool_version": __version__,
        "finished": False,
        "source": "+".join(sorted({str(folder.info.get("source")) for folder in folders})),
        "files": files,
        "parts": [],
        "server": first.get("server") if same_server else None,
        "log_timezone_ns": first.get("log_timezone_ns"),
        "input": {"tapes": [str(folder.path) for folder in folders]},
    }


def inherited(folders: Sequence[Folder]) -> list[dict[str, str]]:
    """Return the warnings of the tapes that the new one can't find out by itself."""
    own = {"long_query_time", "min_examined_row_limit", "hole"}
    found: list[dict[str, str]] = []
    for folder in folders:
        found += [w for w in folder.info.get("warnings", []) if w["kind"] not in own and w not in found]
    return found


def gather(con: duckdb.DuckDBPyConnection, folders: Sequence[Folder]) -> None:
    """Make view everything: all events, with sessions and files numbered on from tape to tape; and table shifts."""
    con.execute("CREATE TABLE shifts (tape INTEGER, sessions BIGINT, files BIGINT)")
    selects, sessions, files = [], 0, 0
    for number, folder in enumerate(folders):
        con.execute("INSERT INTO shifts VALUES (?, ?, ?)", [number, sessions, files])
        selects.append(
            f"SELECT * REPLACE (session + {sessions} AS session, file + {files} AS file) FROM {folder.source('events')}"
        )
        sessions += con.execute(f"SELECT max(session) FROM {folder.source('sessions')}").fetchall()[0][0]
        files += len(folder.info["files"])
        con.execute(f"CREATE VIEW sessions{number} AS SELECT * FROM {folder.source('sessions')}")
    con.execute(f"CREATE VIEW everything AS {' UNION ALL BY NAME '.join(selects)}")


def write_parts(con: duckdb.DuckDBPyConnection, out: Path, where: str) -> list[dict[str, Any]]:
    """Write the chosen events in parts by time; return their entries."""
    con.execute(
        "CREATE TABLE places AS SELECT session, seq, start_ns,"
        " row_number() OVER (PARTITION BY session ORDER BY seq) AS new_seq,"
        f" (row_number() OVER (ORDER BY start_ns, session, seq) - 1) // {ROWS_A_PART} AS part"
        f" FROM everything WHERE {where}"
    )
    names = ", ".join(f'"{name}"' for name, _ in columns("tape", "events"))
    entries = []
    for number in range(con.execute("SELECT max(part) + 1 FROM places").fetchall()[0][0]):
        final = out / "events" / f"part-{number:05d}.parquet"
        with publish(final) as temporary:
            con.execute(
                f"COPY (SELECT {names} FROM (SELECT e.* REPLACE (p.new_seq AS seq) FROM everything e"
                " JOIN places p ON p.session = e.session AND p.seq = e.seq"
                f" WHERE p.part = {number}) ORDER BY start_ns, session, seq)"
                f" TO {sql_text(temporary)} (FORMAT parquet, COMPRESSION zstd)"
            )
        rows, first, last = con.execute(
            "SELECT count(*), min(start_ns), max(start_ns + coalesce(duration_ns, 0))"
            f" FROM read_parquet({sql_text(final)})"
        ).fetchall()[0]
        size = final.stat().st_size
        entries.append(
            {"file": f"events/{final.name}", "rows": rows, "bytes": size, "first_ns": first, "last_ns": last}
        )
    return entries


def write_facts(con: duckdb.DuckDBPyConnection, out: Path) -> None:
    """Hand on what the tapes know of their sessions beyond the events."""
    if not (out / "facts").is_dir():
        make_private(out / "facts")
    listed = ", ".join(f's."{name}"' for name in FACTS)
    shifts = con.execute("SELECT tape, sessions FROM shifts ORDER BY tape").fetchall()
    for tape, shift in shifts:
        with publish(out / "facts" / f"part-{tape:05d}.parquet") as temporary:
            con.execute(
                f"COPY (SELECT s.session + {shift} AS session, {listed} FROM sessions{tape} s)"
                f" TO {sql_text(temporary)} (FORMAT parquet)"
            )
