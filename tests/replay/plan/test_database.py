# SPDX-License-Identifier: Apache-2.0
"""Tests of plan databases: speeds, idle time, ramps, copies, changed clocks and ids, and mapped KILLs."""

from fractions import Fraction
from itertools import pairwise
from pathlib import Path

import pytest
from querytape.replay.plan import database
from querytape.replay.plan.database import open_planner, plan_windows, show_feed
from querytape.replay.plan.overrides import Overrides
from querytape.replay.plan.pacing import Amplification, Pace
from querytape.replay.plan.rules import Rules
from querytape.replay.plan.selection import Selection

from tests.helpers.planning import excluded, fed, planned
from tests.helpers.tapes import MS, SECOND, T0, flag_bits

pytestmark = pytest.mark.slow


def test_speeds_of_connects_and_think_times_are_independent(tmp_path: Path) -> None:
    """Sessions begin twice as fast, but their think times stay at the original speed. The events are sorted by their
    due time.
    """
    events = [
        {"session": 1, "command": "connect", "start_ns": T0},
        {"session": 1, "statement": "SELECT 1", "start_ns": T0 + 2 * SECOND},
        {"session": 1, "statement": "SELECT 1", "start_ns": T0 + 9 * SECOND},
        {"session": 2, "command": "connect", "start_ns": T0 + 8 * SECOND},
        {"session": 2, "statement": "SELECT 1", "start_ns": T0 + 9 * SECOND},
    ]
    plan = planned(tmp_path, events, Rules(Pace(connect_speed=Fraction(2), think_speed=Fraction(1))))
    # The run starts at the original time of the first sent event. This is two seconds after the connect of session 1.
    assert fed(plan, "session", "seq", "due_ns") == [
        (1, 2, 2 * SECOND),
        (2, 2, 4 * SECOND),
        (1, 3, 9 * SECOND),
    ]


def test_idle_time_is_shortened(tmp_path: Path) -> None:
    """A time in which no statement runs is shortened to `--max-idle`, also across the borders of windows."""
    starts = [0, 1, 20, 21, 50, 51]
    events = [{"statement": "SELECT 1", "start_ns": T0 + s * SECOND} for s in starts]
    events[3]["duration_ns"] = 27 * SECOND
    for name, rows in (("a", None), ("b", 2)):
        (tmp_path / name).mkdir()
        plan = planned(tmp_path / name, events, Rules(Pace(max_idle_ns=2 * SECOND)), parts=3, max_rows=rows)
        due = [when for (when,) in fed(plan, "due_ns")]
        assert due == [0, SECOND, 3 * SECOND, 4 * SECOND, 33 * SECOND, 34 * SECOND]
        assert plan.as_json()["cut_idle_ns"] == 17 * SECOND


def test_selected_time_range_uses_original_times(tmp_path: Path) -> None:
    """`--from` and `--to` are original times of the tape, even if earlier idle time is shortened."""
    events = [{"statement": "SELECT 1", "start_ns": T0 + s * SECOND} for s in (0, 50, 100, 101, 150, 200)]
    selection = Selection(from_ns=T0 + 40 * SECOND, to_ns=T0 + 160 * SECOND)
    plan = planned(tmp_path, events, Rules(Pace(max_idle_ns=2 * SECOND), selection=selection))
    assert fed(plan, "seq", "due_ns") == [(2, 0), (3, 2 * SECOND), (4, 3 * SECOND), (5, 5 * SECOND)]


def test_ramp_rises_to_the_speed(tmp_path: Path) -> None:
    """The rate of events is low at first and reaches full speed after the ramp. The ramp delays the end of the replay
    by half of the ramp's length.
    """
    events = [{"statement": "SELECT 1", "start_ns": T0 + n * 100 * MS} for n in range(101)]
    plan = planned(tmp_path, events, Rules(Pace(ramp_ns=4 * SECOND)))
    due = [when for (when,) in fed(plan, "due_ns")]
    assert due[-1] == 12 * SECOND
    gaps = [b - a for a, b in pairwise(due)]
    assert gaps[0] > 800 * MS
    assert sorted(gaps[:20], reverse=True) == gaps[:20]
    assert all(gap == 100 * MS for gap in gaps[21:])


