# SPDX-License-Identifier: Apache-2.0
"""Conversion of a history to the tape events that each kind of source would capture."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from querytape.common.duck import sql_text
from querytape.replay.plan.rules import Rules

from tests.helpers.duck import database
from tests.helpers.planning import planned
from tests.helpers.tapes import SECOND, T0
from tests.helpers.tiers import mostly_long

from .history import Event, History
from .target import Planned

APART = 100  # difference between the session numbers of two histories on one tape

# name: (source of the tape, precision_ns of the tape)
SOURCES = {
    "packets": ("packets", 1),
    "slow log": ("slowlog", 1),
    "slow log of whole seconds": ("slowlog", SECOND),
    "general log": ("general", 1),
}
# `make test` leaves out the slow log with microseconds. This log gives the plan the same information as packets.
TRIED = mostly_long(SOURCES, "packets", "slow log of whole seconds", "general log")

RANGE_OF_ONE = re.compile(r"between (\d+) and \1\b")
TEXTS = {
    "begin": ("transaction", "begin"),
    "commit": ("transaction", "commit"),
    "rollback": ("transaction", "rollback"),
    "read": ("read", "select v from {} where id between {} and {}"),
    "lock": ("read", "select v from {} where id between {} and {} for update"),
    "share": ("read", "select v from {} where id between {} and {} lock in share mode"),
    "update": ("write", "update {} set v = v + 1 where id between {} and {}"),
    "delete": ("write", "delete from {} where id between {} and {}"),
    "insert": ("write", "insert into {} values ({}, {})"),
    "get": ("read", "select get_lock('{0}{1}', 60)"),
    "release": ("read", "select release_lock('{0}{1}')"),
    "snapshot": ("transaction", "start transaction with consistent snapshot"),
    "savepoint": ("transaction", "savepoint a"),
    "back": ("transaction", "rollback to savepoint a"),
    "xa_start": ("transaction", "xa start '{0}_{1}'"),
    "xa_end": ("transaction", "xa end '{0}_{1}'"),
    "xa_prepare": ("transaction", "xa prepare '{0}_{1}'"),
    "xa_commit": ("transaction", "xa commit '{0}_{1}'"),
    "xa_rollback": ("transaction", "xa rollback '{0}_{1}'"),
    "off": ("session", "set autocommit = 0"),
    "alter": ("ddl", "alter table {} force"),
    "lock_tables": ("session", "lock tables {} write"),
    "share_tables": ("session", "lock tables {} read"),
    "unlock_tables": ("session", "unlock tables"),
}


def plan_histories(folder: Path, histories: Sequence[History], source: str) -> list[list[Planned]]:
    """Write all histories to one tape, each history with its own sessions and tables. Return the commit-order plan of
    each history.
    """
    events = [event for number, history in enumerate(histories) for event in tape_events(history, source, number)]
    folder.mkdir()
    name, precision_ns = SOURCES[source]
    plan = planned(folder, events, Rules(allow_writes=True, commit_order=True), precision_ns=precision_ns, source=name)
    left_out: set[tuple[int, int]] = set()
    with database() as con:
        rows = con.execute(f"SELECT session, seq, waits FROM {sql_text(str(plan.order))}").fetchall()
        if plan.excluded_events.exists():
            left_out |= set(con.execute(f"SELECT session, seq FROM {sql_text(plan.excluded_events)}").fetchall())
    texts = {(session, seq): text for session, seq, text in rows}
    found = []
    for number, history in enumerate(histories):
        places: dict[int, int] = defaultdict(int)
        plans = []
        for event in history.events:
            places[event.session] += 1
            place = (number * APART + event.session, places[event.session])
            is_sent = place not in left_out if is_silent(event, source) else not event.failed
            plans.append(replace(read_planned(texts.get(place)), sent=is_sent))
        found.append(plans)
    return found


def read_planned(text: str | None) -> Planned:
    """Parse the text that the engine reads. It contains waits and marks of the event, and of the COMMIT before the
    event.
    """
    *commit, own = (text or "").split("|")
    waits, _, marks = own.partition(";")
    return Planned(dict(_pairs(waits)), tuple(_pairs(marks)), read_planned(commit[0]) if commit else None)


def _pairs(text: str) -> list[tuple[int, int]]:
    return [(int(place), int(number)) for place, number in (pair.split(":") for pair in text.split())]


def tape_events(history: History, source: str, number: int = 0) -> list[dict[str, Any]]:
    """Return the tape rows of a history in the order in which the events were sent. `number` makes sessions and tables
    unique.
    """
    return [_tape_event(event, source, times(event, source, history.moments_ns), number) for event in history.events]


def is_silent(event: Event, source: str) -> bool:
    """Return whether the tape lacks the answer to the last statement of a killed session. Logs contain an error
    instead.
    """
    return event.silent and source == "packets"


def _tape_event(event: Event, source: str, known: tuple[int, int | None], number: int) -> dict[str, Any]:
    statement = event.statement
    kind, text = TEXTS[statement.kind]
    table = f"h{number}_t{statement.table}"
    start, end = known
    silent = is_silent(event, source)
    text = RANGE_OF_ONE.sub(r"= \1", text.format(table, statement.low, statement.high))
    return {
        "session": number * APART + event.session,
        "start_ns": T0 + start,
        "duration_ns": None if end is None or silent else end - start,
        "statement": text,
        "class": kind,
        "digest": f"{abs(hash((statement.kind, table, statement.low == statement.high))) % 2**64:016x}",
        "errno": None if silent else 1213 if event.victim else 1205 if event.failed else 0,
        "db": "shop",
        "rows_affected": event.rows if event.statement.kind in ("update", "delete") else None,
        "rows_sent": event.rows if event.statement.kind in ("lock", "share") else None,
    }


def times(event: Event, source: str, moments_ns: int = 1) -> tuple[int, int | None]:
    """Return the times of an event that the source contains. These are its start and end, or only its arrival."""

    def rounded(at: int) -> int:
        return at // moments_ns * moments_ns

    if source == "general log":
        return rounded(event.arrived), None
    if source == "packets":
        return rounded(event.sent), rounded(event.answered)
    return rounded(event.arrived), rounded(event.logged)
