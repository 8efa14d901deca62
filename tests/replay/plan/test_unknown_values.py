# SPDX-License-Identifier: Apache-2.0
"""Tests of the numbers of unknown values with `--insert-id original` and `--now original`."""

from pathlib import Path
from typing import Any

import pytest
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.rules import Plan, Rules

from tests.helpers.planning import fed
from tests.helpers.planning import planned as plan_events
from tests.helpers.tapes import MS, SECOND, T0

pytestmark = pytest.mark.slow

INSERT = {"statement": "INSERT INTO shop.orders VALUES (1)", "class": "write"}


def server(increment: int = 1, mode: int = 1) -> dict[str, Any]:
    """Return a server description of a tape."""
    settings = {"auto_increment_increment": increment, "auto_increment_offset": 1, "innodb_autoinc_lock_mode": mode}
    return {"variables": {name: str(value) for name, value in settings.items()}}


def planned(
    tmp_path: Path, events: list[dict[str, Any]], overrides: Overrides, numbering: set[str], **tape: Any
) -> Plan:
    """Plan a tape. `numbering` lists the tables that generate ids. `hidden` lists the tables with hidden inserts."""
    hidden = frozenset(tape.pop("hidden", ()))
    rules = Rules(allow_writes=True, overrides=overrides)
    catalog = Catalog(numbering=frozenset(numbering), hidden=hidden, steps=(1, 1))
    return plan_events(tmp_path, events, rules, catalog=catalog, **tape)


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("source", "numbering", "unknown"),
    [
        ("slowlog", {"orders"}, 3),
        ("general", {"orders", "b"}, 4),
        ("slowlog", {"other"}, 1),  # only a text with several statements may have generated an id
        ("packets", {"orders"}, 1),  # NULL in a packet means that no id was generated
        ("packets+slowlog", {"orders"}, 3),
    ],
)
def test_unknown_generated_ids_are_counted(tmp_path: Path, source: str, numbering: set[str], unknown: int) -> None:
    """INSERTs into tables that generate ids are counted if the source does not contain the id. Failed INSERTs have no
    id.
    """
    events: list[dict[str, Any]] = [
        INSERT,
        {**INSERT, "insert_id": 5},
        {**INSERT, "statement": "INSERT INTO orders SELECT 1"},
        {**INSERT, "statement": "REPLACE INTO b VALUES (1)"},
        {**INSERT, "errno": 1062},
        {"statement": "INSERT INTO orders VALUES (1); CALL p()", "class": "write", "insert_ids": ""},
        {"statement": "INSERT INTO orders VALUES (1); INSERT INTO b", "class": "write", "insert_ids": "0:5,32:6"},
        {"statement": "UPDATE orders SET a = 1", "class": "write"},
        {"statement": "SELECT 1"},
    ]
    plan = planned(tmp_path, events, Overrides(ids=True), numbering, source=source)
    assert (plan.ids_unknown, plan.now_uncertain) == (unknown, 0)
    assert plan.as_json()["ids_unknown"] == unknown
    sent = fed(plan, "insert_id", "insert_ids")
    assert [row for row in sent if row[0] is not None or row[1] is not None] == [(5, None), (None, "0:5,32:6")]


@pytest.mark.parametrize(("point", "uncertain"), [("wire", 2), ("proxy", 2), ("server", 0)])
def test_statements_across_a_second_boundary_have_an_uncertain_time(tmp_path: Path, point: str, uncertain: int) -> None:
    """A statement arrived in one second and was answered in the next second. The server may have used either second as
    the time of the statement.
    """
    late = T0 + SECOND - MS // 8
    events = [
        {**INSERT, "start_ns": late, "duration_ns": MS},
        {"statement": "SELECT NOW()", "start_ns": late, "duration_ns": 9 * SECOND, "first_byte_ns": MS},
        {"statement": "SELECT NOW()", "start_ns": late, "duration_ns": 9 * SECOND, "first_byte_ns": 10},
        {"statement": "SELECT 1", "start_ns": late, "duration_ns": MS},
        {**INSERT, "start_ns": late + MS, "duration_ns": MS},
    ]
    plan = planned(tmp_path, events, Overrides(clock=True), set(), measuring_point=point)
    assert (plan.ids_unknown, plan.now_uncertain) == (0, uncertain)


