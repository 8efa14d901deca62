# SPDX-License-Identifier: Apache-2.0
"""Query what a server says of itself, before anything is sent. MariaDB 10.x and 11.x, MySQL 5.7 to 9.x.

A query that the account may not send, or that the server does not know, gives None: not known, never "no".
"""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pymysql.connections import Connection

from .library_functions import LibraryFunctions, library_functions
from .prepared import Xid, prepared_transactions
from .queries import ALL_ROWS, OWN_LIMIT, Rows, query_or_none, whole

SYSTEM_USERS = frozenset({"system user", "event_scheduler", "unauthenticated user"})
# What an account may have that can change no data and no server. EXECUTE is not among them: routines write.
READING_PRIVILEGES = frozenset(
    {
        "USAGE", "SELECT", "SHOW DATABASES", "SHOW VIEW", "PROCESS", "REPLICATION CLIENT", "REPLICATION SLAVE",
        "BINLOG MONITOR", "SLAVE MONITOR", "REPLICA MONITOR", "LOCK TABLES", "REFERENCES", "SHOW_ROUTINE",
        "SHOW CREATE ROUTINE",
    }
)  # fmt: skip
COLLATIONS = "SELECT ID, CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLLATIONS"
# Whether the tables of time zones are loaded: no variable says it.
TIME_ZONES = "SELECT IF(CONVERT_TZ('2000-01-01', 'UTC', 'Europe/Berlin') IS NULL, 'empty', 'loaded')"
NAME = re.compile(r"[a-z0-9_]{1,64}")
# MySQL 8.0.22 and later, MariaDB 10.5 and later, everything older.
REPLICA_QUERIES = ("SHOW REPLICAS", "SHOW REPLICA HOSTS", "SHOW SLAVE HOSTS")
# MySQL 8; MariaDB and MySQL 5.7.
FILES = ("information_schema.INNODB_TABLESPACES", "information_schema.INNODB_SYS_TABLESPACES")
SPARE_PAGES = 64  # which a file has besides its indexes; smaller tables are not looked at
FEW_ROWS = 1_000
MOST_ROWS = 100_000  # of the statistics: the rows of larger tables are not counted
MOST_TABLES = 50


@dataclass(frozen=True)
class Facts:
    """What a server says of itself. None = it does not say.

    `variables`: the global ones, and `time_zone_tables`, which are loaded or empty. `others`: `user@host` ->
    connections of other clients. `replicas`: how many are attached. `may`: what the account itself may do besides
    reading, by the privileges' names; roles as they are granted. `collations`: id -> what SET NAMES takes for it.
    `statements_per_s`: mean since the server's start. `library`: functions that libraries brought to it, and what
    calls one. `stale`: tables that the optimizer takes for nearly empty. `prepared`: XA transactions that nobody has
    ended. `account`, `grants`: who is logged in, and its lines of SHOW GRANTS.
    """

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
    may: tuple[str, ...] | None = None
    collations: dict[int, str] | None = None
    statements_per_s: float | None = None
    library: LibraryFunctions = field(default_factory=LibraryFunctions)
    stale: tuple[str, ...] = ()
    prepared: tuple[Xid, ...] | None = None
    account: str = ""
    grants: tuple[str, ...] = ()

    def number(self, name: str) -> int | None:
        """Return a global variable as a number, None where it is none."""
        text = self.variables.get(name, "")
        return whole(text)

    @property
    def read_only(self) -> bool:
        """Whether the server refuses writes of ordinary accounts."""
        return self.variables.get("read_only", "OFF").upper() not in ("OFF", "0", "NO_LOCK_NO_ADMIN")

    @property
    def folds_names(self) -> bool:
        """Whether the server takes schema names of different case as equal."""
        return self.variables.get("lower_case_table_names", "0") != "0"


