# SPDX-License-Identifier: Apache-2.0
"""Who waits for whom, where a replay in the order of commits makes no progress."""

from pathlib import Path
from typing import Any

import pytest
from querytape.common.duck import open_database
from querytape.native.bindings.meters import Doing
from querytape.replay import replay
from querytape.replay.observe.standstill import MOST_STALLS, Facts, Standstill, owners, walk
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.rules import Rules
from querytape.servers.sandbox import Server

from tests.helpers.planning import planned
from tests.helpers.tapes import MS, T0, make_tape
from tests.helpers.whole import accounting, options

STEP_MS = 100


def doing(session: int, table: int | None = None, commit: int = 0, asleep: bool = False) -> Doing:
    """Return what a session does, on connection 100 more than its number, at event 7."""
    return Doing(session, 7, 100 + session, table, commit, asleep)


def said(*sessions: Doing, **facts: Any) -> tuple[list[str], bool, bool]:
    """Return the waits that are named; each statement is that of its session."""
    texts = {(session, seq): f"s{session}" for session in range(9) for seq in range(9)}
    return walk(Facts({one.session: one for one in sessions}, texts=texts, **facts))


def test_a_circle_through_a_lock_of_the_target() -> None:
    """One session waits in the order, the other for a lock: no further one is named."""
    waits = said(
        doing(1, table=9, commit=4),
        doing(2, table=9, commit=3),
        doing(3),
        owners={(9, 4): (2, 8), (9, 3): (3, 8)},
        blockers={103: 102},
    )
    assert waits == (
        [
            "session 2 at event 7 `s2` waits for event 8 `s3` of session 3",
            "session 3 at event 7 `s3` waits for a lock of session 2",
        ],
        True,
        False,
    )


def test_the_target_does_not_tell_whose_lock_it_is() -> None:
    """The longest way is named, and is called no circle."""
    waits = said(doing(1, table=9, commit=4), doing(2), doing(3, asleep=True), owners={(9, 4): (2, 8)})
    assert waits == (
        [
            "session 1 at event 7 `s1` waits for event 8 `s2` of session 2",
            "session 2 at event 7 `s2` waits for the target's answer",
        ],
        False,
        False,
    )


def test_a_statement_that_the_target_works_on() -> None:
    """Others wait for it: that is slow, and no standstill. One that only a lock keeps, or that nobody waits for, is none."""
    waiting = doing(1, table=9, commit=4), doing(2), doing(3)
    assert said(*waiting, owners={(9, 4): (2, 8)}, working=frozenset({102}))[2]
    assert not said(*waiting, owners={(9, 4): (2, 8)}, working=frozenset({103}))[2]


def test_each_end_of_a_way() -> None:
    """A lock of somebody else, an ended session, a commit that nobody has, a session without work."""
    assert said(doing(1), blockers={101: 55})[0][-1].endswith(
        "waits for a lock of connection 55, which does not belong to this replay"
    )
    assert said(doing(1, table=9, commit=4), owners={(9, 4): (2, 8)})[0][-1] == "session 2 has no connection"
    assert said(doing(1, table=9, commit=4))[0][-1].endswith("waits for the commit order")
    assert said(doing(1, asleep=True))[0][-1] == "session 1 received the answer to event 7 and waits for its next event"
    assert said() == ([], False, False)


def test_whose_a_commit_is(tmp_path: Path) -> None:
    """Of DDL that ends a transaction both are found: that of its COMMIT, and its own."""
    texts = (("transaction", "begin"), ("write", "update t set x = 1"), ("ddl", "alter table t force"))
    events = [
        {
            "session": 1,
            "start_ns": T0 + n * MS,
            "duration_ns": MS // 2,
            "class": kind,
            "statement": text,
            "digest": f"{n:016x}",
        }
        for n, (kind, text) in enumerate(texts)
    ]
    plan = planned(tmp_path, events, Rules(allow_writes=True, commit_order=True))
    with open_database() as con:
        ((waits,),) = con.execute(f"SELECT waits FROM '{plan.order}' WHERE seq = 3").fetchall()
        place = int(waits.partition("|")[0].strip(";").partition(":")[0])
        assert owners(con, plan, [(place, 1), (place, 2), (place, 3)]) == {(place, 1): (1, 3), (place, 2): (1, 3)}


def test_a_long_way_is_cut() -> None:
    """Eight sessions are named; the others are counted."""
    text = Standstill(tuple(f"wait {n}" for n in range(11)), False, 20, 2_000_000_000).text
    assert text.startswith("--order commit: wait 0; wait 1")
    assert text.endswith("wait 7; and 3 further sessions")


