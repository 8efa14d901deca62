# SPDX-License-Identifier: Apache-2.0
"""--order commit as a plan: which commits each event waits for."""

import random
from pathlib import Path
from typing import Any

import pytest
from querytape.common.units import plural
from querytape.native.bindings.sweep import PLACES
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.commit_order import CALLS_AT_ONCE, ONLY_ARRIVALS, known_times
from querytape.replay.plan.rules import Rules
from querytape.schemas.names import TABLE_FIRST

from tests.helpers.planning import fed, planned
from tests.helpers.tapes import MS, T0

pytestmark = pytest.mark.slow

ORDERED = Rules(allow_writes=True, commit_order=True)
CATALOG = Catalog(frozenset({"v"}))


def event(session: int, start_ms: int, end_ms: int, sql: str, errno: int = 0) -> dict[str, Any]:
    """Return an event; its class follows from its first word."""
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
    tmp_path: Path, events: list[dict[str, Any]], precision_ns: int = 1000, source: str = "slowlog"
) -> list[str | None]:
    """Return what each event waits for and is, in the order of the list."""
    plan = planned(tmp_path, events, ORDERED, catalog=CATALOG, precision_ns=precision_ns, source=source)
    rows = {(session, seq): text for session, seq, text in fed(plan, "session", "seq", "waits")}
    places: dict[int, int] = {}
    found = []
    for given in events:
        places[given["session"]] = places.get(given["session"], 0) + 1
        found.append(rows[given["session"], places[given["session"]]])
    return found


def test_tables_of_their_own_overlap(tmp_path: Path) -> None:
    """Who touches a waits for commits on a alone; a commit that had not ended before is not waited for."""
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


def test_the_engine_knows_how_many_places_there_are(tmp_path: Path) -> None:
    """Three for each table of the tape, for all tables and for the unknown ones."""
    events = [event(1, 0, 1, "update a set x = 1"), event(1, 2, 3, "select * from a join b")]
    plan = planned(tmp_path, events, ORDERED, catalog=CATALOG)
    assert (plan.order_tables, type(plan.order_tables)) == (PLACES * (TABLE_FIRST + 2), int)


def test_a_transaction_commits_what_it_wrote(tmp_path: Path) -> None:
    """Its COMMIT is one commit on each of its tables; its statements are none, and what it only read neither."""
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


def test_who_knows_nothing_waits_for_all(tmp_path: Path) -> None:
    """A CALL, a view or a snapshot waits for every commit; everyone waits for what a CALL committed."""
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


def test_what_ends_a_transaction_and_writes_nothing(tmp_path: Path) -> None:
    """It is no commit on the tables that it names."""
    found = waits(
        tmp_path, [event(n, 10 * n, 10 * n + 1, text) for n, text in enumerate(["analyze table a", "begin"], 1)]
    )
    assert found == [None, None]


def test_what_takes_a_table_whole_waits_for_all_that_had_ended(tmp_path: Path) -> None:
    """DDL and LOCK TABLES wait for statements that read the table, and for transactions that read it."""
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


def test_a_transaction_holds_a_table_that_it_reads_where_another_takes_it_whole(tmp_path: Path) -> None:
    """DDL that began before the reader's COMMIT ended behind it; a read behind the DDL waits for it."""
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


def test_a_locking_read_of_its_own_is_a_commit(tmp_path: Path) -> None:
    """It holds its locks until it has ended: who wants them waits, and it waits for those before it."""
    found = waits(
        tmp_path,
        [
            event(1, 0, 2, "update a set x = 1"),
            event(2, 1, 4, "select x from a for update"),
            event(3, 3, 6, "update a set x = 2"),
        ],
    )
    assert found == [";9:1", "9:1;9:2", "9:2;9:3"]


def test_a_write_that_could_only_be_first(tmp_path: Path) -> None:
    """A write ends before a transaction whose lock came within it: had they wanted one row, the write had it first."""
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
    assert found[3] == f"{place}:1"  # though the write was answered after it
    assert f"{place}:2" in str(found[5]).split(";")[1].split()


def test_not_where_another_transaction_ended_since(tmp_path: Path) -> None:
    """The write may have waited for that one's lock: then it had its own locks behind it."""
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


def test_a_deadlocks_victim_waits_for_no_one_later(tmp_path: Path) -> None:
    """Its statement is sent as a ROLLBACK: one commit at its start, which takes no locks."""
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
    """Return an event as a general log has it: its arrival alone."""
    return {**event(session, at_ms, at_ms, sql), "duration_ns": None, "errno": None}


def test_arrivals_keep_the_order_of_commits(tmp_path: Path) -> None:
    """A general log does not say that the second UPDATE waited; it must not go first, for its COMMIT came second."""
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


def test_arrivals_of_writes_of_their_own(tmp_path: Path) -> None:
    """One goes behind a transaction that was open when it arrived, and ended before its session's next arrival."""
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
def test_which_times_are_known(source: str, precision_ns: int, durations: bool, times: str) -> None:
    """Only a general log is written as statements arrive; others without durations when they have ended."""
    assert known_times({"source": source}, precision_ns, durations) == times


def test_only_arrivals_is_said(tmp_path: Path) -> None:
    """What the order rests on is said before anything is sent, and kept."""
    events = [arrival(1, 0, "update a set x = 1")]
    plan = planned(tmp_path, events, ORDERED, catalog=CATALOG, source="general")
    assert plan.order_notes == [ONLY_ARRIVALS]
    assert plan.as_json()["order_notes"] == [ONLY_ARRIVALS]


def anything(seed: int, arrivals: bool) -> list[dict[str, Any]]:
    """Return events of five sessions: writes, CALLs, DDL, transactions; many end, begin or arrive at one moment."""
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
def test_no_circles(tmp_path: Path, source: str, precision_ns: int, seed: int) -> None:
    """Whatever each waits for, and its session's events before it, can be done first: nobody waits for himself."""
    events = anything(seed, arrivals=source == "general")
    no_circles(events, waits(tmp_path, events, precision_ns, source))


def no_circles(events: list[dict[str, Any]], waited: list[str | None]) -> None:
    """Do all events in an order that the waits allow; there has to be one."""
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
    """Return what the plan says of the order."""
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
def test_calls_that_overlap(tmp_path: Path, spans: list[tuple[int, int]], counted: int) -> None:
    """Each that ran beside another is counted once, in whatever comment its word stands."""
    words = ("call p()", "CALL p()", "/*! call */ p()")
    events = [event(n, *span, words[n % 3]) for n, span in enumerate(spans, 1)]
    events.append(event(9, 0, 200, "update a set x = 1"))
    found = notes(tmp_path, events)
    assert found == ([CALLS_AT_ONCE.format(plural(counted, "CALL"))] if counted else [])


def test_calls_of_transactions(tmp_path: Path) -> None:
    """The client's COMMIT tells their order: they are not counted; nor are those of a log of arrivals, which says more."""
    inside = [
        event(at, *span, sql)
        for at in (1, 2)
        for span, sql in (((0, 1), "begin"), ((2, 9), "call p()"), ((10, 11), "commit"))
    ]
    assert notes(tmp_path, inside) == []
    alone = [{**event(at, 0, 0, "call p()"), "duration_ns": None} for at in (1, 2)]
    (tmp_path / "general").mkdir()
    assert not any("CALL" in note for note in notes(tmp_path / "general", alone, source="general"))
