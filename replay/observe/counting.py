# SPDX-License-Identifier: Apache-2.0
"""Count the work of one execution of a read: rows and pages read, temporary tables, merge passes.

The statement must satisfy the rules of `explain.py`. It runs with a time limit, in a session that the server keeps
read-only. Status variables are read before and after each execution. The smallest increase of all executions counts,
because the first execution may find cold caches. The increase without a statement is also measured and subtracted. It
contains the cost of reading the variables and the server's own work.

Handler_*, Created_tmp_*, Sort_* and Select_* are counters of the session. Innodb_* are counters of the whole server, so
they are kept only for executions without other statements on the server. MariaDB itself counts the pages of a statement
(ANALYZE).
"""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any

import pymysql
from pymysql.constants import CR
from pymysql.cursors import SSCursor

from ...common.errors import TargetError
from ...servers.queries import query_or_none, whole
from ...servers.target import fault_text
from .explain import MAX_LOST, Explainer, PlanText, Sample, keep_read_only, kill

EXECUTIONS = 4
KIND = "counters"
OF_SESSION = (
    "Handler_read_first", "Handler_read_key", "Handler_read_last", "Handler_read_next", "Handler_read_prev",
    "Handler_read_rnd", "Handler_read_rnd_next", "Handler_write", "Handler_tmp_write", "Created_tmp_tables",
    "Created_tmp_disk_tables", "Sort_merge_passes", "Sort_rows", "Select_full_join", "Select_scan",
)  # fmt: skip
OF_SERVER = ("Innodb_pages_read",)  # not buffer pool lookups, which versions count differently
QUERIES = "Queries"  # a counter of the whole server, even in SHOW SESSION STATUS
OWN_QUERIES = 2  # number of queries between two readings: the statement and the second reading
ASK = "SHOW SESSION STATUS WHERE Variable_name IN ({})".format(
    ", ".join(f"'{name}'" for name in (*OF_SESSION, *OF_SERVER, QUERIES))
)
# Counters per table in MariaDB's ANALYZE, and the equivalent status variable of the whole server.
OF_ENGINE = {"pages_read_count": "Innodb_pages_read", "pages_prefetch_read_count": "Innodb_pages_read"}
SETTINGS = ("SET SESSION max_execution_time = {ms}", "SET SESSION max_statement_time = {s}")
# An answer from the query cache is not an execution. Servers without the cache reject this setting.
WITHOUT_CACHE = "SET SESSION query_cache_type = OFF"
ROWS_AT_ONCE = 1_000
IDLE_S = 1.0  # longest measurement without a statement, in seconds

Counters = dict[str, int]


class WorkCounter:
    """Runs reads on the server of an explainer and counts the work of each read. Use `with closing(...)`.

    `each_s` is the time limit in seconds for all executions of one read.
    """

    def __init__(self, explainer: Explainer, each_s: float) -> None:
        self._explainer = explainer
        self._each_s = each_s
        self._session: Any = None
        self._db: str | None = None
        self._lost = 0

    def close(self) -> None:
        if self._session is not None and self._session.open:
            with suppress(pymysql.Error, OSError):
                self._session.close()
        self._session = None

    def count(self, sample: Sample) -> PlanText:
        """Return the work of one execution of a read as JSON (`counters`), or the reason why the read was not run.

        Raises TargetError if too many connections to the server were lost.
        """
        if reason := self._explainer.why_not_run(sample.statement):
            return PlanText(KIND, None, f"not run: {reason}")
        session = self._connected()
        try:
            self._use(session, sample.db)
            return PlanText(KIND, json.dumps(self._counted(session, sample.statement)), None)
        except (pymysql.Error, OSError) as error:
            if not session.open:
                self._cut(session, error)
            return PlanText(KIND, None, fault_text(error))
        except (LookupError, TypeError, ValueError) as error:
            return PlanText(KIND, None, f"the server's answer contains no counters ({type(error).__name__})")

    def _connected(self) -> Any:
        """Return the connection after checking that it is read-only. Raises TargetError."""
        if self._session is None or not self._session.open:
            target = self._explainer.target
            self._session = target.connect(answer_s=self._each_s + 1, streams=True)
            self._db = None
            keep_read_only(self._session, target)
            for setting in (*SETTINGS, WITHOUT_CACHE):
                query_or_none(self._session, setting.format(ms=int(self._each_s * 1000), s=self._each_s))
        return self._session

    def _use(self, session: Any, db: str | None) -> None:
        wanted = self._explainer.schemas.get(db, db) if db else self._explainer.target.db
        if wanted and self._db != wanted:
            session.select_db(wanted)
            self._db = wanted

    def _counted(self, session: Any, statement: str) -> dict[str, Any]:
        """Return how many times a statement was run, and the smallest counts of one execution."""
        until = time.monotonic() + self._each_s
        grown: list[Counters] = []
        took_s = longest_s = 0.0
        while len(grown) < EXECUTIONS and (not grown or time.monotonic() + longest_s < until):
            before, began = read_counters(session), time.monotonic()
            run(session, statement, until)
            took_s = time.monotonic() - began
            longest_s = max(longest_s, took_s)
            grown.append(difference(before, read_counters(session)))
        before = read_counters(session)
        time.sleep(min(took_s, IDLE_S))
        idle = difference(before, read_counters(session))
        counters = least(grown, idle)
        if self._explainer.is_mariadb and time.monotonic() + longest_s < until:
            rows = query_or_none(session, f"ANALYZE FORMAT=JSON {statement}")
            counters.update(engine_pages(str(rows[0][0])) if rows else {})
        return {"executions": len(grown), "counters": counters}

    def _cut(self, session: Any, error: BaseException) -> None:
        """Kill a lost session on the server. Raises TargetError if too many sessions were lost."""
        session.abandon()
        self._session = None
        self._lost += 1
        target = self._explainer.target
        if self._lost > MAX_LOST:
            raise TargetError(f"{target.name}: lost {self._lost} connections; last error: {fault_text(error)}")
        kill(target, int(session.thread_id()))


