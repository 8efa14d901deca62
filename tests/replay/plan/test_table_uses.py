# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables that a plan uses, and of the tables that several drivers share."""

import itertools
import random
from pathlib import Path

import pytest
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.rules import Rules
from querytape.replay.plan.table_uses import UNKNOWN, USER_LOCKS, TableUse, place_of, shared_tables

from tests.helpers.planning import plan_tape
from tests.helpers.tapes import MS, T0, make_tape

A = TableUse("s", "a", locks=True)
A_READ = TableUse("s", "a", locks=False)
OTHER_A = TableUse("t", "a", locks=True)
ANY_A = TableUse(None, "a", locks=False)
B = TableUse("s", "b", locks=True)
WILD = TableUse(None, UNKNOWN, locks=True)
USER_LOCK = TableUse("", USER_LOCKS, locks=True)


@pytest.mark.parametrize(
    ("drivers", "shared"),
    [
        ([[A], [B]], []),
        ([[A], [A]], ["s.a"]),
        ([[A], [A_READ]], ["s.a"]),
        ([[A_READ], [A_READ]], []),
        ([[A], [OTHER_A]], []),
        ([[A], [OTHER_A], [ANY_A]], ["a"]),
        ([[A, B], [OTHER_A], [B]], ["s.b"]),
        ([[USER_LOCK], [USER_LOCK]], [USER_LOCKS]),
        ([[WILD], [A_READ]], [UNKNOWN]),
        ([[WILD], []], []),
        ([[WILD, A], []], []),
        ([[WILD], [WILD]], [UNKNOWN]),
    ],
)
def test_shared_tables_are_those_that_a_driver_locks_and_another_uses(
    drivers: list[list[TableUse]], shared: list[str]
) -> None:
    """The order of the drivers does not matter."""
    for order in itertools.permutations(drivers):
        assert shared_tables(order) == shared


@pytest.mark.parametrize("seed", range(20))
def test_random_drivers_share_what_a_comparison_of_all_pairs_finds(seed: int) -> None:
    chance = random.Random(seed)
    drivers = [
        [
            TableUse(chance.choice("xyz"), chance.choice("abcdefghij"), chance.random() < 0.5)
            for _ in range(chance.randint(0, 4))
        ]
        for _ in range(4)
    ]
    expected = {
        f"{one.schema}.{one.name}"
        for mine, others in itertools.permutations(drivers, 2)
        for one in mine
        for other in others
        if (one.schema, one.name) == (other.schema, other.name) and one.locks
    }
    assert shared_tables(drivers) == sorted(expected)


@pytest.mark.parametrize(
    ("name", "schema", "place"),
    [
        ("a", "s", ("s", "a")),
        ("a", None, (None, "a")),
        ("`T`.`A`", "s", ("t", "a")),
        ("t.a", None, ("t", "a")),
        ("child", "s", ("s", "child")),
        ("parent", "s", ("s", "child")),
        ("far", "s", (None, "far")),
        ("t.away", "s", (None, "far")),
    ],
)
def test_place_of_a_table_has_the_schema_unless_a_foreign_key_leaves_it(
    name: str, schema: str | None, place: tuple[str | None, str]
) -> None:
    together = {"child": "child", "parent": "child", "far": "far", "away": "far"}
    assert place_of(name, schema, Catalog(together=together, across=frozenset({"far"}))) == place


def uses(
    tmp_path: Path, statement: str, kind: str, db: str | None = "s", catalog: Catalog | None = None
) -> list[TableUse]:
    """Return the tables that the plan of one statement uses, with an UPDATE of the table `other` before it."""
    events = [
        {"statement": "UPDATE other SET a = 1", "class": "write", "db": "s", "start_ns": T0},
        {"statement": statement, "class": kind, "db": db, "start_ns": T0 + MS},
    ]
    tape = make_tape(tmp_path / "t.tape", events)
    rules = Rules(allow_writes=True, commit_order=True)
    plan = plan_tape(tape, tmp_path, rules, catalog=catalog or Catalog(), lists_tables=True)
    assert plan.table_uses is not None
    return [use for use in plan.table_uses if use != TableUse("s", "other", locks=True)]


@pytest.mark.parametrize(
    ("statement", "kind", "found"),
    [
        ("SELECT a FROM t", "read", [TableUse("s", "t", locks=False)]),
        ("SELECT a FROM t FOR UPDATE", "read", [TableUse("s", "t", locks=True)]),
        ("SET @a = (SELECT n FROM t)", "session", [TableUse("s", "t", locks=False)]),
        ("SET @a = (SELECT n FROM t FOR UPDATE)", "session", [TableUse("s", "t", locks=True)]),
        ("SET @a = GET_LOCK('k', 1)", "session", [TableUse("", USER_LOCKS, locks=True)]),
        (
            "SELECT GET_LOCK('k', 1), n FROM t",
            "read",
            [TableUse("", USER_LOCKS, locks=True), TableUse("s", "t", locks=False)],
        ),
        ("USE y; UPDATE t SET n = 1", "write", [TableUse(None, "t", locks=True)]),
        ("INSERT INTO `S`.`a``b` VALUES (1)", "write", [TableUse("s", "a`b", locks=True)]),
        ("SELECT f(1)", "read", [TableUse(None, UNKNOWN, locks=True)]),
        ("SET @a = f(1)", "session", [TableUse(None, UNKNOWN, locks=True)]),
        ("SELECT n FROM v", "read", [TableUse(None, UNKNOWN, locks=True)]),
        ("SELECT n FROM `v``w`", "read", [TableUse(None, UNKNOWN, locks=True)]),
        ("CREATE DATABASE d", "ddl", [TableUse(None, UNKNOWN, locks=True)]),
        ("SELECT 1", "read", []),
        ("SET NAMES utf8mb4", "session", []),
        ("BEGIN", "transaction", []),
        ("SHOW STATUS", "read", []),
    ],
)
def test_plan_lists_the_tables_of_every_kind_of_statement(
    statement: str, kind: str, found: list[TableUse], tmp_path: Path
) -> None:
    """A SET can read and lock rows. A routine can write any table."""
    catalog = Catalog(frozenset({"f", "v", "v`w"}))
    assert sorted(uses(tmp_path, statement, kind, catalog=catalog), key=str) == sorted(found, key=str)


@pytest.mark.parametrize("db", [None, ""])
def test_empty_default_schema_is_unknown(db: str | None, tmp_path: Path) -> None:
    assert uses(tmp_path, "UPDATE t SET a = 1", "write", db) == [TableUse(None, "t", locks=True)]
