# SPDX-License-Identifier: Apache-2.0
"""Find the sessions that have the settings of a capture, and the idle sessions that lack them.

A session copies long_query_time when it connects. MySQL shows the value of each session in
performance_schema.variables_by_thread. MariaDB does not show the value. A MariaDB session may have the capture's value
if the session connected while the value was set. Session ids always grow, so the id shows when a session connected. Log
entries of a session can also prove that the session has the value.

--renew-idle ends idle sessions that were open before the capture. Their connection pool then opens new sessions, which
are logged. Sessions in transactions or with visible locks are not ended. A few sessions end per second, longest idle
first. Replication, the event scheduler and other server threads are never ended.
"""

from collections.abc import Collection, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...common.errors import RefusedError
from ...common.units import plural
from ...servers.facts import SYSTEM_USERS, gather_processes
from ...servers.queries import query_or_none, whole
from ...servers.target import fault_text

CARRYING = (
    "SELECT t.PROCESSLIST_ID, v.VARIABLE_VALUE FROM performance_schema.variables_by_thread v"
    " JOIN performance_schema.threads t USING (THREAD_ID)"
    " WHERE v.VARIABLE_NAME = 'long_query_time' AND t.PROCESSLIST_ID IS NOT NULL"
)
IN_TRANSACTION = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx"
GONE = 1094  # MySQL error ER_NO_SUCH_THREAD
MAX_SHOWN = 8
NOT_CLIENTS = frozenset({"Daemon", "Binlog Dump", "Binlog Dump GTID", "Connect"})
INSTRUMENTS = "SELECT NAME, ENABLED FROM performance_schema.setup_instruments WHERE NAME IN ('{}', '{}')"
METADATA, HANDLES = "wait/lock/metadata/sql/mdl", "wait/lock/table/sql/handler"
OWNERS = "SELECT DISTINCT t.PROCESSLIST_ID FROM performance_schema.{} x JOIN performance_schema.threads t"
# Finds idle sessions that hold a GET_LOCK, LOCK TABLES, FLUSH TABLES WITH READ LOCK or an open transaction.
METADATA_LOCKS = OWNERS.format("metadata_locks") + " ON t.THREAD_ID = x.OWNER_THREAD_ID"
TABLE_LOCKS = (
    OWNERS.format("table_handles")
    + " ON t.THREAD_ID = x.OWNER_THREAD_ID WHERE x.INTERNAL_LOCK IS NOT NULL OR x.EXTERNAL_LOCK IS NOT NULL"
)
# Requires the MariaDB plugin METADATA_LOCK_INFO.
LOCK_INFO = "SELECT DISTINCT THREAD_ID FROM information_schema.METADATA_LOCK_INFO"
ALL_LOCKS = ("GET_LOCK", "LOCK TABLES", "FLUSH TABLES WITH READ LOCK")


@dataclass(frozen=True)
class Carrier:
    """A session with the settings of the capture. If `certain` is false, the session only may have the settings.

    `idle`: the session executes no statement now.
    """

    id: int
    who: str
    certain: bool
    idle: bool

    def __str__(self) -> str:
        return f"{self.id} ({self.who})"


@dataclass(frozen=True)
class Span:
    """The range of sessions that may have the settings of the capture: ids greater than `first`, up to `last`.

    `seen`: further ids that were found in the log. `already`: excluded sessions, because they had the same value before
    the capture. `own`: excluded sessions of querytape.
    """

    first: int
    last: int
    already: frozenset[int] = frozenset()
    own: frozenset[int] = frozenset()
    seen: frozenset[int] = frozenset()


def values_by_session(con: "Connection[Any]") -> dict[int, float] | None:
    """Return long_query_time by session. Return None if the server or missing privileges hide the values."""
    rows = query_or_none(con, CARRYING, 2)
    if not rows:
        return None
    return {int(row[0]): float(row[1]) for row in rows}


