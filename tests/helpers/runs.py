# SPDX-License-Identifier: Apache-2.0
"""Small runs for tests, written directly in the format of schemas/, without a server and without a replay."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from querytape.common.duck import sql_text
from querytape.schemas import FORMAT_VERSION, columns

from .duck import database
from .tables import fill

MS = 1_000_000


def complete(outcomes: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Fill in the missing columns of each outcome: session 1, the next seq, due every millisecond, done 0.5 ms later,
    no error.
    """
    last_seq: dict[tuple[int, int], int] = {}
    rows = []
    for number, given in enumerate(outcomes):
        key = (given.get("session", 1), given.get("clone", 0))
        row: dict[str, Any] = {
            "session": key[0],
            "seq": last_seq.get(key, 0) + 1,
            "clone": key[1],
            "status": "executed",
            **given,
        }
        if row["status"] == "executed":
            due = row.setdefault("due_ns", number * MS)
            for name in ("queued_ns", "free_ns", "sent_ns"):
                row.setdefault(name, due)
            row.setdefault("done_ns", row["sent_ns"] + MS // 2)
            row.setdefault("errno", 0)
        last_seq[key] = row["seq"]
        rows.append(row)
    return rows


def make_run(path: Path, tape: Path, outcomes: Sequence[dict[str, Any]] | str = (), **json_overrides: Any) -> Path:
    """Write a run folder and return its path.

    `outcomes` is a list of dicts or a SELECT. `complete` fills in missing columns. `json_overrides` replaces keys of
    run.json.
    """
    (path / "outcomes").mkdir(parents=True)
    with database() as con:
        fill(con, "run", "outcomes", outcomes if isinstance(outcomes, str) else complete(outcomes))
        file = path / "outcomes" / "part-00000.parquet"
        con.execute(f"COPY outcomes TO {sql_text(file)} (FORMAT parquet)")
        counts = dict(con.execute("SELECT status, count(*) FROM outcomes GROUP BY status").fetchall())
        reasons = con.execute(
            "SELECT status, reason, count(*) FROM outcomes WHERE reason IS NOT NULL GROUP BY ALL"
        ).fetchall()
        elapsed = con.execute("SELECT coalesce(max(greatest(sent_ns, done_ns)), 0) FROM outcomes").fetchall()[0][0]
    tape_info = json.loads((tape / "tape.json").read_text(encoding="utf-8"))
    info = {
        "format_version": FORMAT_VERSION,
        "tool_version": "test",
        "created": "2026-01-01T00:00:00+00:00",
        "finished": True,
        "tape": {
            "path": str(tape),
            "id": "00",
            **tape_info["counts"],
            "first_ns": tape_info["first_ns"],
            "last_ns": tape_info["last_ns"],
        },
        "target": {"name": path.stem, "host": "db1", "port": 3306, "version": "10.11.6-MariaDB"},
        "parameters": {"speed": "1"},
        "started_ns": 1_700_000_100_000_000_000,
        "elapsed_ns": elapsed,
        "measuring_point": "client",
        "partial": None,
        "accounting": _accounting(tape_info["counts"]["events"], counts, reasons),
        "lateness": {},
        "generator": {"cpu_ns": 1, "engine_cpu_ns": 1, "threads_peak": 1, "cores": 2, "rss_peak_bytes": 1},
        "clock_pairs": [],
        "drain": {"waited_ns": 0, "cut": 0},
        "sessions": {"opened": 1, "opened_ahead": 0, "failed": 0, "lost": 0, "in_transaction_at_end": 0},
        **json_overrides,
    }
    (path / "run.json").write_text(json.dumps(info), encoding="utf-8")
    return path


def _accounting(events: int, counts: dict[str, int], reasons: list[tuple[str, str, int]]) -> dict[str, Any]:
    """Return the accounting of the events for run.json."""
    sorted_reasons: dict[str, dict[str, int]] = {}
    for status, reason, number in reasons:
        sorted_reasons.setdefault(status, {})[reason] = number
    known = {name: counts.get(name, 0) for name in ("executed", "filtered", "skipped", "not_sent")}
    return {
        "tape_events": events,
        **known,
        "reasons": sorted_reasons,
        "balanced": sum(known.values()) == events,
        "injected": 0,
    }


def keep_sessions(run: Path, lost: Mapping[int, int] = MappingProxyType({})) -> None:
    """Write the sessions of a run in which connections failed. `lost` maps each session to its error number."""
    listed = ", ".join(f'CAST(NULL AS {type_}) AS "{name}"' for name, type_ in columns("run", "sessions"))
    rows = " UNION ALL ".join(
        f"SELECT {session} AS session, 0 AS clone, false AS opened_ahead, 0 AS executed, 0 AS injected, {errno} AS errno, 'message' AS error"
        for session, errno in lost.items()
    )
    with database() as con:
        con.execute(f"CREATE TABLE sessions AS SELECT {listed} WHERE false")
        if rows:
            con.execute(f"INSERT INTO sessions BY NAME {rows}")
        con.execute(f"COPY sessions TO {sql_text(run / 'sessions.parquet')} (FORMAT parquet)")
