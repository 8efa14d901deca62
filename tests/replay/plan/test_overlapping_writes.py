# SPDX-License-Identifier: Apache-2.0
"""Tests of the note about writes of one row that overlap under `--order commit`."""

import random
import struct
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from querytape.common.units import plural
from querytape.native.bindings.statements import Normalizer
from querytape.replay.plan import overlapping_writes
from querytape.replay.plan.overlapping_writes import SAME_ROW, only_adds
from querytape.replay.plan.rules import Rules

from tests.helpers.planning import planned

from .test_commit_order import CATALOG, event

ORDERED = Rules(allow_writes=True, commit_order=True)


def notes(tmp_path: Path, events: list[dict[str, Any]], **more: Any) -> list[str]:
    return planned(tmp_path, events, ORDERED, catalog=CATALOG, **more).order_notes


def said(count: int) -> list[str]:
    return [SAME_ROW.format(plural(count, "write"))] if count else []


@pytest.mark.parametrize(
    ("first", "second", "counted"),
    [
        ("update a set x = 7 where id = 5", "update a set y = 8 where id = 5", 1),
        ("update a set x = 7 where id = 5", "delete from a where id = 5", 1),
        ("update a set x = 7 where id = 5", "update a set x = 7 where id = 6", 0),
        ("update a set x = 7 where id = 5", "update b set x = 7 where id = 5", 0),
        ("update a set x = x + 7 where id = 5", "update a set x = x - 9 where id = 5", 0),
        ("update a set x = x + 7 where id = 5", "update a set x = 9 where id = 5", 1),
        ("update a set x = 7 where id = 5", "select * from a where id = 5", 0),
        ("insert into a values (5, 7)", "insert into a values (5, 8)", 0),
    ],
)
def test_writes_of_one_row_at_one_time_are_counted(tmp_path: Path, first: str, second: str, counted: int) -> None:
    assert notes(tmp_path, [event(1, 0, 20, first), event(2, 10, 30, second)]) == said(counted)


def test_writes_that_follow_each_other_have_a_known_order(tmp_path: Path) -> None:
    write = "update a set x = 7 where id = 5"
    assert notes(tmp_path, [event(1, 0, 10, write), event(2, 20, 30, write), event(1, 40, 50, write)]) == []


def test_writes_of_transactions_and_failed_writes_are_not_counted(tmp_path: Path) -> None:
    """The COMMIT gives the order of the writes of a transaction. A failed write changed nothing."""
    write = "update a set x = 7 where id = 5"
    events = [
        event(1, 0, 1, "begin"),
        event(1, 2, 20, write),
        event(1, 21, 22, "commit"),
        event(2, 5, 30, write),
        event(3, 5, 30, write, errno=1205),
    ]
    assert notes(tmp_path, events) == []


def test_bound_values_identify_the_row(tmp_path: Path) -> None:
    """Only the first two of the three sessions write the same row."""
    sql = "update a set x = 7 where id = ?"
    events = []
    for session, value in ((1, 5), (2, 5), (3, 6)):
        bound = b"E\x01" + bytes(5) + b"\x00\x01" + struct.pack("<Hi", 0x03, value)
        events.append({**event(session, 0, 1, sql), "command": "prepare", "stmt": 1})
        execute = {"command": "execute", "stmt": 1, "statement": None, "params": bound}
        events.append({**event(session, 10, 20, sql), **execute})
    assert notes(tmp_path, events) == said(1)


def test_count_is_a_lower_limit_if_there_are_too_many_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(overlapping_writes, "MOST_WRITES", 3)
    events = [event(n, n, 100, "update a set x = 7 where id = 5") for n in range(1, 6)]
    assert notes(tmp_path, events) == [SAME_ROW.format("at least 2 writes")]


@pytest.mark.parametrize("seed", range(20))
def test_count_agrees_with_a_comparison_of_all_pairs(tmp_path: Path, seed: int) -> None:
    random_ = random.Random(seed)
    events, spans = [], []
    for session in range(1, 7):
        at = 0
        for _ in range(random_.randrange(1, 6)):
            start = at + random_.randrange(1, 30)
            at = start + random_.randrange(1, 40)
            row, adds = random_.randrange(3), random_.random() < 0.5
            events.append(event(session, start, at, f"update a set x = {'x + ' if adds else ''}7 where id = {row}"))
            spans.append((start, at, row, adds, session))
    counted = {
        late
        for early, late in product(spans, spans)
        if early[2] == late[2]
        and (early[0], early[4]) < (late[0], late[4])
        and late[0] < early[1]
        and not (early[3] and late[3])
    }
    assert notes(tmp_path, events, precision_ns=0) == said(len(counted))


@pytest.mark.parametrize(
    ("sql", "adds"),
    [
        ("UPDATE t SET n = n + 1 WHERE id = 5", True),
        ("UPDATE t SET n = n+1, m=m -2 WHERE id = 5", True),
        ("UPDATE `s`.`t` SET `t`.`n` = `t`.`n` + 1.5 WHERE id='x'", True),
        ("UPDATE t SET n = n + ? WHERE id = ? AND k = ?", True),
        ("UPDATE t SET n = n + 1 WHERE id = 5 AND n = 7", False),
        ("UPDATE t SET n = n + 1 WHERE id = 5 AND t.n = 7", False),
        ("UPDATE t SET n = n + 1 WHERE id = 5 AND m > 7", False),
        ("UPDATE t SET n = n + 1 WHERE id = 5 OR k = 7", False),
        ("UPDATE t SET n = n + 1 WHERE id IN (5)", False),
        ("UPDATE t SET n = m + 1 WHERE id = 5", False),
        ("UPDATE t SET n = n * 2 WHERE id = 5", False),
        ("UPDATE t SET n = n + 1, m = 2 WHERE id = 5", False),
        ("UPDATE t SET n = n + 1 WHERE id = 5 ORDER BY k LIMIT 1", False),
        ("UPDATE t SET n = n + 1", False),
        ("DELETE FROM t WHERE id = 5", False),
        ("INSERT INTO t VALUES (5)", False),
    ],
)
def test_only_additions_are_recognized(sql: str, adds: bool) -> None:
    assert only_adds(Normalizer().normalize(sql.encode()).text) == adds
