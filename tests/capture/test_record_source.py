# SPDX-License-Identifier: Apache-2.0
"""Steps of a capture: the order of files, the limits, and the messages if no event can be captured."""

import gzip
import re
from dataclasses import replace
from pathlib import Path

import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.capture.record_source import (
    check_files,
    events_bytes,
    order_by_time,
    stop_warnings,
    total_bytes,
    watcher,
)
from querytape.common.errors import InputError, NativeFault
from querytape.native.bindings.parsers import open_slowlog

from tests.helpers.command_line import run_here
from tests.helpers.log_writers import KINDS, make_statements
from tests.helpers.logs import write_mariadb

SLOWLOG = SOURCES["slowlog"]


def test_all_input_files_are_checked_before_reading(tmp_path: Path) -> None:
    """A missing file, an empty file or a repeated name is refused."""
    full, empty = tmp_path / "full", tmp_path / "empty"
    full.write_text("x")
    empty.touch()
    check_files([str(full), "-"])
    for names, words in (
        ([str(tmp_path / "none")], "no such file"),
        ([str(empty)], "the file is empty"),
        ([str(full), str(full)], "given twice"),
    ):
        with pytest.raises(InputError, match=words):
            check_files(names)


def test_files_are_read_in_order_of_their_first_events() -> None:
    """Files without an event come last, in the given order."""
    times = {"new": 30, "old": 10, "middle": 20}

    def first_time(name: str) -> int:
        if name not in times:
            raise NativeFault(1, "no time")
        return times[name]

    assert order_by_time(["y", "new", "x", "old", "middle"], first_time) == ["old", "middle", "new", "y", "x"]
    assert order_by_time(["new", "-", "old"], first_time) == ["new", "-", "old"]
    assert order_by_time(["new", "old"], None) == ["new", "old"]


def test_input_size_is_the_sum_of_the_files(tmp_path: Path) -> None:
    """A pipe or a live source has no size."""
    (tmp_path / "a").write_text("12345")
    assert total_bytes([str(tmp_path / "a")] * 2) == 10
    assert total_bytes([str(tmp_path / "a"), "-"]) is None
    assert total_bytes([]) is None


def test_part_renamed_during_a_capture_counts_as_0_bytes(tmp_path: Path) -> None:
    """A file may disappear after the folder was listed. The tape's size is then computed without it."""
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "part-0.parquet").write_text("12345")
    (tmp_path / "events" / "part-1.parquet.tmp").symlink_to(tmp_path / "gone")
    assert events_bytes(tmp_path) == 5


def test_input_without_events_is_refused(tmp_path: Path) -> None:
    """The message contains the file, the kind and the expected content. It also reports that no tape was written."""
    log = tmp_path / "x.log"
    log.write_text("hello\n" * 100)
    with pytest.raises(
        InputError, match=r"x\.log: no events in 600 bytes\. Expected a slow log with lines such as .* \(no tape"
    ):
        capture_source(SLOWLOG, [str(log)], tmp_path / "t.tape", Settings())
    assert not (tmp_path / "t.tape").exists()


@pytest.mark.parametrize("kept", [5, 20])
def test_truncated_compressed_file_is_reported_as_damaged(kept: int, tmp_path: Path) -> None:
    """A compressed file without a complete event is reported as damaged, not as empty."""
    log = tmp_path / "slow.log.gz"
    log.write_bytes(
        gzip.compress(write_mariadb(tmp_path / "s.log", [(1718000000, 1, 0.001, "SELECT 1")]).read_bytes())[:kept]
    )
    with pytest.raises(
        InputError, match=r"slow\.log\.gz: no events: the compressed file is damaged or truncated \(no tape"
    ):
        capture_source(SLOWLOG, [str(log)], tmp_path / "t.tape", Settings())


def test_existing_tape_is_not_overwritten(tmp_path: Path) -> None:
    log = write_mariadb(tmp_path / "s.log", [(1718000000, 1, 0.001, "SELECT 1")])
    (tmp_path / "t.tape").mkdir()
    (tmp_path / "t.tape" / "mine").touch()
    with pytest.raises(InputError, match="already exists"):
        capture_source(SLOWLOG, [str(log)], tmp_path / "t.tape", Settings())
    assert (tmp_path / "t.tape" / "mine").exists()


