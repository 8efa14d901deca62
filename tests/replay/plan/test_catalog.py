# SPDX-License-Identifier: Apache-2.0
"""The tables that a statement may touch."""

from querytape.native.bindings.statements import Normalizer
from querytape.replay.plan.catalog import Catalog, join_pairs, tables_of
from querytape.schemas import ACTIONS


def test_tables_of_statements() -> None:
    """What a statement names counts; foreign keys join tables; routines, views and triggers hide what they touch."""
    catalog = Catalog(frozenset({"audit", "refresh"}), join_pairs([("items", "orders")]))
    normalizer = Normalizer()
    table = [
        ("select * from `Orders` o, shop.log", "read", {"items", "log"}),
        ("update items set orders = ?", "write", {"items"}),
        ("insert into `my log` select * from items", "write", {"my log", "items"}),
        ("select ?", "read", set()),
        ("select refresh(?)", "read", None),
        ("call refresh(?)", "write", None),
        ("call other(?)", "write", None),
        ("insert into shop.audit values (?+)", "write", None),
        ("create database d", "ddl", None),
        ("set names utf8", "session", set()),
        ("commit", "transaction", set()),
        ("start transaction with consistent snapshot", "transaction", None),
    ]
    for text, kind, want in table:
        snapshot = normalizer.normalize(text.encode()).actions & ACTIONS["snapshot"] != 0
        tables = tables_of(*normalizer.names(text.encode()), kind, snapshot, catalog)
        assert (None if tables is None else set(tables)) == want, text
    assert tables_of(None, [], "read", False, catalog) is None


def test_groups_of_foreign_keys() -> None:
    """Pairs in any order make one group."""
    groups = join_pairs([("d", "c"), ("a", "b"), ("c", "b"), ("x", "y")])
    assert len({groups[name] for name in "abcd"}) == 1
    assert groups["x"] == groups["y"] != groups["a"]
