# SPDX-License-Identifier: Apache-2.0
"""A general log's header comes with each start of the server, FLUSH LOGS, rotation, and switch of the log. Which was it?"""

import random
from datetime import datetime, timedelta
from pathlib import Path

import pytest
from querytape.capture import SOURCES
from querytape.native.bindings.parsers import open_general

from tests.helpers.command_line import run_here
from tests.helpers.reading import read_all

BANNERS = {
    "mysql": "/usr/sbin/mysqld, Version: {version} (MySQL Community Server - GPL). started with:",
    "mariadb": "/usr/sbin/mariadbd, Version: {version}-MariaDB (Debian 12). started with:",
}


class Log:
    """Writes a general log of one account as a server does; knows which session each row is of."""

    def __init__(self, family: str) -> None:
        self.text, self.life = "", 0
        self.truth: list[int] = []
        self._family, self._now = family, datetime(2026, 11, 22, 7)
        self._written: datetime | None = None
        self._numbers: dict[tuple[int, int], int] = {}

    def header(self, version: str = "10.11.19") -> None:
        """Write the server's header."""
        self.text += BANNERS[self._family].format(version=version) + "\n"
        self.text += "Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n"
        self._written = None

    def wait(self, seconds: int) -> None:
        """Let time pass."""
        self._now += timedelta(seconds=seconds)

    def row(self, thread: int, command: str, argument: str = "") -> None:
        """Write a row."""
        number = self._numbers.setdefault((self.life, thread), len(self._numbers) + 1)
        self.truth.append(number)
        if self._family == "mysql":
            time = self._now.strftime("%Y-%m-%dT%H:%M:%S.000000Z\t")
        else:
            time = (
                "\t\t" if self._written == self._now else f"{self._now:%y%m%d} {self._now.hour:2d}:{self._now:%M:%S}\t"
            )
        self._written = self._now
        self.text += f"{time}{thread:5d} {command}\t{argument}\n"

    def connect(self, thread: int) -> None:
        """Write the row of a login."""
        self.row(thread, "Connect", "app@localhost on shop using Socket")

    def found(self, folder: Path) -> tuple[list[int], int]:
        """Return the session that the reader gives each row, in the log's order, and how often it saw a start."""
        (folder / "g.log").write_text(self.text)
        read = read_all(open_general([folder / "g.log"]))
        rows = sorted(read.events, key=lambda row: row["offset"])
        assert read.kinds == []
        return [row["session"] for row in rows], int(read.description["restarts"])


def live(log: Log, first: int, chance: random.Random, flushes: bool) -> None:
    """Write the rows of one life of a server: logins with ascending ids, statements, few quits, FLUSH LOGS."""
    open_now: list[int] = []
    last = first
    for _ in range(chance.randrange(5, 40)):
        log.wait(chance.randrange(3))
        what = chance.random()
        if what < 0.3 or not open_now:
            ids = [last, last + 1] if chance.random() < 0.7 else [last + 1, last]  # logins overtake each other
            last += 2
            for number, thread in enumerate(ids):
                log.connect(thread)
                if flushes and number == 0 and chance.random() < 0.3:
                    log.header()
            open_now += ids
        elif what < 0.35:
            log.row(open_now.pop(chance.randrange(len(open_now))), "Quit")
        elif what < 0.45 and flushes:
            log.row(chance.choice(open_now), "Query", "FLUSH LOGS")
            log.header()
        else:
            log.row(chance.choice(open_now), "Query", f"SELECT {chance.randrange(9)}")


@pytest.mark.sampled
@pytest.mark.parametrize("family", BANNERS)
@pytest.mark.parametrize("flushes", [False, True])
@pytest.mark.parametrize("seed", range(30))
def test_each_start_is_counted(seed: int, flushes: bool, family: str, tmp_path: Path) -> None:
    """Ids begin again, as the same numbers or as lower ones a while later; FLUSH LOGS is no start."""
    chance = random.Random(seed)
    log, starts = Log(family), seed % 4
    log.header()
    for life in range(starts + 1):
        log.life = life
        if life:
            log.wait(chance.choice([0, 1, 300]))
            log.header()
        high = chance.random() < 0.5 and life == 0
        live(log, 90_000 if high else 3, chance, flushes)
        log.wait(61 if high else 0)  # before lower ids prove a start
    assert log.found(tmp_path) == (log.truth, starts)


@pytest.mark.parametrize("family", BANNERS)
def test_another_version_is_a_start(family: str, tmp_path: Path) -> None:
    """With ids that go on: a row without a login is of another session."""
    log = Log(family)
    log.header()
    log.connect(7)
    log.row(7, "Query", "SELECT 1")
    log.header("11.4.2")
    log.life = 1
    log.row(7, "Query", "SELECT 2")
    log.connect(8)
    assert log.found(tmp_path) == (log.truth, 1)


@pytest.mark.parametrize("family", BANNERS)
def test_sessions_of_before_end_at_a_start(family: str, tmp_path: Path) -> None:
    """Once a start is proven, an id without a login (the log was switched on later) is of another session."""
    log = Log(family)
    log.header()
    for thread in (3, 4, 5):
        log.connect(thread)
    log.header()
    log.life = 1
    log.connect(4)
    log.row(4, "Query", "SELECT 1")
    log.row(5, "Query", "SELECT 1")
    assert log.found(tmp_path) == (log.truth, 1)


@pytest.mark.parametrize("family", BANNERS)
@pytest.mark.parametrize("seconds", [0, 5, 59])
def test_a_slow_login_is_not_a_start(seconds: int, family: str, tmp_path: Path) -> None:
    """Its id is lower than that of a later connection, and its row comes after FLUSH LOGS; a refused login has two rows."""
    log = Log(family)
    log.header()
    log.connect(8)
    log.row(8, "Query", "FLUSH LOGS")
    log.header()
    log.wait(seconds)
    log.connect(7)
    log.row(8, "Query", "SELECT 1")
    assert log.found(tmp_path) == (log.truth, 0)


def test_the_summary_names_the_starts(tmp_path: Path) -> None:
    """As that of a slow log does."""
    log = Log("mariadb")
    for life in range(3):
        log.life = life
        log.header()
        log.connect(3)
    (tmp_path / "g.log").write_text(log.text)
    done = run_here("capture", "general", str(tmp_path / "g.log"), "-o", str(tmp_path / "g.tape"))
    assert "the server restarted 2 times. Each restart ended the open sessions" in done.out + done.err
    assert SOURCES["general"].notes({"restarts": 0}) == []
