# SPDX-License-Identifier: Apache-2.0
"""Tests of the tables that a plan uses, and of the tables that several drivers share."""

import itertools
import random

import pytest
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.table_uses import UNKNOWN, USER_LOCKS, TableUse, place_of, shared_tables

A = TableUse("s", "a", locks=True)
A_READ = TableUse("s", "a", locks=False)
OTHER_A = TableUse("t", "a", locks=True)
ANY_A = TableUse(None, "a", locks=False)
B = TableUse("s", "b", locks=True)
WILD, WILD_READ = TableUse(None, UNKNOWN, locks=True), TableUse(None, UNKNOWN, locks=False)
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
        ([[WILD_READ], [A_READ]], []),
        ([[WILD_READ], [A]], [UNKNOWN]),
        ([[WILD_READ], [WILD_READ]], []),
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
