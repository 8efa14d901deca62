# SPDX-License-Identifier: Apache-2.0
"""Statements of any size and order are complete on the tape. Each kind of input gives the same tape."""

import gzip
import lzma
import random
import subprocess
import sys
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from querytape.capture import SOURCES, Settings, capture, capture_source
from querytape.common.duck import sql_text
from querytape.schemas import FLAGS

from tests.helpers.duck import query
from tests.helpers.log_writers import KINDS, NATIVE, fifo_with, make_statements, proxysql_binary, slow_log
from tests.helpers.reading import read_all
from tests.helpers.tiers import mostly_long

pytestmark = pytest.mark.slow

# Sizes near 512 KiB, which is the size of the first buffer, and near its multiples. Earlier versions lost, cut or
# changed statements of these sizes.
LARGE = [200, 440_000, 524_100, 300, 524_288, 1_048_500, 100, 1_600_000, 2_500_000, 150, 8_000_000, 400, 3_100_000]
SMALL = [100, 700, 60, 9_000, 250, 3_000]


def zstd(data: bytes) -> bytes:
    """Return data compressed with zstd."""
    return subprocess.run(["zstd", "-q", "-1"], input=data, capture_output=True, check=True).stdout


def in_members(pack: Callable[[bytes], bytes], data: bytes) -> bytes:
    """Return data compressed as four consecutive members."""
    quarter = len(data) // 4
    return b"".join(pack(data[i * quarter : (i + 1) * quarter if i < 3 else len(data)]) for i in range(4))


def quick_gzip(data: bytes) -> bytes:
    """Return data as a gzip member."""
    return gzip.compress(data, 1)


def quick_xz(data: bytes) -> bytes:
    """Return data as an xz stream."""
    return lzma.compress(data, preset=0)


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "gz": quick_gzip,
    "zst": zstd,
    "xz": quick_xz,
    "members": lambda data: in_members(quick_gzip, data),
    "frames": lambda data: in_members(zstd, data),
}


def tape_of(name: str, path: Path | str, out: Path) -> tuple[list[bytes], list[tuple[Any, ...]], dict[str, Any]]:
    """Capture a file. Return the statements in order, all columns of all events, and the tape's JSON."""
    kind, _, extra = KINDS[name]
    info = capture_source(SOURCES[kind], [str(path)], out, Settings(extra=extra))
    statements = [bytes(row[0]) for row in query(f"SELECT statement FROM {events_of(out)}")]
    return statements, rows_of(out), info


def events_of(tape: Path) -> str:
    """Return a table expression for a tape's events, sorted by time."""
    return f"(FROM read_parquet({sql_text(str(tape / 'events' / '*.parquet'))}) ORDER BY start_ns, session)"


def rows_of(tape: Path) -> list[tuple[Any, ...]]:
    """Return all columns of a tape's events."""
    return query(f"SELECT * REPLACE (md5(statement) AS statement) FROM {events_of(tape)}")


@pytest.mark.long
@pytest.mark.parametrize("name", mostly_long(KINDS, "slow", "general"))
def test_large_statements_are_complete_in_any_compression(name: str, tmp_path: Path) -> None:
    """Statement sizes are 100 B to 8 MB, in irregular order. No statement is lost, cut or changed."""
    statements = make_statements(LARGE, 1)
    data = KINDS[name][1](statements)
    plain = tmp_path / "plain.log"
    plain.write_bytes(data)
    found, rows, info = tape_of(name, plain, tmp_path / "plain.tape")
    assert list(map(len, found)) == LARGE
    assert found == statements
    assert info["counts"]["problems"] == 0
    for packing, pack in PACKERS.items():
        packed = tmp_path / f"log.{packing}"
        packed.write_bytes(pack(data))
        assert tape_of(name, packed, tmp_path / f"{packing}.tape")[1] == rows, packing


@pytest.mark.long
@pytest.mark.parametrize("name", mostly_long(KINDS, "slow", "audit-json"))
def test_first_statement_may_be_large(name: str, tmp_path: Path) -> None:
    """The first statement has 17 MB. The kind of the file is detected, and no statement is lost."""
    kind, write, extra = KINDS[name]
    statements = make_statements([17_000_000, 100], 2)
    path = tmp_path / "large.log"
    path.write_bytes(write(statements))
    assert tape_of(name, path, tmp_path / "told.tape")[0] == statements
    capture(path, tmp_path / "guessed.tape", kind if name == "csv" else None, Settings(extra=extra))
    assert rows_of(tmp_path / "guessed.tape") == rows_of(tmp_path / "told.tape")


