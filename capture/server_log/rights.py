# SPDX-License-Identifier: Apache-2.0
"""Check, before anything is changed, what the account may do; what it lacks is a sentence with the GRANT that mends it.

Nothing is changed by the check: SET GLOBAL is tried with a value that no server takes.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...common.text import printable
from ...servers.facts import Facts, sees_other_accounts
from ...servers.queries import query_or_none
from ...servers.target import fault_text
from .carriers import CARRYING
from .log_tables import TABLES
from .restore_file import pending_sentence
from .settings import same

PROBE = "SET GLOBAL long_query_time = 'querytape'"
ACCESS_DENIED = frozenset({1044, 1045, 1142, 1143, 1227})
RENEW = "--renew-idle"
MAY_KILL = frozenset({"SUPER", "CONNECTION_ADMIN", "CONNECTION ADMIN", "ALL PRIVILEGES"})


@dataclass(frozen=True)
class Rights:
    """What is missing, as sentences: without `needed` a capture cannot begin; without `useful` it knows less."""

    needed: tuple[str, ...]
    useful: tuple[str, ...]


def check_rights(
    con: "Connection[Any]", facts: Facts, method: str, restore_file: Path, *, changes: bool, end_sessions: str = ""
) -> Rights:
    """Return what this account lacks for a capture by `method`, and whether an earlier one waits to be restored.

    `changes`: whether any setting must change. `end_sessions`: the option that ends sessions, where one was given.
    """
    account = account_name(con)
    maria = "MariaDB" in facts.version
    needed: list[str] = []
    useful: list[str] = []
    if pending := pending_sentence(restore_file):
        needed.append(pending)
    elif not _may_write(restore_file):
        needed.append(f"{restore_file}: cannot be written: name another place with --restore-file")
    if changes and _denied(con, PROBE):
        old = maria or facts.version.startswith("5.")
        needed.append(
            f"{account} may not change settings: GRANT {'SUPER' if old else 'SYSTEM_VARIABLES_ADMIN'} ON *.* TO"
            f" {account}; a managed server takes them from its parameter group"
        )
    if method in TABLES and _denied(con, f"SELECT 1 FROM mysql.{TABLES[method]} LIMIT 0"):
        needed.append(f"{account} may not read the log's table: GRANT SELECT ON mysql.{TABLES[method]} TO {account}")
    if end_sessions and not _may_kill(facts):
        right = "CONNECTION ADMIN" if maria else "SUPER" if facts.version.startswith("5.") else "CONNECTION_ADMIN"
        needed.append(f"{end_sessions}: {account} may not end sessions: GRANT {right} ON *.* TO {account}")
    if not sees_other_accounts(con):
        (needed if end_sessions == RENEW else useful).append(
            f"{account} sees its own sessions only: GRANT PROCESS ON *.* TO {account}"
        )
    schema_on = same(facts.variables.get("performance_schema", "OFF"), "ON")
    if schema_on and not maria and query_or_none(con, f"{CARRYING} LIMIT 0", 2) is None:
        useful.append(
            f"{account} cannot see which sessions carry which settings, nor what each executes: GRANT SELECT ON"
            f" performance_schema.* TO {account}"
        )
    return Rights(tuple(needed), tuple(useful))


def account_name(con: "Connection[Any]") -> str:
    """Return the account as GRANT writes it: `'app'@'10.0.0.%'`."""
    rows = query_or_none(con, "SELECT CURRENT_USER()")
    user, _, host = printable(str(rows[0][0]) if rows else "?@?", 300).rpartition("@")
    return "'{}'@'{}'".format(user.replace("'", "''"), host.replace("'", "''"))


def _denied(con: "Connection[Any]", statement: str) -> bool:
    """Return whether the server refuses a statement for want of a right."""
    try:
        with con.cursor() as cursor:
            cursor.execute(statement)
            cursor.fetchall()
    except pymysql.MySQLError as error:
        return bool(error.args) and error.args[0] in ACCESS_DENIED and bool(fault_text(error))
    return False


def _may_kill(facts: Facts) -> bool:
    """Return whether the account may end others' sessions, as far as its grants tell: a role may hold anything."""
    may = facts.may
    return may is None or any(right.upper() in MAY_KILL or right.startswith("the role ") for right in may)


def _may_write(path: Path) -> bool:
    """Return whether a file can be made there, folders included."""
    folder = next((parent for parent in path.absolute().parents if parent.exists()), Path("/"))
    return folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)
