# SPDX-License-Identifier: Apache-2.0
"""A log that grows and rotates during the download is returned as one text. No byte is repeated, and missing bytes are
reported.
"""

import random
import time

import pytest
from querytape.capture.cloud.aws import Cloud
from querytape.capture.cloud.log_files import (
    AUDIT_LOG,
    AuditLogFiles,
    Listed,
    LogFiles,
    Place,
    RowsByTime,
    listed_files,
    read_on,
    without_cut_lines,
)

from tests.helpers.rds import NAME, Aws, audit_row, entries, turn, write

pytestmark = pytest.mark.slow
BEGIN_US = 1_795_000_000_000_000


@pytest.mark.long
@pytest.mark.parametrize("names_hold", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_rotation_at_any_moment_keeps_the_whole_text(aws: Aws, seed: int, names_hold: bool) -> None:
    """Files rotate between two pulls and between two portions of one pull. Several files may rotate at once."""
    chance = random.Random(seed)
    aws.names_hold, aws.largest = names_hold, 4_000
    written, turns = "", 0
    write(aws, entries(0, 50))
    log = LogFiles(Cloud(), "shop-1")
    log.begin()

    def change(name: str) -> None:
        nonlocal written, turns
        if name in ("", NAME) and chance.random() < 0.3:
            if turns < 8 and chance.random() < 0.6:
                turn(aws, f"2026-11-22.{turns:02d}")
                turns += 1
            text = entries(chance.randrange(10**6), chance.randrange(1, 30))
            written += text
            write(aws, text)

    pulled = ""
    for _ in range(12):
        for _ in range(chance.randrange(3)):
            change("")
        aws.before_portion = change
        pulled += "".join(log.pull())
        aws.before_portion = lambda name: None
    pulled += "".join(log.pull())
    assert turns > 2
    assert pulled == written
    assert log.holes == []
    assert log.cuts == 0
    assert sum(log.read.values()) == len(written)


def test_lost_log_files_are_reported_by_name(aws: Aws) -> None:
    """One rotated file is removed before the capture reads it. Another file becomes shorter."""
    write(aws, entries(0, 50))
    log = LogFiles(Cloud(), "shop-1")
    log.begin()
    write(aws, entries(50, 10))
    turn(aws, "2026-11-22.07")
    (aws.folder / f"{NAME}.2026-11-22.07").unlink()
    write(aws, entries(60, 1))
    assert "".join(log.pull()) == entries(60, 1)
    assert [hole.partition(" became")[0] for hole in log.holes] == [NAME]
    write(aws, entries(61, 300))
    turn(aws, "2026-11-22.08")

    def remove(name: str) -> None:
        (aws.folder / f"{NAME}.2026-11-22.08").unlink(missing_ok=True)

    aws.before_portion = lambda name: remove(name) if name != NAME else None
    assert "".join(log.pull()) == ""
    assert log.holes[1] == f"{NAME}.2026-11-22.08 was removed before querytape read its end"


def test_unrelated_rotated_file_is_read_whole(aws: Aws) -> None:
    """The rotated file does not continue the file from the previous pull. The lost end of the previous file is
    reported.
    """
    write(aws, entries(0, 50))
    log = LogFiles(Cloud(), "shop-1")
    log.begin()
    write(aws, entries(900, 100), f"{NAME}.2026-11-22.09")
    assert "".join(log.pull()) == entries(900, 100) + entries(0, 50)
    assert "does not continue" in log.holes[0]


def test_portion_that_rds_cuts_is_requested_again(aws: Aws) -> None:
    """RDS cuts portions of a log above 1 MB. The reader then requests fewer lines. A single line above the limit is
    counted as cut.
    """
    aws.largest = 20_000
    log = LogFiles(Cloud(), "shop-1")
    log.begin()
    write(aws, entries(0, 300))
    assert "".join(log.pull()) == entries(0, 300)
    assert log.cuts == 0
    long = entries(300, 1, "SELECT '" + "x" * 30_000 + "%d'")
    write(aws, long + entries(301, 5))
    assert "".join(log.pull()) == long[: long.index("SELECT")] + entries(301, 5)
    assert log.cuts == 1


def test_missing_log_file_is_read_once_it_exists(aws: Aws) -> None:
    """RDS has no slow log file until the slow log is enabled."""
    (aws.folder / NAME).unlink()
    log = LogFiles(Cloud(), "shop-1")
    log.begin()
    assert "".join(log.pull()) == ""
    write(aws, entries(0, 3))
    assert "".join(log.pull()) == entries(0, 3)


def test_hourly_file_is_read_while_it_grows(aws: Aws) -> None:
    """The server writes directly into the log file of the current hour. Reading continues with the next hour's file."""
    write(aws, entries(0, 20), f"{NAME}.2026-11-22.07")
    log = LogFiles(Cloud(), "shop-1")
    log.begin()
    pulled = ""
    for n in range(6):
        write(aws, entries(100 + n * 10, 10), f"{NAME}.2026-11-22.{7 + n // 2:02d}")
        pulled += "".join(log.pull())
    assert pulled == entries(100, 60)
    assert log.holes == []


@pytest.mark.parametrize("names_hold", [True, False])
def test_renumbered_log_files_make_one_text(aws: Aws, names_hold: bool) -> None:
    """Rotation renames the log files (.1 becomes .2) or reuses their numbers."""
    aws.names_hold = names_hold
    folder, name = aws.folder / "audit", AUDIT_LOG.rpartition("/")[2]
    folder.mkdir()
    log = LogFiles(Cloud(), "shop-1", AUDIT_LOG)
    written = pulled = ""
    for n in range(8):
        text = "".join(f"2026112{n} 10:00:00,h,app,10.0.0.5,7,{k},QUERY,shop,'SELECT {k}',0\n" for k in range(20 + n))
        if n == 3:
            log.begin()
            written = ""
        written += text
        write(aws, text[:400], AUDIT_LOG)
        if n > 3 and n != 5:
            pulled += "".join(log.pull())
        write(aws, text[400:], AUDIT_LOG)
        for number in range(3, 0, -1):
            if (folder / f"{name}.{number}").exists():
                (folder / f"{name}.{number}").rename(folder / f"{name}.{number + 1}")
        (folder / name).rename(folder / f"{name}.1")
        time.sleep(0.01)  # last-modified times have a resolution of 1 ms
    pulled += "".join(log.pull())
    assert pulled == written
    assert log.holes == []


class Server:
    """A server that writes rows into four log files at once. The rows are not strictly in the order of time.

    Each file rotates independently of the others. A file name contains the minute and a number.
    """

    def __init__(self, aws: Aws, seed: int) -> None:
        self.aws, self.chance = aws, random.Random(seed)
        self.turns, self.now, self.count = [0] * 4, BEGIN_US, 0
        self.written: list[tuple[int, str]] = []
        (aws.folder / "audit").mkdir()

    def name(self, number: int) -> str:
        turn = self.turns[number]
        return f"audit/audit.log.{number}.2026-11-22-07-{turn // 3 * 30:02d}.{turn % 3}"

    def rows(self, count: int, late_us: int = 900_000) -> None:
        """Write `count` later rows. Each row is at most `late_us` microseconds older than the newest row."""
        for _ in range(count):
            number = self.chance.randrange(4)
            self.now += self.chance.randrange(1, 400_000)
            row = (self.now - self.chance.randrange(late_us), audit_row(0, self.count)[1:])
            row = (row[0], f"{row[0]}{row[1]}")
            self.count += 1
            self.written.append(row)
            write(self.aws, row[1], self.name(number))
            if self.chance.random() < 0.02:
                self.turns[number] += 1

    def in_order(self) -> list[str]:
        return [text for _, text in sorted(self.written, key=lambda row: row[0])]


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_all_files_are_sorted_by_time(aws: Aws, seed: int) -> None:
    """Files grow and rotate between two portions, and a portion may end inside a row. Each row of the time range is
    returned once. Earlier rows are left out.
    """
    aws.largest = 2_000
    server = Server(aws, seed)
    server.rows(200)
    log = AuditLogFiles(Cloud(), "au-1")
    log.begin()
    server.written.clear()
    pulled = ""
    for _ in range(8):
        aws.before_portion = lambda name: server.rows(2) if server.chance.random() < 0.3 else None
        pulled += "".join(log.pull())
        aws.before_portion = lambda name: None
        server.rows(60)
    pulled += "".join(log.pull()) + "".join(log.rest())
    times = [int(line.partition(",")[0]) for line in pulled.splitlines()]
    assert times == sorted(times)
    assert sorted(pulled.splitlines(keepends=True)) == sorted(server.in_order())
    assert (log.holes, log.cuts, log.late) == ([], 0, 0)
    assert sum(log.read.values()) == sum(len(row) for _, row in server.written)


def test_late_rows_are_returned_and_counted(aws: Aws) -> None:
    """The late row arrives long after newer rows were returned."""
    server = Server(aws, 1)
    log = AuditLogFiles(Cloud(), "au-1")
    log.begin()
    server.rows(300)
    assert "".join(log.pull()) == ""  # the reader does not know the later rows yet
    first = "".join(log.pull())
    assert first
    write(aws, audit_row(BEGIN_US + 5, 9_999), server.name(0))
    rest = "".join(log.pull()) + "".join(log.rest())
    assert "SELECT 9999" in rest
    assert log.late == 1
    assert first.count("\n") + rest.count("\n") == 301


def test_removed_file_is_reported_by_name(aws: Aws) -> None:
    """The newest file with a given number is removed before the capture reads its end. Older files may be removed
    without a report.
    """
    server = Server(aws, 2)
    old = "audit/audit.log.0.2026-11-21-07-00.0"
    write(aws, audit_row(BEGIN_US - 10**9, 1), old)
    server.rows(50)
    log = AuditLogFiles(Cloud(), "au-1")
    log.begin()
    server.rows(50)
    list(log.pull())
    (aws.folder / old).unlink()
    list(log.pull())
    assert log.holes == []
    gone = server.name(3)
    (aws.folder / gone).unlink()
    list(log.pull())
    assert log.holes == [f"{gone} was removed before querytape read its end"]
    new = "audit/audit.log.3.2026-11-22-09-00.0"
    write(aws, audit_row(server.now, 5), new)
    aws.before_portion = lambda name: (aws.folder / new).unlink(missing_ok=True)
    list(log.pull())
    assert log.holes[1:] == [f"{new} was removed before querytape read its end"]


def test_growth_of_an_older_file_is_read(aws: Aws) -> None:
    """An older log file grows. The capture reads only the added bytes, not the old content."""
    server = Server(aws, 2)
    old = "audit/audit.log.1.2026-11-21-07-00.0"
    write(aws, audit_row(BEGIN_US - 10**9, 1), old)
    write(aws, audit_row(BEGIN_US, 2), server.name(1))
    log = AuditLogFiles(Cloud(), "au-1")
    log.begin()
    write(aws, audit_row(BEGIN_US + 7, 3), old)
    list(log.pull())
    write(aws, audit_row(BEGIN_US + 9, 4), old)
    list(log.pull())
    assert "".join(log.rest()) == audit_row(BEGIN_US + 7, 3) + audit_row(BEGIN_US + 9, 4)


@pytest.mark.long
def test_old_log_content_is_skipped(aws: Aws) -> None:
    """The skipped bytes are counted over all portions, even if a portion ends inside a multibyte character."""
    write(aws, "zwölf\n" * 40)
    place = Place(passed=7 * 25)
    assert place.lacks(listed_files(Cloud(), "shop-1", "slow")[NAME])
    aws.largest = 50
    assert "".join(read_on(Cloud(), "shop-1", NAME, place)) == "zwölf\n" * 15
    assert place.size == 7 * 40
    assert not place.lacks(Listed(7 * 40, 0))


def test_lines_that_rds_cut_are_counted_and_left_out() -> None:
    assert without_cut_lines("a\nb [Your log message was truncated]\nc\n") == ("a\nc\n", 1)


def test_rows_are_held_back_until_the_given_time() -> None:
    """A row's second line stays after its first line. A row that arrives after newer rows counts as late."""
    rows = RowsByTime()
    last = rows.hold("1795000000000300,c\n", 0)
    rows.hold("goes on\n", last)
    rows.hold("1795000000000100,a\n", last)
    assert (rows.newest, list(rows.give(1795000000000200))) == (1795000000000300, ["1795000000000100,a\n"])
    rows.hold("1795000000000200,b\n", 0)
    assert list(rows.give(None)) == ["1795000000000200,b\n1795000000000300,c\ngoes on\n"]
    assert rows.late == 0
    rows.hold("1795000000000250,late\n", 0)
    assert (list(rows.give(None)), rows.late) == (["1795000000000250,late\n"], 1)
    assert list(rows.give(None)) == []
