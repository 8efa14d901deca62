# SPDX-License-Identifier: Apache-2.0
"""The rows of analyses match their types. conftest.py checks the rows of all other tests in this folder."""

from pathlib import Path

import pytest
from querytape.analyze import Report, build
from querytape.analyze.database import DETAILS, REPORT
from querytape.analyze.rows import Answers, Details

from tests.analyze.test_golden_varied import varied_runs
from tests.helpers.shapes import misfits

pytestmark = pytest.mark.slow


ADDED = {"counters": ("topic",)}  # cause_table.rank_counters adds this column


def type_mismatches(report: Report) -> list[str]:
    """Return the mismatches between a report's rows and their types."""
    found = [*report.answers.items(), *report.details.items()]
    return [text for name, rows in found for text in misfits(f"report/{name}", rows, ADDED.get(name, ()))]


def test_analyses_of_reports_and_row_types_match() -> None:
    assert tuple(Answers.__annotations__) == REPORT
    assert tuple(Details.__annotations__) == DETAILS


def test_rows_of_two_runs_match_their_types(small_report: Report, report: Report) -> None:
    assert type_mismatches(small_report) + type_mismatches(report) == []


def test_rows_of_one_run_match_their_types(small_paths: tuple[Path, Path, Path]) -> None:
    assert type_mismatches(build(small_paths[0], [small_paths[1]])) == []


def test_rows_of_two_rounds_per_side_match_their_types(tmp_path: Path) -> None:
    tape, runs = varied_runs(tmp_path)
    assert type_mismatches(build(tape, runs[0], runs[1])) == []


def test_wrong_columns_types_and_nulls_are_detected() -> None:
    assert misfits("report/compared", [{"rows": 1, "checksums": 2}]) == []
    assert misfits("report/compared", [{"rows": 1}]) == ["report/compared has the columns rows"]
    assert misfits("report/compared", [{"rows": True, "checksums": None}]) == [
        "report/compared.checksums is NoneType, not <class 'int'>",
        "report/compared.rows is bool, not <class 'int'>",
    ]
    usage = {"digest": "d", "tables": [{"name": "t", "alias": None, "access": "read"}], "columns": [], "joins": ["x"]}
    assert misfits("workload/usage", [usage]) == []
    assert len(misfits("workload/usage", [{**usage, "tables": [{"name": "t"}], "joins": [None]}])) == 2
