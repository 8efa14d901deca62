# SPDX-License-Identifier: Apache-2.0
"""Change a server's settings so that its log holds everything, and set them back.

The log's place is changed before its thresholds and set back after them: the server's own log never sees a statement
that only the capture asked for.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...common.errors import RefusedError
from ...servers.target import fault_text

# Percona Server's: sessions use the global values of the slow log's settings, those that were open before, too.
GLOBAL_CONTROL = "slow_query_log_use_global_control"
MAX_LENGTH = "log_slow_max_query_length"  # of MariaDB 13.1: longer statements are left out
# Set where the server has them: MySQL, MariaDB and Percona Server have different ones.
WANTED = {
    "long_query_time": "0",
    "min_examined_row_limit": "0",
    "log_slow_extra": "ON",
    "log_slow_admin_statements": "ON",
    "log_slow_rate_limit": "1",
    "log_slow_filter": "",
    "log_slow_disabled_statements": "sp",
    MAX_LENGTH: str(1 << 30),  # max_allowed_packet ends there
    GLOBAL_CONTROL: "all",
}
# Settings of which a session has its own copy, made when it connects.
COPIED = frozenset(WANTED) & {
    *("long_query_time", "min_examined_row_limit", "log_slow_rate_limit", "log_slow_filter"),
    *("log_slow_disabled_statements", MAX_LENGTH),
}
SWITCHES = {"file": "slow_query_log", "table": "slow_query_log", "general": "general_log"}

# A change is made when the capture begins and taken back when it ends; but
# CONTROL is taken back only when no session carries the capture's settings (Percona Server's global control
# makes sessions use the global threshold), and HOLD is also made only when the capture ends: the server's own slow
# log, which was on, stays off as long as sessions would write every statement into it.
# RESET is of a parameter group alone: what it does not set is taken back by a reset, not by a value.
BEGIN, CONTROL, HOLD, RESET = "begin", "control", "hold", "reset"


@dataclass(frozen=True)
class Change:
    """A change of a global variable, in its texts before and after; `role`: BEGIN, CONTROL, HOLD or RESET."""

    name: str
    before: str
    wanted: str
    role: str = BEGIN


def plan_changes(variables: Mapping[str, str], method: str, log_file: str | None) -> tuple[Change, ...]:
    """Return what has to change, in the order of setting: the log's place first, its switch last; then what to hold."""
    wanted = {"log_output": "FILE" if method == "file" else "TABLE"}
    if log_file is not None:
        wanted["slow_query_log_file"] = log_file
    if method != "general":
        wanted |= WANTED
    if method == "table":
        del wanted["log_slow_extra"]  # the table has no columns for it: nothing would change but the setting
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
    """Return whether the server writes a slow log of its own."""
    return same(variables.get("slow_query_log", "OFF"), "ON") and variables.get("log_output", "").upper() != "NONE"


def same(a: str, b: str) -> bool:
    """Return whether two values of a variable mean the same: ON is 1, 0.000000 is 0. Paths are exact."""
    if "/" in a + b:
        return a == b
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
            f"the server refused SET GLOBAL {name} = {value!r}: {fault_text(error)}. The account needs"
            " SYSTEM_VARIABLES_ADMIN or SUPER. On a managed server, change the parameter group instead"
        ) from error


def global_value(con: "Connection[Any]", name: str) -> str | None:
    """Return a variable as the server has it now, None where it has none of that name."""
    with con.cursor() as cursor:
        cursor.execute("SHOW GLOBAL VARIABLES LIKE %s", (name.replace("_", r"\_"),))
        row = cursor.fetchone()
    return None if row is None else str(row[1])


@dataclass(frozen=True)
class Left:
    """What was not set back, `changed` meanwhile by somebody else, which stays; `refused` by the server."""

    changed: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    def __add__(self, other: "Left") -> "Left":
        return Left(self.changed + other.changed, self.refused + other.refused)


def restore(con: "Connection[Any]", changes: Sequence[Change]) -> Left:
    """Set changes back, the last first; return what the server refused, or was set by somebody else since."""
    left = Left()
    for change in reversed(changes):
        now = global_value(con, change.name)
        if now is None or same(now, change.before):
            continue
        if not same(now, change.wanted):
            left += Left(
                changed=(
                    f"{change.name} is now {now!r}: somebody else changed it, so querytape does not restore"
                    f" {change.before!r}",
                )
            )
            continue
        try:
            set_global(con, change.name, change.before)
        except RefusedError as error:
            left += Left(refused=(str(error),))
    return left
