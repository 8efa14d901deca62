# SPDX-License-Identifier: Apache-2.0
"""Change a server's settings so that its log holds everything, and set them back.

The restore file is written and synced before the first change, and removed when everything is set back: whatever kills
this process, `capture server URL --restore` finds what to do.
"""

import hashlib
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...common.errors import InputError, RefusedError
from ...servers.target import fault_text

# Set where the server has them: MySQL, MariaDB and Percona Server have different ones.
WANTED = {
    "long_query_time": "0",
    "min_examined_row_limit": "0",
    "log_slow_extra": "ON",
    "log_slow_admin_statements": "ON",
    "log_slow_rate_limit": "1",
    "log_slow_filter": "",
    "log_slow_disabled_statements": "sp",
    "slow_query_log_use_global_control": "all",
}
SWITCHES = {"file": "slow_query_log", "table": "slow_query_log", "general": "general_log"}


@dataclass(frozen=True)
class Change:
    """A change of a global variable, in its texts before and after."""

    name: str
    before: str
    wanted: str


@dataclass(frozen=True)
class RestoreFile:
    """What a restore file holds: the server, what was changed there and when, the path of our own log there."""

    server: str
    identity: str
    at: str
    changes: tuple[Change, ...]
    log_file: str | None


def plan_changes(variables: Mapping[str, str], method: str, log_file: str | None) -> tuple[Change, ...]:
    """Return what has to change, in the order of setting: the log itself is switched on last."""
    wanted = dict(WANTED) if method != "general" else {}
    wanted["log_output"] = "FILE" if method == "file" else "TABLE"
    if log_file is not None:
        wanted["slow_query_log_file"] = log_file
    wanted[SWITCHES[method]] = "ON"
    changes = []
    for name, value in wanted.items():
        before = variables.get(name)
        if before is None or same(before, value):
            continue
        if name == "log_output" and value in before.upper().split(","):
            continue
        changes.append(Change(name, before, value))
    return tuple(changes)


def same(a: str, b: str) -> bool:
    """Return whether two values of a variable mean the same: ON is 1, 0.000000 is 0."""
    words = {"ON": "1", "OFF": "0", "TRUE": "1", "FALSE": "0"}
    a, b = (words.get(text.upper(), text.upper()) for text in (a, b))
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


def set_global(con: "Connection[Any]", name: str, value: str) -> None:
    """Set a global variable. Raises RefusedError where the server refuses."""
    number = value.replace(".", "", 1).isdigit()
    try:
        with con.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {name} = {value if number else '%s'}", () if number else (value,))
    except pymysql.err.MySQLError as error:
        raise RefusedError(
            f"the server refused SET GLOBAL {name} = {value!r}: {fault_text(error)}; the account needs"
            " SYSTEM_VARIABLES_ADMIN or SUPER; a managed server takes it from its parameter group"
        ) from error


def global_value(con: "Connection[Any]", name: str) -> str | None:
    """Return a variable as the server has it now, None where it has none of that name."""
    with con.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES LIKE %s", (name.replace("_", r"\_"),))
        row = cursor.fetchone()
    return None if row is None else str(row[1])


def restore(con: "Connection[Any]", changes: Sequence[Change]) -> list[str]:
    """Set changes back, the last first; return sentences of what was refused, or was set by somebody else since."""
    left = []
    for change in reversed(changes):
        now = global_value(con, change.name)
        if now is None or same(now, change.before):
            continue
        if not same(now, change.wanted):
            left.append(
                f"{change.name} is {now!r} now, neither as before ({change.before!r}) nor as querytape set it:"
                " it is left so"
            )
            continue
        try:
            set_global(con, change.name, change.before)
        except RefusedError as error:
            left.append(str(error))
    return left


def default_restore_file(identity: str) -> Path:
    """Return the path of a server's restore file, in the user's state folder (XDG)."""
    state = os.environ.get("XDG_STATE_HOME") or str(Path.home() / ".local" / "state")
    return Path(state) / "querytape" / "restore" / f"{hashlib.sha256(identity.encode()).hexdigest()[:16]}.json"


def write_restore_file(path: Path, saved: RestoreFile) -> None:
    """Write a restore file; it is on the disk when this returns. Raises InputError where one exists."""
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    text = json.dumps(asdict(saved), indent=1) + "\n"
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError as error:
        raise InputError(
            f"{path}: an earlier capture of this server was not restored: run"
            f" `querytape capture server {saved.server} --restore` first"
        ) from error
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
    with os.fdopen(handle, "w", encoding="utf-8") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    folder = os.open(path.parent, os.O_RDONLY)
    os.fsync(folder)
    os.close(folder)


def read_restore_file(path: Path) -> RestoreFile:
    """Return what a restore file holds. Raises InputError where it is missing or damaged."""
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        changes = tuple(Change(**change) for change in values.pop("changes"))
        return RestoreFile(changes=changes, **values)
    except FileNotFoundError as error:
        raise InputError(f"{path}: there is nothing to restore: no capture of this server was cut off") from error
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise InputError(f"{path}: not a restore file: {error}") from error
