# SPDX-License-Identifier: Apache-2.0
"""Tests of writes that had certainly ended before their answer, because a transaction then locked their row."""

import struct
from pathlib import Path
from typing import Any

import pytest
from querytape.native.bindings.statements import Normalizer
from querytape.replay.plan.locked_rows import locks_by_values

from tests.replay.plan.test_commit_order import arrival, event, waits

WRITE = "update a set x = 1 where id = 1"
LOCK = "select x from a where id = 1 for update"


@pytest.mark.parametrize(
    ("text", "locks"),
    [
        (WRITE, True),
        (LOCK, True),
        ("UPDATE s.a SET x = (SELECT max(n) FROM b WHERE n = 1), y = 2 WHERE `Id` = 'one' AND d = 4", False),
        ("delete from a where a.id = 7", True),
        ("select x from a where id = 1 lock in share mode", True),
        ("select (select 1 from b where n = 1) from a where id = 1 for share", False),
        ("update s.a set x = 1, y = y + 2 where `Id` = 'one' and d = 4", True),
        ("select x from a where id = 1", False),
        ("select x from a where id = 1 for update skip locked", False),
        ("select x from a where id in (1, 2) for update", False),
        ("select x from a join b using (id) where id = 1 for update", False),
        ("update a, b set a.x = 1 where a.id = 1", False),
        ("update a set x = 1 where id = 1 and n > 1", False),
        ("update a set x = 1 where id = 1 or id = 2", False),
        ("update a set x = 1 where id = 1 limit 1", False),
        ("update a set x = 1 where id = (select 1 from b where n = 2)", False),
        ("update a set x = 1", False),
        ("delete from a", False),
        ("insert into a values (1)", False),
    ],
)
def test_only_equal_values_identify_rows(text: str, locks: bool) -> None:
    assert locks_by_values(Normalizer().normalize(text.encode()).text) == locks


def history(
    write: str = WRITE,
    lock: str = LOCK,
    rows: tuple[int, int] = (1, 1),
    ended_ms: int = 60,
    schemas: tuple[str | None, str | None] = ("shop", "shop"),
) -> list[dict[str, Any]]:
    """Return a write of session 1 with a late answer, a transaction that locks a row, and another transaction."""
    return [
        {**event(1, 10, 50, write), "rows_affected": rows[0], "db": schemas[0]},
        event(2, 11, 12, "begin"),
        {**event(2, 14, 20, lock), "rows_sent": rows[1], "db": schemas[1]},
        event(2, ended_ms, ended_ms + 1, "commit"),
        event(3, 11, 12, "begin"),
        event(3, 13, 15, "update a set x = 1 where n > 7"),
        event(3, 30, 31, "commit"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("events", "is_first"),
    [
        (history(), True),
        (history(lock="update a set x = 7, y = 8 where id = 1"), True),
        (history("update a set x = 1 where id = 1 and n = 2", "delete from a where n = 2 and id = 1"), True),
        (history("update a set x = 1 where id = 1 and n = 2", "delete from a where id = 1 and n = 2"), True),
        (history(lock="select x from a where id = 2 for update"), False),
        (history(lock="select x from b where id = 1 for update"), False),
        (history(lock="select x from a where n = 1 for update"), False),
        (history(lock="select x from a where id > 0 for update"), False),
        (history("update a set x = 1 where id > 0"), False),
        (history(rows=(0, 1)), False),
        (history(rows=(1, 0)), False),
        (history(ended_ms=40), False),
        (history(schemas=("shop", "other")), False),
        (history(schemas=(None, None)), False),
        (history("update Shop.a set x = 1 where id = 1", schemas=(None, "shop")), True),
        (history(lock="select x from a where id = 1 for update skip locked"), False),
    ],
)
def test_write_ends_before_a_transaction_locks_its_row(
    events: list[dict[str, Any]], is_first: bool, tmp_path: Path
) -> None:
    """Without these rules the write may have waited for the other transaction."""
    found = [str(text or ";") for text in waits(tmp_path, events)]
    committed = found[0].split(";")[1].split()
    assert all(pair in found[2].split(";")[0].split() for pair in committed) == is_first
    assert found[2].split(";")[0] != "" or not is_first


@pytest.mark.slow
@pytest.mark.parametrize(("value", "is_first"), [(1, True), (2, False)])
def test_bound_values_identify_rows(value: int, is_first: bool, tmp_path: Path) -> None:
    text = WRITE.replace("id = 1", "id = ?")
    bound = b"E\x01" + bytes(5) + b"\x00\x01" + struct.pack("<Hi", 0x03, value)
    prepare = {**event(1, 0, 1, text), "command": "prepare", "stmt": 1}
    execute = {"command": "execute", "stmt": 1, "statement": None, "params": bound, "rows_affected": 1, "db": "shop"}
    events = [prepare, {**event(1, 10, 50, text), **execute}, *history()[1:]]
    found = [str(text or ";") for text in waits(tmp_path, events)]
    assert (found[1].split(";")[1] in found[3].split(";")[0]) == is_first


@pytest.mark.slow
def test_arrivals_show_no_earlier_end(tmp_path: Path) -> None:
    """In a general log, the client's pause hides the end of a statement."""
    texts = [(1, 10, WRITE), (2, 11, "begin"), (2, 14, LOCK), (2, 60, "commit"), (1, 70, "select 1")]
    events = [arrival(*each) for each in texts]
    known = [{**each, "rows_affected": 1, "rows_sent": 1} for each in events]
    found = [waits(tmp_path / name, some, source="general") for name, some in (("a", events), ("b", known))]
    assert found[0] == found[1]
