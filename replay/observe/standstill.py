# SPDX-License-Identifier: Apache-2.0
"""End a replay with --order commit that progresses only because waits are ended by their timeout.

The report shows which session waits for which other session:

    session 3 ──order──► commit of session 5 ──lock on the target──► session 3
"""

from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, field

import duckdb

from ...common.duck import sql_text
from ...common.errors import TargetError
from ...common.text import printable
from ...common.units import duration, plural
from ...native.bindings.engine import Engine, EngineStats
from ...native.bindings.meters import Doing
from ...servers.queries import query_or_none, whole
from ..options import ReplayOptions
from ..plan.rules import Plan
from ..run_folder import open_storage

MOST_STALLS = 20
TEXT = 60  # maximum number of characters to show of a statement
SHOWN = 8  # maximum number of sessions to show
# Queries for lock waits: MySQL 8 (needs its performance schema), then MariaDB and MySQL 5.7.
LOCK_WAITS = tuple(
    f"SELECT r.trx_mysql_thread_id, b.trx_mysql_thread_id FROM {table} w"
    f" JOIN information_schema.innodb_trx r ON r.trx_id = w.{requesting}"
    f" JOIN information_schema.innodb_trx b ON b.trx_id = w.{blocking}"
    for table, requesting, blocking in (
        ("performance_schema.data_lock_waits", "REQUESTING_ENGINE_TRANSACTION_ID", "BLOCKING_ENGINE_TRANSACTION_ID"),
        ("information_schema.innodb_lock_waits", "requesting_trx_id", "blocking_trx_id"),
    )
)


# Connections that wait for a row lock. Other lock waits appear as a state, such as "Waiting for table metadata lock".
ROW_LOCKS = "SELECT trx_mysql_thread_id FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
STATES = "SELECT ID, STATE FROM information_schema.processlist"
LOCK_STATES = ("waiting for", "user lock")


@dataclass(frozen=True)
class Standstill:
    """A chain of sessions that each wait for the next session.

    `circle`: whether the last session waits for the first. If false, it is unknown what the last session waits for.
    """

    waits: tuple[str, ...]
    circle: bool
    stalls: int
    bound_ns: int

    @property
    def reason(self) -> str:
        """The reason why the replay was ended."""
        bound = duration(self.bound_ns)
        return f"--order commit made no progress in {self.stalls} consecutive periods of --order-bound ({bound})"

    @property
    def text(self) -> str:
        """A description of the chain of waits."""
        shown = self.waits[:SHOWN]
        more = f"; and {plural(len(self.waits) - SHOWN, 'further session')}" if len(self.waits) > SHOWN else ""
        return f"--order commit: {'circular wait: ' if self.circle else ''}{'; '.join(shown)}{more}"


@dataclass
class Facts:
    """The known state of the sessions and of the target's connections at one moment."""

    doing: dict[int, Doing]
    owners: dict[tuple[int, int], tuple[int, int]] = field(default_factory=dict)  # (table, commit) -> (session, seq)
    texts: dict[tuple[int, int], str] = field(default_factory=dict)  # (session, seq) -> text
    blockers: dict[int, int] = field(default_factory=dict)
    working: frozenset[int] = frozenset()  # connections whose statement waits for no lock


def look_for_standstill(engine: Engine, stats: EngineStats, plan: Plan, options: ReplayOptions) -> Standstill | None:
    """Return the chain of waits. Return None if the replay makes progress or a statement is only slow."""
    if stats.order_stalls < MOST_STALLS:
        return None
    facts = Facts({one.session: one for one in engine.doing()})
    if all(one.table is None for one in facts.doing.values()):
        return None  # no session waits now, or the replay is over
    facts.blockers, facts.working = ask_target(options)
    with open_storage(plan.spill) as con:
        facts.owners = owners(
            con, plan, [(one.table, one.commit) for one in facts.doing.values() if one.table is not None]
        )
        begun = [(one.session, one.seq) for one in facts.doing.values() if one.seq is not None]
        facts.texts = texts(con, plan, [*begun, *facts.owners.values()])
    waits, circle, works = walk(facts)
    if works:
        return None
    return Standstill(tuple(waits), circle, stats.order_stalls, options.order_bound_ns)


