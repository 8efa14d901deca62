# SPDX-License-Identifier: Apache-2.0
"""The rules of docs/order.md as a slow and simple reference that compares all pairs of events."""

from collections import defaultdict
from dataclasses import dataclass

from tests.helpers.tapes import T0

from .history import Event, History
from .server import ENDS, SHARED, TABLE_LOCKS, WHOLE
from .target import Planned
from .views import times

Key = tuple[int, int]  # (table, kind)
COMMITS, LOCKS, ADDS = range(3)
USER_LOCKS = -1  # user-level locks are stored like a table with this number
AT_ONCE, OWN_ENDS, WHOLE_ENDS, TX_ENDS, OWN_ARRIVES = range(5)  # order of actions at the same time
NEVER = 1 << 62
LAST_NS = 1_000_000_000  # maximum time from the last arrival of a session to its end
PRECISION_NS = 1  # precision of the tapes of views.py


@dataclass
class Seen:
    """An event as the tape shows it. The event began after the time `low` and had ended by the time `high`."""

    event: Event
    seq: int
    start: int
    low: int
    high: int
    long: bool
    transaction: int | None
    alone: bool  # whether the event takes locks and is its own commit
    exclusive: bool  # whether the event locks its whole table
    inside: bool  # whether the event takes locks in a transaction
    ends: bool  # whether the event ends its transaction
    last: bool  # whether the event is the last of its session in a log of arrivals, so that its end is unknown
    part: int = 0  # 1 for the event itself, 0 for the implicit COMMIT before it
    moment: int = 0
    granted: int = 0
    began: int = 0  # rule 8: the event certainly had no locks before this time
    slow: bool = False  # whether the event took longer than the longest lock wait

    @property
    def table(self) -> int:
        return self.event.statement.table

    @property
    def kind(self) -> str:
        return self.event.statement.kind

    @property
    def row(self) -> int | None:
        """Return the row that the event certainly locked, if it asked for one row."""
        one = self.event.statement.low == self.event.statement.high and not self.event.failed
        asks = self.kind in ("update", "delete", "lock", "share")
        return self.event.statement.low if one and asks and self.event.rows and not self.event.silent else None

    @property
    def reads(self) -> bool:
        """Return whether the event reads without locks. A statement that ended its transaction did not read."""
        return self.kind == "read" and not self.ends

    @property
    def adds(self) -> bool:
        """Return whether the event adds rows. Other locking events use existing rows."""
        return self.kind == "insert"


