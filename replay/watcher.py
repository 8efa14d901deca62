# SPDX-License-Identifier: Apache-2.0
"""Tells a caller how far a replay is: the base class whose methods a caller overrides."""

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
