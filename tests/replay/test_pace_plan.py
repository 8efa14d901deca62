# SPDX-License-Identifier: Apache-2.0
"""Paces as plans: speeds apart, silence cut, ramps, copies, the clock and ids that are forced, KILLs that are mapped."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from querytape.errors import InputError
from querytape.replay.copies import Copies
from querytape.replay.forcing import Forcing
from querytape.replay.pacing import Pace
from querytape.replay.planner import open_planner, session_stream
from querytape.replay.rules import Rules
from querytape.replay.selection import Selection
from querytape.servers.accounts import Account, read_accounts

from tests.replay.planning import fed, held, planned
from tests.tapes import MS, SECOND, T0, flag_bits


def test_connects_and_thinking_scale_apart(tmp_path: Path) -> None:
    """Sessions begin twice as fast, and think at the original speed; the feed is sorted by what is due."""
    events = [
        {"session": 1, "command": "connect", "start_ns": T0},
        {"session": 1, "statement": "SELECT 1", "start_ns": T0 + 2 * SECOND},
        {"session": 1, "statement": "SELECT 1", "start_ns": T0 + 9 * SECOND},
        {"session": 2, "command": "connect", "start_ns": T0 + 8 * SECOND},
        {"session": 2, "statement": "SELECT 1", "start_ns": T0 + 9 * SECOND},
    ]
    plan = planned(tmp_path, events, Rules(Pace(connect_speed=Fraction(2), think_speed=Fraction(1))))
    # The first event that is sent is session 1's, two seconds after its connect: the run's zero.
    assert fed(plan, "session", "seq", "due_ns") == [
        (1, 2, 2 * SECOND),
        (2, 2, 4 * SECOND),
        (1, 3, 9 * SECOND),
    ]


def test_silence_is_cut(tmp_path: Path) -> None:
    """What nobody used is cut to --max-idle; a statement that runs is no silence, across windows as well."""
    starts = [0, 1, 20, 21, 50, 51]
    events = [{"statement": "SELECT 1", "start_ns": T0 + s * SECOND} for s in starts]
    events[3]["duration_ns"] = 27 * SECOND
    for name, rows in (("a", None), ("b", 2)):
        (tmp_path / name).mkdir()
        plan = planned(tmp_path / name, events, Rules(Pace(max_idle_ns=2 * SECOND)), parts=3, max_rows=rows)
        due = [when for (when,) in fed(plan, "due_ns")]
        assert due == [0, SECOND, 3 * SECOND, 4 * SECOND, 33 * SECOND, 34 * SECOND]
        assert plan.as_json()["cut_idle_ns"] == 17 * SECOND


def test_silence_is_cut_inside_a_stretch_of_time(tmp_path: Path) -> None:
    """--from and --to are the tape's own times, whatever silence was cut before them."""
    events = [{"statement": "SELECT 1", "start_ns": T0 + s * SECOND} for s in (0, 50, 100, 101, 150, 200)]
    selection = Selection(from_ns=T0 + 40 * SECOND, to_ns=T0 + 160 * SECOND)
    plan = planned(tmp_path, events, Rules(Pace(max_idle_ns=2 * SECOND), selection=selection))
    assert fed(plan, "seq", "due_ns") == [(2, 0), (3, 2 * SECOND), (4, 3 * SECOND), (5, 5 * SECOND)]


def test_a_ramp_rises_to_the_speed(tmp_path: Path) -> None:
    """At first events come slowly, after the ramp at the speed, half of the ramp later than without."""
    events = [{"statement": "SELECT 1", "start_ns": T0 + n * 100 * MS} for n in range(101)]
    plan = planned(tmp_path, events, Rules(Pace(ramp_ns=4 * SECOND)))
    due = [when for (when,) in fed(plan, "due_ns")]
    assert due[-1] == 12 * SECOND
    gaps = [b - a for a, b in pairwise(due)]
    assert gaps[0] > 800 * MS
    assert sorted(gaps[:20], reverse=True) == gaps[:20]
    assert all(gap == 100 * MS for gap in gaps[21:])


def test_copies(tmp_path: Path) -> None:
    """Each session three times, twice over: think times are kept, rounds follow each other, what is held is counted."""
    events = [
        {"session": 7, "command": "connect", "start_ns": T0},
        {"session": 7, "statement": "SELECT 1", "start_ns": T0 + 100 * MS},
        {"session": 7, "statement": "SELECT 1", "start_ns": T0 + 150 * MS, "duration_ns": 50 * MS},
        {"session": 7, "statement": "DELETE", "class": "write", "start_ns": T0 + 160 * MS},
    ]
    plan = planned(tmp_path, events, Rules(copies=Copies(amplify=3, shift_ns=SECOND, loop=2)))
    rows = fed(plan, "session >> 40", "session & 1099511627775", "seq", "due_ns")
    assert sorted((clone, session, seq) for clone, session, seq, _ in rows) == [
        (clone, 7, seq) for clone in range(6) for seq in (2, 3)
    ]
    begin = {clone: due for clone, _, seq, due in rows if seq == 2}
    end = {clone: due for clone, _, seq, due in rows if seq == 3}
    assert all(end[clone] - begin[clone] == 50 * MS for clone in begin)
    assert (begin[0], begin[3]) == (0, 100 * MS)
    assert all(0 <= begin[clone] < SECOND for clone in (1, 2))
    assert begin[4] - begin[3] not in (0, begin[1])
    assert len(held(tmp_path, "session, seq, clone")) == 12 == plan.reasons.total()
    assert plan.planned == 12
    with open_planner(plan) as con:
        assert len(session_stream(con, plan).fetchall()) == 6 == plan.sessions