class Reference:
    """The reference plan of one history."""

    def __init__(self, history: History, source: str, overlap_ns: int) -> None:
        """Convert all events and compute their waits and marks."""
        self.arrivals = source == "general log"
        self.seconds = source == "slow log of whole seconds"
        self.events = _see(history, source, overlap_ns)
        self.ended = {seen.transaction: seen for seen in self.events if seen.ends}
        if not self.arrivals:
            self._end_writes_earlier()
        self.whole = {seen.table for seen in self.events if seen.exclusive}
        self.held: dict[int, list[Seen]] = defaultdict(list)  # by table
        self.readers: dict[int, list[Seen]] = defaultdict(
            list
        )  # by table: first reads of transactions that use it later
        self.tables: dict[int | None, set[int]] = defaultdict(set)  # tables that each transaction locked
        for seen in self.events:
            if seen.inside or (self._shares(seen) and seen.transaction is not None):
                self.held[seen.table].append(seen)
                self.tables[seen.transaction].add(seen.table)
            for table in self._redefined_later(seen) - {seen.table}:
                self.readers[table].append(seen)
        for seen in self.events:
            self._find_beginning(seen, overlap_ns)
        self._find_moments()
        self.marks = self._find_marks()
        self.numbers: dict[tuple[int, int], dict[Key, int]] = defaultdict(dict)  # by number and part of an event
        for key, marked in self.marks.items():
            for number, (*_, seen) in enumerate(marked, 1):
                self.numbers[seen.event.number, seen.part][key] = number

    def plan(self) -> list[Planned]:
        """Return the waits and marks of each event, in the order of the history."""
        front: dict[int, Planned] = {}
        found = []
        for seen in self.events:
            waits = {3 * table + kind: number for (table, kind), number in self._waits(seen).items() if number > 0}
            numbers = self.numbers[seen.event.number, seen.part].items()
            marks = tuple((3 * table + kind, number) for (table, kind), number in numbers)
            if seen.ends and seen.event.ended:
                front[seen.event.number] = Planned(waits, marks)
            else:
                commit = front.get(seen.event.number)
                found.append(Planned(waits, marks, commit if commit and (commit.waits or commit.marks) else None))
        return found

    def _end_writes_earlier(self) -> None:
        """End each write before a transaction that then locked its row, if the transaction kept the lock for longer."""
        locked: dict[tuple[int, int], dict[int | None, int]] = defaultdict(dict)
        for seen in self.events:
            if seen.inside and seen.row is not None:
                firsts = locked[seen.table, seen.row]
                firsts[seen.transaction] = min(firsts.get(seen.transaction, NEVER), seen.high)
        for seen in self.events:
            if not seen.alone or seen.row is None or seen.kind not in ("update", "delete"):
                continue
            before = [(first, tx) for tx, first in locked[seen.table, seen.row].items() if first < seen.high]
            first, tx = max(before, default=(-NEVER, None))
            if first > seen.low and tx in self.ended and self.ended[tx].low > seen.high:
                seen.high = first - 1

    def _shares(self, seen: Seen) -> bool:
        return seen.reads and seen.table in self.whole

    def _closed(self, table: int) -> list[Seen]:
        return [seen for tx, seen in self.ended.items() if table in self.tables[tx]]

    def _find_beginning(self, seen: Seen, overlap_ns: int) -> None:
        """Find out until when a long statement certainly waited. It is not long if it ended soon afterwards."""
        seen.began, seen.slow = seen.low, seen.long
        if not seen.long or not (seen.alone or seen.inside):
            return
        whole = {other.transaction for other in self.events if other.inside and other.exclusive}
        freed = [other.low for other in self._closed(seen.table) if other.transaction in whole]
        freed += [other.high for other in self.events if other.alone and other.exclusive and other.table == seen.table]
        freed += [self._last_before(seen)] if seen.exclusive else []
        within = [ns for ns in freed if seen.low < ns < seen.high]
        if within:
            seen.began = max(within) + 1
            seen.long = seen.high - seen.began > overlap_ns

    def _find_moments(self) -> None:
        for seen in self.events:
            seen.moment = seen.low
            if not seen.alone:
                continue
            closed = self._closed(seen.table)
            if seen.exclusive and not self.arrivals:
                seen.moment = self._moment_without_holders(seen)
            elif self.arrivals:
                for other in closed:
                    first = min(held.low for held in self.held[seen.table] if held.transaction == other.transaction)
                    if first < seen.low < other.low < (seen.low + LAST_NS if seen.last else seen.high):
                        seen.moment = max(seen.moment, other.low + 1)
            else:
                since = max([seen.began, *(other.low for other in closed if other.low < seen.high)])
                locking = [held for held in self.held[seen.table] if held.inside]
                within = [held.high for held in locking if since < held.high < seen.high]
                seen.moment = min(within) - 1 if within else seen.high

        for table in self.whole if self.arrivals else ():
            self._keep_behind_whole([seen for seen in self.events if seen.alone and seen.table == table])

    def _moment_without_holders(self, seen: Seen) -> int:
        """Return the last moment of a DDL statement at which no transaction had a lock on the table.

        A lock lasts until the end of its transaction. A transaction whose end is not known lasts for ever.
        """
        others = [other for other in self.events if other.alone and other.exclusive and other.table == seen.table]
        since = seen.low
        while before := [other.low for other in others if other.low < since < other.high]:
            since = min(before)
        firsts: dict[tuple[int | None, bool], int] = {}
        lasts: dict[tuple[int | None, bool], int] = {}
        after = max(self._last_before(seen), seen.began)
        holders = [(held, False) for held in self.held[seen.table]]
        for held, later in holders + [(held, True) for held in self.readers[seen.table]]:
            ending, holder = self.ended.get(held.transaction), (held.transaction, later)
            if since < held.high <= seen.high and (ending is None or ending.low != held.high):
                firsts[holder] = min(firsts.get(holder, NEVER), held.high)
                lasts[holder] = NEVER if ending is None or ending.low >= seen.high else ending.low
        moment = NEVER
        while around := [first for holder, first in firsts.items() if after < first <= moment <= lasts[holder]]:
            moment = min(around) - 1
        return min(moment, seen.high)

    def _last_before(self, seen: Seen) -> int:
        """Return when the last transaction ended that DDL certainly waited for. Without one, return its beginning.

        It waited for a transaction that had a lock when the DDL arrived, or while the DDL waited for another one.
        """
        locked: dict[int | None, int] = {}
        for held in self.held[seen.table]:
            locked[held.transaction] = min(locked.get(held.transaction, NEVER), held.high)
        ends = sorted((self.ended[tx].low, first) for tx, first in locked.items() if tx in self.ended)
        after = seen.low
        for end, first in ends:
            if seen.low < end < seen.high and first <= after:
                after = end
        return after

    def _keep_behind_whole(self, own: list[Seen]) -> None:
        whole = -NEVER
        for seen in sorted(own, key=self._decided):
            if whole + 1 > seen.moment and (whole + 1 < seen.high or seen.last):
                seen.moment = whole + 1
            if seen.exclusive:
                whole = seen.moment

    def _decided(self, seen: Seen) -> tuple[int, ...]:
        """Return the time at which the commit time of an arrival is known."""
        place = (seen.low, seen.event.session, seen.seq)
        if seen.high <= seen.low and not seen.last:
            return (seen.low, AT_ONCE, *place)
        opened = {held.transaction for held in self.held[seen.table] if held.low < seen.low}
        ends = [self.ended[tx].low if tx in self.ended else NEVER for tx in opened]
        awaited = max((end for end in ends if end > seen.low), default=-1)
        limit = (seen.low + LAST_NS if seen.last else seen.high, WHOLE_ENDS if seen.exclusive else OWN_ENDS)
        return (*min(limit, (awaited, TX_ENDS) if awaited > 0 else (seen.low, OWN_ARRIVES)), *place)

    def _find_marks(self) -> dict[Key, list[tuple[int, int, int, int, Seen]]]:
        marks: dict[Key, list[tuple[int, int, int, int, Seen]]] = defaultdict(list)

        def mark(table: int, kind: int, moment: int, seen: Seen) -> None:
            marks[table, kind].append((moment, seen.low, seen.event.session, 2 * seen.seq + seen.part, seen))
            marks[table, kind].sort(key=lambda mark: mark[:4])

        for seen in self.events:
            if seen.kind in ("get", "release"):
                mark(USER_LOCKS, COMMITS, seen.high if seen.kind == "get" else seen.low, seen)
            for table in [seen.table] if seen.alone else self.tables[seen.transaction] if seen.ends else ():
                mark(table, COMMITS, seen.moment, seen)
        self.long = {seen.table for seen in self.events if seen.slow and (seen.alone or seen.inside)}
        for seen in self.events:
            if seen.inside and seen.adds:
                before = [moment for moment, *_ in marks[seen.table, COMMITS] if moment < seen.high]
                seen.granted = min(seen.high, max([seen.began, *(at + 1 for at in before)]))
                mark(seen.table, ADDS, seen.granted, seen)
            if (seen.inside and seen.table in self.long | self.whole) or self._shares(seen):
                mark(seen.table, LOCKS, seen.high, seen)
            for table in self._redefined_later(seen) - {seen.table}:
                mark(table, LOCKS, seen.high, seen)
        return marks

    def _before(self, key: Key, until: int) -> int:
        return sum(moment < until for moment, *_ in self.marks.get(key, []))

    def _waits(self, seen: Seen) -> dict[Key, int]:
        table = seen.table
        numbers = self.numbers[seen.event.number, seen.part]
        waits: dict[Key, int] = {}
        if seen.ends or seen.alone:
            for key, number in numbers.items():
                waits[key] = self._before(key, seen.began) if seen.long and seen.alone else number - 1
        elif seen.inside:
            until = seen.began if seen.long else seen.high
            waits[table, COMMITS] = self._before((table, COMMITS), until)
            if not seen.adds:
                waits[table, ADDS] = self._before((table, ADDS), until)
        elif seen.kind in ("get", "release"):
            until = seen.high if seen.kind == "get" else seen.low
            waits[USER_LOCKS, COMMITS] = self._before((USER_LOCKS, COMMITS), until)
        elif seen.reads:
            began = min(seen.high - 1, max(seen.low, seen.start) if self.seconds else seen.low)
            for each in self._tables_of_read(seen):
                visible = [
                    n for n, (*_, mark) in enumerate(self.marks[each, COMMITS], 1) if self._visible(mark) <= began
                ]
                waits[each, COMMITS] = max(visible, default=0)
            for each in self._locked_later(seen) | self._redefined_later(seen):
                waits[each, COMMITS] = max(waits.get((each, COMMITS), 0), self._before((each, COMMITS), seen.high))
            if self._shares(seen) and seen.transaction is not None:
                waits[table, COMMITS] = max(waits[table, COMMITS], self._before((table, COMMITS), seen.high))
        if seen.exclusive and not seen.long:
            waits[table, LOCKS] = self._before((table, LOCKS), seen.moment if seen.alone else seen.high)
        if seen.slow and (seen.alone or seen.inside):
            waits[table, LOCKS] = max(waits.get((table, LOCKS), 0), self._before((table, LOCKS), seen.began))
        return waits

    def _visible(self, mark: Seen) -> int:
        return mark.moment if self.arrivals else mark.high

    def _tables_of_read(self, seen: Seen) -> set[int]:
        later = self._after_first_read(seen)
        return {seen.table, *(other.table for other in later if other.reads or other.inside)}

    def _locked_later(self, seen: Seen) -> set[int]:
        return {other.table for other in self._after_first_read(seen) if other.inside}

    def _redefined_later(self, seen: Seen) -> set[int]:
        """Return the tables of DDL from which a transaction reads or locks rows after its first plain read."""
        later = self._after_first_read(seen) if seen.reads else []
        tables = {other.table for other in later if other.reads or (other.inside and not other.adds)}
        return tables & {other.table for other in self.events if other.kind == "alter"}

    def _after_first_read(self, seen: Seen) -> list[Seen]:
        if seen.transaction is None:
            return []
        same = [other for other in self.events if other.transaction == seen.transaction]
        if any(other.reads and other.seq < seen.seq for other in same):
            return []
        return [other for other in same if other.seq > seen.seq]


