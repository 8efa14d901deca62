# SPDX-License-Identifier: Apache-2.0
"""Tests of pacing: due times from offsets and speeds, in Python and in SQL."""

from fractions import Fraction
from pathlib import Path

import duckdb
import pytest
from querytape.common.errors import InputError
from querytape.replay.plan.database import open_planner, session_stream
from querytape.replay.plan.pacing import MAX_NS, Amplification, due_ns, due_sql, parse_speed, speed_text
from querytape.replay.plan.rules import Rules

from tests.helpers.duck import database
from tests.helpers.planning import excluded, fed, planned
from tests.helpers.tapes import MS, SECOND, T0

TABLE = [
    # offset_ns, speed, due_ns, description
    (0, "1", 0, "the first event is due at the run's zero"),
    (0, "0.001", 0, "and is so at any speed"),
    (1, "1", 1, "at speed 1 nothing changes"),
    (1_000_000_007, "1", 1_000_000_007, "not even the last digit"),
    (1, "0.5", 2, "half speed doubles"),
    (3, "2", 1, "double speed halves, rounded down"),
    (3, "1.5", 2, "1.5 is exactly 3/2: the boundary itself"),
    (2, "1.5", 1, "and just below it"),
    (4, "1.5", 2, "and just above it"),
    (86_400_000_000_000, "1/3", 259_200_000_000_000, "a day at a third takes three days, to the nanosecond"),
    (10**18, "0.1", 10**19, "more than 64 bits is an error, not a wrong time"),
    (MAX_NS, "1", MAX_NS, "the largest offset survives"),
    (MAX_NS, "999999999/1000000000", None, "one step slower it does not"),
    (MAX_NS, "1000000000", MAX_NS // 10**9, "the product of the largest terms still fits"),
]


@pytest.mark.parametrize(("offset", "speed", "due", "why"), TABLE, ids=[row[3] for row in TABLE])
def test_due_times_are_equal_in_python_and_sql(offset: int, speed: str, due: int | None, why: str) -> None:
    factor = parse_speed(speed)
    assert factor is not None
    query = f"SELECT {due_sql(str(offset), factor)}"
    if due is None or due > MAX_NS:
        with pytest.raises(OverflowError):
            due_ns(offset, factor)
        with database() as con, pytest.raises(duckdb.Error):
            con.execute(query).fetchall()
        return
    assert due_ns(offset, factor) == due
    with database() as con:
        assert con.execute(query).fetchall() == [(due,)]


def test_event_before_the_first_one_is_an_error() -> None:
    with pytest.raises(ValueError, match="expected 0 or more"):
        due_ns(-1, Fraction(1))


@pytest.mark.parametrize("text", ["0", "-1", "", "fast", "1/0", "nan", "inf", "max", "0.00000000001", "10000000000"])
def test_invalid_speed_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="--speed: expected"):
        parse_speed(text)


@pytest.mark.parametrize("text", ["1", "0.5", "2", "1.5", "1/3"])
def test_speed_text_is_stored_unchanged(text: str) -> None:
    assert speed_text(parse_speed(text)) == text


def test_sessions_are_copied_and_looped(tmp_path: Path) -> None:
    """Each session has three copies in two rounds. Think times stay the same, rounds follow each other, and excluded
    events are counted.
    """
    events = [
        {"session": 7, "command": "connect", "start_ns": T0},
        {"session": 7, "statement": "SELECT 1", "start_ns": T0 + 100 * MS},
        {"session": 7, "statement": "SELECT 1", "start_ns": T0 + 150 * MS, "duration_ns": 50 * MS},
        {"session": 7, "statement": "DELETE", "class": "write", "start_ns": T0 + 160 * MS},
    ]
    plan = planned(tmp_path, events, Rules(amplification=Amplification(amplify=3, shift_ns=SECOND, loop=2)))
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
    assert len(excluded(tmp_path, "session, seq, clone")) == 12 == plan.reasons.total()
    assert plan.planned == 12
    with open_planner(plan) as con:
        assert len(session_stream(con, plan).fetchall()) == 6 == plan.sessions


def test_copies_of_sessions_are_refused_with_commit_order() -> None:
    """The number of copies must be at least 1."""
    with pytest.raises(InputError, match="copies of a session"):
        Rules(amplification=Amplification(amplify=2), commit_order=True)
    with pytest.raises(InputError, match="expected at least 1"):
        Amplification(loop=0)
