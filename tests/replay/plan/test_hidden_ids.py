# SPDX-License-Identifier: Apache-2.0
"""Which statements may make a trigger or routine insert rows whose ids are not known."""

import pytest
from querytape.replay.plan.hidden_ids import hidden_inserts, may_set_off


@pytest.mark.parametrize(
    ("text", "effects"),
    [
        ("insert into t values (?+)", {"insert t"}),
        ("insert into t values (?+) on duplicate key update a = ?", {"insert t", "update t"}),
        ("replace into t values (?+)", {"insert t", "delete t"}),
        ("update t set a = replace(a, ?)", {"update t"}),
        ("delete from t", {"delete t"}),
        ("load data infile ? into table t", {"insert t"}),
        ("select f(?) from t", {"call f"}),
        ("select ? from t", set()),
    ],
)
def test_a_statement_has_rather_too_many_effects_than_too_few(text: str, effects: set[str]) -> None:
    assert may_set_off(text, ["t"], ["f"] if "f(" in text else []) == effects


BODIES = [
    ("call direct", "insert into `numbered` values (1)"),
    ("call through", "begin call direct(); end"),
    ("call reads", "select max(id) from numbered"),
    ("call plain", "insert into other values (1)"),
    ("call sets_off", "begin insert into audited values (1); end"),
    ("call dynamic", "begin prepare s from @s; execute s; end"),
    ("call not_shown", ""),
    ("call by_view", "replace into seen values (1)"),
    ("insert audited", "insert into numbered values (new.id)"),
    ("update audited", "set new.a = replace(new.a, 'numbered', '')"),
    ("update audited", "insert into other values (1)"),
]


def test_what_may_insert_where_ids_are_generated() -> None:
    """Triggers and routines themselves, through others, through views; and those whose text is not shown."""
    hidden, tables = hidden_inserts(
        BODIES, {"numbered"}, [("seen", "select * from inner_view"), ("inner_view", "numbered")]
    )
    names = ("direct", "through", "sets_off", "dynamic", "not_shown", "by_view")
    assert hidden == {"insert audited", *(f"call {name}" for name in names)}
    assert tables == {"numbered", "seen", "inner_view"}
    assert hidden_inserts(BODIES[:5], set()) == (frozenset(), frozenset())
    assert hidden_inserts([], {"numbered"}, [("not_shown", ""), ("other", "plain")])[1] == {"numbered", "not_shown"}
