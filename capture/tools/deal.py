# SPDX-License-Identifier: Apache-2.0
"""Split a tape into a set of tapes with equal load for parallel replays. Sessions stay whole and keep their numbers.

A session has a fraction of all events and a fraction of the total busy time. Its load is the mean of these fractions.
The heaviest sessions are assigned one by one to the tape with the least load. The other sessions are assigned in turns,
forward and backward through the tapes.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import duck_path, insert_rows, load_sql, write_parquet
from ...common.errors import InputError
from ...common.files import file_entry, make_private, new_folder, remove_folder, write_json
from ...schemas import Folder, columns, tape_id
from ...schemas.tape_set import OF_SETS
from ..finish import problem_kinds
from ..parts import PACKED, part_entry
from ..storage import open_storage
from .derive import open_finished, start_info
from .gather import write_set

MAX_TAPES = 1000
OWN = ("parts", "tables", *OF_SETS)  # entries of the original tape that the set does not inherit
ONE_BY_ONE = 20_000  # number of sessions assigned one by one; all other sessions have less load


@dataclass(frozen=True)
class Share:
    """One tape of a set. `load`: fraction of the total load."""

    folder: str
    sessions: int
    events: int
    busy_ns: int
    load: float


@dataclass(frozen=True)
class Dealt:
    """A new set: its tapes, and the session with the highest load."""

    shares: tuple[Share, ...]
    heaviest_session: int
    heaviest_load: float

    @property
    def heaviest(self) -> float:
        """The heaviest load of a tape divided by the mean load of all tapes."""
        return max(share.load for share in self.shares) * len(self.shares)


def deal(tape: Path, count: int, out: Path) -> Dealt:
    """Write a set of `count` tapes with the sessions of one tape.

    Raises InputError if the tape has fewer than `count` sessions, the tape is unfinished, or `out` exists.
    """
    folder = open_finished(tape)
    sessions = int(folder.info["counts"]["sessions"])
    if not 2 <= count <= MAX_TAPES:
        raise InputError(f"{count:,} tapes: expected 2 to {MAX_TAPES:,}")
    if sessions < count:
        raise InputError(
            f"{tape}: expected at least {count:,} sessions for {count:,} tapes, found {sessions:,} (a session is never"
            " split)"
        )
    new_folder(out)
    try:
        with open_storage(out, largest=int(folder.info.get("largest_event") or 0)) as con:
            return _write(con, folder, count, out)
    except BaseException:
        remove_folder(out)
        raise


def _write(con: duckdb.DuckDBPyConnection, folder: Folder, count: int, out: Path) -> Dealt:
    folder.attach(con, "tape")
    dealt = choose(con, count)
    paths = [out / share.folder for share in dealt.shares]
    for path in paths:
        make_private(path)
        make_private(path / "events")
    parts = _write_events(con, folder, paths)
    for share, path in enumerate(paths):
        _write_tables(con, folder, path, parts[share], share)
    whole = {key: value for key, value in folder.info.items() if key not in OWN}
    write_set(con, out, paths, whole | {"parts": [], "tables": []}, "tape_digests", dealt_from=tape_id(folder.info))
    return dealt


def choose(con: duckdb.DuckDBPyConnection, count: int) -> Dealt:
    """Assign the sessions of view `tape_events` to `count` tapes, and return the new set.

    Creates table `dealt` with the columns session and share. `share` is the number of the target tape, from 0.
    """
    con.execute(f"CREATE TABLE loads AS {load_sql(__package__, 'loads.sql')}")
    heavy = con.execute(f"SELECT session, load FROM loads ORDER BY load DESC, session LIMIT {ONE_BY_ONE}").fetchall()
    filled = [(0.0, share) for share in range(count)]
    chosen = []
    for session, load in heavy:
        least, share = filled[0]
        heapq.heapreplace(filled, (least + load, share))
        chosen.append((session, share))
    con.execute("CREATE TABLE dealt (session BIGINT, share INTEGER)")
    insert_rows(con, "dealt", chosen)
    con.execute("CREATE TABLE turns (turn INTEGER, share INTEGER)")
    insert_rows(con, "turns", [(turn, share) for turn, (_, share) in enumerate(sorted(filled))])
    con.execute(f"SET VARIABLE tapes = {count}")
    con.execute(f"INSERT INTO dealt {load_sql(__package__, 'in_turns.sql')}")
    rows = con.execute(
        "SELECT share, count(*), sum(events)::BIGINT, sum(busy_ns)::BIGINT, sum(load)"
        " FROM loads JOIN dealt USING (session) GROUP BY share ORDER BY share"
    ).fetchall()
    digits = max(2, len(str(count)))
    return Dealt(tuple(Share(f"{share + 1:0{digits}}.tape", *of) for share, *of in rows), *heavy[0])


def _write_events(con: duckdb.DuckDBPyConnection, folder: Folder, paths: Sequence[Path]) -> list[list[dict[str, Any]]]:
    """Distribute the events part by part, and return the part entries of each tape."""
    names = ", ".join(f'"{name}"' for name, _ in columns("tape", "events"))
    entries: list[list[dict[str, Any]]] = [[] for _ in paths]
    for number, file in enumerate(folder.files("events")):
        source = folder.events_of([duck_path(file)])
        con.execute(
            f"CREATE OR REPLACE TEMP TABLE dealt_events AS SELECT {names}, share FROM {source}"
            " JOIN dealt USING (session) ORDER BY share, start_ns, session, seq"
        )
        for share, path in enumerate(paths):
            part = path / "events" / f"part-{number:05d}.parquet"
            if write_parquet(con, f"SELECT {names} FROM dealt_events WHERE share = {share}", part, PACKED):
                entries[share].append(part_entry(con, path, part))
    con.execute("DROP TABLE IF EXISTS dealt_events")
    return entries


def _write_tables(
    con: duckdb.DuckDBPyConnection, folder: Folder, path: Path, parts: list[dict[str, Any]], share: int
) -> None:
    """Write the sessions, digests and JSON of one tape. All problems of the original tape go to the first tape."""
    info = {**start_info([folder]), "parts": parts}
    con.execute(f"CREATE OR REPLACE TEMP VIEW events AS FROM {Folder('tape', path, info).source('events')}")
    order = 'ORDER BY file, "offset", line, kind, detail'
    queries = {
        "sessions": f"SELECT s.* FROM tape_sessions s SEMI JOIN (FROM dealt WHERE share = {share}) d USING (session)"
        " ORDER BY first_ns, session",
        "digests": load_sql(__package__, "dealt_digests.sql"),
        "problems": f"FROM tape_problems {order}" if share == 0 else f"FROM tape_problems WHERE false {order}",
    }
    counts = {
        table: write_parquet(con, query, path / f"{table}.parquet", keep_empty=True) for table, query in queries.items()
    }
    info["tables"] = [file_entry(path, path / f"{table}.parquet", rows) for table, rows in counts.items()]
    info["counts"] = {"events": sum(part["rows"] for part in parts), **counts}
    info |= {key: folder.info[key] for key in ("precision_ns", "known_columns") if key in folder.info}
    info |= {"first_ns": min(part["first_ns"] for part in parts), "last_ns": max(part["last_ns"] for part in parts)}
    info |= {f"set_{key}": folder.info.get(key) for key in ("first_ns", "last_ns")}
    info["problems"] = problem_kinds(con, path) if counts["problems"] else {}
    info["warnings"] = folder.info.get("warnings") or []
    info["finished"] = True
    write_json(path / "tape.json", info)
