# SPDX-License-Identifier: Apache-2.0
"""The rows of analyses are what their types say. conftest.py looks at the rows of all other tests here."""

from pathlib import Path

import pytest
from querytape.analyze import Report, build
from querytape.analyze.database import DETAILS, REPORT
from querytape.analyze.rows import Answers, Details

from tests.analyze.test_golden_varied import varied_runs
from tests.helpers.shapes import misfits

pytestmark = pytest.mark.slow


ADDED = {"counters": ("topic",)}  # by cause_table.rank_counters


def wrong(report: Report) -> list[str]:
    """Return what does not fit in a report's rows."""
    found = [*report.answers.items(), *report.details.items()]
    return [text for name, rows in found for text in misfits(f"report/{name}", rows, ADDED.get(name, ()))]


def test_every_analysis_has_its_type() -> None:
    """Each analysis of a report, and no other."""
    assert tuple(Answers.__annotations__) == REPORT
    assert tuple(Details.__annotations__) == DETAILS


def test_rows_of_two_runs(small_report: Report, report: Report) -> None:
    """Two small runs: one with errors and other results, one that is slower."""
    assert wrong(small_report) + wrong(report) == []


def test_rows_of_one_run(small_paths: tuple[Path, Path, Path]) -> None:
    """A run that is compared with the tape."""
    assert wrong(build(small_paths[0], [small_paths[1]])) == []


def test_rows_of_varied_runs(tmp_path: Path) -> None:
    """Two rounds a side, in which much differs."""
    tape, runs = varied_runs(tmp_path)
    assert wrong(build(tape, runs[0], runs[1])) == []


def test_misfits_are_found() -> None:
    """A column that lacks, one too many, another type, NULL where there is none."""
    assert misfits("report/compared", [{"rows": 1, "checksums": 2}]) == []
    assert misfits("report/compared", [{"rows": 1}]) == ["report/compared has the columns rows"]
    assert misfits("report/compared", [{"rows": True, "checksums": None}]) == [
        "report/compared.checksums is NoneType, not <class 'int'>",
        "report/compared.rows is bool, not <class 'int'>",
    ]
    usage = {"digest": "d", "tables": [{"name": "t", "alias": None, "access": "read"}], "columns": [], "joins": ["x"]}
    assert misfits("workload/usage", [usage]) == []
    assert len(misfits("workload/usage", [{**usage, "tables": [{"name": "t"}], "joins": [None]}])) == 2
