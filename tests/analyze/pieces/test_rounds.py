# SPDX-License-Identifier: Apache-2.0
"""A partitioned report is byte-identical to an unpartitioned report, with several rounds, errors, NULLs, ties and large
digests.
"""

from pathlib import Path

import pytest
from querytape.analyze import Report, Settings, as_json, build

from tests.analyze.test_golden_varied import varied_runs
from tests.helpers.tiers import mostly_long

pytestmark = pytest.mark.slow

Runs = tuple[Path, list[list[Path]]]


@pytest.fixture(scope="module")
def varied(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    """Write the tape and the rounds of test_golden_varied.py."""
    return varied_runs(tmp_path_factory.mktemp("pieces"))


@pytest.fixture(scope="module")
def usual(varied: Runs) -> dict[bool, str]:
    """Build the unpartitioned reports. The key True gives the report of two sides, and False the report of one side."""
    tape, (a, b) = varied
    return {True: as_json(build(tape, a, b)), False: as_json(build(tape, a))}


@pytest.mark.long
@pytest.mark.parametrize(("partitions", "processes"), mostly_long([(2, 1), (4, 2), (7, 2)], (4, 2)))
@pytest.mark.parametrize("two", [True, False])
def test_report_from_partitions_is_byte_identical(
    varied: Runs, usual: dict[bool, str], partitions: int, processes: int, two: bool
) -> None:
    """With two partitions most digests fit into one partition. With four partitions some digests fit, and with seven
    none.
    """
    tape, (a, b) = varied
    report = build(tape, a, b if two else (), Settings(partitions=partitions, processes=processes))
    assert as_json(report) == usual[two]


@pytest.mark.long
def test_more_partitions_than_sessions_change_nothing(
    small_paths: tuple[Path, Path, Path], small_report: Report
) -> None:
    """Some partitions contain no session, or only a session without events."""
    tape, a, b = small_paths
    assert as_json(build(tape, [a], [b], Settings(partitions=3))) == as_json(small_report)
