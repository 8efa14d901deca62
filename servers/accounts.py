# SPDX-License-Identifier: Apache-2.0
"""Accounts for the tape's users, from a file: their passwords are on no tape and no command line."""

import configparser
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import InputError
from .target import Target, option_value


@dataclass(frozen=True)
class Account:
    """Whom a session logs in as; the password is never shown."""

    user: str
    password: str | None = field(default=None, repr=False)


def read_accounts(path: Path) -> dict[str, Account]:
    """Return user of the tape -> account on the target.

    A section is named as the user on the tape; `password`, and `user` where the target has another name.
    Raises InputError for a file that others can read, or that is no such file.
    """
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), strict=True)
    try:
        mode = path.stat().st_mode
        parser.read_string(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError, configparser.Error) as fault:
        reason = str(fault).replace("\n", " ")
        raise InputError(f"--users {path}: can't be read as sections [user] with password = ...: {reason}") from fault
    if mode & 0o077:
        raise InputError(f"--users {path}: it holds passwords, and others may read it: chmod 600 {path}")
    found = {}
    for name in parser.sections():
        unknown = sorted(set(parser[name]) - {"user", "password"})
        if unknown:
            raise InputError(f"--users {path}: [{name}] has {unknown[0]!r}; expected user and password")
        password = parser[name].get("password")
        found[name] = Account(parser[name].get("user", name), None if password is None else option_value(password))
    return found


def log_in_as(target: Target, account: Account) -> None:
    """Log in once, so that a wrong password is known before anything is sent. Raises TargetError."""
    replace(target, user=account.user, password=account.password).connect().close()
