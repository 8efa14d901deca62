# SPDX-License-Identifier: Apache-2.0
"""Get the query plan of a statement from a server, without any write and with a time limit.

EXPLAIN may execute parts of its statement: servers fill derived tables and call functions with constant arguments. A
stored function may write. Reads are therefore explained in a session that the server keeps read-only. If no such
session is possible, no read is explained.

A read-only session rejects EXPLAIN of writes. Writes and locking reads are explained in a session that is rolled back.
These statements must call no stored routine and read no view, because a view may hide a call. An EXPLAIN that takes too
long is killed on the server.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import pymysql

from ...common.errors import TargetError
from ...native.bindings.statements import Normalizer
from ...schemas import ACTIONS, CLASSES
from ...servers.library_functions import library_functions
from ...servers.queries import query_or_none
from ...servers.target import Target, fault_text
from ..options import READ_ONLY

MAX_TEXT = 1 << 20  # maximum length of the text of a plan
MAX_LOST = 20  # maximum number of lost or killed connections
SETTINGS = ("SET SESSION explain_json_format_version = 1",)
IS_READ_ONLY = ("SELECT @@SESSION.transaction_read_only", "SELECT @@SESSION.tx_read_only")


@dataclass(frozen=True)
class Sample:
    """A statement to be explained, with its original schema. `number` and `why` distinguish several samples of a
    digest.
    """

    digest: str
    db: str | None
    statement: str
    number: int = 1
    why: str = "commonest"


class PlanText(NamedTuple):
    """The server's answer. `kind` is json, tree, analyze or server_digest. `error` explains why the text is missing."""

    kind: str
    text: str | None
    error: str | None


class NotAskedError(Exception):
    """A statement is not explained. The message is the reason."""


class Explainer:
    """Gets plans from a server. Use `with closing(...)`. Raises TargetError if the server cannot be queried at all.

    - `schemas`: maps schemas of the tape to schemas of the server.
    - `each_s`: time limit for each answer, in seconds.
    - `analyze_s`: also run each read (ANALYZE), with this time limit in seconds. None means that no read is run.
    """

    def __init__(
        self, target: Target, schemas: Mapping[str, str], each_s: float = 2.0, analyze_s: float | None = None
    ) -> None:
        self.target = target
        self.schemas = schemas
        self.each_s = each_s
        self.analyze_s = analyze_s
        self.lost = 0
        self._normalizer = Normalizer()
        self._sessions: dict[bool, Any] = {}
        self._dbs: dict[bool, str] = {}
        server = self._session(True)
        version = query_or_none(server, "SELECT VERSION()")
        self.is_mariadb = "mariadb" in str(version[0][0]).lower() if version else False
        self._stored = _stored(server)
        self._library = library_functions(server)

    def close(self) -> None:
        for session in self._sessions.values():
            with suppress(pymysql.Error, OSError):
                session.close()
        self._sessions.clear()

    def explain(self, sample: Sample, more: bool = True) -> Iterator[PlanText]:
        """Yield a statement's plan as JSON, or the reason why the statement has no plan.

        `more`: also yield the plan as a tree, and the server's own digest. Raises TargetError if too many connections
        were lost.
        """
        try:
            is_read = self._is_read(sample.statement)
        except NotAskedError as reason:
            yield PlanText("json", None, f"not asked: {reason}")
            return
        first = self._ask("json", f"EXPLAIN FORMAT=JSON {sample.statement}", sample, is_read, self.each_s)
        yield first
        if first.text is None:
            return
        if more and not self.is_mariadb:
            for kind, statement in (
                ("tree", f"EXPLAIN FORMAT=TREE {sample.statement}"),
                ("server_digest", f"SELECT STATEMENT_DIGEST({self._session(is_read).escape(sample.statement)})"),
            ):
                found = self._ask(kind, statement, sample, is_read, self.each_s)
                if found.text is not None:
                    yield found
        if self.analyze_s is not None and is_read and self._may_run(sample.statement):
            how = "ANALYZE FORMAT=JSON" if self.is_mariadb else "EXPLAIN ANALYZE"
            yield self._ask("analyze", f"{how} {sample.statement}", sample, True, self.analyze_s)

    def _is_read(self, statement: str) -> bool:
        """Return True for a read, and False for a write or a locking read.

        Raises NotAskedError if the statement must not be explained.
        """
        text = statement.encode()
        seen = self._normalizer.normalize(text)
        wrapped = self._normalizer.normalize(b"EXPLAIN FORMAT=JSON " + text)
        if CLASSES[wrapped.class_] != "read" or wrapped.danger or seen.danger:
            raise NotAskedError("EXPLAIN of the statement may do more than read")
        tables, calls = self._normalizer.names(text)
        if named := self._library.named_by(map(_bare, tables), map(_bare, calls)):
            raise NotAskedError(
                f"{named} is or calls a loadable function, and the effects of this function are unknown"
            )
        if CLASSES[seen.class_] == "read" and not seen.actions & ACTIONS["locking_read"]:
            return True
        if CLASSES[seen.class_] not in ("read", "write"):
            raise NotAskedError("the statement does not read or write data")
        if self._stored is None:
            raise NotAskedError("the statement writes or locks, and the server's routines and views cannot be listed")
        hidden = {_bare(name) for name in (*tables, *calls)} & self._stored
        if hidden:
            raise NotAskedError(
                f"the statement writes or locks, and the server's {sorted(hidden)[0]} may write during EXPLAIN"
            )
        return False

    def why_not_run(self, statement: str) -> str | None:
        """Return why a statement must not run in a read-only session. Return None if the statement may run."""
        try:
            is_read = self._is_read(statement)
        except NotAskedError as reason:
            return str(reason)
        if not is_read or not self._may_run(statement):
            return "the statement writes or locks"
        if self._normalizer.normalize(statement.encode()).actions & ACTIONS["session_dependent"]:
            return "the statement depends on the state or on a lock of its session"
        return None

    def _may_run(self, statement: str) -> bool:
        """Whether a replay without writes would send this statement."""
        seen = self._normalizer.normalize(statement.encode())
        return CLASSES[seen.class_] == "read" and not seen.danger and not seen.actions & ACTIONS["locking_read"]

    def _ask(self, kind: str, statement: str, sample: Sample, is_read: bool, limit_s: float) -> PlanText:
        """Return the server's answer. A session that does not answer in time is killed and replaced."""
        session = self._session(is_read, limit_s)
        try:
            self._use(session, is_read, sample.db)
            with session.cursor() as cursor:
                if not is_read:
                    cursor.execute("START TRANSACTION")
                cursor.execute(statement)
                rows = cursor.fetchall()
                if not is_read:
                    cursor.execute("ROLLBACK")
            text = "\n".join(_text(row[0]) for row in rows if row)
        except (pymysql.Error, OSError) as error:
            if not session.open:
                self._cut(session, is_read, error)
            return PlanText(kind, None, fault_text(error))
        except (LookupError, TypeError, ValueError) as error:
            return PlanText(kind, None, f"the server's answer is not a plan ({type(error).__name__})")
        if len(text) > MAX_TEXT or not text:
            return PlanText(kind, None, "the plan is larger than 1 MiB" if text else "the server returned no plan")
        return PlanText(kind, text, None)

    def _use(self, session: Any, is_read: bool, db: str | None) -> None:
        wanted = self.schemas.get(db, db) if db else self.target.db
        if wanted and self._dbs.get(is_read) != wanted:
            session.select_db(wanted)
            self._dbs[is_read] = wanted

    def _session(self, is_read: bool, limit_s: float | None = None) -> Any:
        """Return the session for reads or the session for writes. A session for reads is checked to be read-only.

        Raises TargetError.
        """
        limit_s = limit_s or self.each_s
        session = self._sessions.get(is_read)
        if session is None or not session.open:
            session = self.target.connect(answer_s=limit_s + 1)
            self._sessions[is_read] = session
            self._dbs.pop(is_read, None)
            for statement in (*SETTINGS, *(() if is_read else ("SET SESSION autocommit = 0",))):
                with suppress(pymysql.Error), session.cursor() as cursor:
                    cursor.execute(statement)
            if is_read:
                keep_read_only(session, self.target)
        session.answer_within(limit_s + 1)
        return session

    def _cut(self, session: Any, is_read: bool, error: BaseException) -> None:
        """Kill a lost session on the server. Raises TargetError if too many sessions were lost."""
        self._sessions.pop(is_read, None)
        self.lost += 1
        if self.lost > MAX_LOST:
            raise TargetError(f"{self.target.name}: lost {self.lost} connections; last error: {fault_text(error)}")
        kill(self.target, int(session.thread_id()))


