# SPDX-License-Identifier: Apache-2.0
"""Random histories that a real server could produce: sessions, locks and answers, with simulated times."""

import heapq
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial

from .server import BEGINNINGS, CHANGED, COMMITS, ENDING, ENDS, LOCKS, REDEFINED, Server, Statement

Unit = list[Statement]  # a transaction, or a single statement outside a transaction
TABLES = 2
KEYS = 8
AT_ONCE = (*BEGINNINGS, "savepoint", "back", "off", "unlock_tables", "xa_end", "xa_prepare")  # kinds that never wait
AFTER_AN_ERROR = ("release", "unlock_tables", "xa_end", "xa_commit", "xa_rollback")  # kinds sent even after an error


@dataclass
class Event:
    """One statement of the simulated source. Times are simulated nanoseconds."""

    session: int
    number: int  # unique in its history
    statement: Statement
    transaction: int  # shared by the statements of a transaction. A single statement has its own
    inside: bool  # shared by the statements of a transaction; a single statement has its own number
    sent: int = 0  # whether a transaction is open before the statement
    arrived: int = 0  # time of arrival at the server
    granted: int = 0  # time at which the statement had all its locks
    released: int = 0  # time of the lock release by a single write, COMMIT, ROLLBACK or deadlock victim
    logged: int = 0  # time of the log entry, before the next statement of the session
    answered: int = 0  # time at which the client had the answer
    answer: tuple[object, ...] = ()
    victim: bool = False
    ended: int = 0  # number of the earlier transaction that the statement ended
    failed: bool = False  # whether the statement timed out or was killed
    silent: bool = False  # whether the statement was killed with its session, so that the client got no answer

    @property
    def rows(self) -> int:
        """Return the number of rows that the statement changed or locked. It may have failed."""
        if self.statement.kind in ("lock", "share"):
            return sum(isinstance(each, int) for each in self.answer)
        return self.answer[0] if self.answer and isinstance(self.answer[0], int) else 0


@dataclass
class History:
    """The statements in the order in which they were sent, and the rows before and after them."""

    events: list[Event]
    before: dict[tuple[int, int], int | None]
    after: dict[tuple[int, int], int | None]
    beyond: bool
    isolated: bool
    moments_ns: int  # unit to which visible times are rounded down


@dataclass
class _Client:
    script: Iterator[Unit]
    left: Unit = field(default_factory=list)  # remaining statements of the transaction
    transaction: int = 0
    inside: bool = False
    waiting: Event | None = None
    off: bool = False  # whether autocommit is off
    locked: bool = False  # whether the session is under LOCK TABLES


