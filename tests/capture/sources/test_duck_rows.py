# SPDX-License-Identifier: Apache-2.0
"""Functions that all sources read by DuckDB share."""

import gzip
import random
import re
import tempfile
from pathlib import Path

import pytest
from querytape.capture.sources.duck_rows import (
    COLUMNS,
    MEMORY_PER_ROW,
    MEMORY_PER_ROWS,
    MIN_MEMORY,
    START,
    LargeRowsError,
    json_rows,
    number,
    objects,
    open_query,
    sniff_objects,
    text,
    with_memory,
)
from querytape.common.duck import load_sql
from querytape.common.errors import InputError
from querytape.native.bindings.parsers import Lines

from tests.helpers.duck import database
from tests.helpers.reading import read_all


def test_lines_are_numbered_and_decompressed(tmp_path: Path) -> None:
    """A line that is not a JSON object keeps its quotes and commas. Line numbers begin at 1 in each file, even in a
    compressed file.
    """
    (tmp_path / "a").write_text('one, "two"\n\n[ three,\n]\n')
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"four\n"))
    lines = Lines([str(tmp_path / "a"), str(tmp_path / "b.gz")])
    with database() as con:
        con.register("lines", lines.stream)
        assert con.execute("FROM lines").fetchall() == [('one, "two"', 0, 1), ("three,", 0, 3), ("four", 1, 1)]
    lines.close()


def test_start_of_a_json_object_is_found() -> None:
    """A JSON object begins a line, the file or an array item. Blanks may come before the brace. Any other brace does
    not start an object.
    """
    chance = random.Random(7)
    for _ in range(2000):
        whole = "".join(chance.choice("\n\r\t []},x") for _ in range(chance.randrange(9))) + "{}"
        want = [found.end() for found in re.finditer(r"(?:\A|[\n\[,}])\s*(?=\{)", whole)]
        assert [place for place, _ in objects(whole.encode())] == want, whole