def run(session: Any, statement: str, until: float) -> None:
    """Run a statement and discard its rows. If it does not end in time, close the session.

    Raises pymysql.Error.
    """
    cursor = session.cursor(SSCursor)
    cursor.execute(statement)
    while cursor.fetchmany(ROWS_AT_ONCE):
        if time.monotonic() > until + 1:  # normally the server's own limit ends the statement first
            session.abandon()
            raise pymysql.err.OperationalError(CR.CR_SERVER_LOST, "reading the rows took too long")
    cursor.close()


def read_counters(session: Any) -> Counters:
    """Return the status variables by name. Raises LookupError if the server shows no status variables."""
    rows = query_or_none(session, ASK, 2) or ()
    found = {str(row[0]): number for row in rows if (number := whole(row[1])) is not None}
    if QUERIES not in found:
        raise LookupError(QUERIES)
    return found


def difference(before: Counters, after: Counters) -> Counters:
    """Return the increase of each counter."""
    return {name: after[name] - before[name] for name in before.keys() & after.keys()}


def least(grown: list[Counters], idle: Counters) -> Counters:
    """Return the smallest increase of each counter in one execution, minus the increase without a statement (`idle`).

    For counters of the whole server, the first execution does not count. An execution also does not count if another
    client sent a statement during the execution. If no execution remains, these counters are omitted.
    """
    quiet = [each for each in grown[1:] if each[QUERIES] <= OWN_QUERIES and idle[QUERIES] < OWN_QUERIES]
    found: Counters = {}
    for names, executions in ((OF_SESSION, grown), (OF_SERVER, quiet)):
        for name in names:
            values = [each[name] for each in executions if name in each]
            if values:
                found[name] = max(min(values) - idle.get(name, 0), 0)
    return found


def engine_pages(text: str) -> Counters:
    """Return the pages that MariaDB's ANALYZE counted for the tables of a statement, by status variable.

    The result is empty if this version of MariaDB does not count pages. ANALYZE omits counts of 0.
    """
    try:
        stats = list(_engine_stats(json.loads(text)))
    except (ValueError, RecursionError):
        return {}
    found: Counters = dict.fromkeys(OF_ENGINE.values(), 0) if stats else {}
    for each in stats:
        for part, name in OF_ENGINE.items():
            found[name] += whole(each.get(part)) or 0
    return found


def _engine_stats(node: Any) -> Iterator[Mapping[str, Any]]:
    if isinstance(node, list):
        for part in node:
            yield from _engine_stats(part)
    elif isinstance(node, dict):
        for name, part in node.items():
            if name == "r_engine_stats" and isinstance(part, dict):
                yield part
            else:
                yield from _engine_stats(part)
