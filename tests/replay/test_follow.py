# SPDX-License-Identifier: Apache-2.0
"""Tests of a replay that follows a growing tape: refused options, the delayed start, and the lines of the summary."""

import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError
from querytape.replay import ReplayOptions, Target
from querytape.replay.follow import REST_NS, check_follow, follow_lines, follow_problem, late_start, rest_ns
from querytape.replay.plan.pacing import Pace
from querytape.replay.plan.rules import Plan, Rules
from querytape.replay.plan.selection import Selection
from querytape.schemas import open_folder

from tests.helpers.tapes import make_tape

STORY = {
    "tape": "/t/live.tape", "begun_last_ns": 1_763_000_000 * 10**9, "begun_events": 5, "last_ns": 1_763_000_100 * 10**9,
    "events": 50, "lost": 0, "ended": "finished",
}  # fmt: skip


class Live:
    """A capture that publishes a part every five seconds."""

    part_every_ns = 5 * 10**9


def options(folder: Path, **more: Any) -> ReplayOptions:
    return ReplayOptions(Target("app", "db", "10.0.0.7", 3307), folder, **more)


def plan_of(folder: Path, events: list[dict[str, Any]], **info: Any) -> Plan:
    """Return the plan of a small tape."""
    tape = open_folder("tape", make_tape(folder / "t.tape", events))
    tape.info.update(info)
    (folder / "spill").mkdir()
    return Plan(tape, Rules(), folder / "spill")


@pytest.mark.parametrize(
    "more",
    [
        {"pace": Pace("none")},
        {"pace": Pace(speed=Fraction(2))},
        {"pace": Pace(max_idle_ns=1)},
        {"commit_order": True},
        {"selection": Selection(max_sessions=3)},
        {"selection": Selection(from_ns=1)},
        {"allow_statements": frozenset({"kill"})},
    ],
)
def test_options_that_need_the_whole_tape_are_refused(more: dict[str, Any], tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"--follow cannot be combined with .*tape cut"):
        check_follow(options(tmp_path, **more))
    check_follow(options(tmp_path, selection=Selection(users=("app",)), allow_writes=True))


def test_start_waits_for_a_capture_that_has_just_begun(tmp_path: Path) -> None:
    """The start is delayed by the time of two parts. The replay does not wait if the capture is far enough ahead or if
    the user gives a start time.
    """
    plan = plan_of(tmp_path, [{"statement": "SELECT 1"}])
    plan.zero_ns = time.time_ns() - 10**9
    start = late_start(options(tmp_path), plan, Live()).start_at_ns  # type: ignore[arg-type]
    assert start is not None
    assert 8 * 10**9 < start - time.time_ns() < 13 * 10**9
    assert late_start(options(tmp_path, start_at_ns=7), plan, Live()).start_at_ns == 7  # type: ignore[arg-type]
    plan.zero_ns -= 60 * 10**9
    assert late_start(options(tmp_path), plan, Live()).start_at_ns is None  # type: ignore[arg-type]


def test_silent_sessions_rest_if_the_source_has_no_disconnects(tmp_path: Path) -> None:
    """Packets contain disconnects (COM_QUIT). A slow log may contain them."""
    plan = plan_of(tmp_path, [{"statement": "SELECT 1"}], source="slowlog")
    assert rest_ns(plan) == REST_NS
    plan.tape.info["source"] = "packets"
    assert rest_ns(plan) == 0
    (tmp_path / "more").mkdir()
    quits: list[dict[str, Any]] = [{"statement": "SELECT 1"}, {"command": "quit", "statement": None}]
    assert rest_ns(plan_of(tmp_path / "more", quits, source="slowlog")) == 0


def test_summary_begins_with_the_followed_tape() -> None:
    """The first line shows the length of the tape at the start and at the end. Lines about lost events and resting
    sessions follow. If events are lost, the run is partial.
    """
    counts = {"sessions_rested": 0, "sessions_reopened": 0}
    assert follow_lines({"follow": None}) == []
    (line,) = follow_lines({"follow": STORY, "accounting": counts})
    assert "was still growing when the replay began (5 events until" in line
    assert "UTC (50 events). " in line
    assert line.endswith("Then the capture ended")
    assert follow_problem(STORY) is None
    lost = {**STORY, "lost": 7, "ended": None}
    lines = follow_lines({"follow": lost, "accounting": {**counts, "sessions_rested": 3}})
    assert lines[0].endswith("The capture continues")
    assert lines[1] == "  LOST: the capture's --keep dropped 7 events before the replay could read them"
    assert "3 times" in lines[2]
    assert "killed" in (follow_problem({**STORY, "ended": "killed"}) or "")
