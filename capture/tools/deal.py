# SPDX-License-Identifier: Apache-2.0
"""Split a tape into a set of tapes with equal load for parallel replays. Sessions stay whole and keep their numbers.

A session has a fraction of all events and a fraction of the total busy time. Its load is the mean of these fractions.
The heaviest sessions are assigned one by one to the tape with the least load. The other sessions are assigned in turns,
forward and backward through the tapes.

By table, sessions stay together if one of them uses a table that another of them writes or locks. Drivers that replay
such tapes can keep the order of commits without waiting for each other.
"""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import duck_path, insert_rows, load_sql, write_parquet
from ...common.errors import InputError
from ...common.files import file_entry, make_private, new_folder, whole_or_removed, write_json
from ...common.groups import join_pairs
from ...common.units import plural
from ...schemas import Folder, columns, tape_id
from ...schemas.event_selection import define_macros
from ...schemas.tape_set import OF_SETS
from ..finish import problem_kinds
from ..parts import PACKED, part_entry
from ..storage import open_storage
from .derive import open_finished, start_info
from .gather import write_set

MAX_TAPES = 1000
OWN = ("parts", "tables", *OF_SETS)  # entries of the original tape that the set does not inherit
ONE_BY_ONE = 20_000  # number of sessions assigned one by one; all other sessions have less load
UNKNOWN, SHOWN = "*", 5  # the place of unknown tables; number of tables that a message shows
LARGEST_GROUP = 1.2  # highest load of a group of sessions, divided by the mean load of a tape


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
    """A new set: its tapes, and the session with the highest load.

    `groups`: number of groups of sessions that had to stay together. None if the set was not dealt by table.
    """

    shares: tuple[Share, ...]
    heaviest_session: int
    heaviest_load: float
    groups: int | None = None

    @property
    def heaviest(self) -> float:
        """The heaviest load of a tape divided by the mean load of all tapes."""
        return max(share.load for share in self.shares) * len(self.shares)


def deal(tape: Path, count: int, out: Path, by_table: bool = False) -> Dealt:
    """Write a set of `count` tapes with the sessions of one tape.

    `by_table`: sessions that share a table with a writer stay together. Raises InputError in these cases:

    - The tape has fewer than `count` sessions, the tape is unfinished, or `out` exists.
    - By table, sessions that must stay together have more than LARGEST_GROUP of a tape's share of the load.
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
    with whole_or_removed(out), open_storage(out, largest=int(folder.info.get("largest_event") or 0)) as con:
        return _write(con, folder, count, out, by_table)


def _write(con: duckdb.DuckDBPyConnection, folder: Folder, count: int, out: Path, by_table: bool) -> Dealt:
    folder.attach(con, "tape")
    dealt = choose(con, count, by_table)
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


def choose(con: duckdb.DuckDBPyConnection, count: int, by_table: bool = False) -> Dealt:
    """Assign the sessions of view `tape_events` to `count` tapes, and return the new set.

    Creates table `dealt` with the columns session and share. `share` is the number of the target tape, from 0. A group
    of sessions has the number of one of its sessions, and is assigned as one session.
    """
    con.execute(f"CREATE TABLE loads AS {load_sql(__package__, 'loads.sql')}")
    con.execute("CREATE TABLE grouped (session BIGINT, first BIGINT)")
    groups = _group(con, count) if by_table else None
    con.execute(
        "CREATE TABLE units AS SELECT coalesce(first, session) AS session, sum(load) AS load"
        " FROM loads LEFT JOIN grouped USING (session) GROUP BY ALL"
    )
    heavy = con.execute(f"SELECT session, load FROM units ORDER BY load DESC, session LIMIT {ONE_BY_ONE}").fetchall()
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
    con.execute(
        "INSERT INTO dealt SELECT g.session, d.share FROM grouped g JOIN dealt d ON d.session = g.first"
        " WHERE g.session <> g.first"
    )
    rows = con.execute(
        "SELECT share, count(*), sum(events)::BIGINT, sum(busy_ns)::BIGINT, sum(load)"
        " FROM loads JOIN dealt USING (session) GROUP BY share ORDER BY share"
    ).fetchall()
    digits = max(2, len(str(count)))
    shares = tuple(Share(f"{share + 1:0{digits}}.tape", *of) for share, *of in rows)
    session, load = con.execute("SELECT session, load FROM loads ORDER BY load DESC, session LIMIT 1").fetchall()[0]
    return Dealt(shares, session, load, groups)


def _group(con: duckdb.DuckDBPyConnection, count: int) -> int:
    """Fill table `grouped` with the sessions that must stay together, and the first session of their group.

    Return the number of groups. Raises InputError if the sessions cannot be dealt to `count` tapes.
    """
    define_macros(con)
    listed = con.execute(load_sql(__package__, "session_tables.sql")).fetchall()
    if unknown := [sessions for places, sessions in listed if UNKNOWN in places]:
        raise InputError(
            f"{plural(sum(map(len, unknown)), 'session')} with statements whose tables are unknown (such as CALL)."
            " querytape cannot keep their commit order across drivers: replay the tape with one driver"
        )
    head = join_pairs((places[0], place) for places, _ in listed for place in places)
    first: dict[str, int] = {}
    for places, sessions in listed:
        first[head[places[0]]] = min(sessions[0], first.get(head[places[0]], sessions[0]))
    con.execute("CREATE TABLE listed (sessions BIGINT[], first BIGINT)")
    insert_rows(con, "listed", [(sessions, first[head[places[0]]]) for places, sessions in listed])
    con.execute("INSERT INTO grouped SELECT unnest(sessions), first FROM listed; DROP TABLE listed")
    loads = con.execute(
        "SELECT first, sum(load), count(*) FROM loads JOIN grouped USING (session) GROUP BY ALL ORDER BY 2 DESC, 1"
    ).fetchall()
    units = con.execute("SELECT count(*) FROM loads ANTI JOIN grouped USING (session)").fetchall()[0][0] + len(loads)
    if loads and (loads[0][1] > LARGEST_GROUP / count or units < count):
        tables = sorted(place for place, at in head.items() if first[at] == loads[0][0])
        most = min(int(LARGEST_GROUP / loads[0][1]), units)
        remedy = f"deal it to at most {most:,} tapes" if most > 1 else "replay it with one driver"
        raise InputError(
            f"{plural(loads[0][2], 'session')} with {loads[0][1]:.0%} of the load must stay together, because they"
            f" write or lock the same tables: {', '.join(tables[:SHOWN])}{' ...' if len(tables) > SHOWN else ''}. To"
            f" keep the order of commits, {remedy}"
        )
    return len(loads)


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
