# SPDX-License-Identifier: Apache-2.0
"""Query the properties of a server before any event is sent. Supports MariaDB 10.x and 11.x, MySQL 5.7 to 9.x.

A query that the server rejects or does not support gives None. None means unknown, never "no".
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
# Privileges that cannot change data or the server. EXECUTE is not included, because routines may write.
READING_PRIVILEGES = frozenset(
    {
        "USAGE", "SELECT", "SHOW DATABASES", "SHOW VIEW", "PROCESS", "REPLICATION CLIENT", "REPLICATION SLAVE",
        "BINLOG MONITOR", "SLAVE MONITOR", "REPLICA MONITOR", "LOCK TABLES", "REFERENCES", "SHOW_ROUTINE",
        "SHOW CREATE ROUTINE",
    }
)  # fmt: skip
COLLATIONS = "SELECT ID, CHARACTER_SET_NAME, COLLATION_NAME FROM information_schema.COLLATIONS"
# Query that shows whether the time zone tables are loaded. No variable shows this state.
TIME_ZONES = "SELECT IF(CONVERT_TZ('2000-01-01', 'UTC', 'Europe/Berlin') IS NULL, 'empty', 'loaded')"
NAME = re.compile(r"[a-z0-9_]{1,64}")
# Queries that list replicas: in MySQL 8.0.22 and later, in MariaDB 10.5 and later, and in older versions.
REPLICA_QUERIES = ("SHOW REPLICAS", "SHOW REPLICA HOSTS", "SHOW SLAVE HOSTS")
# Tables that list InnoDB files. The first table exists in MySQL 8, the second in MariaDB and MySQL 5.7.
FILES = ("information_schema.INNODB_TABLESPACES", "information_schema.INNODB_SYS_TABLESPACES")
SPARE_PAGES = 64  # pages of a file that are not part of its indexes; smaller tables are skipped
FEW_ROWS = 1_000
MOST_ROWS = 100_000  # tables whose statistics report more rows are not counted
MOST_TABLES = 50


@dataclass(frozen=True)
class Facts:
    """Properties that a server reports. None means unknown.

    - `variables`: the global variables, and `time_zone_tables`, whose value is `loaded` or `empty`.
    - `others`: connections of other clients, by `user@host`.
    - `replicas`: number of attached replicas.
    - `may`: the account's privileges that allow more than reading. Roles are listed as they are granted.
    - `collations`: arguments of SET NAMES by collation id.
    - `statements_per_s`: mean rate since the start of the server.
    - `library`: functions loaded from libraries, and the routines and views that call them.
    - `stale`: tables that the optimizer treats as nearly empty.
    - `prepared`: XA transactions that are prepared and not ended.
    - `account`, `grants`: the account that is logged in, and its lines of SHOW GRANTS.
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
        """Return a global variable as a number. Return None if its value is not a number."""
        text = self.variables.get(name, "")
        return whole(text)

    @property
    def read_only(self) -> bool:
        """Whether the server rejects writes of ordinary accounts."""
        return self.variables.get("read_only", "OFF").upper() not in ("OFF", "0", "NO_LOCK_NO_ADMIN")

    @property
    def folds_names(self) -> bool:
        """Whether the server ignores the case of schema names."""
        return self.variables.get("lower_case_table_names", "0") != "0"


def gather(con: "Connection[Any]") -> Facts:
    """Return the properties of a server. Raises TargetError if the connection is lost or an answer is malformed."""
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
    """Return arguments of SET NAMES by collation id, such as `utf8mb4 COLLATE utf8mb4_bin`.

    Returns None if the collations are unknown.
    """
    if rows is None:
        return None
    names: dict[int, str] = {}
    for row in rows:
        number, charset, collation = whole(row[0]), str(row[1]), str(row[2])
        if number is not None and NAME.fullmatch(charset) and NAME.fullmatch(collation):
            names[number] = f"{charset} COLLATE {collation}"
    return names


def _mean_rate(status: Rows | None) -> float | None:
    """Return the mean number of statements per second since the start of the server."""
    values = {str(row[0]).lower(): whole(row[1]) for row in status or ()}
    statements, uptime = values.get("questions"), values.get("uptime")
    return statements / uptime if statements is not None and uptime else None


