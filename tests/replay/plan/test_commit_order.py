# SPDX-License-Identifier: Apache-2.0
"""--order commit as a plan: which commits each event waits for."""

import random
from pathlib import Path
from typing import Any

import pytest
from querytape.replay.plan.catalog import Catalog
from querytape.replay.plan.commit_order import FIRST
from querytape.replay.plan.rules import Rules

from tests.helpers.planning import fed, planned
from tests.helpers.tapes import MS, T0

ORDERED = Rules(allow_writes=True, commit_order=True)
CATALOG = Catalog(frozenset({"v"}))


def event(session: int, start_ms: int, end_ms: int, sql: str, errno: int = 0) -> dict[str, Any]:
    """Return an event; its class follows from its first word."""
    word = sql.split()[0].lower()
    kinds = {"select": "read", "begin": "transaction", "commit": "transaction", "create": "ddl"}
    return {
        "session": session,
        "start_ns": T0 + start_ms * MS,
        "duration_ns": (end_ms - start_ms) * MS,
        "statement": sql,
        "class": kinds.get(word, "write"),
        "digest": f"{abs(hash(sql)) % 2**64:016x}",
        "errno": errno,
    }


def waits(tmp_path: Path, events: list[dict[str, Any]], precision_ns: int = 1000) -> list[str | None]:
    """Return what each event waits for and is, in the order of the list."""
    plan = planned(tmp_path, events, ORDERED, catalog=CATALOG, precision_ns=precision_ns)
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
    a, b = ("4", "6") if found[0] == ";4:1" else ("6", "4")
    assert found == [f";{a}:1", f";{b}:1", f"{a}:1", None, f"{min(a, b)}:1 {max(a, b)}:1", None]


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
    assert place >= 2 * FIRST
    assert found == [
        None,
        f";{place + 1}:1",  # it took locks
        None,
        f";{place}:1",
        f"{place}:1",  # the COMMIT had begun before it
        f"{place}:1",
        None,
    ]


def test_who_knows_nothing_waits_for_all(tmp_path: Path) -> None:
    """A CALL, or a view, waits for every commit; everyone waits for what a CALL committed."""
    found = waits(
        tmp_path,
        [
            event(1, 0, 1, "update a set x = 1"),
            event(1, 2, 3, "update b set x = 1"),
            event(2, 4, 5, "call p()"),
            event(3, 6, 7, "select * from c"),
            event(3, 8, 9, "select * from v"),
        ],
    )
    assert found[2] is not None
    assert found[2].split(";")[0] == "0:2"
    assert found[3:] == ["2:1", "0:3"]


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
    place = int(str(found[0]).split(":")[0].removeprefix(";"))
    assert found[0] == f";{place}:1"
    assert str(found[3]).split(";")[0] == f"{place}:1"  # though the write was answered after it
    other = int(str(found[2]).removeprefix(";").split(":")[0]) - 1
    assert set(str(found[5]).split(";")[1].split()) == {f"{place}:2", f"{other}:1"}


def test_not_where_another_transaction_ended_since(tmp_path: Path) -> None:
    """The write may have waited for that one's lock: then it keeps its end for a moment."""
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
    place = int(str(found[6]).split(";")[1].split(":")[0])
    assert found[6] == f";{place}:1"
    assert str(found[0]).split(";") == [f"{place}:1 {place + 1}:1", f"{place}:2"]
    assert found[2] == f"{place + 1}:1;{place + 1}:2"


def test_a_deadlocks_victim_waits_for_no_one_later(tmp_path: Path) -> None:
    """Its statement is sent as a ROLLBACK: one commit at its start, which takes no locks and never waits for itself."""
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
    assert found[2] == f"{place}:1;{place}:2"
    assert found[3] == f"{place}:2 {place + 1}:1;{place}:3"


def test_whole_seconds_keep_the_order_of_locks(tmp_path: Path) -> None:
    """What took locks and is logged before a COMMIT may have waited for it: it starts after those whose locks came first."""
    events = [
        event(1, 0, 1, "begin"),
        event(2, 0, 2, "begin"),
        event(1, 2, 3, "update a set x = 1"),
        event(2, 3, 6, "update a set x = 2"),
        event(1, 6, 7, "commit"),
        event(2, 8, 9, "commit"),
    ]
    (tmp_path / "seconds").mkdir()
    (tmp_path / "micro").mkdir()
    seconds = waits(tmp_path / "seconds", events, precision_ns=1_000_000_000)
    assert str(seconds[2]).startswith(";")
    place = str(seconds[2]).removeprefix(";").split(":")[0]
    assert str(seconds[3]).split(";")[0] == f"{place}:1"
    assert str(waits(tmp_path / "micro", events)[3]).split(";")[0] != f"{place}:1"


def brute_force(events: list[dict[str, Any]]) -> list[int]:
    """Return for each autocommitted event how many commits it waits for, by looking at all pairs."""

    def table(event: dict[str, Any]) -> str:
        return next(word for word in event["statement"].split() if word in "abc")

    def end(event: dict[str, Any]) -> int:
        return int(event["start_ns"] + event["duration_ns"])

    found = []
    for mine in events:
        commits = [e for e in events if e["class"] == "write" and table(e) == table(mine)]
        places = [(end(e), e["session"], e["start_ns"]) for e in commits]
        if mine["class"] == "write":
            own = (end(mine), mine["session"], mine["start_ns"])
            found.append(sum(place < own for place in places))
        else:
            found.append(sum(place[0] <= mine["start_ns"] - 1000 for place in places))
    return found


@pytest.mark.parametrize("seed", range(4))
def test_counts_are_those_of_a_stupid_search(tmp_path: Path, seed: int) -> None:
    """How many commits each waits for, and that numbers follow the ends, as looking at all pairs says."""
    rng = random.Random(seed)
    events, clock = [], dict.fromkeys(range(1, 6), 0)
    for _ in range(120):
        session = rng.randint(1, 5)
        start = clock[session] + rng.randint(0, 6)
        clock[session] = start + rng.randint(1, 20)
        sql = rng.choice(["update {} set x = 1", "select * from {}"]).format(rng.choice("abc"))
        events.append(event(session, start, clock[session], sql))
    found = waits(tmp_path, events)
    for text, wanted in zip(found, brute_force(events), strict=True):
        before = (text or "").split(";")[0]
        assert (int(before.split(":")[1]) if before else 0) == wanted
