# SPDX-License-Identifier: Apache-2.0
"""What the servers did not show of their schemas, and whether the tape can depend on it."""

from pathlib import Path

import pytest

from tests.analyze.findings.made_sides import compared, facts_of
from tests.helpers.tapes import make_tape


@pytest.mark.parametrize(
    ("statement", "b", "said"),
    [
        ("SELECT id FROM orders", ("orders",), False),  # what is not seen is not used
        ("SELECT id FROM users", ("orders",), True),
        ("SELECT id FROM recent", ("orders", "recent"), True),  # the view reads users
        ("SELECT id FROM made_by_the_tape", ("orders",), False),
        ("SELECT 1", ("orders",), True),
    ],
)
def test_tables_that_an_account_may_not_see(statement: str, b: tuple[str, ...], said: bool, tmp_path: Path) -> None:
    """They are unknown, which is shown if the tape uses one that the other server has."""
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
