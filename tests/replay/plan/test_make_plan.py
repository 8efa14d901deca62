# SPDX-License-Identifier: Apache-2.0
"""Tests of the plan: one action for each event of the tape, sessions, due times and bounded windows."""

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.replay.plan.database import open_planner, session_stream
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.rules import Rules
from querytape.schemas import ACTIONS, COMMANDS, DANGERS

from tests.helpers import planning
from tests.helpers.planning import fed, plan_tape, planned
from tests.helpers.tapes import MS, SECOND, T0, flag_bits, make_tape

pytestmark = pytest.mark.slow

WRITES = Rules(allow_writes=True)


def excluded(tmp_path: Path) -> dict[tuple[int, int], tuple[str, str]]:
    """Return the outcomes that the plan wrote, as (session, seq) -> (status, reason)."""
    rows = planning.excluded(tmp_path)
    assert len(rows) == len({row[:2] for row in rows})
    return {(session, seq): (status, reason) for session, seq, status, reason in rows}


DECISIONS = [
    # event, reason without `--allow-writes`, reason with `--allow-writes`
    ({"statement": "SELECT 1"}, None, None),
    ({"statement": "BEGIN", "class": "transaction"}, None, None),
    ({"statement": "SET NAMES x", "class": "session"}, None, None),
    ({"statement": "INSERT", "class": "write"}, "write", None),
    ({"statement": "DROP TABLE t", "class": "ddl"}, "ddl", None),
    ({"statement": "SELECT 1 FROM t FOR UPDATE"}, "locking_read", None),
    ({"statement": "(SELECT 1 FROM t LOCK IN SHARE MODE)", "command": "execute"}, "locking_read", None),
    ({"statement": "SELECT ? FROM t FOR SHARE", "command": "prepare", "stmt": 9}, "locking_read", None),
    ({"command": "close_stmt", "stmt": 9}, "locking_read", None),
    ({"statement": "EXPLAIN UPDATE t SET a = 1"}, "write", None),
    ({"statement": "EXPLAIN FORMAT = JSON INSERT INTO t SELECT 1"}, "write", None),
    ({"statement": "EXPLAIN SELECT `update` FROM t"}, None, None),
    ({"statement": "SHOW SLAVE", "class": "admin"}, "admin", None),
    ({"statement": "KILL 1", "class": "admin", "flags": flag_bits(danger="kill")}, "danger:kill", "danger:kill"),
    (
        {"statement": "SELECT 1 INTO OUTFILE", "flags": flag_bits(danger="into_file")},
        "danger:into_file",
        "danger:into_file",
    ),
    ({"statement": "SELECT", "flags": flag_bits("truncated")}, "truncated", "truncated"),
    ({"statement": "SELECT", "flags": flag_bits("redacted")}, "redacted", "redacted"),
    ({"statement": "SELECT", "flags": flag_bits("routine")}, "routine", "routine"),
    ({"statement": "SELECT ?", "flags": flag_bits("placeholder")}, "placeholder", "placeholder"),
    ({"statement": "EXECUTE s", "class": "session", "flags": flag_bits("sql_prepare")}, "sql_prepare", "sql_prepare"),
    ({"statement": "SELECT 1", "flags": flag_bits("system")}, "system", "system"),
    ({"command": "query"}, "no_statement", "no_statement"),
    ({"command": "execute"}, "no_statement", "no_statement"),
    ({"command": "execute", "statement": "SELECT ?", "flags": flag_bits("placeholder")}, "placeholder", "placeholder"),
    ({"command": "execute", "statement": "SELECT 1"}, None, None),
    ({"command": "execute", "statement": "SELECT 1", "flags": flag_bits("unbound")}, "not_prepared", "not_prepared"),
    ({"command": "prepare"}, "nothing_to_prepare", "nothing_to_prepare"),
    ({"command": "prepare", "flags": flag_bits("unbound")}, "not_prepared", "not_prepared"),
    ({"command": "fetch"}, "nothing_to_prepare", "nothing_to_prepare"),
    ({"command": "long_data"}, "nothing_to_prepare", "nothing_to_prepare"),
    ({"command": "prepare", "statement": "SELECT ?", "stmt": 1, "flags": flag_bits("placeholder")}, None, None),
    (
        {"command": "execute", "statement": "SELECT ?", "stmt": 1, "params": b"E", "flags": flag_bits("placeholder")},
        None,
        None,
    ),
    ({"command": "long_data", "stmt": 1, "params": b"L", "flags": flag_bits("truncated")}, "truncated", "truncated"),
    ({"command": "fetch", "stmt": 1, "params": b"F"}, None, None),
    ({"command": "prepare", "statement": "INSERT", "class": "write", "stmt": 2}, "write", None),
    ({"command": "long_data", "stmt": 2, "params": b"L"}, "write", None),
    ({"command": "execute", "statement": "INSERT", "class": "write", "stmt": 2, "params": b"E"}, "write", None),
    ({"command": "close_stmt", "stmt": 2}, "write", None),
    ({"command": "close_stmt"}, "nothing_to_close", "nothing_to_close"),
    ({"command": "reset_stmt"}, "nothing_to_close", "nothing_to_close"),
    ({"command": "reset_stmt", "flags": flag_bits("unbound")}, "nothing_to_close", "nothing_to_close"),
    ({"command": "connect"}, "connect_by_replayer", "connect_by_replayer"),
    ({"command": "change_user", "db": "shop"}, None, None),
    ({"command": "set_option", "params": b"C\x00\x00"}, None, None),
    ({"command": "process_kill", "params": b"C\x01\x00\x00\x00"}, "danger:kill", "danger:kill"),
    ({"command": "shutdown"}, "unsupported_command", "unsupported_command"),
    ({"command": "binlog_dump"}, "unsupported_command", "unsupported_command"),
    ({"command": "init_db", "db": "shop"}, None, None),
    ({"command": "init_db"}, "no_statement", "no_statement"),
    ({"command": "ping"}, None, None),
    ({"command": "reset_connection"}, None, None),
    ({"command": "quit"}, None, None),
]


