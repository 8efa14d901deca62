# SPDX-License-Identifier: Apache-2.0
"""Replays a tape that a capture is still writing. Each published piece is planned and fed when it arrives.

- piece 0 (published before the start) ─► plan ─► engine: zero
- piece 1, 2, ... ─► a plan for each piece, with the zero of piece 0 ─► engine: more sessions, more events
"""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol

from ..common.errors import InputError
from ..common.files import remove_folder
from ..common.units import plural, utc_time
from ..native.bindings.engine import Engine
from ..schemas import Folder
from .options import ReplayOptions
from .plan.database import feed_streams, open_planner, session_stream
from .plan.make_plan import PlanRequest, make_plan
from .plan.rules import Plan
from .run_folder import open_storage

# The capture publishes an event at most this long after the end of the event. The replay must run at least this much
# later than the tape.
PUBLISHED_WITHIN_PARTS, SLACK_NS = 2, 3_000_000_000
# Silence in nanoseconds after which a session is disconnected, if the tape's source does not show disconnects.
REST_NS = 30_000_000_000
SHOW_QUITS = ("packets", "general")


class Growing(Protocol):
    """A tape that is still being written.

    The object yields pieces of the tape as small tapes. At the end it yields the whole tape read so far.
    """

    @property
    def part_every_ns(self) -> int:
        """The longest time between two publications of the capture."""

    @property
    def is_over(self) -> bool:
        """Whether the capture has ended and all its pieces were returned."""

    def more(self) -> Folder | None:
        """Return the events published since the last call as a tape. Return None if there are no new events yet."""

    def done(self, tape: Folder) -> None:
        """Release a piece that is no longer needed."""

    def finish(self) -> Folder:
        """Return the tape that contains all returned pieces."""

    def story(self) -> dict[str, Any]:
        """Return the field `follow` of run.json."""


def check_follow(options: ReplayOptions) -> None:
    """Raise InputError for options that need the whole tape before the first event is sent."""
    pace, selection = options.pace, options.selection
    wrong = {
        "--pace none": not pace.paced,
        "a --speed above 1": pace.paced and max(pace.speed, pace.think_speed or 0, pace.connect_speed or 0) > 1,
        "--connect-speed and --think-speed": pace.scales_separately,
        "--max-idle": pace.max_idle_ns is not None,
        "--amplify and --loop": options.amplification.total > 1,
        "--order commit": options.commit_order,
        "--sessions NUMBER": selection.max_sessions is not None,
        "options that select events (--from, --to, --db, --digest, --class, --resume, ...)": selection.by_event,
        "--allow-statement kill": "kill" in options.allow_statements,
    }
    if names := [name for name, given in wrong.items() if given]:
        raise InputError(
            f"--follow cannot be combined with {names[0]}, because the capture is still writing the tape. Cut a part"
            " out of the tape (querytape tape cut) and replay that part"
        )


def first_piece(growing: Growing) -> Folder:
    """Return the events published before the replay started."""
    while (tape := growing.more()) is None:
        pass
    return tape


def late_start(options: ReplayOptions, plan: Plan, growing: Growing) -> ReplayOptions:
    """Return the options with a later start time, so that the capture publishes each event before it is due."""
    lag = PUBLISHED_WITHIN_PARTS * growing.part_every_ns + SLACK_NS
    wait = min(max(lag - (time.time_ns() - plan.zero_ns), 0), lag)
    if options.start_at_ns is not None or wait == 0:
        return options
    return replace(options, start_at_ns=time.time_ns() + wait)


def rest_ns(plan: Plan) -> int:
    """Return the silence in nanoseconds after which sessions are disconnected.

    Returns 0 if the tape shows when sessions disconnect.
    """
    if plan.tape.info.get("source") in SHOW_QUITS:
        return 0
    with open_storage(plan.spill) as con:
        shown = con.execute(f"SELECT bool_or(quit_seen) FROM {plan.tape.source('sessions')}").fetchall()[0][0]
    return 0 if shown else REST_NS


