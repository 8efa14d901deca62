# SPDX-License-Identifier: Apache-2.0
"""Tests of the control files in a run's folder, which change the speed of a replay or stop it."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.common.files import hold
from querytape.replay.observe.control_files import (
    SpeedFile,
    forget_stop,
    request_speed,
    request_stop,
    requested_speed,
    stops_asked,
)
from querytape.replay.plan.pacing import Pace


class FakeEngine:
    """An engine that records its speed factors."""

    def __init__(self) -> None:
        self.factors: list[float] = []

    def set_speed(self, factor: float) -> None:
        self.factors.append(factor)


def write_run(run: Path, **info: object) -> None:
    (run / "run.json").write_text(
        json.dumps({"format_version": 1, "finished": False, "parameters": {"pace": "schedule"}, **info})
    )


def test_speed_request_is_applied_once(tmp_path: Path) -> None:
    """The engine gets the factor relative to the planned speed. If the request is repeated, nothing changes."""
    write_run(tmp_path)
    engine, speed = FakeEngine(), SpeedFile(tmp_path, Pace(speed=Fraction(2)))
    speed.apply(engine, 1)  # type: ignore[arg-type]
    request_speed(tmp_path, "3/2")
    for at_ns in (2, 3):
        speed.apply(engine, at_ns)  # type: ignore[arg-type]
    assert engine.factors == [0.75]
    assert speed.changes == [{"at_ns": 2, "speed": "1.5"}]
    speed.clean()
    assert not (tmp_path / "speed").exists()


def test_pause_ends_with_the_next_speed(tmp_path: Path) -> None:
    """A pause is a request with the factor 0. The last requested speed can be read."""
    write_run(tmp_path)
    engine, speed = FakeEngine(), SpeedFile(tmp_path, Pace(speed=Fraction(2)))
    assert requested_speed(tmp_path) is None
    for at_ns, text in enumerate(("pause", "pause", "1/3", "PAUSE", "2")):
        request_speed(tmp_path, text)
        speed.apply(engine, at_ns)  # type: ignore[arg-type]
    assert engine.factors == [0, pytest.approx(1 / 6), 0, 1]
    assert [change["speed"] for change in speed.changes] == ["0", "1/3", "0", "2"]
    assert requested_speed(tmp_path) == 2
    (tmp_path / "speed").write_text("0")
    assert requested_speed(tmp_path) is None


@pytest.mark.parametrize(
    ("info", "text", "message"),
    [
        ({}, "max", "expected a number"),
        ({}, "fast", "expected a number"),
        ({"finished": True}, "2", "the replay has ended"),
        ({"driver_run": "ab"}, "2", "cannot change the speed of a replay by several drivers"),
        ({"parameters": {"pace": "none"}}, "2", "cannot change the speed of a replay with --pace none"),
        (None, "2", "not a run"),
    ],
)
def test_invalid_speed_requests_are_refused(
    tmp_path: Path, info: dict[str, object] | None, text: str, message: str
) -> None:
    if info is not None:
        write_run(tmp_path, **info)
    with pytest.raises(InputError, match=message):
        request_speed(tmp_path, text)


def test_second_stop_request_disconnects_and_third_has_no_effect(tmp_path: Path) -> None:
    """The first request stops the replay. The second request cuts the connections."""
    write_run(tmp_path)
    assert stops_asked(tmp_path) == 0
    with hold(tmp_path):
        assert [request_stop(tmp_path) for _ in range(3)] == [1, 2, 2]
    assert stops_asked(tmp_path) == 2
    forget_stop(tmp_path)
    assert stops_asked(tmp_path) == 0


@pytest.mark.parametrize("text", ["", "x", "-1", "\xff", "1.5"])
def test_damaged_stop_file_requests_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / "stop").write_text(text, encoding="latin-1")
    assert stops_asked(tmp_path) == 0
    (tmp_path / "stop").write_text("99")
    assert stops_asked(tmp_path) == 2


def test_finished_run_cannot_be_stopped(tmp_path: Path) -> None:
    """A folder that is not a run, a finished run and a killed run give an error. No file remains."""
    with pytest.raises(InputError, match="not a run"):
        request_stop(tmp_path)
    write_run(tmp_path, finished=True)
    with hold(tmp_path), pytest.raises(InputError, match="has ended"):
        request_stop(tmp_path)
    write_run(tmp_path)
    with pytest.raises(InputError, match="has ended"):
        request_stop(tmp_path)
    assert not (tmp_path / "stop").exists()
