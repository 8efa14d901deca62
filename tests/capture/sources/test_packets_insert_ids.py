# SPDX-License-Identifier: Apache-2.0
"""The ids that INSERTs of a multi-statement generated. The n-th result belongs to the n-th statement."""

import struct
from pathlib import Path

import pytest

from ...helpers.dialogue import (
    CLIENT,
    DEPRECATE_EOF,
    MYSQL_CAPS,
    SERVER,
    Dialogue,
    column,
    eof,
    err,
    packet,
    rows,
    write_pcap,
)
from ...helpers.log_writers import number_bytes
from ...helpers.reading import events

MORE = 10  # status flags: autocommit, more results follow
INSERT, REPLACE, UPDATE, SELECT = (
    b"INSERT INTO a VALUES ('; ')",
    b"replace into b values (1)",
    b"UPDATE a SET b=1",
    b"SELECT 1",
)


def made(seq: int, generated: int, more: bool) -> bytes:
    """Return the OK packet of a statement that generated an id."""
    return packet(seq, b"\0\1" + number_bytes(generated) + struct.pack("<HH", MORE if more else 2, 0))


def several(seq: int, generated: int, affected: int, info: bytes, more: bool = False) -> bytes:
    """Return the OK packet of a multi-row statement."""
    head = b"\0" + number_bytes(affected) + number_bytes(generated) + struct.pack("<HH", MORE if more else 2, 0)
    return packet(seq, head + info)


def answers(results: list[int | None], caps: int) -> bytes:
    """Return the results of one command: an OK packet for each id, and a result set for each None."""
    out, seq = b"", 1
    for place, result in enumerate(results, 1):
        more = place < len(results)
        if result is None:
            out += rows([b"x"], caps, MORE if more else 2, seq)
            seq += 4 if caps & DEPRECATE_EOF else 5
        else:
            out += made(seq, result, more)
            seq += 1
    return out


@pytest.mark.parametrize("caps", [MYSQL_CAPS, MYSQL_CAPS | DEPRECATE_EOF])
@pytest.mark.parametrize(
    ("texts", "results", "known"),
    [
        ([INSERT, INSERT], [7, 8], {0: 7, 1: 8}),
        ([INSERT, UPDATE, INSERT], [7, 5, 300], {0: 7, 2: 300}),  # an UPDATE's id is from LAST_INSERT_ID(expr)
        ([SELECT, INSERT, SELECT, REPLACE], [None, 70_000, None, 2], {1: 70_000, 3: 2}),
        ([INSERT, INSERT, INSERT], [0, 9, 0], {1: 9}),  # the table has no AUTO_INCREMENT
        ([UPDATE, INSERT], [0, 1 << 40], {1: 1 << 40}),
        ([INSERT, SELECT], [250, None], {0: 250}),
        ([INSERT] * 3, [1, 2, 3], {0: 1, 1: 2, 2: 3}),
    ],
)
def test_each_insert_of_a_multi_statement_has_its_id(
    tmp_path: Path, caps: int, texts: list[bytes], results: list[int | None], known: dict[int, int]
) -> None:
    """Other statements may be between the INSERTs. insert_ids has the offset of each INSERT in the text, with its id.
    The insert_id of the event is NULL.
    """
    text = b"; ".join(texts)
    places = [len(b"; ".join(texts[:n])) + 2 * (n > 0) for n in range(len(texts))]
    dialogue = Dialogue().logged_in(caps).ask(text, answers(results, caps)).ask(INSERT, made(1, 77, False)).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    expected = ",".join(f"{places[n]}:{generated}" for n, generated in known.items())
    assert (found[1]["insert_ids"], found[1]["insert_id"]) == (expected, None)
    assert (found[2]["insert_ids"], found[2]["insert_id"]) == (None, 77)  # for a single INSERT, the id is in insert_id
    assert problems == []


