# SPDX-License-Identifier: Apache-2.0
"""Query a server for the open sessions of its clients and their state.

docs/sources/open-sessions.md has a table of the available state.

Nothing is changed on the server. State that the server does not show is None or absent, never a default value.
"""

import ipaddress
import time
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from pymysql.connections import Connection

from .facts import SYSTEM_USERS
from .queries import Rows, query_or_none, whole

MAX_SESSIONS = 100_000
MAX_STATEMENTS = 1_000_000
# Length limit in bytes of a prepared statement's text in performance_schema. Longer texts may be cut inside a
# character.
SHOWN_BYTES = 1024
LARGEST_CHARACTER = 4
NOT_CLIENTS = frozenset({"Daemon", "Binlog Dump", "Binlog Dump GTID", "Connect"})

PREPARED_STATEMENTS = "prepared statements"  # a value of `not_shown`
CHARSETS = ("character_set_client", "character_set_connection", "character_set_results", "collation_connection")
# Session variables that are restored if they differ from the server's global value, in this order.
RESTORED = (
    "sql_mode", "time_zone", "transaction_isolation", "tx_isolation", "transaction_read_only", "foreign_key_checks",
    "unique_checks", "group_concat_max_len", "sql_select_limit", "sql_safe_updates", "sql_auto_is_null",
    "lc_time_names", "default_week_format", "div_precision_increment", "auto_increment_increment",
    "auto_increment_offset", "max_execution_time", "innodb_lock_wait_timeout", "lock_wait_timeout", "optimizer_switch",
    "autocommit",
)  # fmt: skip

PROCESSES = "SELECT ID, USER, HOST, DB, COMMAND FROM information_schema.PROCESSLIST"
OF_THREAD = "JOIN performance_schema.threads t ON t.THREAD_ID = {} WHERE t.PROCESSLIST_ID IS NOT NULL"
SOCKETS = (
    "SELECT t.PROCESSLIST_ID, s.IP, s.PORT FROM performance_schema.socket_instances s "
    + OF_THREAD.format("s.THREAD_ID")
    + " AND s.PORT > 0"
)
VARIABLES = (
    "SELECT t.PROCESSLIST_ID, v.VARIABLE_NAME, v.VARIABLE_VALUE FROM performance_schema.variables_by_thread v "
    + OF_THREAD.format("v.THREAD_ID")
    + f" AND v.VARIABLE_NAME IN ({', '.join(repr(name) for name in (*CHARSETS, *RESTORED))})"
)
USER_VARIABLES = (
    "SELECT t.PROCESSLIST_ID, v.VARIABLE_NAME, v.VARIABLE_VALUE FROM performance_schema.user_variables_by_thread v "
    + OF_THREAD.format("v.THREAD_ID")
    + " ORDER BY t.PROCESSLIST_ID, v.VARIABLE_NAME"
)
PREPARED = (
    "SELECT t.PROCESSLIST_ID, p.STATEMENT_ID, p.STATEMENT_NAME, p.SQL_TEXT"
    " FROM performance_schema.prepared_statements_instances p "
    + OF_THREAD.format("p.OWNER_THREAD_ID")
    + " ORDER BY t.PROCESSLIST_ID, p.STATEMENT_ID"
)
LOST = "SHOW GLOBAL STATUS LIKE 'Performance_schema_prepared_statements_lost'"
IDS = "SELECT COLLATION_NAME, ID FROM information_schema.COLLATIONS WHERE ID IS NOT NULL"
OWN = "SELECT CONNECTION_ID()"
UPTIME = "SHOW GLOBAL STATUS LIKE 'Uptime'"


@dataclass(frozen=True)
class PreparedText:
    """A prepared statement: the protocol's statement id, the name from a PREPARE statement, and the text.

    `text` is None if the server shows no text or only a part of it.
    """

    id: int
    name: str | None
    text: str | None


