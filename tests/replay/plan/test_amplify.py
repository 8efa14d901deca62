# SPDX-License-Identifier: Apache-2.0
"""Clones of sessions, and a tape several times in a row."""

from pathlib import Path

import pytest
from querytape.common.errors import InputError
from querytape.replay.plan.amplify import Amplification
from querytape.replay.plan.database import open_planner, session_stream
from querytape.replay.plan.rules import Rules

from tests.helpers.planning import excluded, fed, planned
from tests.helpers.tapes import MS, SECOND, T0


def test_copies(tmp_path: Path) -> None:
    """Each session three times, twice over: think times are kept, rounds follow each other, what is excluded is counted."""
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


def test_amplification_without_copies_or_with_ordered_commits_is_refused() -> None:
    with pytest.raises(InputError, match="copies of a session"):
        Rules(amplification=Amplification(amplify=2), commit_order=True)
    with pytest.raises(InputError, match="expected 1 or more"):
        Amplification(loop=0)
