# SPDX-License-Identifier: Apache-2.0
"""`tape deal` distributes the sessions of a tape to several tapes of equal load. No session is split, and no event is
lost or repeated.
"""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.tools.deal import LARGEST_GROUP, ONE_BY_ONE, Dealt, choose, deal
from querytape.capture.tools.verify import verify
from querytape.common.duck import open_database, small_database
from querytape.common.errors import InputError
from querytape.replay.calibrate import make_even_tape
from querytape.schemas import DANGERS, open_folder

from tests.helpers.mixed import mixed_tape
from tests.helpers.tapes import MS, T0, make_tape

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tape(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A fixture: a tape of 60 different sessions."""
    return mixed_tape(tmp_path_factory.mktemp("deal") / "a.tape", 60, 3000)


@pytest.mark.sampled
@pytest.mark.parametrize("count", [2, 3, 16])
def test_dealt_tapes_are_complete(count: int, tape: Path, tmp_path: Path) -> None:
    """`tape verify` finds no damage in the new tapes or in their set. Each event and each session is on exactly one of
    the tapes.
    """
    dealt = deal(tape, count, tmp_path / "a.set")
    assert list(verify(tmp_path / "a.set", tmp_path)) == []
    sessions: Counter[int] = Counter()
    for share in dealt.shares:
        one = tmp_path / "a.set" / share.folder
        assert list(verify(one, tmp_path)) == []
        found = open_folder("tape", one)
        with small_database() as con:
            sessions.update(row[0] for row in con.execute(f"SELECT session FROM {found.source('sessions')}").fetchall())
        assert found.info["counts"]["events"] == share.events
        whole = open_folder("tape", tape).info
        assert found.info["warnings"] == whole["warnings"]
        assert [found.info[f"set_{key}"] for key in ("first_ns", "last_ns")] == [whole["first_ns"], whole["last_ns"]]
    assert len(dealt.shares) == count
    assert len(sessions) == 60
    assert set(sessions.values()) == {1}
    assert sum(share.events for share in dealt.shares) == 3000


def chosen(sizes: list[tuple[int, int]], count: int) -> tuple[Dealt, dict[int, int]]:
    """Deal sessions given as (events, milliseconds per event). Return the loads of the tapes, and the tape number of
    each session.
    """
    with open_database() as con:
        con.execute("CREATE TABLE tape_events (session BIGINT, duration_ns BIGINT)")
        con.execute(f"INSERT INTO tape_events SELECT 1 + n, {MS} * ms FROM (SELECT unnest(?::BIGINT[]) AS events,"
                    " unnest(?::BIGINT[]) AS ms, generate_subscripts(?::BIGINT[], 1) - 1 AS n), range(events)",
                    [[e for e, _ in sizes], [ms for _, ms in sizes], [e for e, _ in sizes]])  # fmt: skip
        dealt = choose(con, count)
        return dealt, dict(con.execute("SELECT session, share FROM dealt").fetchall())


@pytest.mark.sampled
@pytest.mark.parametrize(
    "sizes",
    [
        [(5, 1)] * 300,
        [(1 + n % 17, 1 + n % 5) for n in range(400)],
        [(1000 // (1 + n), 1) for n in range(100)],
        [(1, 1)] * (ONE_BY_ONE + 5000),
        [(3, 0)] * 100,
    ],
    ids=[
        "equal sessions",
        "different sessions",
        "few heavy sessions",
        "too many sessions to choose one by one",
        "no durations",
    ],
)
@pytest.mark.parametrize("count", [2, 4])
def test_dealt_load_is_even(sizes: list[tuple[int, int]], count: int) -> None:
    """The load of the heaviest tape is at most 1.05 times the mean load, unless one session is heavier."""
    dealt, shares = chosen(sizes, count)
    assert len(shares) == len(sizes)
    assert dealt.heaviest <= max(1.05, dealt.heaviest_load * count + 1e-9)
    loads = [share.load for share in dealt.shares]
    assert sum(loads) == pytest.approx(1)


def test_tape_without_optional_properties_is_dealt_into_readable_tapes(tmp_path: Path) -> None:
    """The tape of `querytape calibrate` does not say which columns its source has."""
    make_even_tape(tmp_path / "even.tape", 4, 40, 100)
    deal(tmp_path / "even.tape", 2, tmp_path / "even.set")
    assert open_folder("tape", tmp_path / "even.set").info["counts"]["events"] == 40


def test_repeated_deal_gives_the_same_tapes(tape: Path, tmp_path: Path) -> None:
    """If the tape is dealt twice, each session is on the same tape both times."""
    first, second = (deal(tape, 5, tmp_path / name) for name in ("a.set", "b.set"))
    assert first == second


def test_events_and_busy_time_have_equal_weight() -> None:
    """A session with a few long statements weighs as much as a session with many short statements. Each of two tapes
    gets one session of each kind.
    """
    dealt, shares = chosen([(10, 1000), (990, 1), (10, 1000), (990, 1)], 2)
    assert dealt.heaviest == pytest.approx(1, abs=0.01)
    assert {shares[1], shares[3]} == {0, 1}
    assert {shares[2], shares[4]} == {0, 1}


def event(session: int, **more: Any) -> dict[str, Any]:
    """Return an event."""
    return {"session": session, "start_ns": T0, "statement": "SELECT 1", **more}


def test_impossible_deal_is_refused(tape: Path, tmp_path: Path) -> None:
    """The cases are fewer sessions than tapes, a single tape, and an existing output. Each case gives a message, and no
    file is written.
    """
    few = make_tape(tmp_path / "few.tape", [event(1), event(2)])
    with pytest.raises(
        InputError, match=r"expected at least 3 sessions for 3 tapes, found 2 \(a session is never split\)"
    ):
        deal(few, 3, tmp_path / "few.set")
    with pytest.raises(InputError, match="expected 2 to 1,000"):
        deal(few, 1, tmp_path / "few.set")
    assert not (tmp_path / "few.set").exists()
    (tmp_path / "there").mkdir()
    with pytest.raises(InputError, match="there"):
        deal(tape, 2, tmp_path / "there")
    unfinished = make_tape(tmp_path / "half.tape", [event(1), event(2)], finished=False)
    with pytest.raises(InputError, match="not finished"):
        deal(unfinished, 2, tmp_path / "half.set")


def test_failed_deal_leaves_no_folder(tape: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("querytape.capture.tools.deal.part_entry", fail)
    with pytest.raises(OSError, match="No space"):
        deal(tape, 2, tmp_path / "a.set")
    assert not (tmp_path / "a.set").exists()


def lock_tape(path: Path, chance: random.Random) -> list[dict[str, Any]]:
    """Write a tape whose sessions read and write random tables of random schemas. Return its events."""
    events, groups = [], chance.choice([1, 2, 4, 8])
    for session in range(1, 40):
        group = chance.randrange(groups)
        schema = chance.choice(["x", "y"])
        for number in range(chance.randint(1, 6)):
            table = f"t{group}" if chance.random() < 0.9 else f"r{chance.randrange(3)}"
            name = chance.choice([table, f"`{schema}`.`{table}`", f"{schema}.{table}".upper()])
            writes = table[0] == "t" and chance.random() < 0.4
            text = f"UPDATE {name} SET a = 1" if writes else f"SELECT a FROM {name}"
            events.append(
                {
                    "session": session,
                    "statement": text,
                    "class": "write" if writes else "read",
                    "db": schema,
                    "start_ns": T0 + chance.randrange(1000) * MS,
                    "table": f"{schema}.{table}",
                    "number": number,
                }
            )
    events.sort(key=lambda event: (event["start_ns"], event["session"]))
    make_tape(
        path, [{key: value for key, value in event.items() if key not in ("table", "number")} for event in events]
    )
    return events


def groups_of(events: list[dict[str, Any]]) -> list[set[int]]:
    """Return the groups of sessions that use a common written table, found by joining sets one by one."""
    written = {event["table"] for event in events if event["class"] == "write"}
    groups: list[set[int]] = []
    for table in written:
        joined = {event["session"] for event in events if event["table"] == table}
        apart = [group for group in groups if not group & joined]
        groups = [*apart, joined.union(*(group for group in groups if group & joined))]
    return groups


@pytest.mark.parametrize("seed", range(16))
def test_tapes_dealt_by_table_share_no_written_table(seed: int, tmp_path: Path) -> None:
    """A table that nobody writes may be on every tape. A group with too much load is refused with its tables."""
    events = lock_tape(tmp_path / "a.tape", random.Random(seed))
    written = {event["table"] for event in events if event["class"] == "write"}
    groups = groups_of(events)
    most = max(sum(event["session"] in group for event in events) for group in groups) / len(events)
    if most > LARGEST_GROUP / 3:
        with pytest.raises(InputError, match="must stay together, because they write or lock the same tables: "):
            deal(tmp_path / "a.tape", 3, tmp_path / "a.set", by_table=True)
        assert not (tmp_path / "a.set").exists()
        return
    dealt = deal(tmp_path / "a.tape", 3, tmp_path / "a.set", by_table=True)
    where: dict[str, set[str]] = {}
    for share in dealt.shares:
        held = open_folder("tape", tmp_path / "a.set" / share.folder)
        with small_database() as con:
            sessions = {row[0] for row in con.execute(f"SELECT session FROM {held.source('sessions')}").fetchall()}
        assert len(sessions) == share.sessions
        for event in events:
            if event["session"] in sessions and event["table"] in written:
                where.setdefault(event["table"], set()).add(share.folder)
    assert all(len(folders) == 1 for folders in where.values())
    assert sum(share.sessions for share in dealt.shares) == 39
    assert dealt.groups == len(groups)


def test_sessions_without_a_common_table_are_dealt_like_any_others(tape: Path, tmp_path: Path) -> None:
    """The tape of read-only sessions has no groups."""
    events = [
        {"session": n % 9 + 1, "statement": "SELECT 1 FROM t", "class": "read", "start_ns": T0 + n * MS}
        for n in range(90)
    ]
    make_tape(tmp_path / "a.tape", events)
    by_table = deal(tmp_path / "a.tape", 3, tmp_path / "a.set", by_table=True)
    alone = deal(tmp_path / "a.tape", 3, tmp_path / "b.set")
    assert by_table.shares == alone.shares
    assert (by_table.groups, alone.groups) == (0, None)


@pytest.mark.parametrize("statement", ["CALL refresh()", "START TRANSACTION WITH CONSISTENT SNAPSHOT"])
def test_statement_with_unknown_tables_prevents_a_deal_by_table(statement: str, tmp_path: Path) -> None:
    events = [
        {"session": n % 3 + 1, "statement": f"UPDATE t{n % 3} SET a = 1", "start_ns": T0 + n * MS} for n in range(9)
    ]
    make_tape(tmp_path / "a.tape", [*events, {"session": 1, "statement": statement, "start_ns": T0 + 9 * MS}])
    with pytest.raises(InputError, match="1 session with statements whose tables are unknown"):
        deal(tmp_path / "a.tape", 3, tmp_path / "a.set", by_table=True)


def together(folder: Path, first: dict[str, Any], second: dict[str, Any]) -> bool:
    """Return whether two sessions with these statements stay on one tape. A third session has a table of its own."""
    events = [
        {"session": 1, "start_ns": T0, **first},
        {"session": 2, "start_ns": T0 + MS, **second},
        *(
            {"session": 3 + n % 2, "statement": f"UPDATE z{n % 2} SET a = 1", "db": "z", "start_ns": T0 + n * MS}
            for n in range(20)
        ),
    ]
    make_tape(folder / "a.tape", [{"class": "write", "db": "s", **event} for event in events])
    deal(folder / "a.tape", 2, folder / "a.set", by_table=True)
    held = [open_folder("tape", folder / "a.set" / name) for name in ("01.tape", "02.tape")]
    with small_database() as con:
        of = [
            {row[0] for row in con.execute(f"SELECT session FROM {each.source('sessions')}").fetchall()}
            for each in held
        ]
    return any({1, 2} <= sessions for sessions in of)


@pytest.mark.parametrize(
    ("first", "second", "joined"),
    [
        ("UPDATE t SET a = 1", "UPDATE s.t SET a = 1", True),
        ("UPDATE `x.t` SET a = 1", "UPDATE s.`x.t` SET a = 1", True),
        ("UPDATE `a``b` SET a = 1", "UPDATE `S`.`A``B` SET a = 1", True),
        ("UPDATE t SET a = 1", "UPDATE y.t SET a = 1", False),
        ("USE y; UPDATE t SET a = 1", "UPDATE y.t SET a = 1", True),
        ("UPDATE t SET n = 1 WHERE GET_LOCK('a', 0)", "UPDATE t SET n = 2", True),
        ("UPDATE t SET n = 1 WHERE GET_LOCK('a', 0)", "UPDATE u SET n = 2 WHERE GET_LOCK('b', 0)", True),
    ],
)
def test_sessions_stay_together_by_the_real_names_of_their_tables(
    first: str, second: str, joined: bool, tmp_path: Path
) -> None:
    assert together(tmp_path, {"statement": first}, {"statement": second}) is joined


def test_statements_that_no_replay_sends_do_not_prevent_a_deal(tmp_path: Path) -> None:
    """A dangerous statement without tables, such as KILL, would else join all sessions."""
    kill = {"statement": "KILL 5", "class": "admin", "flags": DANGERS["kill"] << 16}
    assert together(tmp_path, kill, {"statement": "UPDATE t SET a = 1"}) in (True, False)
