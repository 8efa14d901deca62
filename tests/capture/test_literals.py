# SPDX-License-Identifier: Apache-2.0
"""Statements as text in which literals replace the placeholders. tests/whole/test_prepared.py runs such texts on
servers.
"""

import struct
from pathlib import Path

import pytest
from querytape.capture.literals import define_texts, literal, statement_text
from querytape.common.duck import open_database
from querytape.schemas import FLAGS, open_folder

from tests.helpers.tapes import make_tape


def execution(kinds: list[int], values: bytes, nulls: int = 0, letter: bytes = b"E", absent: int = 0) -> bytes:
    """Return the params of an EXECUTE in the format of schemas/params.md."""
    some = bytes([absent]) if letter != b"E" else b""
    types = b"".join(struct.pack("<H", kind) for kind in kinds)
    return letter + bytes([len(kinds)]) + some + bytes(5) + bytes([nulls, 1]) + types + values


def text(value: str | bytes) -> bytes:
    """Return a length-encoded string."""
    raw = value.encode() if isinstance(value, str) else value
    return bytes([len(raw)]) + raw


# (protocol type, bytes, literal). The C code in `native/grammar/` and `capture/literals.py` write the same literals.
BOUND = [
    (0x01, b"\xf9", "-7"),
    (0x8001, b"\xf9", "249"),
    (0x02, struct.pack("<h", -30000), "-30000"),
    (0x03, struct.pack("<i", 5), "5"),
    (0x08, struct.pack("<q", -(2**63)), "-9223372036854775808"),
    (0x8008, struct.pack("<Q", 2**64 - 1), "18446744073709551615"),
    (0x04, struct.pack("<f", 1.5), "1.5"),
    (0x05, struct.pack("<d", 0.5), "0.5"),
    (0xF6, text("12.340"), "12.340"),
    (0xF6, text("1; DROP"), "'1; DROP'"),
    (0x0C, b"\x07" + struct.pack("<H", 2026) + bytes([11, 22, 18, 5, 9]), "'2026-11-22 18:05:09'"),
    (0x0C, b"\x0b" + struct.pack("<H5BI", 2026, 1, 2, 3, 4, 5, 6), "'2026-01-02 03:04:05.000006'"),
    (0x0A, b"\x04" + struct.pack("<H", 2026) + bytes([11, 22]), "'2026-11-22'"),
]


@pytest.mark.parametrize(
    ("kind", "value", "wanted"),
    [
        *BOUND,
        (0x05, struct.pack("<d", 0.1), "0.1"),
        (0xFD, text("O'Brien\n\\"), r"'O''Brien\n\\'"),
        (0xFD, text("a\x1b[31m"), "_utf8mb4 X'611B5B33316D'"),
        (0xFC, text(b"\xff\x00"), "X'FF00'"),
        (0x0A, b"\x00", "'0000-00-00'"),
        (0x0B, b"\x08\x01" + struct.pack("<I", 2) + bytes([3, 4, 5]), "'-51:04:05'"),
    ],
)
def test_values_of_every_type_become_literals(kind: int, value: bytes, wanted: str) -> None:
    assert statement_text(b"SELECT ?", execution([kind], value)) == f"SELECT {wanted}"


def test_only_placeholders_outside_literals_are_replaced() -> None:
    """Like a server, querytape does not treat a `?` in a literal, a name or a comment as a placeholder. NULL has no
    value bytes.
    """
    values = struct.pack("<i", 1)
    source = b"SELECT '?', `?`, ? /* ? */ -- ?\n, ?"
    assert statement_text(source, execution([3, 6], values, nulls=2)) == "SELECT '?', `?`, 1 /* ? */ -- ?\n, NULL"


def test_number_of_values_decides_the_sql_mode() -> None:
    """If the number of placeholders equals the number of values only in another sql_mode, this sql_mode is used."""
    assert statement_text(rb"SELECT '\', ?", execution([3], struct.pack("<i", 1))) == r"SELECT '\', 1"


def test_long_data_is_joined_and_attributes_are_skipped() -> None:
    """A query attribute has no placeholder in the statement."""
    long_data = [b"L\0\0ab", b"L\0\0c"]
    params = execution([0xFC], b"", letter=b"D", absent=1)
    assert statement_text(b"SELECT ?", params, long_data) == "SELECT 'abc'"
    named = execution([3, 0xFD], struct.pack("<i", 4) + text("trace"), letter=b"N") + text("") + text("id")
    assert statement_text(b"SELECT ?", named) == "SELECT 4"


def test_text_of_a_bulk_execution_has_its_first_row() -> None:
    """A comment in the text contains the number of rows."""
    params = b"B\x01\x80\0" + struct.pack("<H", 3) + b"\0" + struct.pack("<i", 7) + b"\x01"
    assert statement_text(b"SELECT ?", params) == "/* the first of 2 rows of a bulk execution */ SELECT 7"


@pytest.mark.parametrize(
    ("flag", "params", "said"),
    [
        ("redacted", None, "redacted during the capture"),
        ("truncated", None, "truncated"),
        ("placeholder", None, "each ? is unknown"),
        ("unbound", b"R\0", "not on the tape"),
        ("use", b"R\0", "unknown"),
        ("use", b"E\x01", "are incomplete"),
        ("use", execution([3, 3], bytes(8)), "in order: 0, 0"),
    ],
)
def test_incomplete_statement_text_starts_with_a_comment(flag: str, params: bytes | None, said: str) -> None:
    """The comment explains how the text differs from the client's statement."""
    found = statement_text(b"SELECT ?", params, None, FLAGS[flag])
    assert found is not None
    assert found.startswith("/* ")
    assert said in found
    assert found.endswith(" */ SELECT ?")


def test_literals_without_backslash_escapes_are_valid() -> None:
    """With NO_BACKSLASH_ESCAPES, a backslash is an ordinary character. A text that needs an escape becomes a
    hexadecimal literal.
    """
    assert literal(b"a\\'", 1) == "'a\\'''"
    assert literal(b"a\n", 1) == "_utf8mb4 X'610A'"


def test_view_joins_executions_with_their_statements(tmp_path: Path) -> None:
    """The text of an execution contains the text of its PREPARE and the long data that was sent after the last RESET."""
    params = execution([0xFC], b"", letter=b"D", absent=1)
    events = [
        {"command": "prepare", "stmt": 1, "statement": "SELECT ?"},
        {"command": "long_data", "stmt": 1, "params": b"L\0\0old"},
        {"command": "reset_stmt", "stmt": 1},
        {"command": "long_data", "stmt": 1, "params": b"L\0\0new"},
        {"command": "execute", "stmt": 1, "params": params},
        {"statement": "SELECT 2"},
        {"command": "ping"},
    ]
    tape = open_folder("tape", make_tape(tmp_path / "t.tape", events))
    with open_database() as con:
        con.execute(f"CREATE VIEW tape_events AS FROM {tape.source('events')}")
        define_texts(con)
        found = con.execute(
            "SELECT seq, text FROM event_texts WHERE command <> 'prepare' AND text LIKE 'SELECT%' ORDER BY seq"
        )
        assert found.fetchall() == [(5, "SELECT 'new'"), (6, "SELECT 2")]
