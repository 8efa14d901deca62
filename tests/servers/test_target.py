# SPDX-License-Identifier: Apache-2.0
"""Targets: URLs, option files, passwords."""

from pathlib import Path

import pymysql
import pytest
from querytape.common.errors import InputError, TargetError
from querytape.servers.target import Login, Target, fault_text, parse_target

GOOD = [
    ("mysql://app@127.0.0.1:3307/shop", Target("app", "127.0.0.1", "127.0.0.1", 3307, None, "shop")),
    ("mysql://app@127.0.0.1", Target("app", "127.0.0.1", "127.0.0.1")),
    ("mariadb://app@127.0.0.1/", Target("app", "127.0.0.1", "127.0.0.1")),
    ("mysql://a%40b@127.0.0.1/d%2Fx", Target("a@b", "127.0.0.1", "127.0.0.1", db="d/x")),
    ("mysql://app@/shop?socket=/run/my%20sql.sock", Target("app", socket="/run/my sql.sock", db="shop")),
    ("mysql://app@db.invalid/shop?socket=/s", Target("app", socket="/s", db="shop")),
    ("mysql://app@[::1]:3307", Target("app", "::1", "::1", 3307)),
]


@pytest.mark.parametrize(("url", "target"), GOOD, ids=[row[0] for row in GOOD])
def test_url(url: str, target: Target) -> None:
    """A URL gives user, address, port, schema and socket; a socket wins over a host."""
    assert parse_target(url, environ={}) == target


BAD = [
    ("app@host", "expected mysql://"),
    ("mysql://app@[::1/shop", "expected mysql://"),
    ("mysql://app@ho]st/shop", "expected mysql://"),
    ("postgres://app@host", "expected mysql://"),
    ("mysql://app:secret@host", "every user of this machine can see a password"),
    ("mysql://app:@host", "every user of this machine can see a password"),
    ("mysql://app@", "expected a host or a socket"),
    ("mysql://app@host:99999", "expected a port"),
    ("mysql://app@host?ssl=1", "expected only"),
]


@pytest.mark.parametrize(("url", "message"), BAD, ids=[row[0] for row in BAD])
def test_bad_url(url: str, message: str) -> None:
    """A URL that cannot be a target says what was expected, and never repeats a password."""
    with pytest.raises(InputError, match=message) as error:
        parse_target(url, environ={})
    assert "secret" not in str(error.value)


def test_unknown_host() -> None:
    """A host without an address is named."""
    with pytest.raises(TargetError, match=r"cannot resolve the host 'nowhere\.invalid'"):
        parse_target("mysql://app@nowhere.invalid", environ={})


def test_option_file(tmp_path: Path) -> None:
    """[client] is read, then the group asked for; the URL wins over both."""
    file = tmp_path / "my.cnf"
    file.write_text(
        "!includedir /etc/x\n[client]\nuser = fromfile\npassword='a # b'\nhost=127.0.0.1 # here\nskip-ssl\n"
        "[stage]\nport=3399\nhost=127.0.0.2\n"
    )
    plain = parse_target("mysql://app@/shop", Login(file), environ={})
    assert (plain.user, plain.host, plain.port, plain.password) == ("app", "127.0.0.1", 3306, "a # b")
    stage = parse_target("mysql:///shop", Login(file, "stage"), environ={})
    assert (stage.user, stage.host, stage.port, stage.db) == ("fromfile", "127.0.0.2", 3399, "shop")
    with pytest.raises(InputError, match=r"has no group \[live\]"):
        parse_target("mysql:///shop", Login(file, "live"), environ={})


def test_option_file_is_missing(tmp_path: Path) -> None:
    """A missing option file is an error, not an empty one."""
    with pytest.raises(InputError, match="cannot be read as an option file"):
        parse_target("mysql://app@127.0.0.1", Login(tmp_path / "none.cnf"), environ={})


def test_password_from_environment() -> None:
    """QUERYTAPE_PASSWORD goes before MYSQL_PWD, and no password is ever shown."""
    both = {"MYSQL_PWD": "one", "QUERYTAPE_PASSWORD": "two"}
    target = parse_target("mysql://app@127.0.0.1", environ=both)
    assert target.password == "two"
    assert parse_target("mysql://app@127.0.0.1", environ={"MYSQL_PWD": "one"}).password == "one"
    assert "two" not in repr(target) + target.name


def test_prompt(monkeypatch: pytest.MonkeyPatch) -> None:
    """--ask-password asks, and what was typed wins."""
    monkeypatch.setattr("getpass.getpass", lambda prompt: f"typed for {prompt}")
    target = parse_target("mysql://app@127.0.0.1", Login(ask_password=True), environ={"MYSQL_PWD": "one"})
    assert target.password == "typed for Password of app on 127.0.0.1: "


def test_no_server_there() -> None:
    """A target that refuses connections is told in one line with a hint."""
    with pytest.raises(TargetError, match=r"cannot connect to app@127\.0\.0\.1:1: .*Check that the server is running"):
        Target("app", "127.0.0.1", "127.0.0.1", 1).connect(2)


def test_error_of_a_closed_connection() -> None:
    """What the driver says of a connection that an earlier error closed is `0` and nothing."""
    assert fault_text(pymysql.err.InterfaceError(0, "")) == "the connection is closed"
    assert fault_text(pymysql.err.OperationalError(1045, "Access denied")) == "1045 Access denied"


def test_a_local_target() -> None:
    """A socket and addresses of the loopback are this machine; others are not."""
    assert Target("u", socket="/s").is_local
    assert Target("u", "localhost", "127.0.1.1").is_local
    assert Target("u", "localhost", "::1").is_local
    assert not Target("u", "db", "10.0.0.7").is_local
