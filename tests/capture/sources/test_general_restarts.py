# SPDX-License-Identifier: Apache-2.0
"""Headers in a general log. The reader must find the headers that mark a server start. A server also writes a header at
each rotation and FLUSH LOGS, and when the log is enabled.
"""

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
    """A writer of a general log with one account, in a server's format. The class knows the session of each row."""

    def __init__(self, family: str) -> None:
        self.text, self.life = "", 0
        self.truth: list[int] = []
        self._family, self._now = family, datetime(2026, 11, 22, 7)
        self._written: datetime | None = None
        self._numbers: dict[tuple[int, int], int] = {}

    def header(self, version: str = "10.11.19") -> None:
        """Write the server's log header."""
        self.text += BANNERS[self._family].format(version=version) + "\n"
        self.text += "Tcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\nTime\t\t    Id Command\tArgument\n"
        self._written = None

    def wait(self, seconds: int) -> None:
        """Advance the clock."""
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
        """Write a login row."""
        self.row(thread, "Connect", "app@localhost on shop using Socket")

    def found(self, folder: Path) -> tuple[list[int], int]:
        """Return the session of each row as the reader assigns it, in log order, and the number of server starts found."""
        (folder / "g.log").write_text(self.text)
        read = read_all(open_general([folder / "g.log"]))
        rows = sorted(read.events, key=lambda row: row["offset"])
        assert read.kinds == []
        return [row["session"] for row in rows], int(read.description["restarts"])


def live(log: Log, first: int, chance: random.Random, flushes: bool) -> None:
    """Write the rows of one server run: logins with ascending ids, statements, a few disconnects and FLUSH LOGS."""
    open_now: list[int] = []
    last = first
    for _ in range(chance.randrange(5, 40)):
        log.wait(chance.randrange(3))
        what = chance.random()
        if what < 0.3 or not open_now:
            ids = [last, last + 1] if chance.random() < 0.7 else [last + 1, last]  # logins may be out of order
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
def test_each_server_start_is_counted(seed: int, flushes: bool, family: str, tmp_path: Path) -> None:
    """After a server start, the same thread ids occur again, or lower ids occur some time later. FLUSH LOGS is not a
    server start.
    """
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
        log.wait(61 if high else 0)  # lower ids prove a start only after 60 seconds
    assert log.found(tmp_path) == (log.truth, starts)


@pytest.mark.parametrize("family", BANNERS)
def test_new_server_version_is_a_start(family: str, tmp_path: Path) -> None:
    """The thread ids continue after the server start. A row without a login belongs to a new session."""
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
def test_sessions_end_at_a_server_start(family: str, tmp_path: Path) -> None:
    """After a proven server start, a thread id without a login row belongs to a new session. The log was enabled after
    the login of this session.
    """
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
def test_slow_login_is_not_a_server_start(seconds: int, family: str, tmp_path: Path) -> None:
    """A slow login has a lower id than a later connection, and its row follows FLUSH LOGS. A refused login writes two
    log rows.
    """
    log = Log(family)
    log.header()
    log.connect(8)
    log.row(8, "Query", "FLUSH LOGS")
    log.header()
    log.wait(seconds)
    log.connect(7)
    log.row(8, "Query", "SELECT 1")
    assert log.found(tmp_path) == (log.truth, 0)


def test_summary_reports_server_starts(tmp_path: Path) -> None:
    """The text about server starts is the same as in the summary of a slow log."""
    log = Log("mariadb")
    for life in range(3):
        log.life = life
        log.header()
        log.connect(3)
    (tmp_path / "g.log").write_text(log.text)
    done = run_here("capture", "general", str(tmp_path / "g.log"), "-o", str(tmp_path / "g.tape"))
    assert "the server restarted 2 times. Each restart ended the open sessions" in done.out + done.err
    assert SOURCES["general"].notes({"restarts": 0}) == []
