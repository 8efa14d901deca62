# SPDX-License-Identifier: Apache-2.0
"""Tests of targets: URLs, option files and passwords."""

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
def test_url_is_parsed(url: str, target: Target) -> None:
    """A URL has a user, address, port, schema and socket. A socket overrides a host."""
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
def test_invalid_url_is_refused(url: str, message: str) -> None:
    """The message contains the expected form but never a password."""
    with pytest.raises(InputError, match=message) as error:
        parse_target(url, environ={})
    assert "secret" not in str(error.value)


def test_unknown_host_is_named() -> None:
    with pytest.raises(TargetError, match=r"cannot resolve the host 'nowhere\.invalid'"):
        parse_target("mysql://app@nowhere.invalid", environ={})


def test_url_overrides_the_option_file(tmp_path: Path) -> None:
    """The group [client] is read first. The requested group is read afterwards and overrides it."""
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


def test_missing_option_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read as an option file"):
        parse_target("mysql://app@127.0.0.1", Login(tmp_path / "none.cnf"), environ={})


def test_querytape_password_overrides_mysql_pwd() -> None:
    """repr() and the name of the target never contain the password."""
    both = {"MYSQL_PWD": "one", "QUERYTAPE_PASSWORD": "two"}
    target = parse_target("mysql://app@127.0.0.1", environ=both)
    assert target.password == "two"
    assert parse_target("mysql://app@127.0.0.1", environ={"MYSQL_PWD": "one"}).password == "one"
    assert "two" not in repr(target) + target.name


def test_typed_password_overrides_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("getpass.getpass", lambda prompt: f"typed for {prompt}")
    target = parse_target("mysql://app@127.0.0.1", Login(ask_password=True), environ={"MYSQL_PWD": "one"})
    assert target.password == "typed for Password of app on 127.0.0.1: "


def test_refused_connection_has_a_hint() -> None:
    with pytest.raises(TargetError, match=r"cannot connect to app@127\.0\.0\.1:1: .*Check that the server is running"):
        Target("app", "127.0.0.1", "127.0.0.1", 1).connect(2)


def test_error_text_of_a_closed_connection() -> None:
    """If an earlier error closed the connection, the driver reports error number `0` and an empty text."""
    assert fault_text(pymysql.err.InterfaceError(0, "")) == "the connection is closed"
    assert fault_text(pymysql.err.OperationalError(1045, "Access denied")) == "1045 Access denied"


def test_socket_and_loopback_are_local_targets() -> None:
    assert Target("u", socket="/s").is_local
    assert Target("u", "localhost", "127.0.1.1").is_local
    assert Target("u", "localhost", "::1").is_local
    assert not Target("u", "db", "10.0.0.7").is_local
