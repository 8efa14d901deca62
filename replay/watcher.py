# SPDX-License-Identifier: Apache-2.0
"""Two base classes for callers of a replay: one is told how far it is, one lets several replays begin together.

make_plan ──span──► what of the tape's time all of them send together: one zero
Replay ──started──► the engine holds when its sessions are open; whoever leads says when zero is
"""

from typing import Any

from ..native.bindings.engine import Engine
from .checks.preflight import Finding
from .observe.live import LiveRun
from .observe.ticks import Tick
from .plan.rules import Plan


class Watcher:
    """Called in the thread that called `replay`; this one ignores everything."""

    def planning(self, events: int) -> None:
        """Take how many events of the tape were planned so far."""

    def finding(self, finding: Finding) -> None:
        """Take one finding of the pre-flight, before anything is sent."""

    def planned(self, plan: Plan) -> None:
        """Take the plan, once the pre-flight has passed."""

    def running(self, live: LiveRun) -> None:
        """Take the run that begins now; it can be looked at from any thread from here on."""

    def opening(self, opened: int, plan: Plan) -> None:
        """Take how many sessions are open, once a second until the run's zero."""

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Take what happened in the last second; `done` is events so far."""

    def ended(self) -> None:
        """Take that the run is over, or failed: nothing more comes of it, and it is not summed up yet."""

    def stopping(self, times: int) -> None:
        """Take that Ctrl-C was pressed for the first or second time."""


class ReplayGroup:
    """Replays of parts of one tape that begin at one moment; here it is a single replay, which begins when ready."""

    holds = False

    def span(self, first_ns: int, last_ns: int) -> tuple[int, int]:
        """Return the first and last moment of the tapes of all replays; given: those of this replay's tape."""
        return first_ns, last_ns

    def about(self) -> dict[str, Any]:
        """Return the keys of run.json that name the group."""
        return {}

    def started(self, engine: Engine) -> None:
        """Take the engine when its threads have started, in the thread that called `replay`."""


ALONE = ReplayGroup()
