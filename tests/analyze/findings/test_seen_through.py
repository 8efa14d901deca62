# SPDX-License-Identifier: Apache-2.0
"""Tables and routines behind the views and routines that a statement names."""

import pytest
from querytape.analyze.database import open_analysis
from querytape.analyze.findings.seen_through import seen_through

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
    ("routine", "", "damaged", "{"),
    ("routine", "", "hidden", '{"is": "FUNCTION"}'),
)


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
        (None, set(), None, set()),
    ],
)
def test_what_a_statement_reaches(
    text: str | None, named: set[str], tables: set[str] | None, routines: set[str]
) -> None:
    """Its own tables, and those behind its views and routines, however deep; a column of a routine's name calls none."""
    database = open_analysis()
    rows = ", ".join(f"('a', '{kind}', '{tbl}', '{name}', '{facts}')" for kind, tbl, name, facts in FACTS)
    database.con.execute(f"CREATE TEMP VIEW schema_fact AS FROM (VALUES {rows}) AS v(run, kind, tbl, name, facts)")
    database.con.execute("CREATE TEMP TABLE tape_digest AS SELECT 'd' AS digest, $1::VARCHAR AS normalized", [text])
    reached, called = seen_through(database, {"d": frozenset(named)} if named else {})
    database.close()
    assert reached.get("d") == tables
    assert called["d"] == routines