@pytest.mark.parametrize(("rules", "column"), [(Rules(), 1), (WRITES, 2)], ids=["reads only", "writes allowed"])
def test_each_event_is_sent_or_excluded(tmp_path: Path, rules: Rules, column: int) -> None:
    """Each event of the tape is either sent or excluded, never both."""
    plan = planned(tmp_path, [row[0] for row in DECISIONS], rules)
    want = {(1, n + 1): row[column] for n, row in enumerate(DECISIONS) if row[column]}
    assert {key: reason for key, (_, reason) in excluded(tmp_path).items()} == want
    assert [row[1] for row in fed(plan)] == [n + 1 for n, row in enumerate(DECISIONS) if not row[column]]
    assert plan.events == len(DECISIONS) == plan.planned + plan.reasons.total()


@pytest.mark.parametrize(
    ("point", "rules", "reason"),
    [
        ("wire", WRITES, None),
        ("proxy", WRITES, None),
        ("wire", Rules(), "sql_prepare"),
        ("server", WRITES, "sql_prepare"),
        ("server+wire", WRITES, "sql_prepare"),
    ],
)
def test_sql_prepare_is_sent_only_from_client_traffic(
    tmp_path: Path, point: str, rules: Rules, reason: str | None
) -> None:
    """The log of a server contains PREPARE, EXECUTE and also the executed statements. PREPARE and EXECUTE are therefore
    skipped.
    """
    texts = ("SET @a = 1", "PREPARE s FROM 'INSERT INTO t VALUES (?)'", "EXECUTE s USING @a", "DEALLOCATE PREPARE s")
    events = [
        {"statement": text, "class": "write", "flags": flag_bits("sql_prepare")} if n else {"statement": text}
        for n, text in enumerate(texts)
    ]
    plan = planned(tmp_path, events, rules, measuring_point=point)
    assert plan.reasons == ({("skipped", reason): 3} if reason else {})


@pytest.mark.parametrize("point", ["wire", "proxy"])
def test_events_of_an_unknown_prepare_are_skipped(tmp_path: Path, point: str) -> None:
    """In client traffic, executions refer to a prepared statement by its number. The events of this test have no
    number.
    """
    events = [
        {"statement": "SELECT 1"},
        *({"command": name} for name in ("prepare", "fetch", "reset_stmt", "close_stmt")),
    ]
    plan = planned(tmp_path, events, measuring_point=point)
    assert plan.reasons == {("skipped", "not_prepared"): 2, ("skipped", "nothing_to_close"): 2}


