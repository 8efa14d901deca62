# SPDX-License-Identifier: Apache-2.0
"""The tool's own limits: calibration against the null server, and what a run says when it comes near them."""

from pathlib import Path
from typing import Any

import pytest
from querytape.native.null_server import NullServer
from querytape.replay import calibration
from querytape.replay.calibration import Level, calibrate, null_server
from querytape.replay.limits import cache_file, last_calibration
from querytape.replay.saturation import warnings


def test_calibration_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each level is measured and told, every event comes through, and the next run finds the result."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(calibration, "RATE", 1000)
    told: list[Level] = []
    assert last_calibration() is None
    found = calibrate((1, 4), told.append)
    assert [(level.sessions, level.pace) for level in told] == [(1, "none"), (4, "none"), (1000, "schedule")]
    assert all(level.queries_per_second > 100 and level.engine_cpu_ns > 100 for level in told)
    assert told[-1].late_p99_ns is not None
    assert told[-1].canary_p99_ns is not None
    assert last_calibration() == found
    cache_file().write_text("[]")
    assert last_calibration() is None


def test_the_null_server_ends_with_its_input() -> None:
    """It runs in a process of its own, which is gone afterwards."""
    with null_server(delay_ns=1_000_000) as port:
        assert 0 < port < 65536
    with NullServer() as server:
        assert server.answers == 0
        assert server.port != port or server.port > 0


def info(**changes: Any) -> dict[str, Any]:
    """Return what run.json says of a run of ten seconds with nothing to complain about."""
    found: dict[str, Any] = {
        "elapsed_ns": 10_000_000_000,
        "generator": {"cpu_ns": 5_000_000_000, "cores": 2},
        "accounting": {"executed": 10_000, "overload_waits": 0, "overload_drops": 0},
        "lateness": {"tool_p99_ns": 100_000, "canary_p99_ns": None},
        "parameters": {"pace": "schedule"},
    }
    for name, value in changes.items():
        found[name] = {**found[name], **value} if isinstance(value, dict) else value
    return found


CALIBRATION = {"levels": [{"queries_per_second": 100_000.0, "pace": "schedule", "late_p99_ns": 90_000}]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"generator": {"cpu_ns": 15_000_000_000}}, "75% of this machine's 2 cores"),
        ({"accounting": {"executed": 900_000}}, "90,000 queries a second are 90% of the 100,000"),
        ({"lateness": {"tool_p99_ns": 4_000_000}}, "up to 4.0 ms late (p99); calibration had 0.09 ms"),
        ({"lateness": {"tool_p99_ns": 4_000_000, "canary_p99_ns": 3_000_000}}, "busy with something else"),
        ({"lateness": {"tool_p99_ns": 4_000_000}, "parameters": {"pace": "none"}}, None),
        ({"accounting": {"overload_waits": 3}}, "the feeder waited 3 times"),
        ({"accounting": {"overload_drops": 4}}, "4 events were dropped"),
    ],
)
def test_what_a_run_says(changes: dict[str, Any], said: str | None) -> None:
    """One sentence for each limit that was near, none for a run that kept away."""
    found = warnings(info(**changes), CALIBRATION)
    if said is None:
        assert found == []
    else:
        assert len(found) == 1
        assert said in found[0]
