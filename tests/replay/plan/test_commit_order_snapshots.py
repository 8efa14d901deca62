# SPDX-License-Identifier: Apache-2.0
"""--order commit: the first plain read of a transaction decides what all of it sees, and may lock."""

from pathlib import Path
from typing import Any

import pytest

from tests.replay.plan.test_commit_order import event, waits

pytestmark = pytest.mark.slow


def around(*inside: str, opened: int = 20) -> list[dict[str, Any]]:
    """Return events: a commit on b that ended at 10 ms, then a transaction whose first statement begins at `opened`."""
    texts = ["begin", *inside, "commit"]
    own = [event(2, opened - 1 + 4 * n, opened + 1 + 4 * n, text) for n, text in enumerate(texts)]
    return [event(1, 5, 10, "update b set x = 1"), *own]


def waited(found: list[str | None]) -> list[bool]:
    """Return which of the events wait for the first one's commit."""
    mark = str(found[0]).removeprefix(";")
    return [mark in str(each).split(";")[0].split() for each in found]


@pytest.mark.sampled
@pytest.mark.parametrize(
    "later", ["select * from b", "select x from b for update", "update b set x = 2", "insert into b values (1)"]
)
@pytest.mark.parametrize("precision_ns", [1000, 1_000_000_000], ids=["microseconds", "whole seconds"])
def test_the_first_read_waits_for_all_tables_of_its_transaction(later: str, precision_ns: int, tmp_path: Path) -> None:
    """Whatever the transaction does with b later, it sees b as of its first read, of another table."""
    found = waits(tmp_path, around("select * from a", "select * from a", later), precision_ns=precision_ns)
    assert waited(found)[2:4] == [True, False]


def test_what_opens_no_snapshot_waits_for_its_own_tables(tmp_path: Path) -> None:
    """A locking read or a write before the first plain read, a read in no transaction, one that looks at no table."""
    for number, inside in enumerate(
        (("select x from a for update", "select * from b"), ("select 1", "select * from b"))
    ):
        (tmp_path / str(number)).mkdir()
        assert waited(waits(tmp_path / str(number), around(*inside)))[2:4] == [False, True]
    alone = [
        event(1, 5, 10, "update b set x = 1"),
        event(2, 20, 21, "select * from a"),
        event(2, 22, 23, "select * from b"),
    ]
    (tmp_path / "alone").mkdir()
    assert waited(waits(tmp_path / "alone", alone)) == [False, False, True]


def test_a_commit_that_came_later_is_not_waited_for(tmp_path: Path) -> None:
    """What was committed behind the first read was not seen: nor does the first read wait for its own transaction."""
    found = waits(tmp_path, around("select * from a", "select * from b", opened=8))
    assert waited(found)[2] is True
    events = [
        event(2, 0, 1, "begin"),
        event(2, 2, 3, "select * from a"),
        event(1, 5, 10, "update b set x = 1"),
        event(2, 20, 21, "update b set x = 2"),
        event(2, 22, 23, "commit"),
    ]
    (tmp_path / "later").mkdir()
    assert str(waits(tmp_path / "later", events)[1]) in ("None", "")
