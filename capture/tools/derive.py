# SPDX-License-Identifier: Apache-2.0
"""Make a new tape from old tapes: merged, cut to a time range, or filtered. SQL does the work without loading a tape.

The new tape keeps the events that a replay with the same filter sends. These events are whole transactions and earlier
events that set the state of their sessions. Events from before the time range move to the start of the range and are
marked as carried.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb

from ...common.duck import write_parquet
from ...common.errors import InputError
from ...common.files import whole_or_removed, write_json
from ...common.staged import shown_path
from ...common.units import plural
from ...common.version import __version__
from ...schemas import FLAGS, EventFilter, Folder, columns, count_files, ddl, open_folder
from ...schemas.event_selection import SelectionTables, define_macros, find_transactions, preparing_sql, selection_sql
from ..finish import finish
from ..parts import part_entry
from ..source import TapeWarning
from ..storage import open_storage
from ..tape_writer import new_tape

# Session properties that cannot be computed from events.
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
UNCHANGED = "SELECT session, seq, start_ns, start_ns AS tape_ns, flags FROM everything"
ROWS_A_PART = 1_000_000
BYTES_A_PART = 96 << 20  # maximum bytes of statements and parameters in a part, because a part is sorted in memory
# Event columns that a selection reads.
OF_SELECTION = ("session", "seq", "start_ns", "command", "class", "actions", "flags", "db", "stmt", "digest", "errno")


def derive(tapes: Sequence[Path], out: Path, kept: EventFilter) -> dict[str, Any]:
    """Write a new tape with the selected events of one or several tapes, and return its JSON.

    Sessions of later tapes get higher numbers, and `seq` is renumbered without gaps. Raises InputError if a tape is
    unfinished, the measuring points of durations differ, or no event is selected.
    """
    folders = [open_finished(path) for path in tapes]
    one_measuring_point(folders)
    new_tape(out)
    info = start_info(folders)
    with whole_or_removed(out), open_storage(out, largest=info["largest_event"]) as con:
        make_views(con, folders)
        asked, before = select(con, folders, kept)
        if not asked:
            raise InputError(f"no event of {', '.join(map(str, tapes))} matches the conditions (no tape was written)")
        info["parts"] = write_parts(con, out, "kept_events")
        write_facts(con, out, kept.from_ns)
        if kept == EventFilter():
            write_problems(con, folders, out)
            info |= lost_together(folders)
        carried = f"SELECT count(*) FROM kept_events WHERE flags & {FLAGS['carried']} <> 0"
        info["carried"] = con.execute(carried).fetchall()[0][0]
        write_json(out / "tape.json", info)
        note = [] if kept == EventFilter() else [{"kind": "filtered", "text": _note(kept, before)}]
        return finish(con, out, info, [*inherited_warnings(folders), *note])


def _note(kept: EventFilter, before: int) -> str:
    more = (
        f". The tape also contains {plural(before, 'earlier event')} of these sessions (SET, USE, prepared statements,"
        " ...)"
    )
    return f"the tape contains only selected events ({kept.sentence()}){more if before else ''}"


def select(con: duckdb.DuckDBPyConnection, folders: Sequence[Folder], kept: EventFilter) -> tuple[int, int]:
    """Create table `kept_events` with the columns session, seq, start_ns, flags and tape_ns (the original start).

    Returns the number of events that match the filter, and the number of carried events.
    """
    if kept == EventFilter():
        con.execute(f"CREATE TABLE kept_events AS {UNCHANGED}")
        return con.execute("SELECT count(*) FROM kept_events").fetchall()[0][0], 0
    define_macros(con)
    con.execute(f"CREATE VIEW tape_events AS SELECT {', '.join(OF_SELECTION)}, start_ns AS tape_ns FROM everything")
    sessions = " UNION ALL ".join(
        f"SELECT s.* REPLACE (s.session + t.sessions AS session) FROM sessions{n} s, shifts t WHERE t.tape = {n}"
        for n in range(len(folders))
    )
    con.execute(f"CREATE TABLE chosen_sessions AS FROM ({sessions}) WHERE {kept.session_sql()}")
    digests = " UNION ALL BY NAME ".join(
        f"SELECT digest, properties FROM {folder.source('digests')}" for folder in folders
    )
    con.execute(f"CREATE TABLE preparing AS {preparing_sql(f'({digests})')}")
    tables = SelectionTables("chosen_sessions", None, None, "preparing")
    if kept.by_event:
        find_transactions(con, kept, "transactions")
        con.execute(f"CREATE TABLE companions AS {ddl('companions')}")
        tables = SelectionTables("chosen_sessions", "transactions", "companions", "preparing")
    asked = f"NOT is_before AND {kept.event_sql('own_')} AND {kept.time_sql('own_ns')}"
    con.execute(
        f"CREATE TABLE kept_events AS SELECT session, seq, greatest(tape_ns, {kept.from_ns or 'tape_ns'}) AS start_ns,"
        f" tape_ns, CASE WHEN is_before THEN flags | {FLAGS['carried']} ELSE flags END AS flags,"
        f" {asked} AS asked, is_before FROM ({selection_sql(kept, 'tape_events', tables)}) WHERE filtered IS NULL"
    )
    counted = "SELECT count(*) FILTER (asked), count(*) FILTER (is_before) FROM kept_events"
    counts: tuple[int, int] = con.execute(counted).fetchall()[0]
    return counts


def open_finished(path: Path) -> Folder:
    """Open a tape. Raises InputError if its capture was killed and the tape was not completed afterwards."""
    tape = open_folder("tape", path)
    if not tape.finished:
        raise InputError(f"{path}: the tape is not finished. Run `querytape inspect {path}` to complete the tape")
    return tape


def one_measuring_point(folders: Sequence[Folder]) -> None:
    """Raise InputError if the durations of the tapes have different measuring points."""
    points = {str(folder.info.get("measuring_point")) for folder in folders}
    if len(points) > 1:
        raise InputError(
            f"cannot combine durations that were measured at different points ({', '.join(sorted(points))})"
        )


def start_info(folders: Sequence[Folder]) -> dict[str, Any]:
    """Return the JSON of a tape that is made from other tapes, before its first part."""
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
        "input": {"tapes": [str(folder.info.get("snapshot_of") or shown_path(folder.path)) for folder in folders]},
    }


def inherited_warnings(folders: Sequence[Folder]) -> list[TapeWarning]:
    """Return the warnings of the old tapes, except the kinds that are computed again for the new tape."""
    own = {"long_query_time", "min_examined_row_limit", "hole", "snapshot"}
    warnings: list[TapeWarning] = []
    for folder in folders:
        warnings += [w for w in folder.info.get("warnings", []) if w["kind"] not in own and w not in warnings]
    return warnings


def make_views(con: duckdb.DuckDBPyConnection, folders: Sequence[Folder]) -> None:
    """Create view `everything` and table `shifts`.

    The view has all events of all tapes, with unique session and file numbers.
    """
    con.execute("CREATE TABLE shifts (tape INTEGER, sessions BIGINT, files BIGINT)")
    selects, sessions, files = [], 0, 0
    for number, folder in enumerate(folders):
        con.execute("INSERT INTO shifts VALUES (?, ?, ?)", [number, sessions, files])
        selects.append(
            f"SELECT * REPLACE (session + {sessions} AS session, file + {files} AS file) FROM {folder.source('events')}"
        )
        sessions += con.execute(f"SELECT max(session) FROM {folder.source('sessions')}").fetchall()[0][0]
        files += count_files(folder.info)
        con.execute(f"CREATE VIEW sessions{number} AS SELECT * FROM {folder.source('sessions')}")
    con.execute(f"CREATE VIEW everything AS {' UNION ALL BY NAME '.join(selects)}")


def write_parts(con: duckdb.DuckDBPyConnection, out: Path, kept: str) -> list[dict[str, Any]]:
    """Write the events that table `kept` lists into parts by time, and return the entries of the parts.

    `kept` has the columns session, seq, start_ns, tape_ns (the start in view `everything`) and flags. A part is limited
    by its number of rows and by its bytes.
    """
    size = "coalesce(octet_length(e.statement), 0) + coalesce(octet_length(e.params), 0)"
    con.execute(
        "CREATE TABLE places AS SELECT session, seq, start_ns, tape_ns, flags,"
        " row_number() OVER (PARTITION BY session ORDER BY seq) AS new_seq,"
        f" (sum(greatest(size, {BYTES_A_PART // ROWS_A_PART})) OVER (ORDER BY start_ns, session, seq) - 1)::BIGINT"
        f" // {BYTES_A_PART} AS part FROM (SELECT k.session, k.seq, k.start_ns, k.tape_ns, k.flags, {size} AS size"
        f" FROM everything e JOIN {kept} k ON e.session = k.session AND e.seq = k.seq)"
    )
    names = ", ".join(f'"{name}"' for name, _ in columns("tape", "events"))
    entries = []
    parts = con.execute("SELECT part, min(tape_ns), max(tape_ns) FROM places GROUP BY part ORDER BY part").fetchall()
    for number, (place, first_ns, last_ns) in enumerate(parts):
        part = out / "events" / f"part-{number:05d}.parquet"
        query = (
            f"SELECT {names} FROM (SELECT e.* REPLACE (p.new_seq AS seq, p.start_ns AS start_ns, p.flags AS flags)"
            f" FROM everything e JOIN places p ON p.session = e.session AND p.seq = e.seq WHERE p.part = {place}"
            f" AND e.start_ns BETWEEN {first_ns} AND {last_ns}) ORDER BY start_ns, session, seq"
        )
        write_parquet(con, query, part)
        entries.append(part_entry(con, out, part))
    con.execute("DROP TABLE places")
    return entries


def lost_together(folders: Sequence[Folder]) -> dict[str, Any]:
    """Return the combined counts and messages about source data that is missing from the tapes."""
    passed_over = sum(int(folder.info.get("not_understood_bytes") or 0) for folder in folders)
    lost = [str(text) for folder in folders for text in folder.info.get("lost") or ()]
    return {"not_understood_bytes": passed_over, **({"lost": lost} if lost else {})}


def write_problems(con: duckdb.DuckDBPyConnection, folders: Sequence[Folder], out: Path) -> None:
    """Write the problems of all tapes (input that could not be parsed). `finish` reads them."""
    for tape, shift in con.execute("SELECT tape, files FROM shifts ORDER BY tape").fetchall():
        query = f"SELECT * REPLACE (file + {shift} AS file) FROM {folders[tape].source('problems')}"
        write_parquet(con, query, out / "problems" / f"part-{tape:05d}.parquet")


def write_facts(con: duckdb.DuckDBPyConnection, out: Path, from_ns: int | None = None) -> None:
    """Write the session properties that cannot be computed from events. `finish` reads them.

    `from_ns`: start of the cut. Sessions that were open at this time count as open at the start of the tape.
    """
    listed = ", ".join(f's."{name}"' for name in FACTS)
    cut = f"first_ns < {from_ns} OR open_at_start" if from_ns is not None else "open_at_start"
    for tape, shift in con.execute("SELECT tape, sessions FROM shifts ORDER BY tape").fetchall():
        source = f"(SELECT * REPLACE ({cut} AS open_at_start) FROM sessions{tape})"
        query = f"SELECT s.session + {shift} AS session, {listed} FROM {source} s"
        write_parquet(con, query, out / "facts" / f"part-{tape:05d}.parquet")
