# SPDX-License-Identifier: Apache-2.0
"""What a server says of itself: asked before anything is sent. MariaDB 10.x and 11.x, MySQL 5.7 to 9.x.

A question that the account may not ask, or that the server does not know, gives None: not known, never "no".
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import pymysql
from pymysql.connections import Connection

Rows = Sequence[Sequence[Any]]

OWN_SCHEMAS = frozenset({"information_schema", "performance_schema", "mysql", "sys"})
SYSTEM_USERS = frozenset({"system user", "event_scheduler", "unauthenticated user"})
# MySQL 8.0.22 and later, MariaDB 10.5 and later, everything older.
REPLICA_QUESTIONS = ("SHOW REPLICAS", "SHOW REPLICA HOSTS", "SHOW SLAVE HOSTS")


@dataclass(frozen=True)
class Facts:
    """A server before a replay. None = it would not say."""

    version: str
    version_comment: str = ""
    hostname: str = ""
    identity: str | None = None
    variables: dict[str, str] = field(default_factory=dict)
    schemas: frozenset[str] = frozenset()
    connected: int | None = None
    others: dict[str, int] | None = None
    replicas: int | None = None
    event_scheduler: bool | None = None

    def number(self, name: str) -> int | None:
        """Return a variable as a number."""
        text = self.variables.get(name, "")
        return int(text) if text.isdigit() else None

    @property
    def read_only(self) -> bool:
        """Whether it refuses writes of ordinary accounts."""
        return self.variables.get("read_only", "OFF").upper() not in ("OFF", "0", "NO_LOCK_NO_ADMIN")

    @property
    def folds_names(self) -> bool:
        """Whether schema names are equal whatever their case."""
        return self.variables.get("lower_case_table_names", "0") != "0"


def ask(con: "Connection[Any]", question: str) -> Rows | None:
    """Return a statement's rows, None where the server refuses or does not know it."""
    try:
        with con.cursor() as cursor:
            cursor.execute(question)
            return cast(Rows, cursor.fetchall())
    except pymysql.err.DatabaseError:
        if not con.open:
            raise
        return None


def gather(con: "Connection[Any]") -> Facts:
    """Ask a server everything that a replay wants to know of it."""
    variables = {str(name): str(value) for name, value in ask(con, "SHOW GLOBAL VARIABLES") or ()}
    schemas = ask(con, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA") or ()
    connected = ask(con, "SHOW GLOBAL STATUS LIKE 'Threads_connected'")
    scheduler = variables.get("event_scheduler")
    threads = int(connected[0][1]) if connected else None
    processes = seen_whole(ask(con, "SHOW PROCESSLIST"), threads, ask(con, "SHOW GRANTS"))
    own = ask(con, "SELECT VERSION(), CONNECTION_ID()")
    return Facts(
        version=str(own[0][0]) if own else variables.get("version", "unknown"),
        version_comment=variables.get("version_comment", ""),
        hostname=variables.get("hostname", ""),
        identity=identity_of(variables),
        variables=variables,
        schemas=frozenset(str(row[0]) for row in schemas),
        connected=threads,
        others=other_users(processes, int(own[0][1]) if own else -1),
        replicas=count_replicas([ask(con, question) for question in REPLICA_QUESTIONS], processes),
        event_scheduler=None if scheduler is None else scheduler.upper() == "ON",
    )


def identity_of(variables: dict[str, str]) -> str | None:
    """Return what tells this server from every other: MySQL's UUID; for MariaDB its uid, host, port and data folder."""
    if variables.get("server_uuid"):
        return variables["server_uuid"]
    parts = [variables.get(name, "") for name in ("server_uid", "hostname", "port", "datadir")]
    return "|".join(parts) if all(parts[1:]) else None


def seen_whole(processes: Rows | None, connected: int | None, grants: Rows | None) -> Rows | None:
    """Return the process list where it is whole: without PROCESS a server shows an account its own threads only."""
    if processes is None:
        return None
    texts = [str(row[0]).upper() for row in grants or ()]
    if any("ON *.*" in text and ("PROCESS" in text or "ALL PRIVILEGES" in text) for text in texts):
        return processes
    clients = [row for row in processes if row[1] not in SYSTEM_USERS and row[4] != "Daemon"]
    return processes if connected is not None and len(clients) >= connected else None


def other_users(processes: Rows | None, own_id: int) -> dict[str, int] | None:
    """Return `user@host` -> connections of everybody but ourselves and the server's own threads."""
    if processes is None:
        return None
    names = [
        f"{row[1]}@{str(row[2]).rsplit(':', 1)[0]}"
        for row in processes
        if row[0] != own_id and row[1] not in SYSTEM_USERS and row[4] != "Daemon"
    ]
    return dict(Counter(names))


def count_replicas(answers: Sequence[Rows | None], processes: Rows | None) -> int | None:
    """Return how many replicas hang on this server: registered ones, or threads that send them the binary log."""
    known = [len(rows) for rows in answers if rows is not None]
    if processes is not None:
        known.append(sum(str(row[4]).startswith("Binlog Dump") for row in processes))
    return max(known, default=None)
