# SPDX-License-Identifier: Apache-2.0
"""Headers in a slow log. The reader must find the headers that mark a server start. A server also writes a header at
each rotation and FLUSH LOGS, and when the log is enabled.
"""

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from querytape.native.bindings.parsers import open_slowlog

from tests.helpers.reading import read_all

VERSIONS = {
    "mysql": ("/usr/sbin/mysqld, Version: 8.0.41 (MySQL Community Server - GPL). started with:", "Id: {id:5d}", ""),
    "mariadb": (
        "mariadbd, Version: 10.11.19-MariaDB (Debian 12). started with:",
        "",
        "# Thread_id: {id}  Schema: shop\n",
    ),
}
ACCOUNTS = ("app", "web", "job")
QUIT, CHANGE_USER = "# administrator command: Quit", "# administrator command: Change user"


class Log:
    """A writer of a slow log in a server's format. The class knows the session of each entry."""

    def __init__(self, family: str) -> None:
        self.banner, self._id, self._line = VERSIONS[family]
        self.text = ""
        self.truth: list[int] = []
        self._second = 0

    def header(self) -> None:
        """Write the server's log header."""
        self.text += self.banner + "\nTcp port: 3306  Unix socket: /run/mysqld/mysqld.sock\n"
        self.text += "Time                 Id Command    Argument\n"

    def entry(self, session: int, thread: int, user: str, statement: str = "SELECT 1") -> None:
        """Write one entry."""
        self._second += 1
        self.truth.append(session)
        minute, second = divmod(self._second, 60)
        self.text += (
            f"# Time: 2026-11-22T07:{minute:02d}:{second:02d}.000000Z\n"
            f"# User@Host: {user}[{user}] @  [10.0.0.1]  {self._id.format(id=thread)}\n{self._line.format(id=thread)}"
            "# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
        )
        self.text += (
            f"{statement};\n" if statement == QUIT else f"SET timestamp={1795330800 + self._second};\n{statement};\n"
        )

    def found(self, folder: Path) -> tuple[list[int], int]:
        """Return the session of each entry as the reader assigns it, in log order, and the number of server starts."""
        (folder / "s.log").write_text(self.text)
        read = read_all(open_slowlog([folder / "s.log"], None))
        rows = sorted(read.events, key=lambda row: row["offset"])
        return [row["session"] for row in rows], int(read.description["restarts"])


def same_partition(found: list[int], truth: list[int]) -> bool:
    """Return whether two lists of names group the entries in the same way."""
    return len(set(zip(found, truth, strict=True))) == len(set(found)) == len(set(truth))


def life(log: Log, chance: random.Random, first: int, thread: int, entries: int) -> Iterator[int]:
    """Simulate a server run in which sessions begin and end. Yield the session number of each entry."""
    here: dict[int, tuple[int, str]] = {}
    for number in range(entries):
        if not here or chance.random() < 0.2:
            here[first + len(set(log.truth)) + number] = (thread, chance.choice(ACCOUNTS))
            thread += chance.choice((1, 1, 2))
        session = chance.choice(sorted(here))
        log.entry(session, *here[session])
        if chance.random() < 0.1:
            del here[session]
        yield session


@pytest.mark.parametrize("family", VERSIONS)
@pytest.mark.parametrize("seed", range(5))
def test_sessions_continue_across_headers(family: str, seed: int, tmp_path: Path) -> None:
    """A log header does not end a session unless a restart is proven."""
    chance, log = random.Random(seed), Log(family)
    log.header()
    for _ in life(log, chance, 1, chance.randrange(3, 500), 120):
        if chance.random() < 0.2:
            log.header()
    found, restarts = log.found(tmp_path)
    assert same_partition(found, log.truth)
    assert restarts == 0


@pytest.mark.parametrize("family", VERSIONS)
@pytest.mark.parametrize("seed", range(5))
def test_new_server_version_is_a_restart(family: str, seed: int, tmp_path: Path) -> None:
    """After the restart, the accounts use their previous thread ids again. Each server run has its own sessions."""
    chance, log = random.Random(seed), Log(family)
    banners = [log.banner, log.banner.replace(".19", ".20").replace(".41", ".42")]
    for start in range(3):
        log.banner = banners[start % 2]
        log.header()
        for _ in life(log, chance, 1000 * start, 3, 40):
            if chance.random() < 0.1:
                log.header()
    found, restarts = log.found(tmp_path)
    assert same_partition(found, log.truth)
    assert restarts == 2


CASES: dict[str, list[tuple[Any, ...] | None]] = {
    "an id of another session": [(1, 7, "app"), (2, 9, "web"), None, (3, 9, "app"), (4, 7, "app")],
    "an id that has ended": [(1, 7, "app"), (2, 9, "app"), (2, 9, "app", QUIT), None, (3, 9, "app"), (4, 7, "app")],
    "proven later": [
        (1, 50, "app"),
        (2, 90, "web"),
        None,
        (3, 60, "app"),
        (4, 90, "app"),
        (3, 60, "app"),
        (5, 50, "app"),
    ],
}
NO_PROOF: dict[str, list[tuple[Any, ...] | None]] = {
    "an id below all earlier ids": [
        (1, 70, "app"),
        (2, 90, "app"),
        None,
        (3, 5, "app"),
        (1, 70, "app"),
        (2, 90, "app"),
    ],
    "a FLUSH before the header": [(1, 7, "app"), (1, 7, "app", "FLUSH LOGS"), None, (2, 9, "app"), (1, 7, "app")],
    "a session changes its account": [(1, 7, "app"), (2, 9, "app"), None, (1, 7, "web", CHANGE_USER), (2, 9, "app")],
}


@pytest.mark.parametrize("case", [*CASES, *NO_PROOF])
def test_repeated_ids_after_a_header_prove_a_restart(case: str, tmp_path: Path) -> None:
    """A session after a restart is a new session, even if its thread id was used before the restart. Other patterns of
    ids do not prove a restart.
    """
    log = Log("mysql")
    log.header()
    for entry in (CASES | NO_PROOF)[case]:
        if entry is None:
            log.header()
        else:
            log.entry(*entry)
    found, restarts = log.found(tmp_path)
    assert same_partition(found, log.truth)
    assert restarts == (case in CASES)
