# SPDX-License-Identifier: Apache-2.0
"""Tables and routines behind the views and routines that a statement names."""

import pytest
from querytape.analyze.database import AnalysisDatabase, open_analysis
from querytape.analyze.findings.seen_through import Objects, seen_through, written_by
from querytape.native.bindings.statements import Normalizer

FACTS = (
    ("table", "orders", "", "{}"),
    ("table", "taxes", "", "{}"),
    ("table", "log", "", "{}"),
    ("view", "Open_Orders", "", '{"definition": "select `orders`.`id` AS `id` from `orders`"}'),
    ("view", "seen_twice", "", '{"definition": "select `id` from `open_orders`"}'),
    ("routine", "", "tax", '{"is": "FUNCTION", "does": "RETURN (SELECT MAX(rate) FROM Taxes)"}'),
    (
        "routine",
        "",
        "close_all",
        '{"is": "PROCEDURE", "does": "BEGIN DELETE FROM log; CALL close_all(); SELECT tax(1); END"}',
    ),
    ("trigger", "stock", "after", '{"does": "CALL close_all()"}'),
    ("routine", "", "damaged", "{"),
    ("routine", "", "hidden", '{"is": "FUNCTION"}'),
)


def with_facts() -> AnalysisDatabase:
    """Return a database that has FACTS of both sides."""
    database = open_analysis()
    rows = ", ".join(f"('a', '{kind}', '{tbl}', '{name}', '{facts}')" for kind, tbl, name, facts in FACTS)
    database.con.execute(f"CREATE TEMP VIEW schema_fact AS FROM (VALUES {rows}) AS v(run, kind, tbl, name, facts)")
    return database


@pytest.mark.parametrize(
    ("text", "named", "tables", "routines"),
    [
        ("select id from orders", {"orders"}, {"orders"}, set()),
        ("select id from seen_twice", {"seen_twice"}, {"seen_twice", "open_orders", "orders"}, set()),
        ("select `shop`.`tax`(?) from orders", {"orders"}, {"orders", "taxes"}, {"tax"}),
        ("call close_all", set(), {"log", "taxes"}, {"close_all", "tax"}),
        ("call shop.close_all(?)", set(), {"log", "taxes"}, {"close_all", "tax"}),
        ("select tax from orders", {"orders"}, {"orders"}, set()),
        ("select hidden(?), damaged(?)", set(), None, {"hidden", "damaged"}),
        ("select n from stock", {"stock"}, {"stock"}, set()),
        ("update stock set n = ?", {"stock"}, {"stock", "log", "taxes"}, {"close_all", "tax"}),
        (None, set(), None, set()),
    ],
)
def test_what_a_statement_reaches(
    text: str | None, named: set[str], tables: set[str] | None, routines: set[str]
) -> None:
    """Its own tables, and those behind its views, routines and triggers, however deep; a column calls no routine."""
    database = with_facts()
    write = text is not None and text.startswith("update")
    database.con.execute(
        "CREATE TEMP TABLE tape_digest AS SELECT 'd' AS digest, $1::VARCHAR[] AS calls, $2 AS class",
        [text and Normalizer().names(text.encode())[1], "write" if write else "read"],
    )
    reached, called = seen_through(database, {"d": frozenset(named)} if named else {})
    database.close()
    assert reached.get("d") == tables
    assert called["d"] == routines


@pytest.mark.parametrize(
    ("definition", "names"),
    [
        (
            "BEGIN INSERT LOW_PRIORITY IGNORE INTO `shop`.`log` VALUES (1); replace orders SET a = 1; END",
            {"log", "orders"},
        ),
        ("UPDATE IGNORE taxes SET rate = (SELECT MAX(n) FROM orders)", {"taxes"}),
        ("DELETE QUICK FROM log WHERE id = 1", {"log"}),
        ("TRUNCATE TABLE log", {"log"}),
        ("SET NEW.updated = NOW()", set()),
        (None, set()),
    ],
)
def test_what_a_definition_writes(definition: str | None, names: set[str]) -> None:
    """The table behind each kind of write; what it only reads is none."""
    assert written_by(definition) == names


def test_what_is_written_through_a_routine() -> None:
    """The tables that both servers have, of the body and of what it calls."""
    database = with_facts()
    objects = Objects.of(database)
    database.close()
    assert objects.writes("BEGIN CALL close_all(); UPDATE stock SET n = 1; INSERT INTO orders VALUES (1); END") == {
        "log",
        "orders",
    }
