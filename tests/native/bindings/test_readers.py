# SPDX-License-Identifier: Apache-2.0
"""Behaviour shared by all log readers: part sizes, odd files, and failures."""

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.parsers import open_slowlog

from tests.helpers.log_writers import NATIVE, fifo_with, make_statements
from tests.helpers.reading import read_all

ONE_SECOND = {
    "binlog": 4
}  # whole seconds: a part may contain up to four times the limit before it is split inside one second
each_kind = pytest.mark.parametrize("kind", NATIVE)


def statements(reader: Any) -> list[bytes]:
    """Return all statements of a reader."""
    return [event["statement"] for event in read_all(reader).events if event["statement"] is not None]


@each_kind
def test_parts_are_bounded(kind: str, tmp_path: Path) -> None:
    """A part has at most the requested number of rows. Its statement bytes may exceed the limit by one statement."""
    open_log, write = NATIVE[kind]
    path = tmp_path / "log"
    for sizes, rows, size in (([100] * 100, 7, 1 << 20), ([3000] * 60, 1000, 8000)):
        path.write_bytes(write(make_statements(sizes, 3)))
        reader, found = open_log([str(path)]), []
        with duckdb.connect() as con:
            while not reader.stats().finished:
                part = reader.part(rows, size)
                con.register("part", part)
                found.append(
                    con.execute("SELECT count(*), coalesce(sum(octet_length(statement)), 0) FROM part").fetchall()[0]
                )
                con.unregister("part")
                part.close()
        reader.close()
        assert sum(n for n, _ in found) >= len(sizes)
        assert max(n for n, _ in found) <= rows * ONE_SECOND.get(kind, 1)
        assert max(held for _, held in found) <= size * ONE_SECOND.get(kind, 1) + 3000


@each_kind
def test_missing_file_is_reported_before_reading(kind: str, tmp_path: Path) -> None:
    """A missing later file is reported at once, before any event of the first file."""
    open_log, write = NATIVE[kind]
    (tmp_path / "a").write_bytes(write(make_statements([50], 1)))
    with pytest.raises(NativeFault, match=r"gone: No such file"):
        open_log([str(tmp_path / "a"), str(tmp_path / "gone")])