MANY = {"class": "write", "insert_id": 5, "rows_affected": 2}


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("event", "unknown"),
    [
        ({"statement": "INSERT INTO orders VALUES (1),\n(2)"}, 1),
        ({"statement": "INSERT INTO orders VALUES ROW(1), ROW(2)"}, 1),
        ({"statement": "INSERT INTO orders SELECT 1", "rows_affected": None}, 1),
        ({"statement": "INSERT INTO orders SELECT 1", "rows_affected": 1}, 0),
        ({"statement": "REPLACE INTO orders VALUES (1)"}, 0),
        ({"statement": "INSERT INTO orders VALUES (1)", "rows_affected": None}, 0),
        ({"statement": "EXECUTE s USING @a"}, 1),
        ({"statement": "EXECUTE s USING @a", "rows_affected": 1}, 0),
        ({"statement": "INSERT INTO orders VALUES (1),(2)", "insert_id": None, "insert_ids": "0:5"}, 1),
        ({"statement": "INSERT INTO orders VALUES ('a), (select')"}, 0),
        ({"statement": "INSERT INTO orders VALUES (?)", "command": "execute", "stmt": 1}, 0),
        ({"statement": "INSERT INTO orders VALUES (?)", "command": "bulk_execute", "stmt": 1}, 1),
    ],
)
def test_later_ids_of_an_insert_need_a_known_increment(tmp_path: Path, event: dict[str, Any], unknown: int) -> None:
    """All ids of an INSERT except the first depend on the increment. If the tape has the increment, no id is counted as
    unknown.
    """
    for name, of, n in (("a", None, unknown), ("b", server(), 0), ("c", server(7), 0)):
        (tmp_path / name).mkdir()
        tape = {"source": "packets", **({"server": of} if of else {})}
        assert planned(tmp_path / name, [MANY | event], Overrides(ids=True), {"orders"}, **tape).ids_unknown == n


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("statement", "increment", "unknown"),
    [
        ("SET auto_increment_increment = 7", 3, 0),
        ("SET auto_increment_increment = DEFAULT", 3, 1),
        ("SET auto_increment_increment = DEFAULT", 1, 0),  # the target has the same default
        ("SET SESSION auto_increment_offset = @@global.auto_increment_offset", 3, 1),
        ("SET GLOBAL auto_increment_increment = 7", 1, 1),
        ("SET @@persist.auto_increment_increment = 7", 1, 1),
        ("SELECT @@global.auto_increment_increment", 3, 0),
    ],
)
def test_changed_increment_on_the_tape(tmp_path: Path, statement: str, increment: int, unknown: int) -> None:
    """The SET of a session is replayed. A SET that copies a value of the server may give a different value on the
    target.
    """
    insert: dict[str, Any] = MANY | {"statement": "INSERT INTO orders VALUES (1), (2)"}
    events = [{"statement": statement, "class": "session"}, insert]
    given = {"source": "packets", "server": server(increment)}
    assert planned(tmp_path, events, Overrides(ids=True), {"orders"}, **given).ids_unknown == unknown


@pytest.mark.parametrize(
    ("mode", "other", "unknown"),
    [
        (2, {"statement": "INSERT INTO orders VALUES (1)"}, 1),
        (2, {"statement": "INSERT INTO orders VALUES (1)", "session": 1}, 0),
        (2, {"statement": "INSERT INTO lines VALUES (1)"}, 0),
        (2, {"statement": "UPDATE orders SET a = 1"}, 0),
        (2, {"statement": "INSERT INTO orders VALUES (1)", "start_ns": T0 + SECOND}, 0),
        (1, {"statement": "INSERT INTO orders VALUES (1)"}, 0),
        (0, {"statement": "INSERT INTO orders VALUES (1)"}, 0),
    ],
)
def test_interleaved_ids_are_counted(tmp_path: Path, mode: int, other: dict[str, Any], unknown: int) -> None:
    """With innodb_autoinc_lock_mode = 2, an INSERT ... SELECT takes ids from the same range as simultaneous inserts."""
    copied = MANY | {"statement": "INSERT INTO orders SELECT 1", "duration_ns": 9 * MS, "tables": ["shop.orders"]}
    more = {"class": "write", "session": 2, "insert_id": 7, "duration_ns": MS} | other
    more["tables"] = ["lines" if "lines" in more["statement"] else "orders"]
    given = {"source": "packets", "server": server(mode=mode)}
    assert planned(tmp_path, [copied, more], Overrides(ids=True), {"orders"}, **given).ids_unknown == unknown


def test_unknown_ids_of_triggers_and_routines_are_counted(tmp_path: Path) -> None:
    """Statements of every class are counted once. Failed statements are not counted."""
    events: list[dict[str, Any]] = [
        {"statement": "INSERT INTO audited VALUES (1)", "class": "write", "tables": ["shop.audited"]},
        {"statement": "UPDATE audited SET a = 1", "class": "write", "tables": ["audited"]},
        {"statement": "CALL note()", "class": "write", "calls": ["note"]},
        {"statement": "SELECT note()", "calls": ["shop.note"]},
        {"statement": "CALL note() ", "class": "write", "calls": ["note"], "errno": 1062},
        {"statement": "CALL other()", "class": "write", "calls": ["other"]},
    ]
    given = {"source": "packets", "hidden": {"insert audited", "call note"}, "server": server()}
    assert planned(tmp_path, events, Overrides(ids=True), {"audited"}, **given).ids_unknown == 3
