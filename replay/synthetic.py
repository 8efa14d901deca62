# SPDX-License-Identifier: Apache-2.0
"""Tapes that nobody recorded, for calibration: many sessions, one statement, even times."""

from pathlib import Path

from ..schemas import FORMAT_VERSION, Folder, make_private, open_folder, select_list, sql_text, write_json
from .storage import open_storage

BEGIN_NS = 1_700_000_000_000_000_000


def make_even_tape(path: Path, sessions: int, events: int, per_second: int, statement: str = "SELECT 1") -> Folder:
    """Write a tape of `events` events, `per_second` of them evenly spaced, the sessions in turn; return it."""
    make_private(path)
    make_private(path / "events")
    step = 1_000_000_000 // per_second
    rows = (
        f"SELECT 1 + i % {sessions} AS session, 1 + i // {sessions} AS seq, 'query' AS command,"
        f" {BEGIN_NS} + i * {step} AS start_ns, 0 AS duration_ns, 1000 AS precision_ns,"
        f" {sql_text(statement)}::BLOB AS statement, 0 AS file, i AS \"offset\", 'read' AS class, 0 AS flags"
        f" FROM range({events}) t(i)"
    )
    have = {"session", "seq", "command", "start_ns", "duration_ns", "precision_ns", "statement", "file", "offset"}
    with open_storage(path) as con:
        query = f"SELECT {select_list('tape', 'events', have | {'class', 'flags'})} FROM ({rows})"
        con.execute(f"COPY ({query}) TO {sql_text(path / 'events' / 'part-00000.parquet')} (FORMAT parquet)")
    last = BEGIN_NS + (events - 1) * step
    write_json(
        path / "tape.json",
        {
            "format_version": FORMAT_VERSION,
            "finished": True,
            "source": "synthetic",
            "parts": [{"file": "events/part-00000.parquet", "rows": events, "first_ns": BEGIN_NS, "last_ns": last}],
            "files": [],
            "counts": {"events": events, "sessions": sessions},
            "first_ns": BEGIN_NS,
            "last_ns": last,
            "precision_ns": 1000,
            "warnings": [],
        },
    )
    return open_folder("tape", path)
