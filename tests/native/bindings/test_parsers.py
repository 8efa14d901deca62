# SPDX-License-Identifier: Apache-2.0
"""The native parsers open plain and packed files, and name the files that they cannot open."""

import gzip
import lzma
from collections.abc import Callable
from pathlib import Path

import duckdb
import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings import inputs, parsers

from tests.helpers.reading import read_all

LOG = Path(__file__).parents[2] / "capture" / "sources" / "logs" / "mysql80_extra_admin_commands.log"
OPENERS = (
    parsers.open_slowlog,
    parsers.open_general,
    parsers.open_server_audit,
    parsers.open_binlog,
    parsers.open_proxysql,
    parsers.open_packets,
)


@pytest.mark.parametrize("opener", OPENERS)
def test_missing_file_is_named(opener: Callable[..., object], tmp_path: Path) -> None:
    with pytest.raises(NativeFault, match="none"):
        opener([tmp_path / "none"])


def test_file_name_may_contain_any_bytes(tmp_path: Path) -> None:
    path = tmp_path / "caf\udce9.log"
    path.write_bytes(LOG.read_bytes())
    assert len(read_all(parsers.open_slowlog([path])).events) == 4


def test_time_of_the_first_slow_log_event_is_found() -> None:
    """A slow log without events is refused."""
    assert parsers.slowlog_first_time(LOG) // 1_000_000_000 == 1718000000
    with pytest.raises(NativeFault):
        parsers.slowlog_first_time(Path(__file__))


@pytest.mark.parametrize("pack", [gzip.compress, lzma.compress], ids=["gz", "xz"])
def test_concatenated_packed_files_are_one_log(pack: Callable[[bytes], bytes], tmp_path: Path) -> None:
    """Covers the output of `cat a.xz b.xz`."""
    text, both = LOG.read_bytes(), tmp_path / "both"
    both.write_bytes(pack(text[:500]) + pack(text[500:]))
    assert read_all(parsers.open_slowlog([both])).events == read_all(parsers.open_slowlog([LOG])).events
    assert inputs.head(both) == text


def rows_of(path: Path) -> list[tuple[bytes, int]]:
    """Return the rows of a file with their line numbers."""
    lines = parsers.Lines([path])
    try:
        with duckdb.connect() as con:
            con.register("lines", lines.stream)
            return [
                (line.encode(), place)
                for line, place in con.execute("SELECT line, place FROM lines ORDER BY place").fetchall()
            ]
    finally:
        lines.close()


@pytest.mark.sampled
@pytest.mark.parametrize("byte", range(256))
def test_only_separators_around_json_objects_are_skipped(byte: int, tmp_path: Path) -> None:
    """Separators are white space, brackets and commas. The test tries every byte value."""
    path, each = tmp_path / "rows.json", bytes([byte])
    path.write_bytes(b"x\n" + each + b'{"a":1}' + each + b"\n" + each + each + b"\n{}\n")
    shown = each.decode("utf-8", "replace").encode()
    expected = [(b"x", 1), (shown + b'{"a":1}' + shown, 2), (shown * 2, 3), (b"{}", 4)]
    if each in b" \t\r\f\v[],":
        expected = [(b"x", 1), (b'{"a":1}', 2), (b"{}", 4)]
    elif each == b"\n":
        expected = [(b"x", 1), (b'{"a":1}', 3), (b"{}", 8)]
    elif each == b"{":
        expected = [(b"x", 1), (b'{{"a":1}', 2), (b"{", 3), (b"{{", 4), (b"{}", 5)]
    elif each == b"}":
        expected = [(b"x", 1), (b"}", 2), (b'{"a":1}', 3), (b"}", 4), (b"}}", 5), (b"{}", 6)]
    assert rows_of(path) == expected


@pytest.mark.parametrize(
    ("line", "rows"),
    [
        (b' [ {"a":[1]} , ', [b'{"a":[1]}']),
        (b'{"a":1}{"b":{}} [{"c":"]}"}', [b'{"a":1}', b'{"b":{}}', b'{"c":"]}"}']),
        (b'{"a":\n[1,\n{"b":2}\n]}', [b'{"a":\n[1,\n{"b":2}\n]}']),
        (b'{"a":1,\n"b":{"c', [b'{"a":1,']),
        (b'{"a":1,\n"b"\n{"c":1}', [b'{"a":1,', b'{"c":1}']),
        (b'{"a":"x\ny"}\n{"c":1}', [b'{"a":"x', b'y"}', b'{"c":1}']),
        (b'{"a":\n{"b":1}\n{"c":1}', [b'{"a":', b'{"b":1}', b'{"c":1}']),
        (b'"b": 1}\n},\n{"c":1}', [b'"b": 1}', b"},", b'{"c":1}']),
        (b'[{"a":1},{"b","c"},{"d":4}]', [b'{"a":1}', b'{"b","c"},', b'{"d":4}']),
        (b"[" * 200 + b'{"a":' + b"[" * 200, [b'{"a":' + b"[" * 200]),
        (b'{"a":"\\"}{"}', [b'{"a":"\\"}{"}']),
        (b"[", []),
        (b"],", []),
        (b" \t ", []),
    ],
)
def test_json_objects_are_found_in_any_layout(line: bytes, rows: list[bytes], tmp_path: Path) -> None:
    """A damaged object yields its first line. The next object may begin inside the damaged object."""
    path = tmp_path / "rows.json"
    path.write_bytes(line + b"\n")
    assert [row for row, _ in rows_of(path)] == rows
