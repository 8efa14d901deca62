# SPDX-License-Identifier: Apache-2.0
"""Make a new tape of old ones: merged, cut to a window of time, filtered. SQL does it; no tape is held in memory."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import write_parquet
from ...common.errors import InputError
from ...common.files import write_json
from ...common.version import __version__
from ...schemas import EventFilter, Folder, columns, open_folder
from ..finish import finish
from ..source import TapeWarning
from ..tape_writer import new_tape, open_storage, part_entry

# What a tape knows of its sessions beyond their events.
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


def derive(tapes: Sequence[Path], out: Path, kept: EventFilter) -> dict[str, Any]:
    """Write a new tape of the kept events of one tape or several; return its JSON.

    Sessions of several tapes are numbered on; `seq` is numbered again without holes. Raises InputError where a tape is
    not finished, durations were taken at different points, or no event is kept.
    """
    where = kept.sql()
    folders = [open_finished(path) for path in tapes]
    points = {str(folder.info.get("measuring_point")) for folder in folders}
    if len(points) > 1:
        raise InputError(f"durations taken at different points ({', '.join(sorted(points))}) cannot be on one tape")
    new_tape(out)
    info = start_info(folders)
    with open_storage(out, largest=info["largest_event"]) as con:
        make_views(con, folders)
        if not con.execute(f"SELECT count(*) FROM everything WHERE {where}").fetchall()[0][0]:
            shutil.rmtree(out)
            raise InputError(f"no event is left of {', '.join(map(str, tapes))}: no tape was written")
        info["parts"] = write_parts(con, out, where)
        write_facts(con, out)
        write_json(out / "tape.json", info)
        note = [{"kind": "filtered", "text": f"only a part was kept: {kept.sentence()}"}] if where != "true" else []
        return finish(con, out, info, [*inherited_warnings(folders), *note])


def open_finished(path: Path) -> Folder:
    """Open a tape. Raises InputError where its capture was killed and it was not completed since."""
    tape = open_folder("tape", path)
    if not tape.finished:
        raise InputError(f"{path}: not finished: run `querytape inspect {path}` first, which completes it")
    return tape


def start_info(folders: Sequence[Folder]) -> dict[str, Any]:
    """Return the JSON of a tape that is made of others, before its first part."""
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
        "largest_event": max(int(folder.info.get("largest_event") or 0) for folder in folders),
        "input": {"tapes": [str(folder.path) for folder in folders]},
    }


def inherited_warnings(folders: Sequence[Folder]) -> list[TapeWarning]:
    """Return the warnings of the tapes, except those that the new tape's own events show."""
    own = {"long_query_time", "min_examined_row_limit", "hole"}
    warnings: list[TapeWarning] = []
    for folder in folders:
        warnings += [w for w in folder.info.get("warnings", []) if w["kind"] not in own and w not in warnings]
    return warnings


def make_views(con: duckdb.DuckDBPyConnection, folders: Sequence[Folder]) -> None:
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
    """Write the events of view everything that meet a condition in parts by time; return the parts' entries."""
    con.execute(
        "CREATE TABLE places AS SELECT session, seq, start_ns,"
        " row_number() OVER (PARTITION BY session ORDER BY seq) AS new_seq,"
        f" (row_number() OVER (ORDER BY start_ns, session, seq) - 1) // {ROWS_A_PART} AS part"
        f" FROM everything WHERE {where}"
    )
    names = ", ".join(f'"{name}"' for name, _ in columns("tape", "events"))
    entries = []
    for number in range(con.execute("SELECT max(part) + 1 FROM places").fetchall()[0][0]):
        part = out / "events" / f"part-{number:05d}.parquet"
        query = (
            f"SELECT {names} FROM (SELECT e.* REPLACE (p.new_seq AS seq) FROM everything e"
            f" JOIN places p ON p.session = e.session AND p.seq = e.seq WHERE p.part = {number})"
            " ORDER BY start_ns, session, seq"
        )
        write_parquet(con, query, part)
        entries.append(part_entry(con, out, part))
    con.execute("DROP TABLE places")
    return entries


def write_facts(con: duckdb.DuckDBPyConnection, out: Path) -> None:
    """Write what the tapes know of their sessions beyond the events, for `finish`."""
    listed = ", ".join(f's."{name}"' for name in FACTS)
    for tape, shift in con.execute("SELECT tape, sessions FROM shifts ORDER BY tape").fetchall():
        query = f"SELECT s.session + {shift} AS session, {listed} FROM sessions{tape} s"
        write_parquet(con, query, out / "facts" / f"part-{tape:05d}.parquet")
