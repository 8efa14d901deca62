# SPDX-License-Identifier: Apache-2.0
"""The values of a tape's statements as a table: the selected events, their texts and their bound values."""

import struct
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from querytape.analyze.database import open_analysis
from querytape.analyze.row_values import parse_events
from querytape.native.bindings.grammar import Wanted
from querytape.schemas import open_folder

from tests.helpers.tapes import make_tape

TEXT = "UPDATE t SET a = 1 WHERE id = {}"
BOUND = b"E\x01" + bytes(5) + b"\x00\x01" + struct.pack("<H", 0x03) + struct.pack("<i", 9)
EVENTS: list[dict[str, Any]] = [
    {"session": 1, "statement": TEXT.format(5), "digest": "a" * 16},
    {"session": 1, "statement": TEXT.format(6), "digest": "a" * 16, "errno": 1205},
    {"session": 1, "statement": TEXT.format("?"), "digest": "a" * 16, "command": "prepare", "stmt": 1},
    {"session": 1, "statement": None, "digest": "a" * 16, "command": "execute", "stmt": 1, "params": BOUND},
    {"session": 2, "statement": TEXT.format("?"), "digest": "a" * 16, "command": "execute", "params": BOUND},
    {"session": 2, "statement": TEXT.format(7), "digest": "b" * 16},
]


@pytest.mark.parametrize(
    ("digests", "wanted", "found"),
    [
        (["a" * 16], "rows", [(1, 1, "5"), (1, 2, "6"), (1, 4, "9"), (2, 1, "9")]),
        (["b" * 16, "a" * 16], "rows", [(1, 1, "5"), (1, 2, "6"), (1, 4, "9"), (2, 1, "9"), (2, 2, "7")]),
        (["a" * 16], "keys", [(1, 1, "5"), (1, 4, "9"), (2, 1, "9")]),
        ([], "rows", []),
    ],
)
def test_selected_events_have_text_and_bound_values(
    digests: list[str], wanted: Wanted, found: list[tuple[int, int, str]], tmp_path: Path
) -> None:
    """Only events of the requested digests are read. An EXECUTE without text gets the text of its PREPARE. Failed
    writes give no key rows.
    """
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", EVENTS, known_columns=["errno"]))
    database = open_analysis()
    try:
        parse_events(database, tape, digests, "found", wanted, "500MB")
        rows = database.con.execute(
            "SELECT id // 2147483648, id % 2147483648, value FROM found WHERE role IS DISTINCT FROM 'set' ORDER BY ALL"
        ).fetchall()
    finally:
        database.close()
    assert rows == found


def test_table_without_events_has_the_columns_of_the_parser(tmp_path: Path) -> None:
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", EVENTS, known_columns=["errno"]))
    with closing(open_analysis()) as database:
        parse_events(database, tape, [], "none_found", "rows", "256MB")
        parse_events(database, tape, ["a" * 16], "some_found", "rows", "256MB")
        none, some = (
            database.con.execute(f"SELECT * FROM {name}").description for name in ("none_found", "some_found")
        )
        assert none == some