@dataclass(frozen=True)
class OpenSession:
    """A client's session as the server shows it now. `variables` and `user_variables` are None if they are not shown.

    `address` and `port` of the client are None if they are unknown or the client uses a Unix socket. `collation`: the
    id of collation_connection.
    """

    thread_id: int
    user: str
    db: str
    address: str | None = None
    port: int | None = None
    variables: Mapping[str, str] | None = None
    collation: int | None = None
    user_variables: Mapping[str, bytes | None] | None = None
    prepared: Sequence[PreparedText] | None = None


@dataclass(frozen=True)
class OpenSessions:
    """The sessions of a server by thread id.

    - `not_shown`: kinds of state that the server shows for no session.
    - `started_s`: the server did not start before this moment, in seconds since the epoch by this machine's clock. None
      means unknown.
    - `lost`: number of prepared statements that the server could not show because of a memory limit.
    """

    sessions: Sequence[OpenSession]
    global_variables: Mapping[str, str] = field(default_factory=dict)
    not_shown: Sequence[str] = ()
    started_s: float | None = None
    lost: int = 0


def ask_open_sessions(con: "Connection[Any]", global_variables: Mapping[str, str]) -> OpenSessions:
    """Return the sessions of a server's clients, except the session that runs this query.

    Raises TargetError if the connection is lost.
    """
    own = query_or_none(con, OWN)
    own_id = whole(own[0][0]) if own else None
    sessions = sessions_of(query_or_none(con, PROCESSES, 5), own_id)
    asked_s = time.time()
    uptime = query_or_none(con, UPTIME, 2)
    up_s = whole(uptime[0][1]) if uptime else None
    started_s = None if up_s is None else earliest_start(asked_s, up_s)
    if not sessions:
        return OpenSessions((), global_variables, started_s=started_s)
    shows = _shows(con)
    sockets = query_or_none(con, SOCKETS, 3) if shows else None
    variables = query_or_none(con, VARIABLES, 3) if shows else None
    user_variables = query_or_none(con, USER_VARIABLES, 3) if shows else None
    prepared = query_or_none(con, PREPARED, 4) if shows else None
    lost = query_or_none(con, LOST, 2)
    answers = {
        "variables and character sets": variables,
        "user variables": user_variables,
        PREPARED_STATEMENTS: prepared,
    }
    found = with_addresses(sessions, sockets)
    found = with_variables(found, variables, query_or_none(con, IDS, 2) if variables else None)
    found = with_values(found, user_variables)
    found = with_prepared(found, prepared)
    return OpenSessions(
        tuple(found[id_] for id_ in sorted(found)),
        global_variables,
        tuple(name for name, rows in answers.items() if rows is None),
        started_s,
        (whole(lost[0][1]) or 0) if lost else 0,
    )


def earliest_start(asked_s: float, up_s: int) -> float:
    """Return a moment before which the server did not start. The server reported the uptime `up_s` after `asked_s`.

    A server computes its uptime from two times in whole seconds. The true uptime may be almost one second longer.
    """
    return asked_s - up_s - 1


def _shows(con: "Connection[Any]") -> bool:
    """Whether performance_schema lists any thread. A disabled performance_schema lists no threads."""
    rows = query_or_none(con, "SELECT COUNT(*) FROM performance_schema.threads")
    return bool(rows and whole(rows[0][0]))


def sessions_of(rows: Rows | None, own_id: int | None) -> dict[int, OpenSession]:
    """Return the clients' sessions in a process list, with user, schema and, if shown, address and port."""
    found: dict[int, OpenSession] = {}
    for row in (rows or ())[:MAX_SESSIONS]:
        id_, user, command = whole(row[0]), text(row[1]), text(row[4])
        if id_ is None or id_ == own_id or id_ >= 1 << 62 or user in SYSTEM_USERS or command in NOT_CLIENTS:
            continue
        host, _, port = text(row[2]).rpartition(":")
        found[id_] = OpenSession(id_, user, text(row[3]), address_of(host), port_of(port) if host else None)
    return found


