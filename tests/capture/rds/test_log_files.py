# SPDX-License-Identifier: Apache-2.0
"""A log that grows and turns while it is pulled is one text: nothing twice, nothing missing, or a hole that is named."""

import random
import time

import pytest
from querytape.capture.rds.cloud import Cloud
from querytape.capture.rds.log_files import AUDIT_LOG, LogFiles

from tests.helpers.rds import NAME, Aws, entries, turn, write

pytestmark = pytest.mark.slow


@pytest.mark.long
@pytest.mark.parametrize("names_hold", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_turns_at_any_moment(aws: Aws, seed: int, names_hold: bool) -> None:
    """Files turn between pulls, between portions, and several times at once: the text is what was written."""
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


def test_what_is_gone_is_named(aws: Aws) -> None:
    """A rotated file that is removed before it was read, and a file that became shorter, are holes with their names."""
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
    assert log.holes[1] == f"{NAME}.2026-11-22.08 was removed before its end was read"


def test_another_files_rest_is_not_taken_for_ours(aws: Aws) -> None:
    """A rotated file that does not go on where ours ended is read whole, and the lost end is named."""
    write(aws, entries(0, 50))
    log = LogFiles(Cloud(), "shop-1")
    log.begin()
    write(aws, entries(900, 100), f"{NAME}.2026-11-22.09")
    assert "".join(log.pull()) == entries(900, 100) + entries(0, 50)
    assert "does not go on" in log.holes[0]


def test_a_long_line_is_asked_for_alone(aws: Aws) -> None:
    """RDS cuts a portion of over 1 MB: it is asked for again in fewer lines; a line that is longer itself is counted."""
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


def test_no_log_yet(aws: Aws) -> None:
    """Before the slow log is on there is no file: nothing is pulled, and it is read when it is there."""
    (aws.folder / NAME).unlink()
    log = LogFiles(Cloud(), "shop-1")
    log.begin()
    assert "".join(log.pull()) == ""
    write(aws, entries(0, 3))
    assert "".join(log.pull()) == entries(0, 3)


def test_a_file_named_by_the_hour_grows_on(aws: Aws) -> None:
    """Where the server writes into the hour's file itself, what comes into it is read on, across the hours."""
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
def test_numbered_files_are_renamed_each_time(aws: Aws, names_hold: bool) -> None:
    """A log whose rotated files move on (.1 becomes .2), or whose numbers come again, is one text."""
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
        time.sleep(0.01)  # the time when a file was last written is told in ms
    pulled += "".join(log.pull())
    assert pulled == written
    assert log.holes == []
