# SPDX-License-Identifier: Apache-2.0
"""Tests of the plan with `--order commit`: the commits that each event waits for."""

import random
from pathlib import Path
from typing import Any

import pytest
from querytape.common.units import plural
from querytape.native.bindings.sweep import PLACES
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.commit_order import CALLS_AT_ONCE, ONLY_ARRIVALS, TRIGGERS_CHANGE, known_times
from querytape.replay.plan.rules import Rules
from querytape.schemas.names import TABLE_FIRST

from tests.helpers.planning import fed, planned
from tests.helpers.tapes import MS, T0

pytestmark = pytest.mark.slow

ORDERED = Rules(allow_writes=True, commit_order=True)
CATALOG = Catalog(frozenset({"v"}))


def event(session: int, start_ms: int, end_ms: int, sql: str, errno: int = 0) -> dict[str, Any]:
    """Return an event. Its class follows from its first word."""
    word = sql.split()[0].lower()
    kinds = {
        "select": "read",
        "begin": "transaction",
        "commit": "transaction",
        "create": "ddl",
        "start": "transaction",
        "analyze": "admin",
        "lock": "session",
        "unlock": "session",
        "alter": "ddl",
    }
    return {
        "session": session,
        "start_ns": T0 + start_ms * MS,
        "duration_ns": (end_ms - start_ms) * MS,
        "statement": sql,
        "class": kinds.get(word, "write"),
        "digest": f"{abs(hash(sql)) % 2**64:016x}",
        "errno": errno,
    }


def waits(
    tmp_path: Path,
    events: list[dict[str, Any]],
    precision_ns: int = 1000,
    source: str = "slowlog",
    catalog: Catalog = CATALOG,
) -> list[str | None]:
    """Return the waits and commit numbers of each event, in the order of the list."""
    plan = planned(tmp_path, events, ORDERED, catalog=catalog, precision_ns=precision_ns, source=source)
    rows = {(session, seq): text for session, seq, text in fed(plan, "session", "seq", "waits")}
    places: dict[int, int] = {}
    found = []
    for given in events:
        places[given["session"]] = places.get(given["session"], 0) + 1
        found.append(rows[given["session"], places[given["session"]]])
    return found


def test_single_statements_on_different_tables_overlap(tmp_path: Path) -> None:
    """An event that accesses table a waits only for commits on a. It does not wait for commits that ended after its
    start.
    """
    found = waits(
        tmp_path,
        [
            event(1, 0, 10, "update a set x = 1"),
            event(2, 0, 20, "update b set x = 1"),
            event(3, 15, 16, "select * from a"),
            event(3, 17, 18, "select * from b"),
            event(3, 30, 31, "select * from a join b"),
            event(3, 40, 41, "select 1"),
        ],
    )
    a, b = ("9", "12") if found[0] == ";9:1" else ("12", "9")
    assert found == [f";{a}:1", f";{b}:1", f"{a}:1", None, "9:1 12:1", None]


def test_plan_has_three_places_per_table(tmp_path: Path) -> None:
    """Each table of the tape has three places for counts. The group of all tables and the unknown tables have three
    places each.
    """
    events = [event(1, 0, 1, "update a set x = 1"), event(1, 2, 3, "select * from a join b")]
    plan = planned(tmp_path, events, ORDERED, catalog=CATALOG)
    assert (plan.order_tables, type(plan.order_tables)) == (PLACES * (TABLE_FIRST + 2), int)


def test_commit_covers_the_written_tables(tmp_path: Path) -> None:
    """A COMMIT counts once for each written table. The statements of the transaction and read-only tables do not count."""
    found = waits(
        tmp_path,
        [
            event(1, 0, 1, "begin"),
            event(1, 2, 3, "update a set x = 1"),
            event(1, 4, 5, "select * from b"),
            event(1, 6, 9, "commit"),
            event(2, 8, 9, "select * from a"),
            event(2, 10, 11, "select * from a"),
            event(2, 12, 13, "select * from b"),
        ],
    )
    assert found[3] is not None
    place = int(found[3].split(":")[0].removeprefix(";"))
    assert place >= PLACES * TABLE_FIRST
    read_within_the_commit, read_behind_it, read_of_b = found[4:]
    assert found[:4] == [None, None, None, f";{place}:1"]
    assert [read_within_the_commit, read_behind_it, read_of_b] == [None, f"{place}:1", None]