@dataclass
class _Source:
    """The simulation. Its agenda is a heap of (time, tie, action)."""

    rng: random.Random
    server: Server
    clients: dict[int, _Client]
    delay: Callable[[random.Random, str], int]
    agenda: list[tuple[int, int, Callable[[int], None]]] = field(default_factory=list)
    events: list[Event] = field(default_factory=list)
    waits: dict[int, set[int]] = field(default_factory=dict)  # for each transaction, the transactions that it waits for
    impatient: float = 0.0
    killed: float = 0.0
    killed_running: float = 0.0
    ties: int = 0
    transactions: int = 0

    def later(self, now: int, what: str, action: Callable[[int], None]) -> None:
        self.ties += 1
        heapq.heappush(self.agenda, (now + self.delay(self.rng, what) + self.ties % 499 + 1, self.ties, action))

    def run(self) -> None:
        for session in self.clients:
            self.later(0, "think", partial(self.send, session))
        while self.agenda:
            now, _, action = heapq.heappop(self.agenda)
            action(now)

    def send(self, session: int, now: int) -> None:
        client = self.clients[session]
        client.left = client.left or next(client.script, [])
        if not client.left:
            return
        statement = client.left.pop(0)
        if not client.inside and not client.locked:
            self.transactions += 1
            client.transaction = self.transactions
        event = Event(session, len(self.events) + 1, statement, client.transaction, client.inside, sent=now)
        self.events.append(event)
        self.later(now, "network", lambda at: self.arrive(at, event))

    def arrive(self, now: int, event: Event) -> None:
        client = self.clients[event.session]
        event.arrived = now
        self.open_or_end(now, client, event)
        if event.statement.kind in AT_ONCE:
            self.at_once(now, client, event)
        elif event.statement.kind in ENDS:
            self.later(now, "execute", lambda at: self.end(at, event))
        elif event.statement.kind == "release":
            self.server.release_lock(event.session, event.statement.low)
            event.released = now
            self.later(now, "execute", lambda at: self.answer(at, event))
            self.let_go(now)
        else:
            self.attempt(now, event)

    def open_or_end(self, now: int, client: _Client, event: Event) -> None:
        """Open or end a transaction as the statement requires."""
        kind = event.statement.kind
        if client.inside and kind in ENDING:
            self.server.commit(client.transaction)
            event.ended, event.inside, client.inside = client.transaction, False, False
            self.transactions += 1
            event.transaction = client.transaction = self.transactions
            self.let_go(now)
        client.inside |= kind in BEGINNINGS or (client.off and kind in (*LOCKS, "read"))
        event.inside |= client.inside and client.off and kind in (*LOCKS, "read")

    def at_once(self, now: int, client: _Client, event: Event) -> None:
        """Execute a statement that never waits."""
        kind = event.statement.kind
        client.off |= kind == "off"
        if kind == "snapshot":
            self.server.open_snapshot(event.transaction)
        elif kind == "savepoint":
            self.server.set_savepoint(event.transaction)
        elif kind == "back":
            self.server.go_back(event.transaction)
        elif kind == "unlock_tables":
            self.server.unlock_tables(event.transaction)
            event.released, client.locked = now, False
            self.let_go(now)
        self.later(now, "network", lambda at: self.answer(at, event))

    def attempt(self, now: int, event: Event) -> None:
        if event.statement.kind == "get":
            self.attempt_lock(now, event)
            return
        found = self.server.attempt(event.transaction, event.statement, event.number)
        client = self.clients[event.session]
        if isinstance(found, tuple):
            client.waiting = None
            self.waits.pop(event.transaction, None)
            event.granted, event.answer = now, found
            if found in (CHANGED, REDEFINED):
                event.victim = True
                self.end(now, event)
            elif client.inside or event.statement.kind in ("lock_tables", "share_tables"):
                client.locked |= not client.inside
                is_killed = self.killed_running and client.inside and self.rng.random() < self.killed_running
                self.later(now, "execute", lambda at: self.kill(at, event) if is_killed else self.answer(at, event))
            else:
                self.later(now, "execute", lambda at: self.end(at, event))
            return
        client.waiting = event
        self.waits[event.transaction] = found
        if self._is_circle(event.transaction):
            event.victim, event.answer = True, ("deadlock",)
            event.granted = now
            client.waiting = None
            self.waits.pop(event.transaction, None)
            self.end(now, event)
        elif self.impatient and self.rng.random() < self.impatient:
            self.later(now, "patience", lambda at: self.give_up(at, event))

    def give_up(self, now: int, event: Event) -> None:
        """Let a waiting statement fail, alone or with its session. The locks that the statement already has stay until
        the transaction ends.
        """
        client = self.clients[event.session]
        if client.waiting is not event:
            return
        client.waiting = None
        self.waits.pop(event.transaction, None)
        self.server.give_up(event.transaction)
        event.failed, event.granted, event.answer = True, now, ("failed",)
        if self.rng.random() < self.killed:
            self.kill(now, event)
            return
        if not client.inside:
            self.server.rollback(event.transaction)
            event.released = now
        self.later(now, "flush", lambda at: self.answer(at, event))
        self.let_go(now)

    def kill(self, now: int, event: Event) -> None:
        """End a session while its statement waits or runs. The server rolls back, and the client gets no answer."""
        client = self.clients[event.session]
        event.failed, event.silent, event.answer, event.released = True, True, ("failed",), now
        client.left, client.script = [], iter(())
        self.server.rollback(event.transaction)
        self.server.unlock_tables(event.transaction)
        self.later(now, "flush", lambda at: self.answer(at, event))
        self.let_go(now)

    def attempt_lock(self, now: int, event: Event) -> None:
        client = self.clients[event.session]
        client.waiting = None if self.server.get_lock(event.session, event.statement.low) else event
        if not client.waiting:
            event.granted = now
            self.later(now, "execute", lambda at: self.answer(at, event))

    def end(self, now: int, event: Event) -> None:
        """Release the locks of the transaction, and let waiting statements continue in random order."""
        client = self.clients[event.session]
        if event.victim or (event.statement.kind in ENDS and event.statement.kind not in COMMITS):
            self.server.rollback(event.transaction)
            client.left = [
                replace(each, kind="xa_rollback") if each.kind == "xa_commit" else each
                for each in client.left
                if each.kind in AFTER_AN_ERROR
            ]
        else:
            self.server.commit(event.transaction)
        event.released = now
        client.inside = False
        self.later(now, "flush", lambda at: self.answer(at, event))
        self.let_go(now)

    def let_go(self, now: int) -> None:
        waiting = [client.waiting for client in self.clients.values() if client.waiting]
        self.rng.shuffle(waiting)
        for event in waiting:
            if self.clients[event.session].waiting is event:
                self.attempt(now, event)

    def answer(self, now: int, event: Event) -> None:
        """Send the answer to the client and write the log entry."""
        event.answered = now + self.delay(self.rng, "network")
        event.logged = now + self.delay(self.rng, "log") + self.ties % 499 + 1
        self.later(max(event.answered, event.logged), "think", partial(self.send, event.session))

    def _is_circle(self, transaction: int) -> bool:
        seen: set[int] = set()
        todo = [transaction]
        while todo:
            for other in self.waits.get(todo.pop(), ()):
                if other == transaction:
                    return True
                if other not in seen:
                    seen.add(other)
                    todo.append(other)
        return False