def gather(con: "Connection[Any]") -> Facts:
    """Return what a server says of itself. Raises TargetError where the connection is lost or an answer is none."""
    query_or_none(con, ALL_ROWS)
    variables = {str(row[0]): str(row[1]) for row in query_or_none(con, "SHOW GLOBAL VARIABLES", 2) or ()}
    if variables and (zones := query_or_none(con, TIME_ZONES)):
        variables["time_zone_tables"] = str(zones[0][0])
    schemas = query_or_none(con, "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA") or ()
    connected = query_or_none(con, "SHOW GLOBAL STATUS LIKE 'Threads_connected'", 2)
    scheduler = variables.get("event_scheduler")
    threads = whole(connected[0][1]) if connected else None
    grants = query_or_none(con, "SHOW GRANTS")
    processes = whole_process_list(query_or_none(con, "SHOW PROCESSLIST", 7), threads, grants)
    query_or_none(con, OWN_LIMIT)
    own = query_or_none(con, "SELECT VERSION(), CONNECTION_ID()", 2)
    account = query_or_none(con, "SELECT CURRENT_USER()")
    own_id = whole(own[0][1]) if own else None
    return Facts(
        version=str(own[0][0]) if own else variables.get("version", "unknown"),
        version_comment=variables.get("version_comment", ""),
        hostname=variables.get("hostname", ""),
        identity=identity_of(variables),
        variables=variables,
        schemas=frozenset(str(row[0]) for row in schemas),
        connected=threads,
        others=other_users(processes, -1 if own_id is None else own_id),
        replicas=count_replicas([query_or_none(con, query) for query in REPLICA_QUERIES], processes),
        event_scheduler=None if scheduler is None else scheduler.upper() == "ON",
        may=writing_privileges(grants),
        collations=names_of_collations(query_or_none(con, COLLATIONS, 3)),
        statements_per_s=_mean_rate(
            query_or_none(con, "SHOW GLOBAL STATUS WHERE Variable_name IN ('Questions', 'Uptime')", 2)
        ),
        library=library_functions(con),
        stale=stale_statistics(con),
        prepared=prepared_transactions(con),
        account=str(account[0][0]) if account else "",
        grants=tuple(str(row[0]) for row in grants or ()),
    )


def names_of_collations(rows: Rows | None) -> dict[int, str] | None:
    """Return id -> what SET NAMES takes, such as `utf8mb4 COLLATE utf8mb4_bin`, None where the server does not say."""
    if rows is None:
        return None
    names: dict[int, str] = {}
    for row in rows:
        number, charset, collation = whole(row[0]), str(row[1]), str(row[2])
        if number is not None and NAME.fullmatch(charset) and NAME.fullmatch(collation):
            names[number] = f"{charset} COLLATE {collation}"
    return names


def _mean_rate(status: Rows | None) -> float | None:
    """Return statements a second since the server's start."""
    values = {str(row[0]).lower(): whole(row[1]) for row in status or ()}
    statements, uptime = values.get("questions"), values.get("uptime")
    return statements / uptime if statements is not None and uptime else None


def identity_of(variables: dict[str, str]) -> str | None:
    """Return what tells a server from all others: MySQL's UUID; MariaDB's uid, host, port and data folder."""
    if variables.get("server_uuid"):
        return variables["server_uuid"]
    parts = [variables.get(name, "") for name in ("server_uid", "hostname", "port", "datadir")]
    return "|".join(parts) if all(parts[1:]) else None


def gather_processes(con: "Connection[Any]") -> Rows | None:
    """Return the whole process list, None where the account sees its own threads only."""
    connected = query_or_none(con, "SHOW GLOBAL STATUS LIKE 'Threads_connected'", 2)
    processes = query_or_none(con, "SHOW PROCESSLIST", 7)
    return whole_process_list(
        processes, whole(connected[0][1]) if connected else None, query_or_none(con, "SHOW GRANTS")
    )


def sees_other_accounts(con: "Connection[Any]") -> bool:
    """Whether the account may see all threads: PROCESS is granted to it, or one of another account is in its list.

    Where it is alone on the server its list is whole, which says nothing of what it will see.
    """
    own = str((query_or_none(con, "SELECT USER()") or [("",)])[0][0]).rpartition("@")[0]
    processes = query_or_none(con, "SHOW PROCESSLIST", 7) or ()
    return any(row[1] != own for row in processes) or _is_granted(query_or_none(con, "SHOW GRANTS"))