def ask_target(options: ReplayOptions) -> tuple[dict[int, int], frozenset[int]]:
    """Return the blocking connection of each waiting connection, and the connections that wait for no lock.

    Both results are empty if the target does not show the waits.
    """
    try:
        with closing(options.target.connect(options.connect_timeout_s)) as con:
            rows = [row for query in LOCK_WAITS for row in query_or_none(con, query, 2) or ()]
            row_locks, states = query_or_none(con, ROW_LOCKS), query_or_none(con, STATES, 2)
    except TargetError:
        return {}, frozenset()
    found = [(whole(waits), whole(blocks)) for waits, blocks, *_ in rows]
    blockers = {waits: blocks for waits, blocks in found if waits is not None and blocks is not None}
    if row_locks is None or states is None:
        return blockers, frozenset()
    working = {whole(row[0]) for row in states if not str(row[1]).lower().startswith(LOCK_STATES)}
    return blockers, frozenset(each for each in working - {whole(row[0]) for row in row_locks} if each is not None)


def owners(
    con: duckdb.DuckDBPyConnection, plan: Plan, wanted: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], tuple[int, int]]:
    """Return the event (session, seq) of each commit. A commit is a pair (table, number)."""
    if not wanted or not plan.order.exists():
        return {}
    listed = ", ".join(f"('{table}:{number}')" for table, number in wanted)
    turns = (  # an event that ends a transaction and also does other work has two entries
        f"SELECT session, seq, unnest(string_split(waits, '|')) AS turn FROM read_parquet({sql_text(plan.order)})"
    )
    marks_of_events = f"SELECT session, seq, unnest(string_split(split_part(turn, ';', 2), ' ')) AS mark FROM ({turns})"
    rows = con.execute(
        f"SELECT mark, session, seq FROM ({marks_of_events}) WHERE mark IN (VALUES {listed}) ORDER BY ALL"
    ).fetchall()
    marks = {mark: (session, seq) for mark, session, seq in rows}
    return {pair: marks[name] for pair in wanted if (name := f"{pair[0]}:{pair[1]}") in marks}


def texts(con: duckdb.DuckDBPyConnection, plan: Plan, events: Sequence[tuple[int, int]]) -> dict[tuple[int, int], str]:
    """Return the shortened normalized statement of each event (session, seq)."""
    if not events:
        return {}
    listed = ", ".join(f"({session}, {seq})" for session, seq in events)
    rows = con.execute(
        f"SELECT e.session, e.seq, left(coalesce(d.normalized, e.command), {TEXT + 1})"
        f" FROM {plan.tape.source('events')} e LEFT JOIN {plan.tape.source('digests')} d ON d.digest = e.digest"
        f" WHERE (e.session, e.seq) IN (VALUES {listed})"
    ).fetchall()
    return {(session, seq): printable(text, TEXT) for session, seq, text in rows}


def walk(facts: Facts) -> tuple[list[str], bool, bool]:
    """Follow the waits from each session. Return the first circle, or the longest chain if there is no circle.

    The first flag is True if a circle was found. The second flag is True if a chain ends at a statement that the target
    is executing. The replay is then only slow.
    """
    longest: list[str] = []
    works = False
    for start in sorted(facts.doing):
        way: list[int] = []
        said: list[str] = []
        at: int | None = start
        while at is not None and at not in way:
            way.append(at)
            text, at = wait_of(facts, at)
            said.append(text)
        if at is not None:
            return said[way.index(at) :], True, False
        last = facts.doing.get(way[-1])
        works |= len(way) > 1 and last is not None and last.connection in facts.working and not last.asleep
        longest = max(longest, said, key=len)
    return longest, False, works


def wait_of(facts: Facts, session: int) -> tuple[str, int | None]:
    """Return a text about the wait of a session, and the session that it waits for (None if unknown)."""
    doing = facts.doing.get(session)
    if doing is None:
        return f"session {session} has no connection", None
    seq = -1 if doing.seq is None else doing.seq
    at = f"session {session} at event {seq} `{facts.texts.get((session, seq), '?')}`"
    if doing.table is not None:
        owner = facts.owners.get((doing.table, doing.commit))
        if owner is None:
            return f"{at} waits for the commit order", None
        return f"{at} waits for event {owner[1]} `{facts.texts.get(owner, '?')}` of session {owner[0]}", owner[0]
    if doing.asleep:
        return f"session {session} received the answer to event {seq} and waits for its next event", None
    connections = {one.connection: one.session for one in facts.doing.values()}
    blocker = facts.blockers.get(-1 if doing.connection is None else doing.connection)
    if blocker is None:
        return f"{at} waits for the target's answer", None
    if blocker not in connections:
        return f"{at} waits for a lock of connection {blocker}, which does not belong to this replay", None
    return f"{at} waits for a lock of session {connections[blocker]}", connections[blocker]
