# SPDX-License-Identifier: Apache-2.0
"""Tests of option files. They are read in the same way as by the MySQL programs."""

from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.servers.option_files import Account, option_value, read_accounts, read_options


def test_second_option_group_overrides_the_client_group(tmp_path: Path) -> None:
    """Option names are returned with underscores. An option without a value is an empty text."""
    file = tmp_path / "my.cnf"
    file.write_text(
        "!includedir /etc/x\n[mysqld]\nport = 1\n[client]\nuser=app\n  ssl-ca = /ca.pem\nskip-ssl\n[stage]\nuser='two'\n"
    )
    assert read_options(file) == {"user": "app", "ssl_ca": "/ca.pem", "skip_ssl": ""}
    assert read_options(file, "stage")["user"] == "two"


def test_missing_file_or_group_is_an_error(tmp_path: Path) -> None:
    """A file in another format is also an error."""
    file = tmp_path / "my.cnf"
    with pytest.raises(InputError, match="cannot be read as an option file"):
        read_options(file)
    file.write_text("[client]\n")
    with pytest.raises(InputError, match=r"--defaults-group live: .*has no group \[live\]"):
        read_options(file, "live")
    file.write_text("user = before any group\n")
    with pytest.raises(InputError, match="cannot be read as an option file"):
        read_options(file)


@pytest.mark.parametrize(
    ("text", "value"),
    [("plain", "plain"), ("'a b'", "a b"), ('"q#1" # c', "q#1"), ("a#b", "a"), (r"a\sb\\c", r"a b\c"), (r"\q", r"\q")],
)
def test_option_value_is_unquoted(text: str, value: str) -> None:
    assert option_value(text) == value


def write(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    """Write and return a file of accounts."""
    path = tmp_path / "users.ini"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_accounts_are_read_by_section(tmp_path: Path) -> None:
    """Each user of the tape has a section. The `user` entry gives the name of the account on the target. repr() hides
    the password.
    """
    path = write(tmp_path, "[app]\npassword = 'a # b'\n[batch]\nuser = batch2\npassword=%x\n[guest]\n")
    accounts = read_accounts(path)
    assert accounts == {
        "app": Account("app", "a # b"),
        "batch": Account("batch2", "%x"),
        "guest": Account("guest", None),
    }
    assert "a # b" not in repr(accounts)


@pytest.mark.parametrize(
    ("text", "mode", "message"),
    [
        ("[app]\npassword=x\n", 0o640, r"other users can read .*\. Run chmod 600"),
        ("[app]\npasswort=x\n", 0o600, r"\[app\]: expected user or password, found 'passwort'"),
        ("password=x\n", 0o600, r"expected sections \[user\]"),
        ("[app]\n[app]\n", 0o600, r"expected sections \[user\]"),
    ],
)
def test_invalid_account_file_is_refused(tmp_path: Path, text: str, mode: int, message: str) -> None:
    """A file that other users can read is also refused."""
    with pytest.raises(InputError, match=message):
        read_accounts(write(tmp_path, text, mode))


def test_missing_account_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--users .*none.ini: cannot be read"):
        read_accounts(tmp_path / "none.ini")
