# SPDX-License-Identifier: Apache-2.0
"""Read MySQL option files (groups of `name = value` lines), and the file of accounts for a tape's users.

Passwords belong in these files, so tapes and command lines contain no passwords.
"""

import configparser
import re
from dataclasses import dataclass, field
from pathlib import Path

from ..common.errors import InputError

ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}


def read_options(path: Path, group: str | None = None) -> dict[str, str]:
    """Return the options of [client] and of `group`. Options of `group` override those of [client].

    Names have underscores instead of dashes. `!include` lines are not followed. Raises InputError if the file or the
    group is missing, or if the file is invalid.
    """
    parser = configparser.ConfigParser(
        allow_no_value=True, strict=False, interpolation=None, delimiters=("=",), empty_lines_in_values=False
    )
    parser.optionxform = lambda name: name.strip().replace("-", "_").lower()  # type: ignore[assignment,method-assign]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        parser.read_string("\n".join(line.strip() for line in lines if not line.lstrip().startswith("!")), str(path))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        reason = str(error).replace("\n", " ")
        raise InputError(f"--defaults-file {path}: cannot be read as an option file: {reason}") from error
    if group is not None and not parser.has_section(group):
        raise InputError(f"--defaults-group {group}: {path} has no group [{group}]")
    options: dict[str, str] = {}
    for section in ("client", group):
        if section and parser.has_section(section):
            options.update({name: option_value(value or "") for name, value in parser.items(section)})
    return options


def option_value(text: str) -> str:
    """Return an option's value as MySQL reads it: without quotes and trailing comment, with escapes resolved."""
    text = text.strip()
    quoted = re.match(r"""(["'])(.*)\1\s*(#.*)?$""", text)
    bare = quoted[2] if quoted else text.split("#", 1)[0].rstrip()
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[0]), bare)


@dataclass(frozen=True)
class Account:
    """An account that sessions log in as. The password is never shown."""

    user: str
    password: str | None = field(default=None, repr=False)


def read_accounts(path: Path) -> dict[str, Account]:
    """Return the target's account for each user of the tape.

    The file has one section per user of the tape. A section contains `password`. It also contains `user` if the user
    has another name on the target. Raises InputError if other users can read the file, or if the file is invalid.
    """
    parser = configparser.ConfigParser(interpolation=None, delimiters=("=",), strict=True)
    try:
        mode = path.stat().st_mode
        parser.read_string(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError, configparser.Error) as error:
        reason = str(error).replace("\n", " ")
        raise InputError(
            f"--users {path}: cannot be read: {reason} (expected sections [user] with password = ...)"
        ) from error
    if mode & 0o077:
        raise InputError(f"--users {path}: other users can read the passwords in this file. Run chmod 600 {path}")
    accounts = {}
    for name in parser.sections():
        unknown = sorted(set(parser[name]) - {"user", "password"})
        if unknown:
            raise InputError(f"--users {path}: section [{name}]: expected user or password, found {unknown[0]!r}")
        password = parser[name].get("password")
        accounts[name] = Account(parser[name].get("user", name), None if password is None else option_value(password))
    return accounts
