# SPDX-License-Identifier: Apache-2.0
"""Accounts for the users of a tape."""

from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.servers.accounts import Account, read_accounts


def write(tmp_path: Path, text: str, mode: int = 0o600) -> Path:
    """Return a file of accounts."""
    path = tmp_path / "users.ini"
    path.write_text(text)
    path.chmod(mode)
    return path


def test_accounts(tmp_path: Path) -> None:
    """A section for each user of the tape; another name on the target where `user` says so; no password is shown."""
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
        ("[app]\npassword=x\n", 0o640, "others can read it: chmod 600"),
        ("[app]\npasswort=x\n", 0o600, r"\[app\] has 'passwort'; expected user and password"),
        ("password=x\n", 0o600, r"cannot be read as sections \[user\]"),
        ("[app]\n[app]\n", 0o600, r"cannot be read as sections \[user\]"),
    ],
)
def test_refused(tmp_path: Path, text: str, mode: int, message: str) -> None:
    """A file that others can read, or that is no such file, is refused in a sentence."""
    with pytest.raises(InputError, match=message):
        read_accounts(write(tmp_path, text, mode))


def test_missing_file(tmp_path: Path) -> None:
    """A file that is not there is named."""
    with pytest.raises(InputError, match=r"--users .*none.ini: cannot be read"):
        read_accounts(tmp_path / "none.ini")
