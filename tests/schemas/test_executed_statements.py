# SPDX-License-Identifier: Apache-2.0
"""Tests of the query that lists executed statements."""

from pathlib import Path

import duckdb
from querytape.schemas import open_folder
from querytape.schemas.executed_statements import executed_statements

from tests.helpers.tapes import make_tape

DIGEST = "a" * 16


def test_executes_have_the_statement_of_their_prepare(tmp_path: Path) -> None:
    """The id shows the session and the event. The condition selects the executions, and not the prepares."""
    prepared = {"statement": "SELECT ?", "digest": DIGEST, "command": "prepare", "stmt": 1, "errno": 1}
    execute = {"statement": None, "digest": DIGEST, "command": "execute", "stmt": 1, "params": b"p"}
    events = [
        {"session": 1, "statement": "SELECT 5", "digest": DIGEST},
        {"session": 1, "statement": "SELECT 6", "digest": "b" * 16},
        {"session": 1, "statement": "SELECT 7", "digest": DIGEST, "errno": 9},
        *({"session": 2, **each} for each in (prepared, execute)),
        {"session": 3, **execute, "statement": "SELECT 8"},
        {"session": 4, "statement": None, "digest": None, "command": "ping"},
    ]
    tape = open_folder("tape", make_tape(tmp_path / "a.tape", events))
    query = executed_statements(tape.source("events"), f"'{DIGEST}'", "coalesce(errno, 0) = 0")
    with duckdb.connect() as con:
        found = con.execute(f"SELECT id // 2147483648, id % 2147483648, statement, params FROM ({query}) ORDER BY id")
        assert found.fetchall() == [
            (1, 1, b"SELECT 5", None),
            (2, 2, b"SELECT ?", b"p"),
            (3, 1, b"SELECT 8", b"p"),
        ]
