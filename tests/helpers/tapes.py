# SPDX-License-Identifier: Apache-2.0
"""Small tapes for tests, written directly in the format of schemas/, without a log and without a capture."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import duckdb
from querytape.common.duck import sql_text
from querytape.common.files import file_entry
from querytape.native.bindings.statements import Normalizer
from querytape.schemas import DANGERS, FLAGS, FORMAT_VERSION
from querytape.schemas.names import SHIFT_DANGER

from .duck import database
from .tables import fill, insert_rows

# An arbitrary start time in ns. It is a whole second, so that offsets are easy to read.
T0 = 1_700_000_000_000_000_000
MS = 1_000_000
SECOND = 1_000_000_000

TIMES = "min(start_ns), max(start_ns + coalesce(duration_ns, 0))"
DIGESTS = """
    SELECT digest, any_value(class) AS class, any_value(actions) AS actions,
        any_value(properties) AS properties, any_value(tables) AS tables, any_value(calls) AS calls, lower(any_value(statement)::VARCHAR) AS normalized,
        any_value(statement) AS sample, max(octet_length(statement)) AS sample_bytes, NULL AS pt_id, count(*) AS events,
        sum(duration_ns)::BIGINT AS duration_ns, min(start_ns) AS first_ns, max(start_ns) AS last_ns
    FROM events LEFT JOIN names USING (statement) WHERE digest IS NOT NULL GROUP BY digest ORDER BY digest
"""
SESSIONS = """
    SELECT session, min(thread_id) AS thread_id, arg_min("user", seq) AS "user", arg_min(host, seq) AS host,
        NULL AS port, arg_min(db, seq) AS db, min(start_ns) FILTER (command = 'connect') AS connect_ns,
        bool_or(command = 'connect') AS connect_seen, bool_or(command = 'quit') AS quit_seen,
        NULL::BOOLEAN AS open_at_start, NULL::BOOLEAN AS open_at_end, min(start_ns) AS first_ns,
        max(start_ns + coalesce(duration_ns, 0)) AS last_ns, count(*) AS events,
        NULL AS client_flags, NULL AS charset, NULL AS attributes, NULL::BOOLEAN AS encrypted
    FROM events GROUP BY session ORDER BY first_ns, session
"""


def flag_bits(*names: str, danger: str = "none") -> int:
    """Return the `flags` value of an event from names of FLAGS and one name of DANGERS."""
    return sum(FLAGS[name] for name in names) | DANGERS[danger] << SHIFT_DANGER


def complete(events: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fill in the missing columns of each event: session 1, the next seq, 1 ms after the previous event, a read.

    `actions` are computed from the statement.
    """
    last_seq: dict[int, int] = {}
    rows = []
    normalizer = Normalizer()
    for number, given in enumerate(events):
        session = given.get("session", 1)
        row = {
            "session": session,
            "seq": last_seq.get(session, 0) + 1,
            "command": "query",
            "start_ns": T0 + number * MS,
            "precision_ns": 1000,
            "file": 0,
            "offset": number,
            "flags": 0,
            **given,
        }
        if isinstance(row.get("statement"), str):
            row["statement"] = row["statement"].encode()
        if row.get("statement") is not None:
            row.setdefault("class", "read")
            row.setdefault("actions", normalizer.normalize(row["statement"]).actions)
            row.setdefault("digest", f"{abs(hash(row['statement'])) % 2**64:016x}")
        last_seq[session] = row["seq"]
        rows.append(row)
    return rows


def _fill_names(con: duckdb.DuckDBPyConnection) -> None:
    """Create the table `names` with the tables, calls and properties of each statement."""
    con.execute("CREATE TEMP TABLE names (statement BLOB, tables VARCHAR[], calls VARCHAR[], properties BIGINT)")
    statements = con.execute("SELECT DISTINCT statement FROM events WHERE statement IS NOT NULL").fetchall()
    normalizer = Normalizer()
    texts = [bytes(statement) for (statement,) in statements]
    rows = [(text, *normalizer.names(text), normalizer.properties(text)) for text in texts]
    insert_rows(con, "names", rows)


def reads(number: int) -> list[dict[str, Any]]:
    """Return events of four sessions."""
    return [{"statement": f"SELECT {n}", "session": 1 + n % 4, "start_ns": T0 + n * MS} for n in range(number)]


def make_tape(path: Path, events: Sequence[dict[str, Any]] | str, parts: int = 1, **json_overrides: Any) -> Path:
    """Write a tape folder and return its path.

    `events` is a list of dicts or a SELECT. `complete` fills in missing columns. The events are split into `parts` in
    the given order, so unsorted events create overlapping parts. `json_overrides` replaces keys of tape.json.
    """
    (path / "events").mkdir(parents=True)
    with database() as con:
        fill(con, "tape", "events", events if isinstance(events, str) else complete(events))
        total, sessions, *times = con.execute(
            f"SELECT count(*), count(DISTINCT session), {TIMES} FROM events"
        ).fetchall()[0]
        entries = [_write_part(con, path, number, parts, total) for number in range(parts)]
        for entry in entries:
            if not entry["rows"]:
                (path / entry["file"]).unlink()
        _fill_names(con)
        con.execute(f"COPY ({SESSIONS}) TO {sql_text(path / 'sessions.parquet')} (FORMAT parquet)")
        con.execute(f"COPY ({DIGESTS}) TO {sql_text(path / 'digests.parquet')} (FORMAT parquet)")
    info = {
        "format_version": FORMAT_VERSION,
        "tool_version": "test",
        "finished": True,
        "created": "2026-01-01T00:00:00+00:00",
        "source": "slowlog",
        "measuring_point": "server",
        "files": [{"path": "slow.log", "bytes": 1, "sha256": "00"}],
        "parts": [entry for entry in entries if entry["rows"]],
        "counts": {"events": total, "sessions": sessions, "digests": 0, "problems": 0},
        "first_ns": times[0],
        "last_ns": times[1],
        "precision_ns": 1000,
        "server_version": "10.11.6-MariaDB",
        "log_timezone_ns": None,
        "problems": {},
        "warnings": [],
        "known_columns": [],
        "server": None,
        **json_overrides,
    }
    (path / "tape.json").write_text(json.dumps(info))
    return path


def _write_part(con: duckdb.DuckDBPyConnection, path: Path, number: int, parts: int, total: int) -> dict[str, Any]:
    """Write one part with sorted events and return its entry for tape.json."""
    begin, end = total * number // parts, total * (number + 1) // parts
    file = path / "events" / f"part-{number:05d}.parquet"
    chosen = f"FROM events WHERE rowid >= {begin} AND rowid < {end}"
    con.execute(f"COPY ({chosen} ORDER BY start_ns, session, seq) TO {sql_text(file)} (FORMAT parquet)")
    first, last = con.execute(f"SELECT {TIMES} {chosen}").fetchall()[0]
    return {**file_entry(path, file, end - begin), "first_ns": first, "last_ns": last}