def carrying_now(con: "Connection[Any]") -> tuple[int, ...]:
    """Return the sessions that log every statement now.

    Called before a capture. Someone else has set the value of these sessions.
    """
    return tuple(sorted(id_ for id_, value in (values_by_session(con) or {}).items() if value == 0.0))


def carriers(con: "Connection[Any]", span: Span) -> list[Carrier] | None:
    """Return the sessions that have or may have the settings of the capture.

    Returns None if the account cannot see other sessions.
    """
    processes = gather_processes(con)
    values = values_by_session(con)
    if processes is None:
        if values is None:
            return None
        processes = [(id_, "?", "", None, "?") for id_ in values]
    found = []
    for row in processes:
        id_, user, command = whole(row[0]) or 0, str(row[1]), str(row[4])
        if user in SYSTEM_USERS or command in ("Daemon", "Binlog Dump", "Binlog Dump GTID"):
            continue
        if id_ > span.last or id_ in span.already or id_ in span.own:
            continue
        known = values is not None and id_ in values
        certain = values[id_] == 0.0 if values is not None and known else id_ in span.seen
        if certain or (not known and id_ > span.first):
            found.append(Carrier(id_, f"{user}@{str(row[2]).rsplit(':', 1)[0]}", certain, command == "Sleep"))
    return found


def listed(found: Sequence[Carrier]) -> str:
    """Return `17 (app@web1), 18 (app@web1), and 210 more`."""
    shown = ", ".join(map(str, found[:MAX_SHOWN]))
    more = f", and {len(found) - MAX_SHOWN:,} more" if len(found) > MAX_SHOWN else ""
    return f"{shown}{more}"


def end_idle(con: "Connection[Any]", found: Iterable[Carrier]) -> list[int]:
    """End the sessions that are idle and outside transactions, and return their ids.

    Raises RefusedError if the account may not see transactions or end sessions of other accounts.
    """
    rows = query_or_none(con, IN_TRANSACTION)
    if rows is None:
        raise RefusedError("--end-sessions: this account cannot see transactions. The account needs PROCESS")
    busy = {whole(row[0]) for row in rows}
    ended = []
    for carrier in found:
        if carrier.idle and carrier.id not in busy and end_session(con, carrier.id, "--end-sessions"):
            ended.append(carrier.id)
    return ended


def end_session(con: "Connection[Any]", id_: int, option: str) -> bool:
    """End a session and return whether the session existed.

    Raises RefusedError if the account may not end the session. `option`: name of the option that requested this, for
    the message.
    """
    try:
        with closing(con.cursor()) as cursor:
            cursor.execute(f"KILL CONNECTION {id_}")
    except pymysql.MySQLError as error:
        if error.args[:1] != (GONE,):
            raise RefusedError(f"{option}: session {id_}: {fault_text(error)}") from error
        return False
    return True


@dataclass(frozen=True)
class Ended:
    """A session that --renew-idle ended, and the time."""

    id: int
    who: str
    at: str

    def as_json(self) -> dict[str, Any]:
        return {"thread_id": self.id, "account": self.who, "at": self.at}


@dataclass(frozen=True)
class Holders:
    """Sessions that hold locks. `not_shown`: kinds of locks that this server does not show."""

    ids: frozenset[int]
    not_shown: tuple[str, ...]


