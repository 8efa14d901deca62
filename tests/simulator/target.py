# SPDX-License-Identifier: Apache-2.0
"""A replay on a simulated server. A seed chooses one of the orders that the plan and the locks allow."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field

from .history import Event, History
from .server import BEGINNINGS, COMMITS, ENDS, REDEFINED, Server

Counts = dict[int, int]  # for each place, a number of commits


@dataclass(frozen=True)
class Planned:
    """The plan of one event.

    `waits` has the required number of commits per place, and `marks` has the event's own commit numbers. `commit`:
    waits and marks of an implicit COMMIT that is sent before the event. `sent`: whether the plan sends the event.
    Interrupted and killed statements are not sent.
    """

    waits: Counts
    marks: tuple[tuple[int, int], ...]
    commit: "Planned | None" = None
    sent: bool = True


@dataclass
class Outcome:
    """The result of a replay: blocked sessions, writes with different answers, and different rows at the end."""

    stuck: list[str] = field(default_factory=list)
    deadlocks: list[str] = field(default_factory=list)
    answers: list[str] = field(default_factory=list)
    reads: int = 0
    rows: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Return whether all sessions finished without any difference."""
        return not (self.stuck or self.deadlocks or self.answers or self.rows)


def settle(settled: dict[int, set[int]], prefix: Counts, place: int, number: int) -> None:
    """Record the commit `number` of a place. `prefix` counts commits without missing numbers, as the engine does."""
    done = settled.setdefault(place, set())
    done.add(number)
    while prefix.get(place, 0) + 1 in done:
        prefix[place] = prefix.get(place, 0) + 1


@dataclass
class _Session:
    events: list[tuple[Event, Planned]]
    at: int = 0
    state: str = "idle"  # one of: idle, sent, blocked, executed
    weight: float = 1.0
    committed: bool = False  # whether the COMMIT before the event was sent
    blockers: set[int] = field(default_factory=set)


def replay(history: History, plan: Sequence[Planned], seed: int) -> Outcome:
    """Send each event after its waits have ended. The seed chooses fast and slow sessions."""
    rng = random.Random(seed)
    run = _Run(history, plan, rng)
    while (moves := run.moves()) and not run.outcome.deadlocks:
        run.move(rng.choices(moves, [run.sessions[session].weight for session in moves])[0])
    run.conclude()
    return run.outcome


