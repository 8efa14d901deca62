# SPDX-License-Identifier: Apache-2.0
"""Tests of the calibration against the null server: each level is measured, and the result is kept."""

from itertools import pairwise
from pathlib import Path

import pytest
from querytape.native.bindings.null_server import NullServer
from querytape.replay import calibrate as calibration
from querytape.replay.calibrate import CalibrationLevel, calibrate, make_even_tape, null_server
from querytape.replay.observe.run_warnings import cache_file, last_calibration

from tests.helpers.whole import query


@pytest.mark.long
def test_calibration_result_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The calibration measures each number of sessions and the lateness. The next run uses the result."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibration, "LATENESS_RATE", 1000)
    levels: list[CalibrationLevel] = []
    assert last_calibration() is None
    result = calibrate((1, 4), levels.append)
    assert [(level.sessions, level.pace) for level in levels] == [(1, "none"), (4, "none"), (1000, "schedule")]
    assert all(level.queries_per_second > 100 and level.engine_cpu_ns > 100 for level in levels)
    assert levels[-1].late_p99_ns is not None
    assert levels[-1].probe_p99_ns is not None
    assert last_calibration() == result
    cache_file().write_text("[]")
    assert last_calibration() is None


def test_null_server_has_its_own_port() -> None:
    with null_server(delay_ns=1_000_000) as port:
        assert 0 < port < 65536
    with NullServer() as server:
        assert server.answers == 0
        assert server.port != port or server.port > 0


def test_events_of_calibration_tape_are_evenly_spaced(tmp_path: Path) -> None:
    """Three sessions take turns with ten events. The folder contains a finished tape."""
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
