# SPDX-License-Identifier: Apache-2.0
"""Tapes for calibration."""

from itertools import pairwise
from pathlib import Path

from querytape.replay.synthetic_tape import make_even_tape

from tests.helpers.whole import query


def test_even_tape(tmp_path: Path) -> None:
    """Ten events of three sessions in turn, evenly spaced; the folder is a finished tape."""
    tape = make_even_tape(tmp_path / "t.tape", 3, 10, 1000, "SELECT 'it''s'")
    assert tape.finished
    assert tape.info["counts"] == {"events": 10, "sessions": 3, "digests": 0, "problems": 0}
    sessions = query(f"SELECT session, events FROM {tape.source('sessions')} ORDER BY session")
    assert sessions == [(1, 4), (2, 3), (3, 3)]
    rows = query(f"SELECT session, seq, start_ns, statement FROM {tape.source('events')} ORDER BY start_ns")
    assert [row[:2] for row in rows[:4]] == [(1, 1), (2, 1), (3, 1), (1, 2)]
    assert {b[2] - a[2] for a, b in pairwise(rows)} == {1_000_000}
    assert rows[0][3] == b"SELECT 'it''s'"
    assert (tape.info["first_ns"], tape.info["last_ns"]) == (rows[0][2], rows[-1][2])
