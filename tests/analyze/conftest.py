# SPDX-License-Identifier: Apache-2.0
"""Shared fixtures for several tests: tapes, runs and reports. Each fixture is built once per session."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from querytape.analyze import Report, build
from querytape.analyze.database import AnalysisDatabase, Row

from tests.helpers.reports import slower_runs, small_runs
from tests.helpers.shapes import LISTED, misfits


@pytest.fixture(scope="session", autouse=True)
def _rows_are_as_typed() -> Iterator[None]:
    """Fail each test in this folder whose report contains a row that does not match its type in rows.py."""
    query = AnalysisDatabase.query

    def checked(database: AnalysisDatabase, name: str) -> list[Row]:
        rows = query(database, name)
        if name in LISTED:
            assert misfits(name, rows) == []
        return rows

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(AnalysisDatabase, "query", checked)
        yield


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Write a tape and two replays of it. One digest is three times slower in the second replay."""
    return slower_runs(tmp_path_factory.mktemp("outputs"))


@pytest.fixture(scope="session")
def report(runs: tuple[Path, Path, Path]) -> Report:
    """Build the report that compares the runs A and B. Tests must not change the report."""
    return build(runs[0], [runs[1]], [runs[2]])


@pytest.fixture(scope="session")
def small_paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Write the tape and the runs A and B of `small_runs`."""
    return small_runs(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def small_report(small_paths: tuple[Path, Path, Path]) -> Report:
    """Build the report that compares the two small runs. Tests must not change the report."""
    return build(small_paths[0], [small_paths[1]], [small_paths[2]])