def test_kill_is_mapped_to_a_session(tmp_path: Path) -> None:
    """KILL gets the session that had the connection id at that time. An id that no session had is mapped to no session."""
    events = [
        {"session": 1, "statement": "SELECT 1", "thread_id": 5, "start_ns": T0},
        {"session": 2, "statement": "SELECT 1", "thread_id": 6, "start_ns": T0},
        {"session": 3, "statement": "SELECT 1", "thread_id": 5, "start_ns": T0 + 9 * SECOND},
    ]
    kills = ["/* app */ KILL 5", "kill query 6;", "KILL CONNECTION 77", "KILL USER app"]
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


@pytest.mark.long
@pytest.mark.parametrize(
    ("count", "size", "back"),
    [(12, 17 << 20, False), (1, 250 << 20, False), (900, 400_000, False), (900, 400_000, True)],
    ids=["rows of 17 MB", "250 MB", "many", "a time runs backwards"],
)
def test_large_statements_are_fed_completely(tmp_path: Path, count: int, size: int, back: bool) -> None:
    """A window has a limit in bytes. The memory depends only on the largest event."""
    text = "SELECT repeat(chr((65 + n % 26)::INTEGER), {size})::BLOB AS statement, 1 AS session, n + 1 AS seq"
    text += ", 'query' AS command, 'write' AS class, 0 AS flags, 0 AS actions, '00' AS digest, 1000 AS precision_ns"
    text += f", {T0} + CASE WHEN {back} AND n = 0 THEN {count} ELSE n END * {MS} AS start_ns, 0 AS file"
    tape = text.format(size=size) + f", n AS offset FROM range({count}) r(n)"
    plan = planned(tmp_path, tape, Rules(allow_writes=True))
    sizes = 0
    with open_planner(plan) as con:
        for window in list(plan_windows(con, plan)):
            show_feed(con, plan, window)
            rows = con.execute(
                "SELECT sum(octet_length(statement)) FROM (FROM window_feed ORDER BY due_ns, session, seq)"
            ).fetchall()
            sizes += rows[0][0] or 0
    assert sizes == count * size


@pytest.mark.parametrize("copies", [1, 4])
def test_window_bytes_include_all_copies(copies: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """If each event has more copies, the windows are smaller. Each event is in exactly one window."""
    monkeypatch.setattr(database, "WINDOW_BYTES", 8000)
    events = [{"statement": "x" * 1000, "start_ns": T0 + n * MS} for n in range(40)]
    plan = planned(tmp_path, events, Rules(amplification=Amplification(copies)))
    with open_planner(plan) as con:
        found = list(plan_windows(con, plan))
    inside = [sum(w.begin_ns <= T0 + n * MS < w.end_ns for n in range(40)) for w in found]
    assert sum(inside) == 40
    assert 8 // copies <= max(inside) <= 8 // copies + 1


@pytest.mark.sampled
@pytest.mark.parametrize("errno", [0, 1062, 1205, 1317, 1412, 1927, 1969, 3024, 3169, 3572])
def test_interrupted_statement_is_skipped_in_commit_order(errno: int, tmp_path: Path) -> None:
    """The KILL QUERY that may have ended the statement is also skipped."""
    events = [
        {"session": 1, "thread_id": 5, "statement": "INSERT", "class": "write", "errno": errno, "duration_ns": SECOND},
        {"session": 2, "statement": "KILL QUERY 5", "class": "admin", "flags": flag_bits(danger="kill")},
    ]
    failed = [(1, 1, "skipped", "original_failed"), (2, 1, "skipped", "kill_alone")]
    for name, ordered in (("ordered", True), ("timed", False)):
        (tmp_path / name).mkdir()
        rules = Rules(allowed=frozenset({"kill"}), allow_writes=True, commit_order=ordered)
        others = [{"session": 3, "statement": "SELECT 1"}]
        planned(tmp_path / name, [*events, *others], rules)
        assert excluded(tmp_path / name) == (failed if ordered and errno not in (0, 1062) else [])


@pytest.mark.sampled
@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("KILL 5", b"CONNECTION"),
        ("kill  connection 5", b"CONNECTION"),
        ("KILL HARD CONNECTION 5;", b"CONNECTION"),
        ("KILL QUERY 5", b"QUERY"),
        ("kill soft query 5", b"QUERY"),
        ("KILL\nQUERY\n5", b"QUERY"),
    ],
)
def test_kind_of_kill_is_read_from_its_text(text: str, what: bytes, tmp_path: Path) -> None:
    """A KILL ends either a connection or only its current statement. The wrong kind would end a session too early or
    keep it too long.
    """
    events = [
        {"session": 1, "thread_id": 5, "statement": "SELECT SLEEP(9)", "duration_ns": SECOND},
        {"session": 2, "statement": text, "class": "admin", "flags": flag_bits(danger="kill")},
    ]
    plan = planned(tmp_path, events, Rules(allowed=frozenset({"kill"})))
    assert [(bytes(found), stmt) for found, stmt in fed(plan, "statement", "stmt")][1] == (what, 1)


