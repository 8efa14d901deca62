# SPDX-License-Identifier: Apache-2.0
"""Calibration against the null server: each level is measured, and the result is kept."""

from pathlib import Path

import pytest
from querytape.native.bindings.null_server import NullServer
from querytape.replay import calibrate as calibration
from querytape.replay.calibrate import CalibrationLevel, calibrate, null_server
from querytape.replay.last_calibration import cache_file, last_calibration


@pytest.mark.long
def test_calibration_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level is measured and told, every event comes through, and the next run finds the result."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibration, "LATENESS_RATE", 1000)
    told: list[CalibrationLevel] = []
    assert last_calibration() is None
    result = calibrate((1, 4), told.append)
    assert [(level.sessions, level.pace) for level in told] == [(1, "none"), (4, "none"), (1000, "schedule")]
    assert all(level.queries_per_second > 100 and level.engine_cpu_ns > 100 for level in told)
    assert told[-1].late_p99_ns is not None
    assert told[-1].probe_p99_ns is not None
    assert last_calibration() == result
    cache_file().write_text("[]")
    assert last_calibration() is None


def test_the_null_server_has_a_process_of_its_own_that_ends_with_its_input() -> None:
    with null_server(delay_ns=1_000_000) as port:
        assert 0 < port < 65536
    with NullServer() as server:
        assert server.answers == 0
        assert server.port != port or server.port > 0
