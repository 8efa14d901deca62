# SPDX-License-Identifier: Apache-2.0
"""Read the accounts for a tape's users from a file: their passwords are on no tape and no command line."""

import configparser
from dataclasses import dataclass, field
from pathlib import Path

from ..common.errors import InputError
from .option_files import option_value


@dataclass(frozen=True)
class Account:
    """An account that sessions log in as; the password is never shown."""

    user: str
    password: str | None = field(default=None, repr=False)


def read_accounts(path: Path) -> dict[str, Account]:
    """Return user of the tape -> account on the target.

    The file has a section for each user on the tape, with `password`, and `user` where the target has another name.
    Raises InputError for a file that others can read, or that is no such file.
    """
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), strict=True)
    try:
        mode = path.stat().st_mode
        parser.read_string(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        reason = str(error).replace("\n", " ")
        raise InputError(f"--users {path}: cannot be read as sections [user] with password = ...: {reason}") from error
    if mode & 0o077:
        raise InputError(f"--users {path}: it has passwords, and others can read it: chmod 600 {path}")
    accounts = {}
    for name in parser.sections():
        unknown = sorted(set(parser[name]) - {"user", "password"})
        if unknown:
            raise InputError(f"--users {path}: [{name}] has {unknown[0]!r}; expected user and password")
        password = parser[name].get("password")
        accounts[name] = Account(parser[name].get("user", name), None if password is None else option_value(password))
    return accounts
