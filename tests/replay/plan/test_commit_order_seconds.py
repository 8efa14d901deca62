# SPDX-License-Identifier: Apache-2.0
"""The order of commits from a log of whole seconds, which tells the order of the ends and nothing of the beginnings."""

from pathlib import Path

import pytest

from tests.helpers.tapes import SECOND
from tests.replay.plan.test_commit_order import event, waits

pytestmark = pytest.mark.slow


def test_a_commit_may_have_begun_when_its_session_was_logged_last(tmp_path: Path) -> None:
    """What took locks and is logged before that COMMIT may have waited for it."""
    events = [
        event(1, 0, 1, "begin"),
        event(2, 0, 2, "begin"),
        event(1, 2, 3, "update a set x = 1"),
        event(2, 3, 6, "update a set x = 2"),
        event(1, 6, 7, "commit"),
        event(2, 8, 9, "commit"),
    ]
    found = waits(tmp_path, events, precision_ns=SECOND)
    place = str(found[4]).removeprefix(";").split(":")[0]
    assert found[2:] == [None, f"{place}:1", f";{place}:1", f"{place}:1;{place}:2"]


@pytest.mark.parametrize(
    ("between", "first"),
    [
        ([], True),
        ([event(3, 4, 5, "begin"), event(3, 5, 6, "update a set x = 3"), event(3, 8, 9, "commit")], False),
        ([event(1, 4, 5, "select 1")], False),
    ],
    ids=["alone", "behind one that ended", "begun since"],
)
def test_a_write_that_is_logged_late(between: list[dict[str, object]], first: bool, tmp_path: Path) -> None:
    """What asked for its row may be logged before it. It can't have waited for who went on: it was first."""
    events = [
        event(1, 1, 2, "update a set x = 0"),
        event(2, 0, 1, "begin"),
        event(2, 3, 4, "select x from a for update"),
        *between,
        event(1, 9, 10, "update a set x = 1"),
        event(2, 11, 12, "update a set x = 2"),
        event(2, 13, 14, "commit"),
    ]
    found = waits(tmp_path, events, precision_ns=SECOND)
    place = str(found[0]).removeprefix(";").split(":")[0]
    assert found[2] == f"{place}:{2 if first else 1}"
    assert str(found[-3]).endswith(f";{place}:{3 if len(between) == 3 else 2}")


@pytest.mark.parametrize(("took", "waited"), [(1, True), (3, True), (4, False)])
def test_a_commit_that_is_logged_behind_a_begin(took: int, waited: bool, tmp_path: Path) -> None:
    """A read that began behind the entry of a COMMIT has seen it, though its BEGIN was logged before that."""
    events = [
        event(1, 0, 1, "begin"),
        event(1, 1, 2, "update a set x = 1"),
        event(2, 3, 4, "begin"),
        event(1, 4, 5, "commit"),
        event(2, 8 - took, 8, "select x from a"),
        event(2, 9, 10, "commit"),
    ]
    found = waits(tmp_path, events, precision_ns=SECOND)
    assert (str(found[4]) == str(found[3]).removeprefix(";")) == waited
