# SPDX-License-Identifier: Apache-2.0
"""Change the settings of a server so that its log contains every statement, and restore the settings afterwards.

The log destination is changed before the thresholds and restored after the thresholds. The server's own log therefore
never receives statements that only the capture requested.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...common.errors import RefusedError
from ...servers.target import fault_text

# Percona Server variable: all sessions, even sessions from before the change, use the global slow log settings.
GLOBAL_CONTROL = "slow_query_log_use_global_control"
MAX_LENGTH = "log_slow_max_query_length"  # MariaDB 13.1 omits longer statements from the log
# Each setting is changed only if the server has it. MySQL, MariaDB and Percona Server have different settings.
WANTED = {
    "long_query_time": "0",
    "min_examined_row_limit": "0",
    "log_slow_extra": "ON",
    "log_slow_admin_statements": "ON",
    "log_slow_rate_limit": "1",
    "log_slow_filter": "",
    "log_slow_disabled_statements": "sp",
    MAX_LENGTH: str(1 << 30),  # the maximum of max_allowed_packet, in bytes
    GLOBAL_CONTROL: "all",
}
# Settings that each session copies when it connects.
COPIED = frozenset(WANTED) & {
    *("long_query_time", "min_examined_row_limit", "log_slow_rate_limit", "log_slow_filter"),
    *("log_slow_disabled_statements", MAX_LENGTH),
}
SWITCHES = {"file": "slow_query_log", "table": "slow_query_log", "general": "general_log"}

# Roles of a change. BEGIN: made at the start of the capture and reverted at the end of the capture.
#
# CONTROL: reverted only when no session has the capture's settings. The global control of Percona Server has this role.
# It makes sessions use the global threshold.
#
# HOLD: made at the end of the capture. The server's own slow log stays off while sessions would write every statement
# into it.
#
# RESET: a parameter that was not set in a parameter group. A reset of the parameter reverts the change.
BEGIN, CONTROL, HOLD, RESET = "begin", "control", "hold", "reset"


@dataclass(frozen=True)
class Change:
    """A change of a global variable with its old and new value as text. `role`: BEGIN, CONTROL, HOLD or RESET."""

    name: str
    before: str
    wanted: str
    role: str = BEGIN


def plan_changes(variables: Mapping[str, str], method: str, log_file: str | None) -> tuple[Change, ...]:
    """Return the needed changes in the order to set them: log destination first, log switch last, then HOLD changes."""
    wanted = {"log_output": "FILE" if method == "file" else "TABLE"}
    if log_file is not None:
        wanted["slow_query_log_file"] = log_file
    if method != "general":
        wanted |= WANTED
    if method == "table":
        del wanted["log_slow_extra"]  # the table mysql.slow_log has no columns for the extra fields
    wanted[SWITCHES[method]] = "ON"
    own = method != "general" and own_log_is_on(variables)
    changes = []
    for name, value in wanted.items():
        before = variables.get(name)
        if before is None or same(before, value) or (name == MAX_LENGTH and _is_longer(before, value)):
            continue
        role = CONTROL if own and name == GLOBAL_CONTROL else BEGIN
        changes.append(Change(name, before, value, role))
    if own and GLOBAL_CONTROL not in variables and any(change.name in COPIED for change in changes):
        changes.append(Change("slow_query_log", variables["slow_query_log"], "OFF", HOLD))
    return tuple(changes)


def _is_longer(before: str, wanted: str) -> bool:
    return before.isdigit() and int(before) > int(wanted)


def own_log_is_on(variables: Mapping[str, str]) -> bool:
    """Return whether the server already writes its own slow log."""
    return same(variables.get("slow_query_log", "OFF"), "ON") and variables.get("log_output", "").upper() != "NONE"


def same(a: str, b: str) -> bool:
    """Return whether two values of a variable are equal. ON equals 1, and 0.000000 equals 0.

    Paths must match exactly.
    """
    if "/" in a + b:
        return a == b
    words = {"ON": "1", "OFF": "0", "TRUE": "1", "FALSE": "0"}
    a, b = (words.get(text.upper(), text.upper()) for text in (a, b))
    try:
        return float(a) == float(b)
    except ValueError:
        return a == b


def set_global(con: "Connection[Any]", name: str, value: str) -> None:
    """Set a global variable. Raises RefusedError if the server refuses."""
    number = value.replace(".", "", 1).isdigit()
    try:
        with con.cursor() as cursor:
            cursor.execute(f"SET GLOBAL {name} = {value if number else '%s'}", () if number else (value,))
    except pymysql.err.MySQLError as error:
        raise RefusedError(
            f"the server refused SET GLOBAL {name} = {value!r}: {fault_text(error)}. The account needs"
            " SYSTEM_VARIABLES_ADMIN or SUPER. On a managed server, change the parameter group instead"
        ) from error


def global_value(con: "Connection[Any]", name: str) -> str | None:
    """Return the current value of a global variable. Return None if the server does not have the variable."""
    with con.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES LIKE %s", (name.replace("_", r"\_"),))
        row = cursor.fetchone()
    return None if row is None else str(row[1])


@dataclass(frozen=True)
class Left:
    """Messages about settings that were not restored. `changed`: someone else set a new value, and this value stays.

    `refused`: the server refused the old value.
    """

    changed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def __add__(self, other: "Left") -> "Left":
        return Left(self.changed + other.changed, self.refused + other.refused)


def restore(con: "Connection[Any]", changes: Sequence[Change]) -> Left:
    """Revert changes, last change first. Return the refused changes and the values that someone else has set since."""
    left = Left()
    for change in reversed(changes):
        now = global_value(con, change.name)
        if now is None or same(now, change.before):
            continue
        if not same(now, change.wanted):
            left += Left(
                changed=(
                    f"somebody else changed {change.name} to {now!r}, so querytape does not restore {change.before!r}",
                )
            )
            continue
        try:
            set_global(con, change.name, change.before)
        except RefusedError as error:
            left += Left(refused=(str(error),))
    return left