def kill(target: Target, thread_id: int) -> None:
    """Kill a session on the server. Raises TargetError if the server cannot be reached."""
    with closing(target.connect()) as other, suppress(pymysql.Error, OSError), other.cursor() as cursor:
        cursor.execute(f"KILL {thread_id}")


def keep_read_only(session: Any, target: Target) -> None:
    """Make a session read-only and check that the session is read-only.

    Raises TargetError if the check fails. No statement may be sent in this case.
    """
    try:
        with session.cursor() as cursor:
            cursor.execute(READ_ONLY)
    except (pymysql.Error, OSError) as error:
        raise TargetError(f"{target.name}: cannot make a session read-only: {fault_text(error)}") from error
    for query in IS_READ_ONLY:
        if rows := query_or_none(session, query):
            if str(rows[0][0]) in ("1", "ON"):
                return
            break
    raise TargetError(
        f"{target.name}: the server does not confirm that the session is read-only, so no plan is requested"
    )


def _stored(server: Any) -> frozenset[str] | None:
    """Return the names of the server's routines and views, which an EXPLAIN may execute.

    Returns None if the server does not list these names.
    """
    names: set[str] = set()
    for query in (
        "SELECT ROUTINE_NAME FROM information_schema.ROUTINES",
        "SELECT TABLE_NAME FROM information_schema.VIEWS WHERE TABLE_SCHEMA NOT IN ('sys', 'mysql')",
    ):
        rows = query_or_none(server, query)
        if rows is None:
            return None
        names |= {str(row[0]).lower() for row in rows}
    return frozenset(names)


def _bare(name: str) -> str:
    return name.replace("`", "").rpartition(".")[2].lower()


def _text(value: object) -> str:
    text = value.decode("utf-8", "backslashreplace") if isinstance(value, bytes) else str(value)
    return text[: MAX_TEXT + 1].encode("utf-8", "backslashreplace").decode("utf-8")
