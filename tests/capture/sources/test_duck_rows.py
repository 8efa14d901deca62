# SPDX-License-Identifier: Apache-2.0
"""What sources that DuckDB reads have in common."""

import gzip
import tempfile
from pathlib import Path

import duckdb
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
    open_query,
    text,
    with_memory,
)
from querytape.common.errors import InputError
from querytape.native.bindings.parsers import Lines

from tests.helpers.reading import read_all


def test_lines_are_numbered_and_unpacked(tmp_path: Path) -> None:
    """Lines of several files, packed ones too, with quotes and commas as they are, without the brackets of an array."""
    (tmp_path / "a").write_text('one, "two"\n\n[ three,\n]\n')
    (tmp_path / "b.gz").write_bytes(gzip.compress(b"four\n"))
    lines = Lines([str(tmp_path / "a"), str(tmp_path / "b.gz")])
    with duckdb.connect() as con:
        con.register("lines", lines.stream)
        assert con.execute("FROM lines").fetchall() == [('one, "two"', 1), ("three", 3), ("four", 5)]
    lines.close()


def test_json_in_arrays(tmp_path: Path) -> None:
    """Brackets and commas of an array are taken off; what is no object is NULL."""
    (tmp_path / "a").write_text('[\n{"n": {"x": 7}},\n{"n": "text"}]\nnonsense\n')
    lines = Lines([str(tmp_path / "a")])
    with duckdb.connect() as con:
        con.register("lines", lines.stream)
        rows = con.execute(f"SELECT {number('n.x')}, {text('n')}, j IS NULL FROM {json_rows(['n.x', 'n'])}").fetchall()
    assert rows == [(7, '{"x":7}', False), (None, "text", False), (None, None, True)]
    lines.close()


def test_rows_come_by_time_and_leave_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows are sorted by time, one without a time is a problem; the folder for spilling goes with the reader."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    values = {"when_ns": "n", "stamp": str(START), "precision_ns": "1", "statement": "'SELECT 1'::BLOB", "place": "p"}
    source = "(SELECT * FROM (VALUES (1, 30), (2, 10), (3, NULL)) t(p, n))"
    read = read_all(open_query(source, values | {"command": "'query'", "thread_id": "p"}))
    assert [event["start_ns"] for event in read.events] == [10, 30]
    assert read.kinds == ["not_understood"]
    assert not list(tmp_path.iterdir())


def test_what_duckdb_cannot_read_is_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An SQL error becomes one line, and no folder is left."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    with pytest.raises(InputError, match="the input cannot be read: "):
        open_query("read_csv('/nowhere/x.csv')", dict.fromkeys(COLUMNS, "NULL"))
    assert not list(tmp_path.iterdir())


def test_values_of_executions_in_rows(tmp_path: Path) -> None:
    """An execution has its statement and values where the block of them is whole and has any; the rest stays a text."""
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


def test_memory_grows_with_the_longest_row(tmp_path: Path) -> None:
    """As little as it needs: the least, then for one such row, then for several; the last refusal is the caller's."""
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
