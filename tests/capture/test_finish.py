# SPDX-License-Identifier: Apache-2.0
"""The tables that finish computes from a tape's events: sessions, digests, counts and times."""

from pathlib import Path

import duckdb
import pytest
from querytape.capture.finish import finish
from querytape.capture.storage import open_storage
from querytape.common.errors import InputError

from tests.helpers.tapes import MS, T0, make_tape

EVENTS = [
    {"session": 1, "statement": "SELECT 1", "digest": "1" * 16, "duration_ns": 5 * MS, "user": "app", "db": "shop"},
    {"session": 2, "command": "connect", "user": "batch"},
    {"session": 1, "statement": "SELECT 2", "digest": "1" * 16, "duration_ns": MS, "db": "other"},
    {"session": 2, "statement": "DELETE FROM t", "digest": "2" * 16, "class": "write"},
]


def finished(tmp_path: Path, events: list[dict[str, object]]) -> tuple[Path, dict[str, object]]:
    """Write a tape that has only events, and complete it. Return the tape and its JSON."""
    tape = make_tape(tmp_path / "t.tape", events)
    for name in ("sessions", "digests"):
        (tape / f"{name}.parquet").unlink()
    with open_storage(tape) as con:
        return tape, finish(con, tape, {"format_version": 1}, [{"kind": "x", "text": "y"}])


def rows(tape: Path, query: str) -> list[tuple[object, ...]]:
    """Return the rows of a query. {t} is the placeholder for the tape's folder."""
    with duckdb.connect() as con:
        return con.execute(query.format(t=tape)).fetchall()


def test_sessions_and_digests_are_computed(tmp_path: Path) -> None:
    """A session has the account and schema of its first event. A digest has counts, a text and the id of Percona
    Toolkit.
    """
    tape, info = finished(tmp_path, EVENTS)
    sessions = rows(tape, """SELECT session, "user", db, connect_seen, events FROM '{t}/sessions.parquet'""")
    assert sessions == [(1, "app", "shop", False, 2), (2, "batch", None, True, 2)]
    digests = rows(
        tape, "SELECT digest, class, normalized, length(pt_id), events, duration_ns FROM '{t}/digests.parquet'"
    )
    assert [row[:2] + row[3:] for row in digests] == [
        ("1" * 16, "read", 32, 2, 6 * MS),
        ("2" * 16, "write", 32, 1, None),
    ]
    assert "1" not in str(digests[0][2])
    assert info["counts"] == {"events": 4, "sessions": 2, "digests": 2, "problems": 0}


def test_finish_completes_tape_json(tmp_path: Path) -> None:
    """tape.json has times, precision, known columns and warnings. Temporary folders of the capture are removed."""
    tape, info = finished(tmp_path, EVENTS)
    assert (info["first_ns"], info["last_ns"], info["precision_ns"]) == (T0, T0 + 5 * MS, 1000)
    assert info["warnings"] == [{"kind": "x", "text": "y"}]
    known = info["known_columns"]
    assert isinstance(known, list)
    assert {"session", "statement", "user"} <= set(known)
    assert "rows_sent" not in known
    assert sorted(path.name for path in tape.iterdir()) == [
        *("digests.parquet", "events", "problems.parquet", "sessions.parquet", "tape.json"),
    ]


def test_tape_without_events_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the tape has no events"):
        finished(tmp_path, [])