def test_events_of_a_filtered_prepare_are_filtered(tmp_path: Path) -> None:
    """Events in later windows are also filtered. Equal statement numbers in other sessions are not affected."""
    events: list[dict[str, Any]] = []
    for session, class_ in ((1, "write"), (2, "read")):
        about = {"session": session, "stmt": 1}
        events.append({**about, "command": "prepare", "statement": "X ?", "class": class_})
        events += [{**about, "command": "long_data", "params": b"L"} for _ in range(40)]
    plan = planned(tmp_path, events, max_rows=10)
    assert plan.reasons == {("filtered", "write"): 41}
    assert {row[0] for row in fed(plan)} == {2}
    assert len(fed(plan)) == 41


def test_only_rules_for_read_only_replays_filter_events(tmp_path: Path) -> None:
    """Writes, locking reads, DDL and administration are filtered. All other unsent events are skipped."""
    planned(tmp_path, [row[0] for row in DECISIONS])
    reads_only = {"write", "ddl", "admin", "locking_read"}
    assert {status for status, reason in excluded(tmp_path).values() if reason in reads_only} == {"filtered"}
    assert {status for status, reason in excluded(tmp_path).values() if reason not in reads_only} == {"skipped"}


@pytest.mark.sampled
@pytest.mark.parametrize("danger", sorted(DANGERS.keys() - {"none"}))
def test_dangerous_statement_is_allowed_by_the_name_of_its_danger(tmp_path: Path, danger: str) -> None:
    """An administrative statement is sent only if its own kind of danger is allowed. Allowing another danger has no
    effect.
    """
    events = [{"statement": "X", "class": "admin", "flags": flag_bits(danger=danger)}, {"statement": "SELECT 1"}]
    other = "flush" if danger != "flush" else "kill"
    for number, (name, sent) in enumerate([(danger, 2), (other, 1)]):
        (tmp_path / str(number)).mkdir()
        assert planned(tmp_path / str(number), events, Rules(allowed=frozenset({name}))).planned == sent


def test_statement_with_unknown_danger_is_never_sent(tmp_path: Path) -> None:
    """A newer version may write a danger code that this version does not know."""
    plan = planned(tmp_path, [{"statement": "X", "flags": 200 << 16}, {"statement": "SELECT 1"}], WRITES)
    assert plan.planned == 1
    assert excluded(tmp_path) == {(1, 1): ("skipped", "danger:unknown")}


def test_tape_of_only_writes_names_the_missing_option(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"no event is left to send: 2 filtered \(write\); use --allow-writes"):
        planned(tmp_path, [{"statement": "INSERT", "class": "write"}] * 2)


def test_due_times_and_codes_for_the_engine(tmp_path: Path) -> None:
    """The first planned event is due at zero. The distances between the events are exact and scaled by the speed."""
    events = [
        {"statement": "INSERT", "class": "write", "start_ns": T0},
        {"statement": b"SELECT '\xff\x00'", "start_ns": T0 + 500, "db": "shop", "session": 2, "digest": "00" * 8},
        {"statement": "BEGIN", "class": "transaction", "start_ns": T0 + 1503, "session": 2, "digest": "ff" * 8},
        {"command": "quit", "start_ns": T0 + 2500, "session": 2},
    ]
    plan = planned(tmp_path, events, Rules(Pace(speed=Fraction(3, 2))))
    assert fed(plan) == [
        (
            2,
            1,
            0,
            0,
            COMMANDS["query"],
            0,
            0,
            0,
            None,
            "shop",
            None,
            b"SELECT '\xff\x00'",
            None,
            None,
            None,
            None,
            None,
            "00" * 8,
        ),
        (
            2,
            2,
            668,
            0,
            COMMANDS["query"],
            2,
            ACTIONS["begin"],
            0,
            None,
            None,
            None,
            b"BEGIN",
            None,
            None,
            None,
            None,
            None,
            "ff" * 8,
        ),
        (2, 3, 1333, 0, COMMANDS["quit"], -1, 0, 0, *[None] * 10),
    ]
    assert (plan.zero_ns, plan.last_due_ns) == (T0 + 500, 1333)