class Pieces:
    """Plans and feeds all pieces except the first.

    `plan` is the plan of the first piece. Its counts grow with each piece.
    """

    def __init__(self, growing: Growing, plan: Plan, outcomes: Path) -> None:
        self.growing = growing
        self._plan = plan
        self._outcomes = outcomes

    def feed(self, engine: Engine, is_stopped: Callable[[], bool]) -> None:
        """Feed each piece when it arrives, until the capture has ended or the run is stopped."""
        after = self._plan
        while not is_stopped() and not self.growing.is_over:
            if (tape := self.growing.more()) is None:
                continue
            piece = self._plan_of(tape, after)
            if piece.planned:
                with open_planner(piece) as con:
                    engine.sessions(session_stream(con, piece))
                    for stream in feed_streams(con, piece):
                        engine.feed(stream)
            self.growing.done(tape)
            if after is not self._plan:
                remove_folder(after.spill)
            after = piece
        if after.excluded_statements.exists() and after is not self._plan:
            after.excluded_statements.replace(self._plan.excluded_statements)

    def _plan_of(self, tape: Folder, after: Plan) -> Plan:
        """Return the plan of a piece and add its events to the counts of the whole plan."""
        spill = self._plan.spill / f"piece-{after.piece + 1:06d}"
        spill.mkdir(mode=0o700)
        whole = self._plan
        given = tape, whole.rules, spill, self._outcomes
        piece = make_plan(PlanRequest(*given, catalog=whole.catalog, collations=whole.collations, after=after))
        whole.events += piece.events
        whole.reasons.update(piece.reasons)
        whole.ids_unknown += piece.ids_unknown
        whole.prepares_xa |= piece.prepares_xa
        whole.created_schemas |= piece.created_schemas
        whole.now_uncertain += piece.now_uncertain
        whole.last_due_ns = max(whole.last_due_ns, piece.last_due_ns)
        whole.planned += piece.planned
        return piece


def settle(growing: Growing, plan: Plan) -> dict[str, Any]:
    """Replace the plan's tape by the whole followed tape. Return `follow` of run.json."""
    plan.tape = growing.finish()
    plan.files = plan.tape.files("events")
    plan.measured = {}
    plan.disordered = 0
    plan.repaired.unlink(missing_ok=True)
    return growing.story()


def follow_lines(info: dict[str, Any]) -> list[str]:
    """Return the first report lines of a run that followed a tape: its progress and its lost events."""
    story = info.get("follow")
    if not story:
        return []
    ends = {"finished": "Then the capture ended", "killed": "Then the capture was killed"}
    lines = [
        f"{story['tape']} was still growing when the replay began ({plural(story['begun_events'], 'event')} until"
        f" {utc_time(story['begun_last_ns'])} UTC). The replay followed the tape until"
        f" {utc_time(story['last_ns'])} UTC ({plural(story['events'], 'event')})."
        f" {ends.get(story['ended'], 'The capture continues')}"
    ]
    if story["lost"]:
        lines.append(f"  LOST: {follow_problem(story)}")
    if rested := info["accounting"].get("sessions_rested", 0):
        again = info["accounting"]["sessions_reopened"]
        lines.append(
            "  WARNING: the tape does not show when sessions disconnected. The replay disconnected silent sessions"
            f" {plural(rested, 'time')} after at most {REST_NS // 10**9} s, and connected sessions again"
            f" {plural(again, 'time')} without their state"
        )
    return lines


def follow_problem(story: dict[str, Any] | None) -> str | None:
    """Return why a run that followed a tape is incomplete. Return None if the run is complete."""
    if story and story["lost"]:
        return f"the capture's --keep dropped {plural(story['lost'], 'event')} before the replay could read them"
    if story and story["ended"] == "killed":
        return "the capture was killed: its unpublished events are missing"
    return None