def _is_granted(grants: Rows | None) -> bool:
    """Whether SHOW GRANTS has PROCESS."""
    texts = [str(row[0]).upper() for row in grants or ()]
    return any("ON *.*" in text and ("PROCESS" in text or "ALL PRIVILEGES" in text) for text in texts)


def whole_process_list(processes: Rows | None, connected: int | None, grants: Rows | None) -> Rows | None:
    """Return the process list where it is whole, else None: without PROCESS an account sees its own threads only."""
    if processes is None:
        return None
    if _is_granted(grants):
        return processes
    clients = [row for row in processes if row[1] not in SYSTEM_USERS and row[4] != "Daemon"]
    return processes if connected is not None and len(clients) >= connected else None


def writing_privileges(grants: Rows | None) -> tuple[str, ...] | None:
    """Return the privileges in SHOW GRANTS that allow more than reading, each once; roles as they are granted."""
    if grants is None:
        return None
    names: dict[str, None] = {}
    for row in grants:
        text = str(row[0])
        if granted := re.match(r"GRANT (.+?) ON ", text):
            listed = re.sub(r"\([^)]*\)", "", granted[1]).split(",")
            names |= {name.strip(): None for name in listed if name.strip().upper() not in READING_PRIVILEGES}
        elif granted := re.match(r"GRANT (.+) TO ", text):
            names[f"the role {granted[1]}"] = None
    return tuple(names)


def other_users(processes: Rows | None, own_id: int) -> dict[str, int] | None:
    """Return `user@host` -> connections, without our own and the server's own threads."""
    if processes is None:
        return None
    names = [
        f"{row[1]}@{str(row[2]).rsplit(':', 1)[0]}"
        for row in processes
        if row[0] != own_id and row[1] not in SYSTEM_USERS and row[4] != "Daemon"
    ]
    return dict(Counter(names))


def count_replicas(answers: Sequence[Rows | None], processes: Rows | None) -> int | None:
    """Return how many replicas a server has: registered ones, or threads that send the binary log."""
    counts = [len(rows) for rows in answers if rows is not None]
    if processes is not None:
        counts.append(sum(str(row[4]).startswith("Binlog Dump") for row in processes))
    return max(counts, default=None)


def stale_statistics(con: "Connection[Any]") -> tuple[str, ...]:
    """Return such tables as `schema.table`: they have more than twice as many rows as the statistics say, and 1,000.

    None where the account may not see it (SELECT on mysql.innodb_table_stats, PROCESS); partitions are not looked at.
    Raises TargetError where the connection is lost.
    """
    for files in FILES:
        # One whose file is much larger than its indexes may also have had its rows deleted: those that are left count.
        rows = query_or_none(
            con,
            "SELECT s.database_name, s.table_name, s.n_rows FROM mysql.innodb_table_stats s"
            f" JOIN {files} f ON f.NAME = CONCAT(s.database_name, '/', s.table_name) WHERE f.FILE_SIZE >"
            f" @@innodb_page_size * ({SPARE_PAGES} + 2 * (s.clustered_index_size + s.sum_of_other_index_sizes))"
            f" AND s.n_rows < {MOST_ROWS} ORDER BY f.FILE_SIZE DESC, 1, 2 LIMIT {MOST_TABLES}",
            3,
        )
        if rows is not None:
            found = [(str(row[0]), str(row[1]), whole(row[2]) or 0) for row in rows]
            return tuple(f"{schema}.{table}" for schema, table, n in found if _has_more(con, schema, table, n))
    return ()


def _has_more(con: "Connection[Any]", schema: str, table: str, rows: int) -> bool:
    """Return whether a table has more rows than twice so many, and FEW_ROWS."""
    most = 2 * rows + FEW_ROWS
    name = ".".join(f"`{part.replace('`', '``')}`" for part in (schema, table))
    counted = query_or_none(con, f"SELECT COUNT(*) FROM (SELECT 1 FROM {name} LIMIT {most}) AS some")
    return counted is not None and whole(counted[0][0]) == most
