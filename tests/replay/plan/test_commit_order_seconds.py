# SPDX-License-Identifier: Apache-2.0
"""The order of commits from a log of whole seconds, which tells the order of the ends and nothing of the beginnings."""

from pathlib import Path
from typing import Any

import pytest

from tests.replay.plan.test_commit_order import event, waits

pytestmark = pytest.mark.slow


def test_whole_seconds_keep_the_order_of_locks(tmp_path: Path) -> None:
    """What took locks and is logged before a COMMIT may have waited for it: it starts after those whose locks came first."""
    events = [
        event(1, 0, 1, "begin"),
        event(2, 0, 2, "begin"),
        event(1, 2, 3, "update a set x = 1"),
        event(2, 3, 6, "update a set x = 2"),
        event(1, 6, 7, "commit"),
        event(2, 8, 9, "commit"),
    ]
    (tmp_path / "seconds").mkdir()
    (tmp_path / "micro").mkdir()
    seconds = waits(tmp_path / "seconds", events, precision_ns=1_000_000_000)
    assert str(seconds[2]).startswith(";")
    place = str(seconds[2]).removeprefix(";").split(":")[0]
    assert str(seconds[3]).split(";")[0] == f"{place}:1"
    assert str(waits(tmp_path / "micro", events)[3]).split(";")[0] != f"{place}:1"


def late_write(*between: dict[str, Any], took: int = 1) -> list[dict[str, Any]]:
    """Return events of a log of whole seconds: a write is logged behind a locking statement of an open transaction."""
    return [
        event(2, 0, 1, "begin"),
        event(1, 2 - took, 2, "update a set x = 0"),
        event(2, 3, 4, "select x from a for update"),
        *between,
        event(1, 10 - took, 10, "update a set x = 1"),
        event(2, 11, 12, "update a set x = 2"),
        event(2, 13, 14, "commit"),
    ]


@pytest.mark.parametrize(
    ("between", "took", "first"),
    [
        ((), 1, True),
        ((event(3, 4, 5, "begin"), event(3, 5, 6, "select x from a for update"), event(3, 11, 13, "commit")), 1, True),
        ((event(3, 4, 5, "begin"), event(3, 5, 6, "select x from a for update"), event(3, 8, 9, "commit")), 1, False),
        ((event(1, 4, 5, "select 1"),), 1, False),
    ],
    ids=["alone", "beside one that goes on", "behind one that ended", "begun since"],
)
def test_a_write_that_is_logged_late(
    between: tuple[dict[str, Any], ...], took: int, first: bool, tmp_path: Path
) -> None:
    """Whole seconds: what asked for its row may be logged before it. It can't have waited for who went on: it was first."""
    events = late_write(*between, took=took)
    found = waits(tmp_path, events, precision_ns=1_000_000_000)
    locking, write = 2, len(events) - 3
    place = str(found[1]).removeprefix(";").split(":")[0]
    assert (f"{place}:2" in str(found[locking]).split(";")[0].split()) == first
    assert str(found[write]).endswith(f";{place}:{2 if first else len(between) // 3 + 2}")


def test_a_write_that_took_long_may_have_waited(tmp_path: Path) -> None:
    """Of a transaction that does no more but its COMMIT: then it keeps its place in the log; a quick one did not wait."""
    between = (event(3, 4, 5, "begin"), event(3, 5, 6, "select x from a for update"))
    for took, first in ((1, True), (60, False)):
        events = [*late_write(*between), event(3, 12, 15, "commit")]
        events[5] = event(1, 10 - took, 10, "update a set x = 1")
        events += [event(1, 20 + n, 21 + n, "update a set x = 3") for n in range(5)]
        (tmp_path / str(took)).mkdir()
        found = waits(tmp_path / str(took), events, precision_ns=1_000_000_000)
        place = str(found[1]).removeprefix(";").split(":")[0]
        assert (f"{place}:2" in str(found[2]).split(";")[0].split()) == first


@pytest.mark.parametrize(("took", "waited"), [(1, True), (3, True), (4, False)])
def test_a_commit_that_is_logged_behind_a_begin(took: int, waited: bool, tmp_path: Path) -> None:
    """Whole seconds: a read that began behind the entry of a COMMIT has seen it, though its BEGIN was logged before that."""
    events = [
        event(1, 0, 1, "begin"),
        event(1, 1, 2, "update a set x = 1"),
        event(2, 3, 4, "begin"),
        event(1, 4, 5, "commit"),
        event(2, 8 - took, 8, "select x from a"),
        event(2, 9, 10, "commit"),
    ]
    found = waits(tmp_path, events, precision_ns=1_000_000_000)
    place = str(found[3]).removeprefix(";").split(":")[0]
    assert (f"{place}:1" in str(found[4]).split(";")[0].split()) == waited