@pytest.mark.parametrize(
    ("time_is_up", "max_disk", "stops"),
    [(False, None, False), (True, None, True), (False, 5, True), (False, 50, False)],
)
def test_limits_stop_a_live_capture(tmp_path: Path, time_is_up: bool, max_disk: int | None, stops: bool) -> None:
    """The limits are the duration and --max-disk, the maximum size of the tape's events."""
    (tmp_path / "events").mkdir()
    (tmp_path / "events" / "part").write_text("0123456789")
    kind = replace(SLOWLOG, live=lambda settings: True, time_is_up=lambda settings: lambda: time_is_up)
    log = write_mariadb(tmp_path / "s.log", [(1718000000, 1, 0.001, "SELECT 1")])
    reader = open_slowlog([log])
    calls = []
    reader.stop = lambda: calls.append(1)  # type: ignore[method-assign]
    watcher(kind, Settings(extra={"max_disk": max_disk}), reader, tmp_path, None)(reader.stats())
    assert bool(calls) == stops
    reader.close()


def test_interrupted_file_capture_is_partial() -> None:
    """A live source has no end, so its tape is not partial after a stop."""
    assert [w["kind"] for w in stop_warnings({"stopped": True}, live=False)] == ["stopped"]
    assert stop_warnings({"stopped": True}, live=True) == stop_warnings({"stopped": False}, live=False) == []


@pytest.mark.parametrize(
    ("ports", "words"),
    [
        ((), "on the given port (--port 3306)"),
        ((24103,), "on the given port (--port 24103)"),
        ((1, 2), "on the given ports (--port 1 --port 2)"),
    ],
)
def test_message_about_missing_events_names_the_ports(ports: tuple[int, ...], words: str, tmp_path: Path) -> None:
    """If other ports than 3306 were captured, the message does not name 3306."""
    empty = tmp_path / "a.pcap"
    empty.write_bytes(b"\xd4\xc3\xb2\xa1\2\0\4\0" + bytes(8) + b"\xff\xff\0\0\1\0\0\0")
    with pytest.raises(InputError, match=re.escape(words)):
        capture_source(SOURCES["packets"], [str(empty)], tmp_path / "a.tape", Settings(extra={"port": ports}))


NATIVE = ["slow", "general", "audit", "binlog"]  # ProxySQL's reader refuses a mix of JSON and binary files


@pytest.mark.sampled
@pytest.mark.parametrize(("name", "other"), [(a, b) for a in NATIVE for b in [*NATIVE, "proxysql"] if a != b])
def test_file_of_another_kind_is_reported(name: str, other: str, tmp_path: Path) -> None:
    """One of the input files has another format. The second line of the summary reports this file once, and the exit
    code is 4.
    """
    kind, write, extra = KINDS[name]
    (tmp_path / "a.log").write_bytes(write(make_statements([100, 200, 3000], 1)))
    (tmp_path / "b.log").write_bytes(KINDS[other][1](make_statements([150, 900, 80, 60, 5000], 2)))
    info = capture_source(
        SOURCES[kind], [str(tmp_path / "a.log"), str(tmp_path / "b.log")], tmp_path / "t", Settings(extra=extra)
    )
    assert info["problems"]["foreign_file"] == 1
    done = run_here("capture", kind, str(tmp_path / "a.log"), str(tmp_path / "b.log"), "-o", str(tmp_path / "o.tape"))
    assert done.code == 4
    lines = [line for line in done.out.splitlines() if not line.startswith("capture:")]
    assert "NOT ALL OF THE INPUT IS ON THE TAPE: 1 file contains no event" in lines[1]


def test_loss_after_many_harmless_problems_is_reported(tmp_path: Path) -> None:
    """Up to ten thousand problems of each kind are listed. Many problems of one kind do not hide a problem of another
    kind.
    """
    rows = [b"2024-06-10T06:13:20.%06dZ\t    7 Query\tSELECT 'it's'\n" % number for number in range(12_000)]
    (tmp_path / "a.log").write_bytes(b"".join(rows) + b"2024-06-10T06:13:21.000000Z\t 7 Quit\t\nno row at all\n")
    done = run_here("capture", "general", str(tmp_path / "a.log"), "-o", str(tmp_path / "o.tape"))
    assert done.code == 4
    assert "10,000 unbalanced_quote" in done.out
    assert "1 more_problems" in done.out
    assert "1 part of the input could not be parsed" in done.out