def identity_of(variables: dict[str, str]) -> str | None:
    """Return a text that identifies a server: MySQL's UUID, or MariaDB's uid, host name, port and data folder."""
    if variables.get("server_uuid"):
        return variables["server_uuid"]
    parts = [variables.get(name, "") for name in ("server_uid", "hostname", "port", "datadir")]
    return "|".join(parts) if all(parts[1:]) else None


def gather_processes(con: "Connection[Any]") -> Rows | None:
    """Return the whole process list. Return None if the account sees only its own threads."""
    connected = query_or_none(con, "SHOW GLOBAL STATUS LIKE 'Threads_connected'", 2)
    processes = query_or_none(con, "SHOW PROCESSLIST", 7)
    return whole_process_list(
        processes, whole(connected[0][1]) if connected else None, query_or_none(con, "SHOW GRANTS")
    )


def sees_other_accounts(con: "Connection[Any]") -> bool:
    """Whether the account sees all threads: it has PROCESS, or its process list contains another account.

    An account that is alone on the server always has a complete list. Such a list does not show whether the account can
    see other accounts.
    """
    own = str((query_or_none(con, "SELECT USER()") or [("",)])[0][0]).rpartition("@")[0]
    processes = query_or_none(con, "SHOW PROCESSLIST", 7) or ()
    return any(row[1] != own for row in processes) or _is_granted(query_or_none(con, "SHOW GRANTS"))


def _is_granted(grants: Rows | None) -> bool:
    """Whether SHOW GRANTS contains PROCESS."""
    texts = [str(row[0]).upper() for row in grants or ()]
    return any("ON *.*" in text and ("PROCESS" in text or "ALL PRIVILEGES" in text) for text in texts)


def whole_process_list(processes: Rows | None, connected: int | None, grants: Rows | None) -> Rows | None:
    """Return the process list if it is complete. Return None otherwise.

    Without PROCESS an account sees only its own threads.
    """
    if processes is None:
        return None
    if _is_granted(grants):
        return processes
    clients = [row for row in processes if row[1] not in SYSTEM_USERS and row[4] != "Daemon"]
    return processes if connected is not None and len(clients) >= connected else None


def writing_privileges(grants: Rows | None) -> tuple[str, ...] | None:
    """Return the privileges in SHOW GRANTS that allow more than reading. Roles are listed as they are granted."""
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
    """Return the number of connections by `user@host`, except querytape's connections and the server's own threads."""
    if processes is None:
        return None
    names = [
        f"{row[1]}@{str(row[2]).rsplit(':', 1)[0]}"
        for row in processes
        if row[0] != own_id and row[1] not in SYSTEM_USERS and row[4] != "Daemon"
    ]
    return dict(Counter(names))


def count_replicas(answers: Sequence[Rows | None], processes: Rows | None) -> int | None:
    """Return the number of a server's replicas.

    The number comes from the list of replicas or from the threads that send the binary log.
    """
    counts = [len(rows) for rows in answers if rows is not None]
    if processes is not None:
        counts.append(sum(str(row[4]).startswith("Binlog Dump") for row in processes))
    return max(counts, default=None)


def stale_statistics(con: "Connection[Any]") -> tuple[str, ...]:
    """Return tables with stale statistics as `schema.table`.

    Such a table has more rows than twice the number in the statistics, plus 1,000. The result is empty if the account
    may not see the statistics (needs SELECT on mysql.innodb_table_stats and PROCESS). Partitions are skipped. Raises
    TargetError if the connection is lost.
    """
    for files in FILES:
        # A file that is much larger than its indexes may also have many deleted rows. Therefore the remaining rows of
        # the table are counted.
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
    """Return whether a table has at least 2 * `rows` + FEW_ROWS rows."""
    most = 2 * rows + FEW_ROWS
    name = ".".join(f"`{part.replace('`', '``')}`" for part in (schema, table))
    counted = query_or_none(con, f"SELECT COUNT(*) FROM (SELECT 1 FROM {name} LIMIT {most}) AS some")
    return counted is not None and whole(counted[0][0]) == most