def test_statement_with_unknown_tables_waits_for_all_commits(tmp_path: Path) -> None:
    """A CALL, a statement on a view, and a consistent snapshot wait for all commits. Every event waits for the commit
    of a CALL.
    """
    found = waits(
        tmp_path,
        [
            event(1, 0, 1, "update a set x = 1"),
            event(1, 2, 3, "update b set x = 1"),
            event(2, 4, 5, "call p()"),
            event(3, 6, 7, "select * from c"),
            event(3, 8, 9, "select * from v"),
            event(4, 10, 11, "start transaction with consistent snapshot"),
        ],
    )
    assert found[2] is not None
    assert found[2].split(";")[0] == "0:2"
    assert found[3:] == ["3:1", "0:3", "0:3"]


def test_implicit_commit_without_writes_does_not_count(tmp_path: Path) -> None:
    """A statement such as ANALYZE TABLE or BEGIN ends a transaction but does not count as a commit on a table."""
    found = waits(
        tmp_path, [event(n, 10 * n, 10 * n + 1, text) for n, text in enumerate(["analyze table a", "begin"], 1)]
    )
    assert found == [None, None]


def test_table_lock_waits_for_all_earlier_accesses(tmp_path: Path) -> None:
    """DDL and LOCK TABLES wait for single reads of the table. They also wait for transactions that read the table."""
    texts = ["select * from a", "create table a (i int)", "lock tables a read", "unlock tables", "select * from a"]
    sessions = [1, 2, 3, 3, 4]
    found = waits(
        tmp_path,
        [
            event(session, 10 * n, 10 * n + 1, text)
            for n, (session, text) in enumerate(zip(sessions, texts, strict=True))
        ],
    )
    assert found == [";10:1", "10:1;9:1", "9:1 10:1;10:2", "9:1;9:2", "9:2;10:3"]


def test_transaction_locks_the_tables_that_it_reads(tmp_path: Path) -> None:
    """The DDL began before the COMMIT of the reader and ended after it. A read that follows the DDL waits for the DDL."""
    found = waits(
        tmp_path,
        [
            event(1, 0, 1, "begin"),
            event(1, 2, 3, "select * from a"),
            event(2, 4, 20, "alter table a add j int"),
            event(1, 6, 8, "commit"),
            event(3, 7, 30, "begin"),
            event(3, 30, 40, "select * from a"),
        ],
    )
    assert found[2:4] == ["9:1 10:1;9:2", ";9:1"]
    assert found[5] == "9:2;10:2"


def test_single_locking_read_counts_as_a_commit(tmp_path: Path) -> None:
    """A locking read outside a transaction holds its locks until its end. Later locking statements wait for the read.
    The read waits for earlier commits.
    """
    found = waits(
        tmp_path,
        [
            event(1, 0, 2, "update a set x = 1"),
            event(2, 1, 4, "select x from a for update"),
            event(3, 3, 6, "update a set x = 2"),
        ],
    )
    assert found == [";9:1", "9:1;9:2", "9:2;9:3"]


def test_write_that_must_have_locked_its_row_first_comes_first(tmp_path: Path) -> None:
    """A transaction locked the table while the write was running. If both accessed one row, the write locked the row
    first.
    """
    found = waits(
        tmp_path,
        [
            event(1, 0, 10, "update a set x = 1"),
            event(2, 1, 2, "begin"),
            event(2, 3, 4, "update b set x = 1"),
            event(2, 5, 8, "update a set x = 2"),
            event(2, 11, 12, "update a set x = 3"),
            event(2, 14, 15, "commit"),
        ],
    )
    place = str(found[0]).removeprefix(";").split(":")[0]
    assert found[0] == f";{place}:1"
    assert found[3] == f"{place}:1"  # the write is first, although it was answered later
    assert f"{place}:2" in str(found[5]).split(";")[1].split()


def test_write_that_may_have_waited_does_not_come_first(tmp_path: Path) -> None:
    """Another transaction ended during the write. The write may have waited for the locks of this transaction."""
    found = waits(
        tmp_path,
        [
            event(1, 5, 20, "update a set x = 1"),
            event(2, 0, 1, "begin"),
            event(2, 6, 8, "update a set x = 2"),
            event(2, 30, 31, "commit"),
            event(3, 0, 1, "begin"),
            event(3, 2, 3, "update a set x = 3"),
            event(3, 15, 16, "commit"),
        ],
    )
    place = str(found[6]).removeprefix(";").split(":")[0]
    assert found[6] == f";{place}:1"
    assert found[0] == f"{place}:1;{place}:2"
    assert found[2] is None


