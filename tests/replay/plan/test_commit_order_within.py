# SPDX-License-Identifier: Apache-2.0
"""--order commit where a transaction asked for locks within a write of its own, and ended after it."""

import random
from pathlib import Path
from typing import Any

import pytest

from .test_commit_order import event, no_circles, waits

pytestmark = pytest.mark.slow

WRITE, ASKED = 0, 2  # places in the lists below


def within(*more: dict[str, Any], took: str = "select x from a for update") -> list[dict[str, Any]]:
    """Return events: a write from 5 to 20 ms, a transaction that asked within it, one that ended since, and others."""
    return [
        event(1, 5, 20, "update a set x = 1"),
        event(2, 0, 1, "begin"),
        event(2, 6, 8, took),
        event(2, 30, 31, "commit"),
        event(3, 0, 1, "begin"),
        event(3, 2, 3, "update a set x = 3"),
        event(3, 15, 16, "commit"),
        *more,
    ]


def awaited(tmp_path: Path, events: list[dict[str, Any]]) -> bool:
    """Tell whether what asked waits for the write; nobody may wait for himself."""
    found = waits(tmp_path, events, source="packets")
    no_circles(events, found)
    (place, number), *_ = (pair.split(":") for pair in str(found[WRITE]).split(";")[1].split())
    pairs = (pair.split(":") for pair in str(found[ASKED]).split(";")[0].split())
    return any(at == place and int(count) >= int(number) for at, count in pairs)


@pytest.mark.parametrize("took", ["select x from a for update", "update a set x = 2", "delete from a"])
def test_the_write_goes_first(took: str, tmp_path: Path) -> None:
    """Had both wanted one row, the write had it first; it goes behind the transaction that ended since, too."""
    assert awaited(tmp_path, within(took=took))


@pytest.mark.parametrize(
    ("more", "first"),
    [
        ([event(4, 9, 12, "update b set x = 1")], False),  # it may wait for what asked, and another commit for it
        ([event(4, 7, 12, "update b set x = 1")], True),
        ([event(4, 9, 12, "select * from b")], True),  # nobody waits for a read
        ([event(2, 9, 10, "update b set x = 1")], True),  # of the transaction itself
        ([event(4, 7, 25, "update b set x = 1"), event(2, 9, 10, "insert into b values (1)")], False),
        ([event(4, 7, 25, "update c set x = 1"), event(2, 9, 10, "insert into b values (1)")], True),
        ([event(4, 40, 41, "call p()")], False),  # nobody knows what it touches
    ],
)
def test_not_where_a_circle_might_come_of_it(more: list[dict[str, Any]], first: bool, tmp_path: Path) -> None:
    """Others that began to ask for locks since may wait for what asked: then the write keeps its turn."""
    events = within(*more)
    if more[-1]["session"] == 2:  # behind what asked, in front of the COMMIT
        events.insert(ASKED + 1, events.pop())
    assert awaited(tmp_path, events) is first


def test_not_what_adds_rows(tmp_path: Path) -> None:
    """An INSERT may be waited for by those who ask, even while it runs."""
    assert not awaited(tmp_path, within(took="insert into a values (1)"))


def crowd(seed: int) -> list[dict[str, Any]]:
    """Return events of six sessions on two tables: long writes of their own and transactions."""
    rng = random.Random(seed)
    events, clock, open_tx = [], dict.fromkeys(range(1, 7), 0), dict.fromkeys(range(1, 7), False)
    for _ in range(120):
        session = min(clock, key=lambda s: (clock[s] + rng.randint(0, 3), s))
        texts = ["update {} set x = 1", "update {} set x = 1", "select x from {} for update", "select * from {}"]
        texts += ["insert into {} values (1)"] if rng.random() < 0.3 else []
        texts += ["commit"] * 3 if open_tx[session] else ["begin"] * 2
        sql = rng.choice(texts).format(rng.choice("aab"))
        start = clock[session] + rng.randint(1, 6)
        clock[session] = start + rng.choice([0, 1, 2, 3, 12, 25])
        open_tx[session] = sql == "begin" or (open_tx[session] and sql != "commit")
        events.append(event(session, start, clock[session], sql))
    return events


@pytest.mark.parametrize("seed", range(6))
def test_no_circles(seed: int, tmp_path: Path) -> None:
    """Of a crowd on two tables nobody waits for himself."""
    events = crowd(seed)
    no_circles(events, waits(tmp_path, events, source="packets"))