def text(value: object) -> str:
    """Return a server's value as text. Return '' for NULL."""
    if value is None:
        return ""
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def port_of(value: object) -> int | None:
    """Return a TCP port, or None for any other value."""
    port = whole(value)
    return port if port is not None and 0 < port < 65536 else None


def address_of(host: str) -> str | None:
    """Return an IP address in the notation used for packets, or None for a host name."""
    try:
        address = ipaddress.ip_address(host.strip("[]"))
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    return str(mapped or address)


def with_addresses(sessions: dict[int, OpenSession], sockets: Rows | None) -> dict[int, OpenSession]:
    """Add the addresses of the sessions' sockets.

    If sessions without an address share a port, they cannot be distinguished. Their port becomes None.
    """
    found = dict(sessions)
    for id_, ip, port in of_sessions(sockets, found):
        address = address_of(text(ip))
        if address is not None and port_of(port) is not None:
            found[id_] = replace(found[id_], address=address, port=port_of(port))
    ports = Counter(one.port for one in found.values() if one.port is not None)
    unclear = {one.port for one in found.values() if one.port and one.address is None and ports[one.port] > 1}
    return {id_: replace(one, port=None) if one.port in unclear else one for id_, one in found.items()}


def of_sessions(rows: Rows | None, sessions: Mapping[int, OpenSession]) -> Iterable[tuple[int, Any, Any]]:
    """Yield the thread id and the two columns after it, for each row that belongs to one of these sessions."""
    for row in rows or ():
        id_ = whole(row[0])
        if id_ is not None and id_ in sessions:
            yield id_, row[1], row[2]


def with_variables(sessions: dict[int, OpenSession], rows: Rows | None, ids: Rows | None) -> dict[int, OpenSession]:
    """Add the variables of the sessions and the ids of their collations."""
    if rows is None:
        return sessions
    numbers = {text(row[0]): whole(row[1]) for row in ids or ()}
    values: dict[int, dict[str, str]] = defaultdict(dict)
    for id_, name, value in of_sessions(rows, sessions):
        values[id_][text(name).lower()] = text(value)
    return {
        id_: replace(one, variables=values[id_], collation=numbers.get(values[id_].get("collation_connection", "")))
        if id_ in values
        else one
        for id_, one in sessions.items()
    }


def with_values(sessions: dict[int, OpenSession], rows: Rows | None) -> dict[int, OpenSession]:
    """Add the sessions' user variables."""
    if rows is None:
        return sessions
    values: dict[int, dict[str, bytes | None]] = defaultdict(dict)
    for id_, name, value in of_sessions(rows, sessions):
        values[id_][text(name)] = value.encode() if isinstance(value, str) else value
    return {id_: replace(one, user_variables=values[id_]) for id_, one in sessions.items()}


def with_prepared(sessions: dict[int, OpenSession], rows: Rows | None) -> dict[int, OpenSession]:
    """Add the sessions' prepared statements."""
    if rows is None:
        return sessions
    listed: dict[int, list[PreparedText]] = defaultdict(list)
    for row in rows[:MAX_STATEMENTS]:
        id_, number = whole(row[0]), whole(row[1])
        if id_ in sessions and number is not None and number < 1 << 32:
            name = None if row[2] is None else text(row[2])
            listed[id_].append(PreparedText(number, name, shown_text(name, row[3])))
    return {id_: replace(one, prepared=tuple(listed[id_])) for id_, one in sessions.items()}


def shown_text(name: str | None, value: object) -> str | None:
    """Return the text of a statement. Return None if the text is cut off, or hidden as `PREPARE x FROM ...`."""
    if value is None:
        return None
    shown = text(value)
    if len(shown.encode()) > SHOWN_BYTES - LARGEST_CHARACTER or "\N{REPLACEMENT CHARACTER}" in shown:
        return None
    return None if name is not None and shown.endswith(" FROM ...") else shown