def test_deadlock_victim_does_not_wait_for_later_commits(tmp_path: Path) -> None:
    """The statement of the victim is sent as a ROLLBACK. This ROLLBACK is one commit at its start and takes no locks."""
    found = waits(
        tmp_path,
        [
            event(1, 0, 1, "begin"),
            event(1, 2, 3, "update a set x = 1"),
            event(1, 10, 20, "update a set x = 2", errno=1213),
            event(2, 12, 13, "update a set x = 3"),
            event(3, 0, 1, "update a set x = 4"),
        ],
    )
    place = int(str(found[3]).split(":")[0])
    assert found[2:4] == [f"{place}:1;{place}:2", f"{place}:2;{place}:3"]


def arrival(session: int, at_ms: int, sql: str) -> dict[str, Any]:
    """Return an event of a general log, which has only the arrival time."""
    return {**event(session, at_ms, at_ms, sql), "duration_ns": None, "errno": None}


def test_arrivals_keep_the_order_of_commits(tmp_path: Path) -> None:
    """A general log does not show that the second UPDATE waited. The COMMIT of its transaction came second, so the
    UPDATE must not come first.
    """
    found = waits(
        tmp_path,
        [
            arrival(1, 0, "begin"),
            arrival(2, 1, "begin"),
            arrival(1, 2, "update a set x = 1"),
            arrival(2, 3, "update a set x = 2"),
            arrival(1, 4, "select 1"),
            arrival(1, 5, "commit"),
            arrival(2, 6, "commit"),
            arrival(1, 7, "select * from a"),
            arrival(1, 8, "select 1"),
        ],
        precision_ns=1_000_000_000,
        source="general",
    )
    place = int(str(found[5]).split(";")[1].split(":")[0])
    assert (found[2], found[3], found[7]) == (None, f"{place}:1", f"{place}:2")


def test_single_write_waits_for_a_transaction_open_at_its_arrival(tmp_path: Path) -> None:
    """The write waits if the transaction ended before the next arrival in the session of the write."""
    events = [
        arrival(1, 0, "begin"),
        arrival(1, 1, "update a set x = 1"),
        arrival(2, 2, "update a set x = 2"),
        arrival(3, 3, "begin"),
        arrival(3, 4, "update a set x = 3"),
        arrival(1, 5, "commit"),
        arrival(3, 6, "commit"),
        arrival(2, 9, "select 1"),
    ]
    found = waits(tmp_path, events, source="general")
    place = str(found[5]).removeprefix(";").split(":")[0]
    assert (found[5], found[2], str(found[6]).split(";")[1]) == (f";{place}:1", f"{place}:1;{place}:2", f"{place}:3")


@pytest.mark.parametrize(
    ("source", "precision_ns", "durations", "times"),
    [
        ("general", 1000, False, "arrivals"),
        ("general+packets", 1000, True, "both"),
        ("packets", 1000, True, "both"),
        ("slowlog", 1_000_000_000, True, "ends"),
        ("audit", 1_000_000_000, False, "ends"),
        ("audit", 1000, False, "ends"),
    ],
)
def test_known_times_depend_on_the_source(source: str, precision_ns: int, durations: bool, times: str) -> None:
    """Only a general log has arrival times. Other logs without durations have end times."""
    assert known_times({"source": source}, precision_ns, durations) == times


def test_plan_notes_that_only_arrivals_are_known(tmp_path: Path) -> None:
    """The note is shown before anything is sent, and is kept in the run."""
    events = [arrival(1, 0, "update a set x = 1")]
    plan = planned(tmp_path, events, ORDERED, catalog=CATALOG, source="general")
    assert plan.order_notes == [ONLY_ARRIVALS]
    assert plan.as_json()["order_notes"] == [ONLY_ARRIVALS]


