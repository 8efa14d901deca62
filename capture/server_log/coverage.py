# SPDX-License-Identifier: Apache-2.0
"""Count the statements that a server executes during a capture, and compute which fraction of them the log contains.

If performance_schema is enabled, the counts come from it, by account and by thread. These counts cover the same
statements as the log. Otherwise the counts come from the global status variable Questions. The active sessions are then
found through QUERY_ID on MariaDB, and through the idle time on MySQL.
"""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import duckdb
from pymysql.connections import Connection

from ...common.units import plural
from ...schemas.names import FLAGS
from ...servers.queries import query_or_none, whole
from ..source import TapeWarning

MIN_SHARE = 0.95
IS_STATEMENT = "(EVENT_NAME LIKE 'statement/sql/%' OR EVENT_NAME = 'statement/com/Execute')"
# Covers all accounts, including ended sessions. Server threads have no user and are not counted.
EXECUTED = (
    "SELECT CAST(SUM(IF(EVENT_NAME = 'statement/sql/error', 0, COUNT_STAR)) AS UNSIGNED),"
    " CAST(SUM(IF(EVENT_NAME = 'statement/sql/error', COUNT_STAR, 0)) AS UNSIGNED)"
    " FROM performance_schema.events_statements_summary_by_account_by_event_name"
    f" WHERE USER IS NOT NULL AND {IS_STATEMENT}"
)
BY_THREAD = (
    "SELECT t.PROCESSLIST_ID, CAST(SUM(s.COUNT_STAR) AS UNSIGNED)"
    " FROM performance_schema.events_statements_summary_by_thread_by_event_name s"
    " JOIN performance_schema.threads t USING (THREAD_ID)"
    f" WHERE t.PROCESSLIST_ID IS NOT NULL AND {IS_STATEMENT} GROUP BY t.PROCESSLIST_ID"
)
# MariaDB's id of the latest statement of a session. The id grows with each statement.
QUERY_IDS = "SELECT ID, QUERY_ID FROM information_schema.PROCESSLIST"
# MySQL: the second in which the session started its current statement or became idle.
LAST_ACTIVE = "SELECT ID, CAST(UNIX_TIMESTAMP() - TIME AS SIGNED) FROM information_schema.PROCESSLIST"
# The global counter `Questions` includes the quit command of each session. The number of quit commands is the number of
# ended sessions minus aborted sessions and failed logins. This table lists the counters with their signs.
ENDED = {"Connections": 1, "Threads_connected": -1, "Aborted_clients": -1, "Aborted_connects": -1}
STATUS = (
    "SHOW GLOBAL STATUS WHERE Variable_name IN"
    " ('Questions', 'Connections', 'Threads_connected', 'Aborted_clients', 'Aborted_connects')"
)
OWN_QUESTIONS = "SHOW SESSION STATUS LIKE 'Questions'"

# Carried events restore the state of sessions. They are not counted, because no client executed them during the
# capture.
LOGGED = (
    "SELECT count(*) FILTER (command IN ('query', 'execute', 'bulk_execute')),"
    " count(*) FILTER (command NOT IN"
    " ('connect', 'quit', 'ping', 'statistics', 'prepare', 'close_stmt', 'reset_stmt'))"
    f" FROM events WHERE flags & {FLAGS['carried']} = 0"
)
HEARD = f"SELECT DISTINCT thread_id FROM events WHERE flags & {FLAGS['carried']} = 0"


@dataclass(frozen=True)
class Counted:
    """Statement counts of a server at one moment. `basis`: performance_schema or Questions.

    `executed`: statements of all clients. `errors`: texts with syntax errors, if the server counts them separately.
    `by_session`: a counter per session that grows by more than `slack` when the session executes a statement. `exact`:
    whether the counter is the number of statements. `own`: statements of the connections of querytape.
    """

    basis: str
    executed: int
    errors: int
    by_session: dict[int, int]
    exact: bool
    own: int
    slack: int = 0


