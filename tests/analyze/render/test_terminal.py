# SPDX-License-Identifier: Apache-2.0
"""The report on an 80-column terminal: its sections and their order."""

from pathlib import Path

import pytest
from querytape.analyze import Report, build

from tests.helpers.reports import terminal_text

pytestmark = pytest.mark.slow


def test_order_of_a_comparison(small_report: Report) -> None:
    """The order of the report is: headline, limits, totals, statements, errors, results, accounting."""
    text = terminal_text(small_report)
    order = [
        "No: ",
        "digests: ",
        "information: ",
        "Totals",
        "Statements by time",
        "Errors, compared",
        "Results that",
        "Accounting",
    ]
    places = [text.index(words) for words in order]
    assert places == sorted(places)
    assert "new: error 1205" in text
    assert "different number of rows" in text
    assert "A: 60 executed" in text
    assert max(map(len, text.splitlines())) <= 80


def test_report_of_single_run_calls_nothing_slower(small_paths: tuple[Path, Path, Path]) -> None:
    """A report of a single run shows the tape's times for information only."""
    text = terminal_text(build(small_paths[0], [small_paths[1]]))
    assert "Statements by total time in the run" in text
    assert "Times of the tape were measured in the server (only for information)." in text
    assert "Errors  0 (the same as on the tape)" in text
    assert "Results  all results match the tape" in text
    assert "slower" not in text


def test_repeated_rounds_of_a_are_listed_first(small_paths: tuple[Path, Path, Path], tmp_path: Path) -> None:
    runs = []
    for number in (1, 2):
        for side in ("a", "b"):
            (tmp_path / f"{side}{number}.run").symlink_to(small_paths[1])
        runs.append((tmp_path / f"a{number}.run", tmp_path / f"b{number}.run"))
    a, b = ([pair[side] for pair in runs] for side in (0, 1))
    text = terminal_text(build(small_paths[0], a, b))
    assert "Rounds, with latency relative to the first round of A" in text
    assert "The rounds of A differ by up to 0.0%" in text
    assert "a1.run (first of 2 rounds)" in " ".join(text.split())
