# SPDX-License-Identifier: Apache-2.0
"""Finish a tape after its events: write sessions, digests, problems and tape.json.

The functions also finish the tape of a killed capture.
"""

import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import load_sql, sql_files, sql_text, write_parquet
from ..common.errors import FolderError, InputError
from ..common.files import file_entry, is_held, write_json
from ..native.bindings.statements import Normalizer
from ..schemas import Folder, columns, open_folder, select_list
from .completeness import completeness
from .parts import Totals, part_entry
from .pt_fingerprint import pt_fingerprint, pt_id
from .publishing import dropped_warnings
from .session_facts import load_facts
from .source import TapeWarning
from .storage import memory_for, open_storage

DIGESTS_AT_ONCE = 1_000
SAMPLE_BYTES_AT_ONCE = 64 << 20
# The regular expressions from Percona Toolkit take quadratic time for some texts. Longer samples get no query id.
MAX_PT_BYTES = 16 << 10


def finish(
    con: duckdb.DuckDBPyConnection,
    path: Path,
    info: dict[str, Any],
    warnings: list[TapeWarning],
    totals: Totals | None = None,
) -> dict[str, Any]:
    """Complete a tape whose events are written, and return its final JSON.

    `warnings`: warnings that cannot be derived from the events. `totals`: totals of the events, or None to compute them
    from the events. Raises InputError if the tape has no events.
    """
    largest = info.get("largest_event") or 0
    con.execute(f"SET memory_limit = '{memory_for(largest)}'")
    con.execute(f"CREATE VIEW events AS SELECT * FROM {Folder('tape', path, info).source('events')}")
    info["counts"] = {
        "events": totals.events if totals else _scalar(con, "SELECT count(*) FROM events"),
        "sessions": write_sessions(con, path),
        "digests": write_digests(con, path, largest),
        "problems": gather_problems(con, path),
    }
    if not info["counts"]["events"]:
        raise InputError(f"{path}: the tape has no events")
    info.update(totals.time_range() if totals else time_range(con))
    info["server"] = without_late_position(info.get("server"), info["first_ns"])
    info["tables"] = [
        file_entry(path, path / f"{table}.parquet", info["counts"][table])
        for table in ("sessions", "digests", "problems")
    ]
    info["problems"] = problem_kinds(con, path) if info["counts"]["problems"] else {}
    info["known_columns"] = totals.known_columns() if totals else known_columns(con)
    info["warnings"] = [*warnings, *completeness(con)]
    info.pop("stopped", None)
    info["finished"] = True
    shutil.rmtree(path / "facts", ignore_errors=True)
    write_json(path / "tape.json", info)
    return info


