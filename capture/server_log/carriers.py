# SPDX-License-Identifier: Apache-2.0
"""Find the sessions that still carry a capture's settings: a session copies long_query_time when it connects.

MySQL shows each session's value (performance_schema.variables_by_thread). MariaDB shows it nowhere: there a session may
carry it that connected while it was set, which its id tells, for ids only grow; or that the log itself shows.
"""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import pymysql
from pymysql.connections import Connection

from ...common.errors import RefusedError
from ...servers.facts import SYSTEM_USERS, gather_processes
from ...servers.queries import query_or_none, whole
from ...servers.target import fault_text

CARRYING = (
    "SELECT t.PROCESSLIST_ID, v.VARIABLE_VALUE FROM performance_schema.variables_by_thread v"
    " JOIN performance_schema.threads t USING (THREAD_ID)"
    " WHERE v.VARIABLE_NAME = 'long_query_time' AND t.PROCESSLIST_ID IS NOT NULL"
)
IN_TRANSACTION = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx"
GONE = 1094  # ER_NO_SUCH_THREAD
MAX_SHOWN = 8


@dataclass(frozen=True)
class Carrier:
    """A session that carries the capture's settings; not `certain`: it may. `idle`: it executes nothing now."""

    id: int
    who: str
    certain: bool
    idle: bool

    def __str__(self) -> str:
        return f"{self.id} ({self.who})"


@dataclass(frozen=True)
class Span:
    """Which sessions may carry: ids after `first` and up to `last`, and those `seen` in the log; not `already`, `own`.

    `already`: they had the same value before the capture.
    """

    first: int
    last: int
    already: frozenset[int] = frozenset()
    own: frozenset[int] = frozenset()
    seen: frozenset[int] = frozenset()


def values_by_session(con: "Connection[Any]") -> dict[int, float] | None:
    """Return each session's long_query_time, None where the server or the account's rights do not show it."""
    rows = query_or_none(con, CARRYING, 2)
    if not rows:
        return None
    return {int(row[0]): float(row[1]) for row in rows}


def carrying_now(con: "Connection[Any]") -> tuple[int, ...]:
    """Return the sessions that log everything at this moment: before a capture, those of somebody else."""
    return tuple(sorted(id_ for id_, value in (values_by_session(con) or {}).items() if value == 0.0))


def carriers(con: "Connection[Any]", span: Span) -> list[Carrier] | None:
    """Return the sessions that carry the settings, or may; None where the account cannot see the others' sessions."""
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
    """Return `212 sessions: 17 (app@web1), ...`."""
    shown = ", ".join(map(str, found[:MAX_SHOWN]))
    more = f", and {len(found) - MAX_SHOWN:,} more" if len(found) > MAX_SHOWN else ""
    return f"{len(found):,} session{'s' if len(found) != 1 else ''}: {shown}{more}"


def end_idle(con: "Connection[Any]", found: Iterable[Carrier]) -> list[int]:
    """End the sessions that are idle and outside any transaction; return their ids.

    Raises RefusedError where the account may not see transactions or end sessions of others.
    """
    rows = query_or_none(con, IN_TRANSACTION)
    if rows is None:
        raise RefusedError("--end-sessions: transactions cannot be seen: the account needs PROCESS")
    busy = {whole(row[0]) for row in rows}
    ended = []
    for carrier in found:
        if carrier.idle and carrier.id not in busy and end_session(con, carrier.id, "--end-sessions"):
            ended.append(carrier.id)
    return ended


def end_session(con: "Connection[Any]", id_: int, option: str) -> bool:
    """End a session; return whether it was there. Raises RefusedError where the account may not; `option` asked."""
    try:
        with closing(con.cursor()) as cursor:
            cursor.execute(f"KILL CONNECTION {id_}")
    except pymysql.MySQLError as error:
        if error.args[:1] != (GONE,):
            raise RefusedError(f"{option}: session {id_}: {fault_text(error)}") from error
        return False
    return True
