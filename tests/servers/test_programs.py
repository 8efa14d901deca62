# SPDX-License-Identifier: Apache-2.0
"""Tests of server programs: the program for a kind of server, and the message if none is installed."""

from pathlib import Path

import pytest
from querytape.servers import programs
from querytape.servers.programs import Program, find_program, missing_sentence, search_path, servers_folder

KNOWN = (
    Program("mariadb", "10.11.6", ("/usr/sbin/mariadbd",)),
    Program("mariadb", "11.8.2", ("/f/mariadb-11.8/mysqld",)),
    Program("mysql", "8.0.31", ("/f/mysql-8.0/mysqld",)),
    Program("mysql", "8.4.10", ("/f/mysql-8.4/mysqld",)),
)


@pytest.mark.parametrize(
    ("kind", "version"),
    [
        ("mariadb", "11.8.2"),
        ("mariadb-10.11", "10.11.6"),
        ("mysql", "8.4.10"),
        ("mysql-8.0", "8.0.31"),
        ("mysql-8", "8.4.10"),
        ("mysql-8.0.3", None),
        ("postgres", None),
    ],
)
def test_newest_matching_version_is_used(monkeypatch: pytest.MonkeyPatch, kind: str, version: str | None) -> None:
    """A kind consists of a family and the beginning of a version. Versions are compared as whole numbers."""
    monkeypatch.setattr(programs, "known_programs", lambda: KNOWN)
    program = find_program(kind)
    assert (program and program.version) == version


def test_command_that_creates_a_data_folder() -> None:
    """MySQL creates its data folder itself, but MariaDB uses a script. Neither command asks for a password."""
    mysql = Program("mysql", "8.0.31", ("mysqld",), ("--basedir=/f",)).init_command(Path("/d"))
    assert mysql[:2] == ["mysqld", "--no-defaults"]
    assert {"--basedir=/f", "--datadir=/d", "--initialize-insecure"} <= set(mysql)
    assert "--datadir=/d" in Program("mariadb", "10.11.6", ("mariadbd",)).init_command(Path("/d"))


@pytest.mark.parametrize(
    ("kind", "way"),
    [
        ("mariadb", "apt-get install"),
        ("mariadb-11.8", "fetch-debian-server"),
        ("mysql-9", "fetch-debian-server"),
        ("mysql-5.7", "fetch-mysql"),
    ],
)
def test_missing_server_has_an_install_hint(kind: str, way: str) -> None:
    assert missing_sentence(kind).startswith(f"no {kind} server on this machine. ")
    assert way in missing_sentence(kind)


@pytest.mark.parametrize(
    ("manager", "line"),
    [
        ("apt-get", "apt-get install --no-install-recommends mariadb-server-core mariadb-client-core (no"),
        ("dnf", "dnf install mariadb-server (its service is not started)"),
        ("pacman", "pacman -S mariadb (its"),
        (None, "apt-get install"),
    ],
)
@pytest.mark.parametrize("root", [True, False])
def test_install_hint_is_one_command(
    monkeypatch: pytest.MonkeyPatch, manager: str | None, line: str, root: bool
) -> None:
    """The command uses the package manager of this machine, with sudo for ordinary users."""
    monkeypatch.setattr(
        "querytape.servers.programs.shutil.which", lambda name, path=None: name if name == manager else None
    )
    monkeypatch.setattr("querytape.servers.programs.os.geteuid", lambda: 0 if root else 1000)
    said = missing_sentence("mariadb")
    assert said.startswith(
        f"no mariadb server on this machine. Install MariaDB's programs with: {'' if root else 'sudo '}{line}"
    )


def test_server_programs_are_searched_beyond_path(monkeypatch: pytest.MonkeyPatch) -> None:
    """QT_SERVERS names the folder of fetched servers. Installed servers may be outside the PATH of an ordinary user."""
    monkeypatch.setenv("QT_SERVERS", "/srv/servers")
    monkeypatch.setenv("PATH", "/usr/bin")
    assert servers_folder() == Path("/srv/servers")
    assert search_path().split(":")[0] == "/usr/bin"
    assert "/usr/sbin" in search_path().split(":")
