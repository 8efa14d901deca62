# SPDX-License-Identifier: Apache-2.0
"""Portions of a log file: how far a file was read, and what of it is wanted."""

import pytest
from querytape.capture.rds.cloud import Cloud
from querytape.capture.rds.portions import Listed, Place, listed_files, read_on, without_cut_lines

from tests.helpers.rds import NAME, Aws, write

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_what_was_there_before_is_passed_over(aws: Aws) -> None:
    """Bytes that are not wanted are counted across portions, in letters of several bytes, too."""
    write(aws, "zwölf\n" * 40)
    place = Place(passed=7 * 25)
    assert place.lacks(listed_files(Cloud(), "shop-1", "slow")[NAME])
    aws.largest = 50
    assert "".join(read_on(Cloud(), "shop-1", NAME, place)) == "zwölf\n" * 15
    assert place.size == 7 * 40
    assert not place.lacks(Listed(7 * 40, 0))


def test_cut_lines_are_left_out() -> None:
    """A line that RDS cut is counted and not given."""
    assert without_cut_lines("a\nb [Your log message was truncated]\nc\n") == ("a\nc\n", 1)
