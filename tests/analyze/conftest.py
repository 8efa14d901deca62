# SPDX-License-Identifier: Apache-2.0
"""Reports that many tests of outputs read: made once."""

from pathlib import Path

import pytest
from querytape.analyze import Report, build

from tests.helpers.reports import slower_runs, small_runs


@pytest.fixture(scope="session")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """A tape, and two runs of it: one digest is three times slower on the second."""
    return slower_runs(tmp_path_factory.mktemp("outputs"))


@pytest.fixture(scope="session")
def report(runs: tuple[Path, Path, Path]) -> Report:
    """Both runs compared; read it, change nothing."""
    return build(runs[0], [runs[1]], [runs[2]])


@pytest.fixture(scope="session")
def small_paths(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path, Path]:
    """Tape, A and B of `small_runs`."""
    return small_runs(tmp_path_factory.mktemp("golden"))


@pytest.fixture(scope="session")
def small_report(small_paths: tuple[Path, Path, Path]) -> Report:
    """The small runs compared; read it, change nothing."""
    return build(small_paths[0], [small_paths[1]], [small_paths[2]])