def test_session_is_opened_early_unless_its_connect_is_known(tmp_path: Path) -> None:
    """A session without any event to send is not opened."""
    events = [
        {"statement": "SELECT 1", "session": 1, "start_ns": T0, "db": "a"},
        {"statement": "SELECT 1", "session": 1, "start_ns": T0 + SECOND, "db": "b"},
        {"command": "connect", "session": 2, "start_ns": T0 + 3 * SECOND},
        {"statement": "SELECT 1", "session": 2, "start_ns": T0 + 4 * SECOND, "db": "b", "duration_ns": SECOND},
        {"statement": "INSERT", "class": "write", "session": 3, "start_ns": T0 + SECOND},
        {"statement": "SELECT 1", "session": 4, "start_ns": T0 + 9 * SECOND},
    ]
    plan = planned(tmp_path, events, Rules(Pace(speed=Fraction(2)), lead_ns=100 * MS))
    with open_planner(plan) as con:
        rows = session_stream(con, plan).fetchall()
    assert rows == [
        (1, -100 * MS, 2, "a", True, None, None, None, None, None),
        (2, 1500 * MS, 1, "b", False, None, None, None, None, None),
        (4, 4400 * MS, 1, None, True, None, None, None, None, None),
    ]
    assert (plan.sessions, plan.peak_sessions) == (3, 1)
    assert plan.schemas == {"a": 1, "b": 2}


def test_pace_none_opens_all_sessions_immediately(tmp_path: Path) -> None:
    events = [{"statement": "SELECT 1", "session": n, "start_ns": T0 + n * SECOND} for n in range(1, 8)]
    assert planned(tmp_path, events, Rules(Pace("none"))).peak_sessions == 7


def random_events(rng: random.Random, backwards: bool) -> list[dict[str, Any]]:
    """Return reads and writes of five sessions in random order. If `backwards`, the times of session 2 may decrease."""
    events = []
    clock = dict.fromkeys(range(1, 6), T0)
    seqs = dict.fromkeys(clock, 0)
    for _ in range(200):
        session = rng.choice(list(clock))
        clock[session] += rng.randint(-3 if backwards and session == 2 else 0, 5) * 1000
        seqs[session] += 1
        events.append(
            {
                "session": session,
                "seq": seqs[session],
                "start_ns": max(clock[session], T0),
                "statement": "SELECT 1",
                "class": rng.choice(["read", "read", "write"]),
            }
        )
    rng.shuffle(events)
    return events


@pytest.mark.sampled
@pytest.mark.parametrize("backwards", [False, True], ids=["times in order", "times running backwards"])
@pytest.mark.parametrize("seed", range(4))
def test_reading_by_windows_gives_the_order_of_one_sort(tmp_path: Path, seed: int, backwards: bool) -> None:
    """The parts overlap, and the plan is read window by window. The reference sorts all events with a simple quadratic
    algorithm.
    """
    events = random_events(random.Random(seed), backwards)
    plan = planned(tmp_path, events, parts=7, max_rows=20)
    reads = [e for e in events if e["class"] == "read"]

    def when(event: dict[str, Any]) -> int:
        earlier = [e["start_ns"] for e in events if e["session"] == event["session"] and e["seq"] <= event["seq"]]
        return int(max(earlier))

    zero = min(when(e) for e in reads)
    want = sorted((when(e) - zero, e["session"], e["seq"]) for e in reads)
    rows = fed(plan)
    assert [(due, session, seq) for session, seq, due, *_ in rows] == want
    assert plan.planned == len(want)
    assert plan.disordered == int(backwards)
    assert plan.events == 200 == plan.planned + len(excluded(tmp_path))


def test_plan_uses_the_common_span_of_all_drivers(tmp_path: Path) -> None:
    """Time zero is the first time of all drivers. The first event of this plan is therefore due later."""
    tape = make_tape(tmp_path / "a.tape", [{"start_ns": T0 + 40 * MS, "statement": "SELECT 1"}])
    given: list[tuple[int, int]] = []

    def span(first_ns: int, last_ns: int) -> tuple[int, int]:
        given.append((first_ns, last_ns))
        return T0, T0 + 1000 * MS

    plan = plan_tape(tape, tmp_path, span=span)
    assert [first for first, _ in given] == [T0 + 40 * MS]
    assert (plan.zero_ns, plan.round_ns) == (T0, 1000 * MS)
    assert 40 * MS <= plan.last_due_ns < 1000 * MS