class _Run:
    def __init__(self, history: History, plan: Sequence[Planned], rng: random.Random) -> None:
        self.history = history
        self.server = Server(dict(history.before), history.beyond, history.isolated)
        self.outcome = Outcome()
        self.settled: dict[int, set[int]] = {}
        self.prefix: Counts = {}
        self.sessions: dict[int, _Session] = {}
        slow = rng.random() < 0.5
        for event, planned in zip(history.events, plan, strict=True):
            weight = rng.choice([0.02, 1.0, 5.0]) if slow else 1.0
            self.sessions.setdefault(event.session, _Session([], weight=weight)).events.append((event, planned))

    def moves(self) -> list[int]:
        """Return the sessions that can continue."""
        return [number for number, session in self.sessions.items() if self._can_move(session)]

    def _can_move(self, session: _Session) -> bool:
        if session.state == "idle":
            if session.at == len(session.events):
                return False
            return all(self.prefix.get(place, 0) >= n for place, n in self._turn(session).waits.items())
        return session.state != "blocked"

    def _turn(self, session: _Session) -> Planned:
        planned = session.events[session.at][1]
        return planned if session.committed or planned.commit is None else planned.commit

    def move(self, number: int) -> None:
        """Let a session send a statement, execute it, or get the answer."""
        session = self.sessions[number]
        event, planned = session.events[session.at]
        if session.state == "idle" and self._turn(session) is planned.commit:
            session.committed = True
            self.server.commit(event.ended)
            self._wake()
            self._settle(planned.commit)
        elif session.state == "idle":
            session.state = "sent" if planned.sent else "executed"
        elif session.state == "sent":
            self._execute(session, event)
        else:
            session.state = "idle"
            session.at += 1
            session.committed = False
            if session.at == len(session.events):
                self._disconnect(event)
            self._settle(planned)

    def _settle(self, planned: Planned) -> None:
        for place, mark in planned.marks:
            settle(self.settled, self.prefix, place, mark)

    def _disconnect(self, last: Event) -> None:
        """Close a session after the answer to its last event. An open transaction is rolled back."""
        self.server.rollback(last.transaction)
        self.server.unlock_tables(last.transaction)
        self._wake()

    def _at_once(self, event: Event) -> bool:
        """Execute a statement of a kind that never waits. Return whether the statement is of such a kind."""
        kind = event.statement.kind
        if kind == "snapshot":
            self.server.open_snapshot(event.transaction)
        elif kind == "savepoint":
            self.server.set_savepoint(event.transaction)
        elif kind == "back":
            self.server.go_back(event.transaction)
        elif kind == "unlock_tables":
            self.server.unlock_tables(event.transaction)
            self._wake()
        return kind in (*BEGINNINGS, "off", "savepoint", "back", "unlock_tables", "xa_end", "xa_prepare")

    def _execute(self, session: _Session, event: Event) -> None:
        kind = event.statement.kind
        if event.ended:
            self.server.commit(event.ended)
            self._wake()
        if event.victim or kind in ENDS:
            (self.server.commit if kind in COMMITS and not event.victim else self.server.rollback)(event.transaction)
            self._wake()
        elif kind == "release":
            self.server.release_lock(event.session, event.statement.low)
            self._wake()
        elif kind == "get":
            if not self.server.get_lock(event.session, event.statement.low):
                session.state, session.blockers = "blocked", set()
                return
        elif not self._at_once(event):
            found = self.server.attempt(event.transaction, event.statement, event.number)
            if isinstance(found, set):
                session.state, session.blockers = "blocked", found
                self._look_for_circle(event, found)
                return
            if not event.inside and kind not in ("lock_tables", "share_tables"):
                self.server.commit(event.transaction)
                self._wake()
            if found != event.answer:
                if found != REDEFINED and (kind == "read" or (kind in ("lock", "share") and not event.inside)):
                    self.outcome.reads += 1
                else:
                    self.outcome.answers.append(f"{event.number} {event.statement}: {event.answer} became {found}")
        session.state = "executed"

    def _wake(self) -> None:
        for session in self.sessions.values():
            if session.state == "blocked":
                session.state = "sent"

    def _look_for_circle(self, event: Event, blockers: set[int]) -> None:
        by_transaction = {
            session.events[session.at][0].transaction: session.blockers
            for session in self.sessions.values()
            if session.state == "blocked"
        }
        seen: set[int] = set()
        todo = list(blockers)
        while todo:
            other = todo.pop()
            if other == event.transaction:
                self.outcome.deadlocks.append(f"{event.number} {event.statement}")
                return
            if other not in seen:
                seen.add(other)
                todo += by_transaction.get(other, ())

    def conclude(self) -> None:
        """Record the sessions that did not finish and the rows that differ."""
        for session in self.sessions.values():
            if session.at < len(session.events) and not self.outcome.deadlocks:
                event = session.events[session.at][0]
                waits = self._turn(session).waits
                short = {p: (n, self.prefix.get(p, 0)) for p, n in waits.items() if self.prefix.get(p, 0) < n}
                self.outcome.stuck.append(
                    f"{event.number} of session {event.session}: {session.state} {short} {session.blockers}"
                )
        if not self.outcome.stuck and not self.outcome.deadlocks:
            before, after = self.history.after, self.server.committed
            self.outcome.rows = [
                f"{place}: {before.get(place)} became {after.get(place)}"
                for place in sorted({*before, *after})
                if before.get(place) != after.get(place)
            ]
