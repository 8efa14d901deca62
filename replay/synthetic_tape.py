# SPDX-License-Identifier: Apache-2.0
"""Makes tapes for calibration without a recording: many sessions, one statement, even times."""

from pathlib import Path

from ..common.duck import sql_text, write_parquet
from ..common.files import file_entry, new_folder, write_json
from ..schemas import FORMAT_VERSION, Folder, open_folder, select_list
from .run_folder import open_storage

BEGIN_NS = 1_700_000_000_000_000_000


def make_even_tape(path: Path, sessions: int, events: int, per_second: int, statement: str = "SELECT 1") -> Folder:
    """Write a tape of `events` events, `per_second` of them evenly spaced, the sessions in turn; return it."""
    new_folder(path, "events")
    step = 1_000_000_000 // per_second
    rows = (
        f"SELECT 1 + i % {sessions} AS session, 1 + i // {sessions} AS seq, 'query' AS command,"
        f" {BEGIN_NS} + i * {step} AS start_ns, 0 AS duration_ns, 1000 AS precision_ns,"
        f" {sql_text(statement)}::BLOB AS statement, 0 AS file, i AS \"offset\", 'read' AS class, 0 AS flags"
        f" FROM range({events}) t(i)"
    )
    have = {"session", "seq", "command", "start_ns", "duration_ns", "precision_ns", "statement", "file", "offset"}
    last = BEGIN_NS + (events - 1) * step
    sessions = min(sessions, events)
    listed = (
        f"SELECT s AS session, false AS connect_seen, false AS quit_seen, {BEGIN_NS} + (s - 1) * {step} AS first_ns,"
        f" {last} AS last_ns, {events} // {sessions} + (s <= {events} % {sessions})::INTEGER AS events"
        f" FROM range(1, {sessions + 1}) t(s)"
    )
    known = {"session", "connect_seen", "quit_seen", "first_ns", "last_ns", "events"}
    with open_storage(path) as con:
        query = f"SELECT {select_list('tape', 'events', have | {'class', 'flags'})} FROM ({rows})"
        write_parquet(con, query, path / "events" / "part-00000.parquet")
        query = f"SELECT {select_list('tape', 'sessions', known)} FROM ({listed})"
        write_parquet(con, query, path / "sessions.parquet")
    part = file_entry(path, path / "events" / "part-00000.parquet", events)
    write_json(
        path / "tape.json",
        {
            "format_version": FORMAT_VERSION,
            "finished": True,
            "source": "synthetic",
            "parts": [{**part, "first_ns": BEGIN_NS, "last_ns": last}],
            "tables": [file_entry(path, path / "sessions.parquet", sessions)],
            "files": [],
            "counts": {"events": events, "sessions": sessions, "digests": 0, "problems": 0},
            "first_ns": BEGIN_NS,
            "last_ns": last,
            "precision_ns": 1000,
            "warnings": [],
        },
    )
    return open_folder("tape", path)
