# SPDX-License-Identifier: Apache-2.0
"""A model of the locks of a server: rows and gaps of InnoDB's REPEATABLE READ, tables, snapshots and rollbacks.

The model has no clock. Rows have integer keys. The content of a row shows the writes of the row and their order.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field

Place = tuple[int, int]  # (table, key)
CHANGES = ("update", "insert", "delete")
LOCKS = (*CHANGES, "lock", "share")
BEGINNINGS = ("begin", "snapshot", "xa_start")
COMMITS = ("commit", "xa_commit")
ENDS = (*COMMITS, "rollback", "xa_rollback")
MODULUS = 2**61 - 1
CHANGED = ("error 1020",)
REDEFINED = ("error 1412",)
# Locks of a table: by readers, by writers, by LOCK TABLES READ, and by statements that need the whole table.
READS, WRITES, SHARED, WHOLE = "reads", "writes", "shared", "whole"
TABLE_LOCKS = {
    **dict.fromkeys(LOCKS, WRITES),
    "read": READS,
    "share": READS,
    "share_tables": SHARED,
    "lock_tables": WHOLE,
    "alter": WHOLE,
}
# The kinds of locks of a row: shared and exclusive.
WITH_OTHERS, ALONE = "with others", "alone"
TOGETHER = ({READS}, {WRITES}, {SHARED}, {READS, WRITES}, {READS, SHARED})  # allowed for two transactions at once
ENDING = ("begin", "snapshot", "alter", "lock_tables", "share_tables")  # implicitly end an open transaction


@dataclass(frozen=True)
class Statement:
    """One statement.

    - begin, commit, rollback: of a transaction.
    - read, lock (SELECT ... FOR UPDATE), share (LOCK IN SHARE MODE), update, delete: the keys low to high of the table,
      both
      included. insert: the key low.
    - xa_start, xa_end, xa_prepare, xa_commit, xa_rollback: of an XA transaction.
    - get, release: GET_LOCK and RELEASE_LOCK of the user-level lock `low`.
    - snapshot: START TRANSACTION WITH CONSISTENT SNAPSHOT.
    - savepoint, back: set a savepoint, and return to it.
    - off: SET autocommit = 0.
    - alter, lock_tables, share_tables (READ), unlock_tables: the whole table. alter changes each row.
    """

    kind: str
    table: int = 0
    low: int = 0
    high: int = 0

    @property
    def locks(self) -> bool:
        """Return whether the statement takes row locks."""
        return self.kind in LOCKS


@dataclass
class Server:
    """The rows and the holders of locks. The caller chooses the number of a transaction.

    `beyond`: a range also locks the next row after the range, as in servers before MySQL 8.0.18. `isolated`: a row that
    changed after the snapshot cannot be locked (error 1020). This is the default of MariaDB 11.8.
    """

    rows: dict[Place, int | None]  # None: the row is deleted, but the deletion is not committed
    beyond: bool = False
    isolated: bool = False
    commits: int = 0
    changed: dict[Place, int] = field(default_factory=dict)  # number of the last commit that changed a row
    opened: dict[int, int] = field(default_factory=dict)  # number of commits in the snapshot of a transaction
    committed: dict[Place, int | None] = field(default_factory=dict)
    holders: dict[Place, dict[int, str]] = field(default_factory=dict)  # for each row, the transactions and their locks
    queues: dict[Place, list[tuple[int, str]]] = field(default_factory=dict)  # waiting transactions in order
    gaps: set[tuple[int, float, float, int]] = field(default_factory=set)  # (table, above, below, transaction)
    undo: dict[int, list[tuple[Place, bool, int | None]]] = field(default_factory=dict)
    snapshots: dict[int, dict[Place, int | None]] = field(default_factory=dict)
    user_locks: dict[int, int] = field(default_factory=dict)  # for each lock name, the session that holds the lock
    tables: dict[int, dict[int, str]] = field(default_factory=dict)  # for each table, the transactions and their locks
    wanted: dict[int, dict[int, str]] = field(default_factory=dict)  # transactions that wait for a whole table
    altering: dict[int, int] = field(default_factory=dict)  # for each open ALTER, its table
    altered: dict[int, int] = field(default_factory=dict)  # for each table, the number of commits after its last ALTER
    kept: set[int] = field(default_factory=set)  # transactions whose table locks stay until UNLOCK TABLES
    savepoints: dict[int, int] = field(default_factory=dict)  # number of writes before each savepoint

    def __post_init__(self) -> None:
        """Mark all initial rows as committed."""
        self.committed = dict(self.rows)

    def attempt(self, transaction: int, statement: Statement, number: int) -> set[int] | tuple[object, ...]:
        """Execute a statement, or return the set of transactions that it waits for.

        Locks that were taken before a wait stay. `number` marks the written rows. The answer is a tuple of rows, or a
        tuple with a text that describes the result.
        """
        found = self._attempt(transaction, statement, number)
        if isinstance(found, tuple):
            self._leave_queues(transaction)
        return found

    def _attempt(self, transaction: int, statement: Statement, number: int) -> set[int] | tuple[object, ...]:
        if blockers := self._take_table(transaction, statement):
            return blockers
        if statement.kind in ("lock_tables", "share_tables"):
            self.kept.add(transaction)
            return ("locked",)
        if statement.kind == "alter":
            for place in [place for place in self.rows if place[0] == statement.table]:
                self._write(transaction, place, ((self.rows[place] or 0) * 1_000_003 + number) % MODULUS)
            self.altering[transaction] = statement.table
            return ("altered",)
        if statement.kind != "insert" and self.altered.get(statement.table, 0) > self.opened.get(
            transaction, self.commits
        ):
            return REDEFINED
        if statement.kind == "read":
            return self._read(transaction, statement)
        if statement.kind == "insert":
            return self._insert(transaction, statement, number)
        if blockers := self._lock(transaction, statement):
            return blockers
        if self._is_changed(transaction, statement):
            return CHANGED
        found = []
        for place in self._in_range(statement):
            old = self.rows[place]
            if old is not None:
                found.append(old)
                if statement.kind == "update":
                    self._write(transaction, place, (old * 1_000_003 + number) % MODULUS)
                elif statement.kind == "delete":
                    self._write(transaction, place, None)
        return tuple(found) if statement.kind in ("lock", "share") else (len(found),)

    def get_lock(self, session: int, name: int) -> bool:
        """Give a user-level lock to a session unless another session holds it. Return whether the session has the lock."""
        return self.user_locks.setdefault(name, session) == session

    def release_lock(self, session: int, name: int) -> None:
        """Release the user-level lock of a session."""
        if self.user_locks.get(name) == session:
            del self.user_locks[name]

    def open_snapshot(self, transaction: int) -> None:
        """Open a snapshot of the committed rows for a transaction."""
        self.opened.setdefault(transaction, self.commits)
        self.snapshots.setdefault(transaction, dict(self.committed))

    def set_savepoint(self, transaction: int) -> None:
        """Record the number of writes of a transaction as its savepoint."""
        self.savepoints[transaction] = len(self.undo.get(transaction, []))

    def go_back(self, transaction: int) -> None:
        """Undo the writes of a transaction since its savepoint. Its locks stay."""
        self._undo(transaction, self.savepoints.get(transaction, 0))

    def give_up(self, transaction: int) -> None:
        """Stop waiting for locks in a transaction."""
        self._leave_queues(transaction)
        for waiting in self.wanted.values():
            waiting.pop(transaction, None)

    def unlock_tables(self, transaction: int) -> None:
        """Release the locks of LOCK TABLES."""
        self.kept.discard(transaction)
        self._release(transaction)

    def _is_changed(self, transaction: int, statement: Statement) -> bool:
        if not self.isolated or transaction not in self.opened:
            return False
        return any(self.changed.get(place, 0) > self.opened[transaction] for place in self._in_range(statement))

    def commit(self, transaction: int) -> None:
        """End a transaction and keep its writes."""
        self.commits += 1
        if transaction in self.altering:
            self.altered[self.altering.pop(transaction)] = self.commits
        for place, _, _ in self.undo.get(transaction, []):
            self.changed[place] = self.commits
            if self.rows.get(place) is None:
                self.rows.pop(place, None)
                self.committed.pop(place, None)
            else:
                self.committed[place] = self.rows[place]
        self._release(transaction)

    def rollback(self, transaction: int) -> None:
        """End a transaction and undo its writes."""
        self._undo(transaction, 0)
        self._release(transaction)

    def _undo(self, transaction: int, to: int) -> None:
        written = self.undo.get(transaction, [])
        for place, existed, old in reversed(written[to:]):
            if existed:
                self.rows[place] = old
            else:
                self.rows.pop(place, None)
        del written[to:]

    def _release(self, transaction: int) -> None:
        self.undo.pop(transaction, None)
        self.snapshots.pop(transaction, None)
        self.opened.pop(transaction, None)
        self.savepoints.pop(transaction, None)
        self.give_up(transaction)
        for held in self.tables.values() if transaction not in self.kept else ():
            held.pop(transaction, None)
        for owners in self.holders.values():
            owners.pop(transaction, None)
        self.gaps = {gap for gap in self.gaps if gap[3] != transaction}

    def _read(self, transaction: int, statement: Statement) -> tuple[object, ...]:
        self.open_snapshot(transaction)
        seen = self.snapshots[transaction]
        own = {place for place, _, _ in self.undo.get(transaction, [])}
        places = [(statement.table, key) for key in range(statement.low, statement.high + 1)]
        return tuple(self.rows.get(place) if place in own else seen.get(place) for place in places)

    def _take_table(self, transaction: int, statement: Statement) -> set[int]:
        """Take the lock of the table. If this is impossible, return the transactions with an incompatible lock or an
        earlier wait.
        """
        held, waiting = self.tables.setdefault(statement.table, {}), self.wanted.setdefault(statement.table, {})
        mine, lock = held.get(transaction), TABLE_LOCKS[statement.kind]
        if mine in (lock, WHOLE) or (mine and lock == READS):
            return set()
        ahead = list(waiting.items())
        if transaction in waiting:
            ahead = ahead[: list(waiting).index(transaction)]
        blockers = {
            other for other, had in (*held.items(), *ahead) if other != transaction and {had, lock} not in TOGETHER
        }
        if not blockers:
            waiting.pop(transaction, None)
            held[transaction] = lock
        elif lock in (SHARED, WHOLE):
            waiting.setdefault(transaction, lock)
        return blockers

    def _insert(self, transaction: int, statement: Statement, number: int) -> set[int] | tuple[object, ...]:
        place = (statement.table, statement.low)
        if place in self.rows:
            if blockers := self._lock_row(transaction, place, WITH_OTHERS):
                return blockers
            if self.rows[place] is not None:
                return ("duplicate",)
        blockers = {
            owner
            for table, above, below, owner in self.gaps
            if table == statement.table and above < statement.low < below and owner != transaction
        }
        if blockers:
            self._leave_queues(transaction)
            return blockers
        self.holders.setdefault(place, {})[transaction] = ALONE
        self._write(transaction, place, number)
        return ("inserted",)

    def _write(self, transaction: int, place: Place, value: int | None) -> None:
        self.undo.setdefault(transaction, []).append((place, place in self.rows, self.rows.get(place)))
        self.rows[place] = value

    def _keys(self, table: int) -> list[int]:
        return sorted(key for of, key in self.rows if of == table)

    def _in_range(self, statement: Statement) -> Iterator[Place]:
        for key in self._keys(statement.table):
            if statement.low <= key <= statement.high:
                yield statement.table, key

    def _lock(self, transaction: int, statement: Statement) -> set[int]:
        """Lock the rows of a statement one after another. Return the holders of the first row that is not free."""
        lock = WITH_OTHERS if statement.kind == "share" else ALONE
        keys = self._keys(statement.table)
        point = statement.low == statement.high
        if point and statement.low in keys:
            return self._lock_row(transaction, (statement.table, statement.low), lock)
        above: float = max((key for key in keys if key < statement.low), default=float("-inf"))
        for key in keys:
            if statement.low <= key <= statement.high:
                self.gaps.add((statement.table, above, key, transaction))
                if blockers := self._lock_row(transaction, (statement.table, key), lock):
                    return blockers
                above = key
        below = min((key for key in keys if key > statement.high), default=None)
        self.gaps.add((statement.table, above, float("inf") if below is None else below, transaction))
        if self.beyond and below is not None and not point:
            return self._lock_row(transaction, (statement.table, below), lock)
        return set()

    def _lock_row(self, transaction: int, place: Place, lock: str) -> set[int]:
        """Lock a row. If this is impossible, return the transactions with an incompatible lock or an earlier wait."""
        held, queue, mine = self.holders.setdefault(place, {}), self.queues.setdefault(place, []), (transaction, lock)
        if held.get(transaction) in (lock, ALONE):
            return set()
        ahead = queue[: queue.index(mine)] if mine in queue else queue
        blockers = {
            other for other, theirs in (*held.items(), *ahead) if other != transaction and ALONE in (theirs, lock)
        }
        if not blockers:
            held[transaction] = lock
        elif mine not in queue:
            self._leave_queues(transaction)
            queue.append(mine)
        return blockers

    def _leave_queues(self, transaction: int) -> None:
        for queue in self.queues.values():
            queue[:] = [waiting for waiting in queue if waiting[0] != transaction]