@pytest.mark.parametrize(
    ("text", "answer", "expected"),
    [
        # The server does not run statements after an error.
        (
            INSERT + b";" + INSERT + b";" + UPDATE + b";" + INSERT,
            made(1, 7, True) + made(2, 8, True) + err(3, 1146, b"no table"),
            "0:7,28:8",
        ),
        # A procedure sends several results, so the statement of each id is unknown.
        (b"CALL p();" + INSERT, made(1, 3, True) + made(2, 4, True) + made(3, 5, False), ""),
        (INSERT + b";" + INSERT, made(1, 7, False), None),  # a single result, because the multi-statements flag is off
        (UPDATE + b";" + INSERT, made(1, 0, True) + made(2, 0, False), None),  # the INSERT generates no id
        (b"ALTER USER a IDENTIFIED BY 'x';" + INSERT, made(1, 0, True) + made(2, 5, False), ""),  # redacted statement
    ],
    ids=["failed", "more results", "one result", "none", "redacted"],
)
def test_unassignable_ids_give_an_empty_list(tmp_path: Path, text: bytes, answer: bytes, expected: str | None) -> None:
    """In insert_ids, an empty list means that the command generated ids, but their statements are unknown. None means
    that the command generated no ids.
    """
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [Dialogue().logged_in().ask(text, answer).close()]))
    assert found[1]["insert_ids"] == expected


def test_executions_have_no_id_list(tmp_path: Path) -> None:
    """An execution is one statement, so insert_ids is None. The execution does not repeat the id of the previous
    command.
    """
    dialogue = Dialogue().logged_in().ask(INSERT, made(1, 7, False))
    prepared = packet(1, b"\0" + struct.pack("<IHH", 9, 0, 1) + b"\0\0\0") + column(2) + eof(3)
    dialogue.say(CLIENT, packet(0, b"\x16" + INSERT[:-2] + b"?)")).say(SERVER, prepared)
    execute = packet(0, b"\x17" + struct.pack("<IBI", 9, 0, 1) + b"\0\1\x03\0" + struct.pack("<i", 1))
    dialogue.say(CLIENT, execute).say(SERVER, made(1, 8, False))
    dialogue.say(CLIENT, execute).say(SERVER, made(1, 0, False)).close()
    found, _, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    ids = [(e["insert_id"], e["insert_ids"]) for e in found if e["command"] in ("query", "execute")]
    assert ids == [(7, None), (8, None), (None, None)]


UPSERT = b"INSERT INTO a (u) VALUES (1), (2) ON DUPLICATE KEY UPDATE u = 3"
ALL, NONE, GERMAN = (
    b"Records: 2  Duplicates: 2  Warnings: 0",
    b"Records: 2  Duplicates: 0  Warnings: 0",
    "Datens\u00e4tze: 2  Duplikate: 2  Warnungen: 0".encode(),
)


@pytest.mark.parametrize(
    ("text", "affected", "info", "known"),
    [
        (UPSERT, 4, ALL, None),
        (UPSERT, 4, GERMAN, None),
        (UPSERT.lower(), 2, b"Records: 2  Duplicates: 1  Warnings: 0", None),  # one of the rows did not change
        (UPSERT, 2, NONE, 9),
        (UPSERT, 3, b"Records: 2  Duplicates: 1  Warnings: 0", 9),
        (UPSERT.replace(b", (2)", b""), 2, b"", None),
        (UPSERT.replace(b", (2)", b""), 1, b"", 9),
        (b"REPLACE INTO a (u) VALUES ('on duplicate key update'), (2)", 4, ALL, 9),
    ],
)
def test_upsert_that_updates_generates_no_id(
    tmp_path: Path, text: bytes, affected: int, info: bytes, known: int | None
) -> None:
    """If INSERT ... ON DUPLICATE KEY UPDATE updates a row, its response contains the id of this row. A replay that set
    this id first would update another row.
    """
    dialogue = Dialogue().logged_in().ask(text, several(1, 9, affected, info))
    both = several(1, 9, affected, info, more=True) + made(2, 10, False)
    dialogue.ask(text + b"; " + INSERT, both)
    dialogue.ask(b"PREPARE s FROM '" + text.replace(b"'", b"''") + b"'", made(1, 0, False))
    dialogue.ask(b"EXECUTE s", several(1, 9, affected, info)).close()
    found, problems, _ = events(write_pcap(tmp_path / "a.pcap", [dialogue]))
    first = "" if known is None else f"0:{known},"
    assert [e["insert_id"] for e in found[1:5]] == [known, None, None, known]
    assert found[2]["insert_ids"] == f"{first}{len(text) + 2}:10"
    assert problems == []