def random_history(seed: int, arrivals: bool) -> list[dict[str, Any]]:
    """Return events of five sessions: writes, CALLs, DDL and transactions. Many begin, end or arrive at the same time."""
    rng = random.Random(seed)
    events, clock, open_tx = [], dict.fromkeys(range(1, 6), 0), dict.fromkeys(range(1, 6), False)
    for _ in range(80):
        session = rng.randint(1, 5)
        texts = ["update {} set x = 1", "insert into {} values (1)", "select * from {}", "select 1", "call p()"]
        texts += ["commit"] * 4 if open_tx[session] else ["begin", "create table {}2 (i int)"]
        sql = rng.choice(texts).format(rng.choice("ab"))
        open_tx[session] = sql == "begin" or (open_tx[session] and sql != "commit")
        start = clock[session] + rng.randint(1, 4)
        clock[session] = start + (0 if arrivals else rng.randint(0, 6))
        events.append(arrival(session, start, sql) if arrivals else event(session, start, clock[session], sql))
    return events


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("source", "precision_ns", "seed"),
    [
        *(("general", 1000, seed) for seed in range(2)),
        *(("packets", 1000, seed) for seed in (2, 3, 9, 10, 11, 12)),
        *(("slowlog", 1_000_000_000, seed) for seed in (1, 2, 3, 4)),
    ],
)
def test_waits_have_no_circles(tmp_path: Path, source: str, precision_ns: int, seed: int) -> None:
    """Each event can be completed after the events that it waits for and after all earlier events of its session."""
    events = random_history(seed, arrivals=source == "general")
    no_circles(events, waits(tmp_path, events, precision_ns, source))


def no_circles(events: list[dict[str, Any]], waited: list[str | None]) -> None:
    """Complete all events in an order that the waits allow. Fail if no such order exists."""
    found = [str(text or "").partition(";") for text in waited]
    settled: dict[str, set[int]] = {}
    done: set[int] = set()
    while len(done) < len(events):
        ready = [
            at
            for at, (awaited, _, _) in enumerate(found)
            if at not in done
            and all(before in done for before in range(at) if events[before]["session"] == events[at]["session"])
            and all(
                set(range(1, int(number) + 1)) <= settled.get(place, set())
                for place, number in (pair.split(":") for pair in awaited.split())
            )
        ]
        assert ready, [(events[at]["statement"], text) for at, text in enumerate(found) if at not in done]
        done.update(ready)
        for at in ready:
            for pair in found[at][2].split():
                place, number = pair.split(":")
                settled.setdefault(place, set()).add(int(number))


def notes(tmp_path: Path, events: list[dict[str, Any]], **more: Any) -> list[str]:
    """Return the plan's notes about the order."""
    return planned(tmp_path, events, ORDERED, catalog=CATALOG, **more).order_notes


@pytest.mark.parametrize(
    ("spans", "counted"),
    [
        ([(0, 10), (11, 20), (21, 30)], 0),
        ([(0, 10), (9, 20), (21, 30)], 2),
        ([(0, 100), (9, 20), (21, 30)], 3),
        ([(0, 10), (10, 20)], 2),
        ([(0, 10)], 0),
        ([], 0),
    ],
)
def test_overlapping_calls_are_counted(tmp_path: Path, spans: list[tuple[int, int]], counted: int) -> None:
    """Each CALL that ran at the same time as another CALL is counted once, even inside an executable comment."""
    words = ("call p()", "CALL p()", "/*! call */ p()")
    events = [event(n, *span, words[n % 3]) for n, span in enumerate(spans, 1)]
    events.append(event(9, 0, 200, "update a set x = 1"))
    found = notes(tmp_path, events)
    assert found == ([CALLS_AT_ONCE.format(plural(counted, "CALL"))] if counted else [])


def test_triggers_of_the_tape_are_named(tmp_path: Path) -> None:
    """The plan does not know from when to when a trigger exists. Other DDL is not named."""
    made = event(1, 0, 1, "create trigger t before insert on a for each row set @x = 1")
    dropped = event(1, 4, 5, "drop trigger t")
    dropped["class"] = "ddl"
    assert notes(tmp_path, [made, event(2, 2, 3, "alter table a force"), dropped]) == [
        TRIGGERS_CHANGE.format("2 statements")
    ]


def test_calls_in_transactions_are_not_counted(tmp_path: Path) -> None:
    """The COMMIT of the client gives the order of the CALLs. The plan for a log of arrivals has a stronger note, so
    CALLs in such a log are not counted.
    """
    inside = [
        event(at, *span, sql)
        for at in (1, 2)
        for span, sql in (((0, 1), "begin"), ((2, 9), "call p()"), ((10, 11), "commit"))
    ]
    assert notes(tmp_path, inside) == []
    alone = [{**event(at, 0, 0, "call p()"), "duration_ns": None} for at in (1, 2)]
    (tmp_path / "general").mkdir()
    assert not any("CALL" in note for note in notes(tmp_path / "general", alone, source="general"))