@pytest.mark.sampled
@pytest.mark.parametrize("piece", [b"\n", b" \n", b"[", b"{", b"{\n", b'{"a":[\n', b'{"a":1}\n', b"\xff{"])
def test_kind_of_a_file_is_detected_in_linear_time(piece: bytes) -> None:
    """The search for a JSON object in the first bytes of a file must not take quadratic time."""
    assert sniff_objects(rb".*no such key", piece * (65536 // len(piece))) == -1


def test_json_arrays_are_split(tmp_path: Path) -> None:
    """The brackets and commas of a JSON array are removed. An array item that is not an object becomes NULL."""
    (tmp_path / "a").write_text('[\n{"n": {"x": 7}},\n{"n": "text"}]\nnonsense\n')
    lines = Lines([str(tmp_path / "a")])
    with database() as con:
        con.execute(load_sql("querytape.capture", "values.sql"))
        con.register("lines", lines.stream)
        rows = con.execute(f"SELECT {number('n.x')}, {text('n')}, j IS NULL FROM {json_rows(['n.x', 'n'])}").fetchall()
    assert rows == [(7, '{"x":7}', False), (None, "text", False), (None, None, True)]
    lines.close()


@pytest.mark.parametrize(
    ("call", "value"),
    [
        ("whole('12')", 12), ("whole(' 12.0 ')", 12), ("whole('12.5')", None), ("whole('-1')", None), ("whole('x')", None),
        ("whole('')", None), ("whole('9223372036854775808')", None), ("span_ns('1.5', 1000)", 1500),
        ("span_ns('00:00:00.000078', 7)", 78_000), ("span_ns('838:59:59', 7)", 3_020_399_000_000_000),
        ("span_ns('00:60:00', 7)", None), ("span_ns('-00:00:01', 7)", None), ("span_ns('inf', 7)", None),
        ("span_ns('nan', 7)", None), ("span_ns('1e300', 7)", None), ("span_ns('-1', 7)", None),
        ("time_ns('2024-06-10 08:13:20', 3600000000000)", 1718003600000000000),
        ("time_ns('2024-06-10T08:13:20Z', 3600000000000)", 1718007200000000000),
        ("time_ns('2024-06-10 08:13:20+02:00', 3600000000000)", 1718000000000000000),
        ("time_ns('2024-06-10', 3600000000000)", 1717974000000000000), ("moment_ns('9999-01-01')", None),
        ("moment_ns('infinity')", None), ("moment_ns('2024-06-10 08:13:20 Europe/Berlin')", None),
        ("account_user('root[ro ot] @ localhost []')", "ro ot"), ("account_user('app')", "app"),
        ("account_host('root[root] @ localhost [::1]')", "localhost"), ("account_host('a[a] @  [10.0.0.5]')", "10.0.0.5"),
        ("account_host('app')", None),
        ("statement_bytes('0x53454C')", b"SEL"), ("statement_bytes('0x5')", b"0x5"),
    ],
)  # fmt: skip
def test_text_is_converted_to_values(call: str, value: object) -> None:
    """Text becomes numbers, durations, times and accounts. Invalid text becomes NULL and never raises an error."""
    with database() as con:
        con.execute(load_sql("querytape.capture", "values.sql"))
        assert con.execute(f"SELECT {call}").fetchall() == [(value,)]


def test_invalid_values_are_problems() -> None:
    """Each invalid value is a problem with its column, file and line. An empty value or NULL is accepted."""
    rows = "('1', '7', 'x'), ('oops', '', NULL), ('NULL', '8', '2')"
    values = {
        "when_ns": "p", "stamp": str(START), "statement": "'SELECT 1'::BLOB", "place": "p", "file": "3",
        "duration_ns": 'span_ns("took", 1000)', "thread_id": 'coalesce(whole("id"), whole("other"))',
    }  # fmt: skip
    table = f'(SELECT *, row_number() OVER () + 1 AS p FROM (VALUES {rows}) t("took", "id", "other"))'
    read = read_all(open_query(table, values))
    assert [(event["duration_ns"], event["thread_id"]) for event in read.events] == [(1000, 7), (None, None), (None, 8)]
    assert [(p["file"], p["line"], p["kind"], p["detail"]) for p in read.problems] == [
        (3, 2, "unread_thread_id", 'expected a number in column other, found "x"'),
        (3, 3, "unread_duration", 'expected a duration (a number or HH:MM:SS.ffffff) in column took, found "oops"'),
    ]


def test_rows_are_sorted_by_time(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A row without a time is a problem. Closing the reader removes its spill folder."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    values = {"when_ns": "n", "stamp": str(START), "precision_ns": "1", "statement": "'SELECT 1'::BLOB", "place": "p"}
    source = "(SELECT * FROM (VALUES (1, 30), (2, 10), (3, NULL)) t(p, n))"
    read = read_all(open_query(source, values | {"command": "'query'", "thread_id": "p"}))
    assert [event["start_ns"] for event in read.events] == [10, 30]
    assert read.kinds == ["not_understood"]
    assert not list(tmp_path.iterdir())


def test_duckdb_error_becomes_a_message_of_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The error is an invalid SQL statement. No spill folder remains."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InputError, match="the input cannot be read: "):
        open_query("read_csv('/nowhere/x.csv')", dict.fromkeys(COLUMNS, "NULL"))
    assert not list(tmp_path.iterdir())


def test_bound_values_of_an_execution_are_read(tmp_path: Path) -> None:
    """The values are kept only if their block is complete and not empty. Otherwise, the event has only the statement
    text.
    """
    one = b"\x01\x00\xfd\x00\x040x41"
    blocks = [
        None,
        b"",
        one,
        b"\0",
        one + b"\0",
        one[:-1],
        b"\x01\x00\x4d\x00\x01x",
        b"\x01\x01\x03\x00\x00",
        b"\xfb",
        b"\x02" + one[1:],
    ]
    good = {2: b"E\1\0\1\0\0\0\0\1\xfd\0\1A", 7: b"E\1\0\1\0\0\0\1\1\3\0"}
    listed = ", ".join(
        f"({n}, {'NULL' if block is None else 'unhex(' + repr(block.hex()) + ')'})" for n, block in enumerate(blocks)
    )
    values = {
        "when_ns": "n", "stamp": str(START), "precision_ns": "1", "statement": "'SELECT ?'::BLOB", "place": "n", "command": "c",
        "thread_id": "1", "stmt": "40 + n", "bound": "b",
    }  # fmt: skip
    for command in ("execute", "prepare"):
        read = read_all(open_query(f"(SELECT *, '{command}' AS c FROM (VALUES {listed}) t(n, b))", values))
        found = [(event["stmt"], event["params"]) for event in read.events]
        if command == "execute":
            assert found == [(40 + n, good[n]) if n in good else (None, None) for n in range(len(blocks))]
        else:
            assert found == [(40 + n, None) for n in range(len(blocks))]


def test_memory_limit_grows_with_the_longest_row(tmp_path: Path) -> None:
    """The first memory limit of DuckDB is the minimum. The second is enough for one row as long as the longest row, and
    the third for several such rows. If reading fails with the last limit, the caller gets the error.
    """
    (tmp_path / "a").write_bytes(b"one\n" + b"x" * 999 + b"\n")
    asked: list[int] = []

    def read(memory: int) -> int:
        asked.append(memory)
        if memory != enough:
            raise LargeRowsError(str(memory))
        return memory

    bounds = [MIN_MEMORY, MEMORY_PER_ROW * 1000, MEMORY_PER_ROWS * 1000]
    for place, enough in enumerate(bounds):
        asked.clear()
        assert with_memory(read, [str(tmp_path / "a")]) == enough
        assert asked == bounds[: place + 1]
    enough = 0
    with pytest.raises(LargeRowsError, match=str(bounds[-1])):
        with_memory(read, [str(tmp_path / "a")])
