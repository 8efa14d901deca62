# SPDX-License-Identifier: Apache-2.0
"""Schema objects that are hidden from the account, and whether the tape uses these objects."""

from pathlib import Path

import pytest

from tests.analyze.findings.made_sides import compared, facts_of
from tests.helpers.tapes import make_tape


@pytest.mark.parametrize(
    ("statement", "b", "said"),
    [
        ("SELECT id FROM orders", ("orders",), False),  # hidden objects are not used
        ("SELECT id FROM users", ("orders",), True),
        ("SELECT id FROM recent", ("orders", "recent"), True),  # the view reads users
        ("SELECT id FROM made_by_the_tape", ("orders",), False),
        ("SELECT 1", ("orders",), True),
    ],
)
def test_hidden_tables_are_reported_if_used(statement: str, b: tuple[str, ...], said: bool, tmp_path: Path) -> None:
    """A table is hidden from one account. The report mentions the table if the tape uses it and the other server shows
    it.
    """
    rows = [("schema", "shop", "", "", "{}")]
    whole = [*rows, *(("table", "shop", name, "", "{}") for name in ("orders", "users", "recent"))]
    whole += [("view", "shop", "recent", "", '{"definition": "select id from users"}')]
    unseen = [
        ("problem", "shop", "", "not all tables of shop", f'{{"unknown": "{kind}"}}') for kind in ("table", "view")
    ]
    narrow = [*(row for row in whole if row[2] in ("", *b)), *unseen]
    tape = make_tape(tmp_path / "t.tape", [{"statement": statement, "db": "shop"}])
    problem = compared(tape, facts_of(*whole), facts_of(*narrow)).problem
    neither = compared(tape, facts_of(*narrow), facts_of(*narrow)).problem
    assert problem == ("The schemas were compared only in part: B: not all tables of shop." if said else None)
    assert (neither is None) == (statement in ("SELECT id FROM orders", "SELECT id FROM recent"))
