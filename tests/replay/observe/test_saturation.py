# SPDX-License-Identifier: Apache-2.0
"""The sentences of a run that came near the limits of the replayer or its machine."""

from typing import Any

import pytest
from querytape.replay.observe.saturation import warnings


def info(**changes: Any) -> dict[str, Any]:
    """Return what run.json says of a run of ten seconds with nothing to complain about."""
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
        ({"accounting": {"executed": 900_000}}, "90,000 queries a second are 90% of the 100,000"),
        (
            {"lateness": {"tool_p99_ns": 4_000_000}},
            "at least 4.0 ms late (`querytape calibrate` on this machine: 0.09 ms)",
        ),
        ({"lateness": {"tool_p99_ns": 4_000_000, "probe_p99_ns": 3_000_000}}, "busy with something else"),
        ({"lateness": {"tool_p99_ns": 4_000_000}, "parameters": {"pace": "none"}}, None),
        ({"accounting": {"overload_waits": 3}}, "reading the tape waited 3 times"),
        ({"accounting": {"overload_drops": 4}}, "4 events were dropped"),
        (
            {"accounting": {"rows_too_large": 1}},
            "1 answer had a row larger than what a session of this replay may hold",
        ),
        ({"accounting": {"rows_too_large": 3}}, "3 answers had rows larger than"),
    ],
)
def test_each_limit_that_was_near_has_one_sentence(changes: dict[str, Any], said: str | None) -> None:
    sentences = warnings(info(**changes), CALIBRATION)
    if said is None:
        assert sentences == []
    else:
        assert len(sentences) == 1
        assert said in sentences[0]