@dataclass
class Renewal:
    """The progress of --renew-idle. `rate`: maximum number of sessions per second, or 0 if no session may be ended.

    `ended`: sessions ended so far. `refused`: the reason why --renew-idle stopped, or "".
    """

    rate: float = 0.0
    ended: list[Ended] = field(default_factory=list)
    refused: str = ""

    def step(self, con: "Connection[Any]", elapsed_s: float, last_id: int, own: Collection[int]) -> None:
        """End the sessions that are due by now, with ids up to `last_id`. Stop --renew-idle if the server refuses."""
        due = int(self.rate * elapsed_s) - len(self.ended)
        if due <= 0 or self.refused:
            return
        try:
            for id_, who in idle_sessions(con, last_id, own):
                if due and end_session(con, id_, "--renew-idle"):
                    self.ended.append(Ended(id_, who, datetime.now(UTC).isoformat(timespec="milliseconds")))
                    due -= 1
        except RefusedError as error:
            self.refused = str(error)

    def as_json(self) -> dict[str, Any]:
        """Return the progress as an object for tape.json."""
        ended = [one.as_json() for one in self.ended]
        return {"rate": self.rate, "ended": ended, "refused": self.refused or None}

    def sentence(self) -> str:
        """Return a summary of the ended sessions, or "" if --renew-idle was not given."""
        if not self.rate:
            return ""
        text = f"--renew-idle ended {plural(len(self.ended), 'idle session')} from before the capture"
        return f"{text} and then gave up: {self.refused.removeprefix('--renew-idle: ')}" if self.refused else text


def idle_sessions(con: "Connection[Any]", last_id: int, own: Collection[int]) -> list[tuple[int, str]]:
    """Return `(id, account)` of the sessions that may be ended, longest idle first.

    Raises RefusedError if the account cannot see sessions or transactions.
    """
    processes, transactions = gather_processes(con), query_or_none(con, IN_TRANSACTION)
    if processes is None or transactions is None:
        raise RefusedError("--renew-idle: this account cannot see sessions and transactions. The account needs PROCESS")
    kept = {whole(row[0]) for row in transactions} | lock_holders(con).ids | set(own)
    kept |= {id_ for id_, value in (values_by_session(con) or {}).items() if value == 0.0}  # already logged
    found = []
    for row in processes:
        id_, user, command = whole(row[0]), str(row[1]), str(row[4])
        if id_ is None or id_ > last_id or id_ in kept or user in SYSTEM_USERS or command in NOT_CLIENTS:
            continue
        if command == "Sleep":
            who = f"{user}@{str(row[2]).rsplit(':', 1)[0]}"
            found.append((-(whole(row[5]) or 0), id_, who))
    return [(id_, who) for _, id_, who in sorted(found)]


def lock_holders(con: "Connection[Any]") -> Holders:
    """Return the sessions with locks that outlive a statement, as far as the server shows them."""
    info = query_or_none(con, LOCK_INFO)
    if info is not None:
        return Holders(_ids(info), ())
    rows = query_or_none(con, INSTRUMENTS.format(METADATA, HANDLES), 2) or ()
    on = {str(row[0]) for row in rows if str(row[1]).upper() == "YES"}
    locks = query_or_none(con, METADATA_LOCKS) if METADATA in on else None
    if locks is not None:
        return Holders(_ids(locks), ())
    tables = query_or_none(con, TABLE_LOCKS) if HANDLES in on else None
    if tables is not None:
        return Holders(_ids(tables), tuple(name for name in ALL_LOCKS if name != "LOCK TABLES"))
    return Holders(frozenset(), ALL_LOCKS)


def _ids(rows: Any) -> frozenset[int]:
    return frozenset(id_ for row in rows if (id_ := whole(row[0])) is not None)


def renewal_notes(con: "Connection[Any]", rate: float, global_control: bool) -> list[str]:
    """Return notes about the effect of --renew-idle, for --dry-run."""
    if global_control:
        return ["--renew-idle has nothing to do: this server also logs sessions that were open before the capture"]
    try:
        own = query_or_none(con, "SELECT CONNECTION_ID()")
        own_id = (whole(own[0][0]) or 0) if own else 0
        found = len(idle_sessions(con, own_id, {own_id}))
        not_shown = lock_holders(con).not_shown
    except (RefusedError, pymysql.MySQLError) as error:
        return [str(error)]
    lines = [
        f"--renew-idle ends idle sessions without open transactions, at most {rate:g} per second (KILL). Idle now:"
        f" {found:,}. A statement that arrives during a KILL fails"
    ]
    if not_shown:
        lines.append(f"--renew-idle may end sessions with locks that this server does not show: {', '.join(not_shown)}")
    return lines