@pytest.mark.sampled
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("name", KINDS)
def test_statements_of_random_sizes_are_complete(name: str, seed: int, tmp_path: Path) -> None:
    """A statement is complete regardless of its position in the read buffer."""
    chance = random.Random(seed)
    sizes = [chance.randrange(60, 4000) if chance.random() < 0.7 else chance.randrange(10**5, 10**6) for _ in range(25)]
    statements = make_statements(sizes, seed)
    path = tmp_path / "odd.log"
    path.write_bytes(KINDS[name][1](statements))
    found, _, info = tape_of(name, path, tmp_path / "odd.tape")
    assert found == statements
    assert info["counts"]["problems"] == 0


@pytest.mark.sampled
@pytest.mark.parametrize("name", mostly_long(KINDS, "slow", "csv"))
def test_pipe_gives_the_same_tape_as_a_file(name: str, tmp_path: Path) -> None:
    """A FIFO is opened only once and delivers pieces of 1 byte to 1 MB. The kind of the log is detected."""
    kind, write, extra = KINDS[name]
    for sizes, pieces in ((SMALL, (1, 3, 1000)), (LARGE[:9], (4096, 65_536, 1 << 20))):
        data = write(make_statements(sizes, 5))
        plain = tmp_path / f"{len(data)}.log"
        plain.write_bytes(data)
        _, rows, _ = tape_of(name, plain, tmp_path / f"{len(data)}.tape")
        for piece in pieces:
            out = tmp_path / f"{len(data)}-{piece}.tape"
            with fifo_with(tmp_path / "fifo", data, piece) as path:
                capture(path, out, kind if name == "csv" else None, Settings(extra=extra))
            assert rows_of(out) == rows, piece


def test_file_and_pipe_are_captured_together(tmp_path: Path) -> None:
    """The tape of `capture slowlog a.log <(cat b.log)` has the events of both inputs."""
    statements = make_statements(SMALL * 40, 3)
    (tmp_path / "a.log").write_bytes(slow_log(statements[:100]))
    with fifo_with(tmp_path / "b", slow_log(statements), 1000) as path:
        capture_source(SOURCES["slowlog"], [str(tmp_path / "a.log"), str(path)], tmp_path / "t.tape", Settings())
    assert len(rows_of(tmp_path / "t.tape")) == 100 + len(statements)


def test_kind_of_standard_input_is_detected(tmp_path: Path) -> None:
    """`capture -` reads ProxySQL's binary log from standard input."""
    statements = make_statements(SMALL, 4)
    command = [sys.executable, "-m", "querytape", "capture", "-", "-o", str(tmp_path / "t.tape")]
    done = subprocess.run(command, input=proxysql_binary(statements), capture_output=True, check=False)
    assert done.returncode == 0, done.stderr
    assert len(rows_of(tmp_path / "t.tape")) == len(statements)


@pytest.mark.parametrize("piece", [0, 777])
@pytest.mark.parametrize("name", NATIVE)
def test_statement_above_the_size_limit_is_cut_and_reported(name: str, piece: int, tmp_path: Path) -> None:
    """The tape keeps the beginning of a statement that is too large. The event has a flag, and a problem reports it.
    The statements before and after it are complete.
    """
    for seed in range(20):
        check_cut_statements_are_reported(name, piece, seed, tmp_path)


def check_cut_statements_are_reported(name: str, piece: int, seed: int, tmp_path: Path) -> None:
    """Check that two of five statements are cut and reported. The cuts are at random places: in an escape, in a
    character or at a quote.
    """
    large = random.Random(seed)
    statements = make_statements([200, large.randint(9_000, 30_000), 300, large.randint(9_000, 9_500), 250], seed)
    data = NATIVE[name][1](statements)
    (tmp_path / "log").write_bytes(data)
    with fifo_with(tmp_path / "fifo", data, piece) if piece else nullcontext(tmp_path / "log") as path:
        read = read_all(NATIVE[name][0]([path], max_event=8192))
    events = sorted(read.events, key=lambda event: event["start_ns"])
    assert [event["statement"] == whole for event, whole in zip(events, statements, strict=True)] == [1, 0, 1, 0, 1]
    for event, whole in zip(events, statements, strict=True):
        assert whole.startswith(event["statement"])
        assert bool(event["flags"] & FLAGS["truncated"]) == (event["statement"] != whole)
        assert len(event["statement"]) in (len(whole), *range(4096, 8192 + 1))
    assert set(read.kinds) == {"too_large"}
    assert len(read.kinds) == 2


@pytest.mark.long
@pytest.mark.parametrize("name", ["proxysql-json", "audit-json"])
def test_rows_of_50_mb_are_read(name: str, tmp_path: Path) -> None:
    """DuckDB holds several large rows at once, so memory for one row is too little. The tape is still complete."""
    statements = make_statements([53_000_000] * 3, 3)
    path = tmp_path / "large.log"
    path.write_bytes(KINDS[name][1](statements))
    assert tape_of(name, path, tmp_path / "t.tape")[0] == statements