def without_index(rounds: int) -> list[dict[str, Any]]:
    """Return events of two sessions that lock different rows at one time, again and again.

    The second one comes later and commits first. Where its UPDATE locks the whole table, it never gets there.
    """
    events: list[dict[str, Any]] = []

    def event(session: int, at_ms: float, statement: str, kind: str) -> None:
        events.append(
            {
                "session": session,
                "start_ns": T0 + round(at_ms * MS),
                "duration_ns": MS,
                "statement": statement,
                "class": kind,
                "tables": ["t"],
            }
        )

    for number in range(rounds):
        at = number * STEP_MS
        event(1, at, "BEGIN", "transaction")
        event(2, at + 0.1, "BEGIN", "transaction")
        event(1, at + 10, "INSERT INTO t VALUES (1, 0)", "write")
        event(2, at + 20, "UPDATE t SET n = n + 1 WHERE k = 2", "write")
        event(2, at + 30, "COMMIT", "transaction")
        event(1, at + 40, "COMMIT", "transaction")
    for one in events:
        if one["class"] == "transaction":
            del one["tables"]
    return events


@pytest.mark.sampled
@pytest.mark.parametrize(("rounds", "ends"), [(MOST_STALLS // 4, True), (3 * MOST_STALLS, False)])
def test_a_target_that_lacks_an_index(rounds: int, ends: bool, server: Server, tmp_path: Path) -> None:
    """Each round breaks a wait. A short tape comes to its end; a long one is ended, and the circle is named."""
    server.execute("CREATE DATABASE IF NOT EXISTS shop")
    server.execute("DROP TABLE IF EXISTS shop.t")
    server.execute("CREATE TABLE shop.t (k INT, n INT) ENGINE = InnoDB")
    server.execute("INSERT INTO shop.t VALUES (1, 0), (2, 0)")
    tape = make_tape(tmp_path / "t.tape", without_index(rounds))
    given = options(server, tmp_path / "t.run", pace=Pace("none"), commit_order=True, order_bound_ns=300 * MS)
    given = options(server, tmp_path / "t.run", pace=Pace("none"), commit_order=True, order_bound_ns=100 * MS)
    summary = replay(tape, given)
    partial, warnings = summary.info["partial"], summary.info["generator"]["warnings"]
    assert summary.info["accounting"]["order_broken"] >= min(rounds, MOST_STALLS)
    if ends:
        assert (partial, accounting(summary)[3]) == (None, 0)
        return
    assert accounting(summary)[3] > 0
    assert "--order commit made no progress in " in partial
    assert warnings[0].startswith("--order commit: ")
    assert "`commit` waits for event" in warnings[0]
    assert ("circular wait: " in warnings[0]) == (server.kind == "mariadb")  # the other has no performance schema


@pytest.mark.long
def test_a_slow_statement_is_no_standstill(server: Server, tmp_path: Path) -> None:
    """The target works on it for longer than 20 bounds. The waits for it are broken, and the replay comes to its end."""
    server.execute("CREATE DATABASE IF NOT EXISTS shop")
    server.execute("DROP TABLE IF EXISTS shop.t")
    server.execute("CREATE TABLE shop.t (k INT PRIMARY KEY, n INT) ENGINE = InnoDB")
    server.execute("INSERT INTO shop.t VALUES (1, 0), (2, 0)")
    transaction = [("BEGIN", "transaction"), ("UPDATE t SET n = n + 1 WHERE k = 1", "write"), ("COMMIT", "transaction")]
    events: list[dict[str, Any]] = [
        {"session": 2, "statement": "UPDATE t SET n = n + SLEEP(5) WHERE k = 2", "class": "write"}
    ]
    events += [
        {"session": 1, "statement": text, "class": kind} for _ in range(2 * MOST_STALLS) for text, kind in transaction
    ]
    for number, event in enumerate(events):
        event.update(start_ns=T0 + number * 10 * MS, duration_ns=MS)
    tape = make_tape(tmp_path / "t.tape", events)
    given = options(server, tmp_path / "t.run", pace=Pace("none"), commit_order=True, order_bound_ns=100 * MS)
    summary = replay(tape, given)
    assert (summary.info["partial"], accounting(summary)[3]) == (None, 0)
    assert summary.info["accounting"]["order_broken"] > MOST_STALLS