@dataclass(frozen=True)
class Mix:
    """The behaviour of the sessions: probabilities, and the weights of the kinds of statements."""

    transactions: float = 0.7
    kinds: tuple[tuple[str, int], ...] = (("update", 5), ("read", 2), ("lock", 1), ("insert", 1), ("delete", 1))
    ranges: float = 0.2
    rollbacks: float = 0.1
    hot: float = 0.5  # probability that a statement uses the first key
    slow_answers: float = 0.1
    unit_ns: int = 1000  # duration of one step of the simulation
    isolated: bool = False  # innodb_snapshot_isolation
    moments_ns: int = 1  # times are multiples of this unit, so many are equal
    user_locks: float = 0.0  # probability that a transaction or statement runs under GET_LOCK
    whole: float = 0.0  # probability that a single statement is DDL or LOCK TABLES
    ddl_ends: float = 0.0  # probability that a transaction ends by DDL
    savepoints: float = 0.0  # probability that a transaction rolls back to a savepoint
    snapshots: float = 0.0  # probability that a transaction begins with a consistent snapshot
    off: float = 0.0  # probability that a session has autocommit off
    xa: float = 0.0  # probability of an XA transaction
    impatient: float = 0.0  # probability that a wait ends by a time-out or KILL
    killed: float = 0.0  # probability that such a time-out or KILL also ends the session
    killed_running: float = 0.0  # probability that KILL ends a session whose statement already has its locks


def make_history(seed: int, mix: Mix, sessions: int = 4, statements: int = 12) -> History:
    """Return the history of random sessions on one server."""
    rng = random.Random(seed)
    before: dict[tuple[int, int], int | None] = {
        (table, key): 1 for table in range(TABLES) for key in range(KEYS) if rng.random() < 0.6
    }
    server = Server(dict(before), beyond=rng.random() < 0.5, isolated=mix.isolated)
    clients = {n: _Client(_script(random.Random(rng.random()), mix, statements)) for n in range(1, sessions + 1)}

    def delay(rng: random.Random, what: str) -> int:
        usual = {"think": 3, "network": 1, "execute": 2, "flush": 2, "log": 1, "patience": 4}[what]
        if rng.random() < mix.slow_answers:
            usual *= 20
        return rng.randint(0, 2 * usual) * mix.unit_ns

    source = _Source(rng, server, clients, delay, [], [], {}, mix.impatient, mix.killed, mix.killed_running)
    source.run()
    return History(source.events, before, server.committed, server.beyond, mix.isolated, mix.moments_ns)


def _script(rng: random.Random, mix: Mix, statements: int) -> Iterator[Unit]:
    kinds = [kind for kind, weight in mix.kinds for _ in range(weight)]

    def one() -> Statement:
        kind = rng.choice(kinds)
        low = 0 if rng.random() < mix.hot else rng.randrange(KEYS)
        high = low
        if kind != "insert" and rng.random() < mix.ranges:
            high = min(KEYS - 1, low + rng.randint(1, 3))
        return Statement(kind, rng.randrange(TABLES), low, high)

    def locked(unit: Unit) -> Unit:
        if not mix.user_locks or rng.random() >= mix.user_locks:
            return unit
        name = rng.randrange(2)
        freed = rng.randint(1, len(unit))
        return [Statement("get", low=name), *unit[:freed], Statement("release", low=name), *unit[freed:]]

    def transaction() -> Unit:
        inside = [one() for _ in range(rng.randint(1, 4))]
        if mix.savepoints and rng.random() < mix.savepoints:
            back = rng.randint(1, len(inside))
            inside[back:back] = [Statement("back")]
            inside.insert(rng.randrange(back), Statement("savepoint"))
        end = Statement("rollback" if rng.random() < mix.rollbacks else "commit")
        if mix.ddl_ends and rng.random() < mix.ddl_ends:
            end = Statement("alter", rng.randrange(TABLES))
        if mix.xa and rng.random() < mix.xa:
            name = rng.randrange(10**6)
            around = [Statement(kind, low=name) for kind in ("xa_start", "xa_end", "xa_prepare", f"xa_{end.kind}")]
            return [around[0], *inside, around[1], *(around[2:] if rng.random() < 0.7 else around[3:])]
        first = "snapshot" if mix.snapshots and rng.random() < mix.snapshots else "begin"
        return [Statement(first), *inside, end]

    def whole() -> Unit:
        table = rng.randrange(TABLES)
        kind = rng.choice(("alter", "lock_tables", "share_tables"))
        if kind == "alter":
            return [Statement(kind, table)]
        inside = [replace(one(), table=table) for _ in range(rng.randint(1, 3))]
        if kind == "share_tables":
            inside = [replace(each, kind="read") for each in inside]
        return [Statement(kind, table), *inside, Statement("unlock_tables", table)]

    done = 0
    off = bool(mix.off) and rng.random() < mix.off
    if off:
        yield [Statement("off")]
    while done < statements:
        if off or rng.random() < mix.transactions:
            unit = transaction()
            done += len(unit) - 2
            yield unit[1:] if off else locked(unit)
        elif mix.whole and rng.random() < mix.whole:
            done += 1
            yield whole()
        else:
            done += 1
            yield locked([one()])
