# SPDX-License-Identifier: Apache-2.0
"""Base classes for callers of a replay. A watcher gets its progress. A group lets several replays begin together.

- make_plan ──span──► the times of all tapes that are sent together: one zero
- Replay ──started──► the engine waits when its sessions are open; the lead process sets the time of zero
"""

from typing import Any

from ..native.bindings.engine import Engine
from ..servers.facts import Facts
from .checks.preflight import Finding
from .observe.live import LiveRun
from .observe.ticks import Tick
from .plan.rules import Plan


class Watcher:
    """Gets the progress of a replay, in the thread that called `replay`. This base class ignores all progress."""

    def planning(self, events: int) -> None:
        """Called with the number of events planned so far."""

    def finding(self, finding: Finding) -> None:
        """Called with each finding of the pre-flight, and with the error of the first session that cannot connect."""

    def planned(self, plan: Plan) -> None:
        """Called with the plan after the pre-flight has passed."""

    def running(self, live: LiveRun) -> None:
        """Called when the run begins. Any thread may read `live` from then on."""

    def opening(self, opened: int, plan: Plan) -> None:
        """Called with the number of open sessions, once a second until the zero time of the run."""

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Called with the counters of the last second.

        `done`: number of events that were executed or not sent so far.
        """

    def ended(self) -> None:
        """Called when the run is over or has failed, before the run folder is completed."""

    def stopping(self, times: int) -> None:
        """Called after the first and second Ctrl-C."""


class ReplayGroup:
    """Replays that begin at the same moment. This base class represents a single replay.

    - `holds`: whether the replay waits until the lead process starts it.
    - `alone`: whether no other replay of the group uses the same target.
    - `stopped_because`: why the group stopped the replay, or None.
    """

    holds = False
    alone = True
    stopped_because: str | None = None

    def span(self, first_ns: int, last_ns: int) -> tuple[int, int]:
        """Return the first and last moment over the tapes of all replays.

        The arguments are the first and last moment of this replay's tape.
        """
        return first_ns, last_ns

    def connected(self, facts: Facts) -> None:
        """Called with the properties of the target, before the tape is planned."""

    def about(self) -> dict[str, Any]:
        """Return the run.json fields that identify the group."""
        return {}

    def started(self, engine: Engine) -> None:
        """Called with the engine after its threads have started, in the thread that called `replay`."""


ALONE = ReplayGroup()
