# SPDX-License-Identifier: Apache-2.0
"""Tests of the warnings about times and order of a run, and of the calibration that the warnings need."""

import json
import socket
from pathlib import Path
from typing import Any

import pytest
from querytape.replay.observe.run_warnings import cache_file, last_calibration, of_fleet, order_warnings, warnings


def info(**changes: Any) -> dict[str, Any]:
    """Return the run.json of a run of ten seconds without any problem."""
    values: dict[str, Any] = {
        "elapsed_ns": 10_000_000_000,
        "generator": {"cpu_ns": 5_000_000_000, "cores": 2},
        "accounting": {"executed": 10_000, "overload_waits": 0, "overload_drops": 0, "rows_too_large": 0},
        "lateness": {"tool_p99_ns": 100_000, "probe_p99_ns": None},
        "parameters": {"pace": "schedule"},
    }
    for name, value in changes.items():
        values[name] = {**values[name], **value} if isinstance(value, dict) else value
    return values


CALIBRATION = {"levels": [{"queries_per_second": 100_000.0, "pace": "schedule", "late_p99_ns": 90_000}]}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, None),
        ({"generator": {"cpu_ns": 15_000_000_000}}, "75% of this machine's 2 cores"),
        ({"accounting": {"executed": 900_000}}, "so this machine was probably the limit (90%)"),
        (
            {"lateness": {"tool_p99_ns": 4_000_000}},
            "at least 4.0 ms late (`querytape calibrate` on this machine: 0.09 ms)",
        ),
        ({"lateness": {"tool_p99_ns": 4_000_000, "probe_p99_ns": 3_000_000}}, "End other programs, or replay"),
        ({"lateness": {"tool_p99_ns": 4_000_000}, "parameters": {"pace": "none"}}, None),
        ({"accounting": {"overload_waits": 3}}, "the replay waited 3 times for space"),
        ({"accounting": {"overload_drops": 4}}, "4 events were dropped"),
        (
            {"accounting": {"rows_too_large": 1}},
            "1 row in answers exceeded a session's memory",
        ),
        ({"accounting": {"rows_too_large": 3}}, "3 rows in answers exceeded"),
    ],
)
def test_each_exceeded_limit_has_one_warning(changes: dict[str, Any], said: str | None) -> None:
    """A run that is far from all limits has no warning."""
    sentences = warnings(info(**changes), CALIBRATION)
    if said is None:
        assert sentences == []
    else:
        assert len(sentences) == 1
        assert said in sentences[0]


def order_warning_texts(waits: int, broken: int, *notes: str) -> list[str]:
    """Return the warnings about the order of a run."""
    return order_warnings(
        {"accounting": {"order_waits": waits, "order_broken": broken}, "plan": {"order_notes": list(notes)}}
    )


def test_cpu_of_replays_at_the_same_time_is_added() -> None:
    """No single replay uses much."""
    assert warnings(info(), None) == []
    assert of_fleet([info(), info()]) == []
    assert "75% of this machine's 2 cores" in of_fleet([info(), info(), info()])[0]
    assert of_fleet([]) == []


def test_kept_order_has_no_warning() -> None:
    """No wait was broken, and the tape has all times."""
    assert order_warning_texts(100, 0) == []


def test_order_notes_of_the_plan_are_repeated() -> None:
    assert order_warning_texts(100, 0, "only arrivals") == ["--order commit: only arrivals"]


def test_broken_waits_are_the_first_warning() -> None:
    """Above a limit, the warning states that the order was not kept."""
    few, note = order_warning_texts(1000, 2, "n")
    assert few.startswith("--order commit: 2 of 1,000 waits")
    assert "not kept" not in few
    assert note == "--order commit: n"
    assert "the order of the tape was not kept" in order_warning_texts(1000, 11)[0]
    assert "3 of 3 waits" in order_warning_texts(0, 3)[0]


def test_run_json_without_order_notes_is_readable() -> None:
    """Older versions of querytape wrote no notes on the order."""
    assert order_warnings({"accounting": {"order_waits": 1, "order_broken": 0}, "plan": {}}) == []


def test_only_a_valid_calibration_of_this_machine_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Invalid files, files of another machine and files without levels are ignored."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_file() == tmp_path / "querytape" / "calibration.json"
    assert last_calibration() is None
    cache_file().parent.mkdir()
    levels = [{"sessions": 1, "pace": "schedule", "queries_per_second": 1000.0, "late_p99_ns": 20_000}]
    kept = {"machine": socket.gethostname(), "levels": levels}
    for text in (
        "",
        "[]",
        json.dumps({"machine": "elsewhere", "levels": levels}),
        json.dumps({**kept, "levels": None}),
        json.dumps({**kept, "levels": [{"sessions": 1}]}),
        json.dumps({**kept, "levels": [{**levels[0], "queries_per_second": "fast"}]}),
    ):
        cache_file().write_text(text)
        assert last_calibration() is None
    cache_file().write_text(json.dumps(kept))
    assert last_calibration() == kept