@dataclass(frozen=True)
class Coverage:
    """The fraction of the executed statements that the log contains.

    `silent`: number of sessions that executed statements but have no statement in the log. `silent_statements`: number
    of statements that these sessions executed, or None if the server does not count by session.
    """

    basis: str
    executed: int
    logged: int
    silent: int
    silent_statements: int | None

    @property
    def share(self) -> float:
        """The fraction of the executed statements that the log contains, from 0 to 1."""
        return min(1.0, self.logged / self.executed) if self.executed else 1.0

    def as_json(self) -> dict[str, Any]:
        """Return the coverage as an object for tape.json."""
        return {
            "basis": self.basis,
            "executed": self.executed,
            "logged": self.logged,
            "share": round(self.share, 4),
            "silent_sessions": self.silent,
            "silent_statements": self.silent_statements,
        }

    def sentence(self) -> str:
        """Return a sentence such as `the log holds 61 % of the statements executed in that time; 212 sessions ...`."""
        text = (
            f"the log contains {percent(self.share)} % of the statements that the server executed during the capture"
            f" ({self.logged:,} of {self.executed:,}, counted by {self.basis})"
        )
        if self.silent:
            many = "" if self.silent_statements is None else f" ({plural(self.silent_statements, 'statement')})"
            text += f". Pooled sessions that logged nothing because of their old long_query_time: {self.silent:,}{many}"
        return text

    def warnings(self, method: str) -> list[TapeWarning]:
        """Return a warning that the tape is partial, with remedies.

        No warning if the coverage is at least MIN_SHARE.
        """
        if self.share >= MIN_SHARE:
            return []
        out = ["capture packets", "restart the clients' connection pool during the capture"]
        out += ["use --read general, which logs all sessions"] if method != "general" else []
        return [{"kind": "coverage", "text": f"{self.sentence()}. To capture more statements: {', or '.join(out)}"}]


def percent(share: float) -> str:
    """Return a fraction in percent. Only the fraction 1 is shown as 100."""
    rounded = f"{100 * share:.1f}".removesuffix(".0")
    return "99.9" if rounded == "100" and share < 1 else rounded


def count_statements(con: "Connection[Any]", own: Collection[int]) -> Counted | None:
    """Return the number of statements that the server has executed so far.

    Returns None if the server does not report the number. `own`: ids of the connections of querytape.
    """
    threads = query_or_none(con, BY_THREAD, 2)
    by_thread = {int(row[0]): int(row[1]) for row in threads or ()}
    total = query_or_none(con, EXECUTED, 2) if by_thread else None
    mine = sum(by_thread.get(id_, 0) for id_ in own)
    if total and total[0][0] is not None and mine:  # our own queries were counted, so the counters work
        executed, errors = map(int, total[0])
        return Counted("performance_schema", executed, errors, by_session=by_thread, exact=True, own=mine)
    rows = query_or_none(con, STATUS, 2)
    status = {str(row[0]): whole(row[1]) or 0 for row in rows or ()}
    if "Questions" not in status:
        return None
    ended = sum(sign * status.get(name, 0) for name, sign in ENDED.items())
    asked = query_or_none(con, OWN_QUESTIONS, 2)
    ids, slack = query_or_none(con, QUERY_IDS, 2), 0
    if ids is None:
        ids, slack = query_or_none(con, LAST_ACTIVE, 2) or (), 1
    by_session = {int(row[0]): int(row[1]) for row in ids if row[1] is not None}
    mine = (whole(asked[0][1]) or 0) if asked else 0
    executed = status["Questions"] - ended
    return Counted("Questions", executed, 0, by_session=by_session, exact=False, own=mine, slack=slack)


def measure_coverage(
    before: Counted, after: Counted, con: duckdb.DuckDBPyConnection | None, own: Collection[int], logs_errors: bool
) -> Coverage | None:
    """Return the coverage between two counts, or None if the counts have a different basis.

    `con` has the events of the log as view `events`. None means that the log has no events. `logs_errors`: whether this
    server logs statements with syntax errors.
    """
    if before.basis != after.basis:
        return None
    executed = after.executed - before.executed - (after.own - before.own)
    if logs_errors:
        executed += after.errors - before.errors
    logged, heard = 0, set[int]()
    if con is not None:
        statements, commands = con.execute(LOGGED).fetchall()[0]
        logged = statements if after.exact else commands
        heard = {row[0] for row in con.execute(HEARD).fetchall()}
    silent = {
        id_: after.by_session[id_] - old
        for id_, old in before.by_session.items()
        if after.by_session.get(id_, 0) > old + after.slack and id_ not in heard and id_ not in own
    }
    return Coverage(after.basis, max(executed, 0), logged, len(silent), sum(silent.values()) if after.exact else None)