def write_sessions(con: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Write sessions.parquet and return the number of sessions. Reads view `events` and folder `facts`."""
    load_facts(con, sorted((path / "facts").glob("part-*.parquet")))
    query = f"({load_sql(__package__, 'sessions.sql')})"
    return _write(con, f"SELECT {select_list('tape', 'sessions', _names('sessions'))} FROM {query}", path, "sessions")


def write_digests(con: duckdb.DuckDBPyConnection, path: Path, largest: int) -> int:
    """Write digests.parquet from view `events` and return the number of digests.

    The file has one row per digest with a sample statement. `largest`: size of the largest statement in bytes, or 0 if
    all statements are small.
    """
    con.execute(
        "CREATE TABLE digest_samples AS SELECT *, octet_length(sample) AS sample_bytes"
        f" FROM ({load_sql(__package__, 'digests.sql')})"
    )
    con.execute(
        "CREATE TABLE digest_texts (digest VARCHAR, normalized VARCHAR, actions BIGINT, properties BIGINT,"
        " tables VARCHAR[], calls VARCHAR[], pt_id VARCHAR)"
    )
    normalizer = Normalizer()
    with con.cursor() as cursor:
        cursor.execute("SELECT digest, sample FROM digest_samples")
        while rows := cursor.fetchmany(max(1, min(DIGESTS_AT_ONCE, SAMPLE_BYTES_AT_ONCE // (largest + 1)))):
            names = [digest for digest, _ in rows]
            modes = [normalizer.mode_of(digest, bytes(sample)) for digest, sample in rows]
            statements = [normalizer.normalize(bytes(s), mode) for (_, s), mode in zip(rows, modes, strict=True)]
            found = (normalizer.names(bytes(s), mode) for (_, s), mode in zip(rows, modes, strict=True))
            tables, calls = zip(*found, strict=True)
            properties = [normalizer.properties(bytes(s), mode) for (_, s), mode in zip(rows, modes, strict=True)]
            ids = [pt_id(pt_fingerprint(sample)) if len(sample) <= MAX_PT_BYTES else None for _, sample in rows]
            con.execute(
                "INSERT INTO digest_texts SELECT unnest(?::VARCHAR[]), unnest(?::VARCHAR[]), unnest(?::BIGINT[]),"
                " unnest(?::BIGINT[]), unnest(?::VARCHAR[][]), unnest(?::VARCHAR[][]), unnest(?::VARCHAR[])",
                [
                    *(names, [s.text for s in statements], [s.actions for s in statements], properties),
                    *(list(tables), list(calls), ids),
                ],
            )
    con.execute(
        "CREATE VIEW all_digests AS SELECT s.*, t.normalized, t.actions, t.properties, t.tables, t.calls, t.pt_id"
        " FROM digest_samples s"
        " JOIN digest_texts t USING (digest)"
    )
    have = {row[0] for row in con.execute("DESCRIBE all_digests").fetchall()}
    query = f"SELECT {select_list('tape', 'digests', have)} FROM all_digests ORDER BY events DESC, digest"
    return _write(con, query, path, "digests")


def gather_problems(con: duckdb.DuckDBPyConnection, path: Path) -> int:
    """Merge the parts in folder `problems` into problems.parquet and return the number of problems.

    Delete the folder.
    """
    folder = path / "problems"
    parts = sorted(folder.glob("part-*.parquet"))
    source = f"read_parquet({sql_files(parts)})" if parts else "(SELECT NULL AS file WHERE false)"
    names = select_list("tape", "problems", _names("problems") if parts else set())
    count = _write(con, f'SELECT {names} FROM {source} ORDER BY file, "offset", line, kind, detail', path, "problems")
    shutil.rmtree(folder, ignore_errors=True)
    return count


def problem_kinds(con: duckdb.DuckDBPyConnection, path: Path) -> dict[str, int]:
    """Return the number of problems by kind."""
    source = f"read_parquet({sql_text(path / 'problems.parquet')})"
    return dict(con.execute(f"SELECT kind, count(*) FROM {source} GROUP BY kind ORDER BY kind").fetchall())


def time_range(con: duckdb.DuckDBPyConnection) -> dict[str, Any]:
    """Return the first start, the last end, and the coarsest precision of the events, in nanoseconds."""
    first, last, precision = con.execute(
        "SELECT min(start_ns), max(start_ns + coalesce(duration_ns, 0)), max(precision_ns) FROM events"
    ).fetchall()[0]
    return {"first_ns": first, "last_ns": last, "precision_ns": precision}


def known_columns(con: duckdb.DuckDBPyConnection) -> list[str]:
    """Return the columns of `events` that contain at least one value."""
    names = [name for name, _ in columns("tape", "events")]
    counted = ", ".join(f'count("{name}")' for name in names)
    row = con.execute(f"SELECT {counted} FROM events").fetchall()[0]
    return [name for name, n in zip(names, row, strict=True) if n]


def _names(table: str) -> set[str]:
    return {name for name, _ in columns("tape", table)}


def _write(con: duckdb.DuckDBPyConnection, query: str, path: Path, table: str) -> int:
    return write_parquet(con, query, path / f"{table}.parquet", keep_empty=True)


def _scalar(con: duckdb.DuckDBPyConnection, query: str) -> int:
    return int(con.execute(query).fetchall()[0][0])


def recover(path: Path) -> dict[str, Any]:
    """Complete the tape of a killed capture and return its JSON, which includes a warning about lost events.

    Raises FolderError if `path` is not a tape, and InputError if the tape has no events.
    """
    if is_held(path):
        raise InputError(f"{path}: the capture is still running, so the tape needs no recovery")
    tape = open_folder("tape", path)
    info = dict(tape.info)
    if missing := [key for key in ("source", "files") if not info.get(key)]:
        raise FolderError(
            f"{path / 'tape.json'}: {missing[0]} is missing. `querytape tape verify --salvage` may recover the tape"
        )
    for half in (path / "events").glob("*.tmp"):
        half.unlink()
    info.pop("published", None)
    text = "the capture was killed. Unwritten events are missing from the end of the tape"
    with open_storage(path) as con:
        info["parts"] = [part_entry(con, path, part) for part in tape.files("events")]
        warnings = [*info.get("warnings", []), *dropped_warnings(info), {"kind": "killed", "text": text}]
        return finish(con, path, info, warnings)


def without_late_position(server: dict[str, Any] | None, first_ns: int) -> dict[str, Any] | None:
    """Return `server` with its binary log position marked as unusable if the position was read after the first event.

    A copy of the data that is rolled forward to such a position already contains changes that the tape replays.
    """
    if not server or not (server.get("binlog") or server.get("gtid")):
        return server
    try:
        taken = datetime.fromisoformat(str(server.get("at")))
    except ValueError:
        taken = None
    if taken is not None and taken.tzinfo is not None and taken <= datetime.fromtimestamp(first_ns / 1e9, UTC):
        return server
    unusable = {key: server.get(key) for key in ("binlog", "gtid", "at")}
    return {**server, "binlog": None, "gtid": None, "unusable_position": unusable}


def position_sentence(server: Any, first_ns: int) -> str | None:
    """Return a warning about an unusable binary log position, or None if the position is usable.

    The warning explains how to find the right position.
    """
    unusable = server.get("unusable_position") if isinstance(server, dict) else None
    if not isinstance(unusable, dict):
        return None
    first = datetime.fromtimestamp(first_ns / 1e9, UTC)
    return (
        f"the binary log position was recorded at {str(unusable.get('at'))[:19].replace('T', ' ')} UTC, after the"
        " tape's first event, so a restore cannot use it. Find an earlier position (see docs/restore.md):"
        f" TZ=UTC mysqlbinlog --stop-datetime='{first:%Y-%m-%d %H:%M:%S}' BINLOG"
    )