def test_copies_have_no_order() -> None:
    """Ordered commits of copies make no sense; nor do no copies at all."""
    with pytest.raises(InputError, match="copies of a session"):
        Rules(copies=Copies(amplify=2), commit_order=True)
    with pytest.raises(InputError, match="expected 1 or more"):
        Copies(loop=0)


def test_clock_and_ids(tmp_path: Path) -> None:
    """Statements that ask for the time get the tape's, writes always; ids where the tape has them."""
    events = [
        {"statement": "SELECT 1"},
        {"statement": "SELECT Now()"},
        {"statement": "INSERT", "class": "write", "insert_id": 41},
        {"statement": "SELECT CURRENT_TIMESTAMP", "flags": flag_bits("timestamp")},
    ]
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    rules = Rules(allow_writes=True, forcing=Forcing(clock=True, ids=True))
    at = T0 // 1000
    assert fed(planned(tmp_path / "a", events, rules), "clock_us", "insert_id") == [
        (None, None),
        (at + 1000, None),
        (at + 2000, 41),
        (None, None),
    ]
    assert fed(planned(tmp_path / "b", events, Rules()), "clock_us", "insert_id") == [(None, None)] * 3


def test_schemas_and_accounts(tmp_path: Path) -> None:
    """Schemas have their names on the target, users their accounts; who is in no map is the run's own user."""
    events = [
        {"statement": "SELECT 1", "db": "shop", "user": "app"},
        {"command": "init_db", "db": "logs", "user": "app"},
        {"command": "change_user", "db": "shop", "user": "batch"},
        {"session": 2, "statement": "SELECT 1", "db": "x", "user": "other"},
    ]
    accounts = {"app": Account("a", "1"), "batch": Account("b")}
    plan = planned(tmp_path, events, Rules(forcing=Forcing(schemas={"shop": "shop2"}, accounts=accounts)))
    assert fed(plan, "db", "account") == [("shop2", 0), ("logs", 0), ("shop2", 1), ("x", None)]
    assert plan.schemas == {"shop2": 2, "logs": 1, "x": 1}
    with open_planner(plan) as con:
        rows = session_stream(con, plan).fetchall()
    assert [(row[0], row[5]) for row in rows] == [(1, 0), (2, None)]


def test_kill_is_mapped(tmp_path: Path) -> None:
    """KILL names the session that had the id at that moment; one that nobody had names none."""
    events = [
        {"session": 1, "statement": "SELECT 1", "thread_id": 5, "start_ns": T0},
        {"session": 2, "statement": "SELECT 1", "thread_id": 6, "start_ns": T0},
        {"session": 3, "statement": "SELECT 1", "thread_id": 5, "start_ns": T0 + 9 * SECOND},
    ]
    kills = ["KILL 5", "kill query 6;", "KILL CONNECTION 77", "KILL USER app"]
    for n, text in enumerate(kills):
        at = {"statement": text, "class": "admin", "flags": flag_bits(danger="kill"), "start_ns": T0 + (n + 1) * SECOND}
        events.append({"session": 2, "thread_id": 6, **at})
    at = {"command": "process_kill", "params": b"C\x05\0\0\0", "start_ns": T0 + 10 * SECOND}
    events.append({"session": 2, "thread_id": 6, **at})
    plan = planned(tmp_path, events, Rules(allowed=frozenset({"kill"})))
    rows = fed(plan, "session", "command", "stmt", "statement::VARCHAR")
    assert [row[2:] for row in rows if row[1] == 18] == [
        (1, "CONNECTION"),
        (2, "QUERY"),
        (None, "CONNECTION"),
        (None, "CONNECTION"),
        (3, "CONNECTION"),
    ]


def test_accounts_of_a_file(tmp_path: Path) -> None:
    """A section for each user; a file that others may read, or with unknown words, is refused."""
    path = tmp_path / "users"
    path.write_text('[app]\npassword = "a b"\n[batch]\nuser = night\n')
    path.chmod(0o600)
    assert read_accounts(path) == {"app": Account("app", "a b"), "batch": Account("night")}
    path.chmod(0o640)
    with pytest.raises(InputError, match="chmod 600"):
        read_accounts(path)
    path.chmod(0o600)
    path.write_text("[app]\nhost = x\n")
    with pytest.raises(InputError, match="expected user and password"):
        read_accounts(path)
    path.write_text("password = x\n")
    with pytest.raises(InputError, match="can't be read"):
        read_accounts(path)