def test_kill_is_skipped_with_the_statement_that_it_ends(tmp_path: Path) -> None:
    """If the killed statement is not sent, the KILL would hit another statement. Other KILLs are sent."""
    events = [
        {"session": 1, "thread_id": 5, "statement": "SELECT 1", "start_ns": T0, "duration_ns": 5 * MS},
        {
            "session": 2,
            "statement": "SELECT 2",
            "thread_id": 6,
            "start_ns": T0,
            "errno": 1317,
            "duration_ns": 9 * SECOND,
        },
        {"session": 3, "statement": "INSERT", "class": "write", "thread_id": 7, "start_ns": T0, "duration_ns": SECOND},
    ]
    kill = {"session": 4, "thread_id": 8, "class": "admin", "flags": flag_bits(danger="kill"), "start_ns": T0 + MS}
    events += [{**kill, "statement": f"KILL QUERY {thread}"} for thread in (5, 6, 7)]
    events += [{**kill, "statement": "KILL CONNECTION 6"}]
    events += [{**kill, "command": "process_kill", "params": b"C" + thread.to_bytes(4, "little")} for thread in (5, 6)]
    events += [{**kill, "command": "process_kill", "params": b"C"}]  # a KILL without an id
    for name, rules, expected in (
        ("reads", Rules(allowed=frozenset({"kill"})), {3: ("skipped", "kill_alone")}),
        (
            "order",
            Rules(allowed=frozenset({"kill"}), allow_writes=True, commit_order=True),
            dict.fromkeys((2, 4, 6), ("skipped", "kill_alone")),
        ),
        (
            "filtered",
            Rules(allowed=frozenset({"kill"}), allow_writes=True, selection=Selection(sessions=(1, 3, 4))),
            dict.fromkeys((2, 4, 6), ("skipped", "kill_alone")),
        ),
        (
            "later",
            Rules(allowed=frozenset({"kill"}), allow_writes=True, selection=Selection(from_ns=T0 + MS)),
            dict.fromkeys(range(1, 7), ("skipped", "kill_alone")),
        ),
    ):
        (tmp_path / name).mkdir()
        planned(tmp_path / name, events, rules)
        found = {seq: why for session, seq, *why in excluded(tmp_path / name) if session == 4}
        assert found == {seq: list(why) for seq, why in expected.items()}


def test_no_statement_is_injected_before_a_diagnostics_statement(tmp_path: Path) -> None:
    """With the clock of the tape, an injected SET would clear diagnostics such as warnings or ROW_COUNT()."""
    asks = [
        "SHOW\nWARNINGS",
        "SELECT ROW_COUNT(), NOW()",
        "INSERT INTO t VALUES (FOUND_ROWS())",
        "GET DIAGNOSTICS @a = NUMBER",
    ]
    others = ["INSERT INTO t VALUES (1)", "SELECT NOW()", "INSERT INTO t VALUES (LAST_INSERT_ID(), NOW())"]
    class_ = {"I": "write", "S": "read", "G": "read"}
    events = [{"statement": text, "class": class_[text[0]]} for text in (*asks, *others)]
    plan = planned(tmp_path, events, Rules(allow_writes=True, overrides=Overrides(clock=True)))
    assert [clock is not None for (clock,) in fed(plan, "clock_us")] == [False] * 4 + [True] * 3