def _see(history: History, source: str, overlap_ns: int) -> list[Seen]:
    before: dict[int, int] = {}
    seqs: dict[int, int] = defaultdict(int)
    next_of: dict[int, Event] = {}
    last: dict[int, Event] = {}
    for event in history.events:
        if event.session in last:
            next_of[last[event.session].number] = event
        last[event.session] = event
    found = []
    under_locks = {
        event.transaction for event in history.events if event.statement.kind in ("lock_tables", "share_tables")
    }
    for event in history.events:
        start, end = times(event, source, history.moments_ns)
        low = start
        if end is None:
            following = next_of.get(event.number)
            high = start if following is None else times(following, source, history.moments_ns)[0]
        else:
            ended = before.get(event.session, -T0)
            low = ended if source == "slow log of whole seconds" else max(start - PRECISION_NS, ended)
            high = max(end, ended)
        before[event.session] = high
        seqs[event.session] += 1
        exclusive = TABLE_LOCKS.get(event.statement.kind) in (SHARED, WHOLE)
        takes = (event.statement.locks or exclusive) and not event.victim
        inside = event.inside or event.transaction in under_locks
        only_waits = event.statement.kind in ("lock_tables", "share_tables")
        is_long = end is not None and end - start > overlap_ns and not only_waits
        is_last = end is None and event.number not in next_of
        if event.ended:
            args = (event, seqs[event.session], start, low, high, is_long, event.ended)
            found.append(Seen(*args, alone=False, exclusive=False, inside=False, ends=True, last=is_last))
        found.append(
            Seen(
                event,
                seqs[event.session],
                start,
                low,
                high,
                is_long,
                event.transaction if inside else None,
                takes and not inside,
                exclusive,
                takes and inside,
                inside and (event.victim or event.statement.kind in (*ENDS, "unlock_tables")),
                is_last,
                int(bool(event.ended)),
            )
        )
    return found