@each_kind
@pytest.mark.parametrize("pack", [bytes, gzip.compress, lzma.compress], ids=["plain", "gz", "xz"])
def test_single_bytes_from_a_pipe_are_read(kind: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    open_log, write = NATIVE[kind]
    wanted = make_statements([40, 1, 300], 5)
    with fifo_with(tmp_path / "fifo", pack(write(wanted)), 1) as path:
        assert statements(open_log([str(path)])) == wanted


@each_kind
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
def test_damaged_packed_file_is_reported(kind: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """The damage is in the middle of the file. Intact data before the damage must not hide the damage."""
    open_log, write = NATIVE[kind]
    packed = bytearray(pack(write(make_statements([20_000] * 10, 9))))
    middle = len(packed) // 2
    packed[middle : middle + 40] = bytes(byte ^ 0xA5 for byte in packed[middle : middle + 40])
    path = tmp_path / "log.packed"
    path.write_bytes(packed)
    found = read_all(open_log([str(path)]))
    assert found.kinds == ["damaged_archive"]
    assert "log.packed: damaged" in found.problems[0]["detail"]


@each_kind
def test_text_that_resembles_a_secret_is_kept(kind: str, tmp_path: Path) -> None:
    """Secrets in comments are removed. Similar words in values, in names and between two comments are kept."""
    open_log, write = NATIVE[kind]
    kept = [
        b"SELECT 'a note: password = abc' FROM t",
        b"SELECT 'identified by' , \"mysql://u:p@h/\" FROM t WHERE a = 'x'",
        b"SELECT `password=1`, 'token: abcdef' FROM t /* nothing here */",
        b"/* a */ SELECT 'api_key = 12345' /* b */ , 'secret=1'",
        b"SELECT 1 -- no such word\n, 'password=abc'",
    ]
    lost = [
        b"SELECT 1 /* password = abc */ FROM t",
        b"/* identified by 'abc' */ SELECT 1",
        b"SELECT 1 -- mysql://u:abc@h/\n, 2",
        b"SELECT 'x' # token: abc",
    ]
    path = tmp_path / "log"
    path.write_bytes(write(kept))
    assert statements(open_log([str(path)])) == kept
    path.write_bytes(write(lost))
    assert not [text for text in statements(open_log([str(path)])) if b"abc" in text]


def entry(end_us: int, took_us: int, text: bytes, header: bytes = b"") -> bytes:
    """Return an entry of a MySQL slow log for session 5."""
    time = b"# Time: 2026-01-01T00:00:%02d.%06dZ\n" % divmod(end_us, 1_000_000)
    took = b"%d.%06d" % divmod(took_us, 1_000_000)
    about = b"# Query_time: " + took + b"  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 2\n"
    return (
        time
        + b"# User@Host: u[u] @ h []  Id:     5\n"
        + (header or about)
        + b"SET timestamp=1767225600;\n"
        + text
        + b";\n"
    )


def test_overlap_below_the_rounding_error_is_kept(tmp_path: Path) -> None:
    """An overlap of up to five microseconds is a rounding error and is kept. With a larger overlap the second statement
    gets a shorter duration.
    """
    path, found = tmp_path / "slow.log", []
    for overlap in (0, 1, 4, 5, 6, 7, 500_000):
        path.write_bytes(entry(1_000_000, 900_000, b"SELECT 1") + entry(1_500_000, 500_000 + overlap, b"SELECT 2"))
        first, second = read_all(open_slowlog([str(path)])).events
        assert first["duration_ns"] == 900_000_000
        assert second["start_ns"] - first["start_ns"] == 900_000_000
        found.append((second["duration_ns"] - 500_000_000) // 1000)
    assert found == [0, 1, 4, 5, 0, 0, 0]


def test_unknown_header_words_are_skipped(tmp_path: Path) -> None:
    """A header word that is not a known key is skipped up to the next blank, even if it contains a key."""
    path = tmp_path / "slow.log"
    keys = b"Query_time: 0.500000  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 2"
    for noise in (
        b"x=Rows_sent:7",
        b"(Rows_sent:7)",
        b"x=Rows_examined:",
        b"=Rows_sent:7",
        b"[Rows_sent: ]",
        b"a/b:",
        b"New_key: 9",
    ):
        path.write_bytes(entry(1_000_000, 0, b"SELECT 1", b"# " + keys + b"  " + noise + b"\n"))
        read = read_all(open_slowlog([str(path)]))
        assert [(e["rows_sent"], e["rows_examined"], e["duration_ns"]) for e in read.events] == [(1, 2, 500_000_000)], (
            noise
        )
        path.write_bytes(entry(1_000_000, 0, b"SELECT 1", b"# " + noise + b" " + keys + b"\n"))
        read = read_all(open_slowlog([str(path)]))
        assert [(e["rows_sent"], e["rows_examined"]) for e in read.events] == [(1, 2)], noise


@each_kind
@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
def test_truncated_packed_file_is_reported(kind: str, pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Covers truncation within the last bytes of the file. Readable events before the end are kept."""
    open_log, write = NATIVE[kind]
    wanted = make_statements([20_000] * 10, 9)
    packed = pack(write(wanted))
    path = tmp_path / "log.packed"
    for size in (len(packed) // 2, len(packed) - 9, len(packed) - 1):
        path.write_bytes(packed[:size])
        found = read_all(open_log([str(path)]))
        assert "damaged_archive" in found.kinds, size
        assert [event["statement"] for event in found.events][:2] == wanted[:2], size
        (detail,) = [row["detail"] for row in found.problems if row["kind"] == "damaged_archive"]
        assert f"log.packed: the {'gzip' if pack is gzip.compress else 'xz'} stream is cut off at byte {size}" in detail
