# SPDX-License-Identifier: Apache-2.0
"""How much A differs from itself."""

import pytest
from querytape.analyze import Report
from querytape.analyze.database import Row
from querytape.analyze.findings.baseline import baseline

pytestmark = pytest.mark.slow


def test_the_spread_and_what_it_lets_be_seen(small_report: Report) -> None:
    """The largest over the smallest round; the upper median of what the digests would show."""
    rounds: list[Row] = [
        {"run": "a", "relative_latency": 1.0},
        {"run": "a", "relative_latency": 1.05},
        {"run": "b", "relative_latency": 9.0},
        {"run": "a", "relative_latency": None},
    ]
    digests: list[Row] = [{"shift": {"detectable": value}} for value in (1.04, 1.08, 1.5, None)] + [{"shift": None}]
    report = Report(small_report.tape, [], [], answers={"rounds": rounds}, digests=digests)
    assert (
        baseline(report)
        == "A's own rounds differ from each other by 5.0%; of half of the statements a change of 8% would be seen."
    )
    assert (
        baseline(Report(small_report.tape, [], [], answers={"rounds": rounds}))
        == "A's own rounds differ from each other by 5.0%."
    )
