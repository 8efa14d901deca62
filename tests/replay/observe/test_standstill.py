# SPDX-License-Identifier: Apache-2.0
"""Tests of the standstill report. If a replay with `--order commit` makes no progress, the report names the waits."""

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
    """Return the state of a session that is at event 7. The connection id is 100 plus the session number."""
    return Doing(session, 7, 100 + session, table, commit, asleep)


def named_waits(*sessions: Doing, **facts: Any) -> tuple[list[str], bool, bool]:
    """Return the named waits. The statement of session N is `sN`."""
    texts = {(session, seq): f"s{session}" for session in range(9) for seq in range(9)}
    return walk(Facts({one.session: one for one in sessions}, texts=texts, **facts))


def test_circle_through_a_lock_of_the_target_is_named() -> None:
    """One session waits for the order, and the other session waits for a lock. Sessions outside the circle are not
    named.
    """
    waits = named_waits(
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


def test_unknown_lock_holder_gives_the_longest_chain() -> None:
    """A chain of waits with an unknown lock holder is not called a circle."""
    waits = named_waits(doing(1, table=9, commit=4), doing(2), doing(3, asleep=True), owners={(9, 4): (2, 8)})
    assert waits == (
        [
            "session 1 at event 7 `s1` waits for event 8 `s2` of session 2",
            "session 2 at event 7 `s2` waits for the target's answer",
        ],
        False,
        False,
    )


def test_running_statement_is_not_a_standstill() -> None:
    """If the target executes the last statement of the chain, this statement is slow work. A waiting statement is not
    slow work, nor is a statement that no session waits for.
    """
    waiting = doing(1, table=9, commit=4), doing(2), doing(3)
    assert named_waits(*waiting, owners={(9, 4): (2, 8)}, working=frozenset({102}))[2]
    assert not named_waits(*waiting, owners={(9, 4): (2, 8)}, working=frozenset({103}))[2]


def test_ends_of_a_chain_of_waits_are_named() -> None:
    """A chain can end at a foreign lock, an ended session, an unknown commit or a session without work."""
    assert named_waits(doing(1), blockers={101: 55})[0][-1].endswith(
        "waits for a lock of connection 55, which does not belong to this replay"
    )
    assert named_waits(doing(1, table=9, commit=4), owners={(9, 4): (2, 8)})[0][-1] == "session 2 has no connection"
    assert named_waits(doing(1, table=9, commit=4))[0][-1].endswith("waits for the commit order")
    assert (
        named_waits(doing(1, asleep=True))[0][-1]
        == "session 1 received the answer to event 7 and waits for its next event"
    )
    assert named_waits() == ([], False, False)


def test_owner_of_a_commit_is_found(tmp_path: Path) -> None:
    """A DDL statement that ends a transaction has two commits: its implicit COMMIT and its own commit."""
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


def test_long_chain_of_waits_is_shortened() -> None:
    """The text names eight waits and counts the other sessions."""
    text = Standstill(tuple(f"wait {n}" for n in range(11)), False, 20, 2_000_000_000).text
    assert text.startswith("--order commit: wait 0; wait 1")
    assert text.endswith("wait 7; and 3 further sessions")


def without_index(rounds: int) -> list[dict[str, Any]]:
    """Return events of two sessions that repeatedly lock different rows at the same time.

    Session 2 begins later and commits first. If its UPDATE locks the whole table, session 2 cannot continue.
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
def test_missing_index_on_the_target_is_a_standstill(rounds: int, ends: bool, server: Server, tmp_path: Path) -> None:
    """In each round of the tape one wait is ended by the time limit. A short tape reaches its end. A long tape is
    stopped, and the circle is named.
    """
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
    assert ("circular wait: " in warnings[0]) == (server.kind == "mariadb")  # MySQL runs without performance schema


@pytest.mark.long
def test_slow_statement_does_not_stop_the_replay(server: Server, tmp_path: Path) -> None:
    """The statement takes longer than 20 times the wait limit (`--order-bound`). The waits for this statement are
    ended, and the replay continues to its end.
    """
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
