# SPDX-License-Identifier: Apache-2.0
"""Shows a running replay on stderr: pre-flight findings, then one line per second of at most 80 columns."""

import time
from collections.abc import Callable

from rich.console import Console

from ..common.text import printable
from ..common.units import NS_PER_SECOND, clock, plural, short_count, short_duration
from ..replay import Finding, LiveRun, Plan, Tick, Watcher

HEADER = "   time   open    q/s   read  write  other    p95  err/s   late  done      eta"
ORDER_HEADER = "   time   open    q/s  write  waits broken    p95  err/s   late  done      eta"
HEADER_EVERY = 20


def line(tick: Tick, interval_ns: int, share: float, eta_ns: int | None, ordered: bool = False) -> str:
    """Return a tick as one line under HEADER, or under ORDER_HEADER if commits are `ordered`.

    Counts become rates over `interval_ns`. `share` is the finished share of the run, 0 to 1. The column `p95` is
    service time. The column `late` is the p99 of (sent - due), for all causes.
    """

    def rate(n: int) -> str:
        return f"{short_count(n * NS_PER_SECOND // max(interval_ns, 1)):>6}"

    kinds = (tick.reads, tick.writes, tick.others)
    cells = [
        f"{clock(tick.at_ns):>7}",
        f"{short_count(tick.sessions_open):>6}",
        rate(sum(kinds)),
        *map(rate, (tick.writes, tick.order_waits, tick.order_broken) if ordered else kinds),
        f"{short_duration(tick.p95_ns):>6}",
        rate(tick.errors),
        f"{short_duration(tick.late_p99_ns):>6}",
        f"{min(max(share, 0.0), 1.0):>5.0%}",
        f"{'-' if eta_ns is None else clock(eta_ns):>8}",
    ]
    return " ".join(cells)


def progress(at_ns: int, last_due_ns: int, done: int, planned: int, paced: bool) -> tuple[float, int | None]:
    """Return (finished share, remaining nanoseconds or None), by the schedule if the run is paced, else by events."""
    if paced and last_due_ns > 0:
        return at_ns / last_due_ns, max(last_due_ns - at_ns, 0)
    share = done / planned if planned else 1.0
    return share, int(at_ns * (1 - share) / share) if share > 0 else None


class _Stderr(Console):
    def on_broken_pipe(self) -> None:
        """Print nothing more. A reader that ends must not end the run."""
        self.quiet = True


class LiveLines(Watcher):
    """Shows findings, then one line per second, on stderr. The lines are coloured on a terminal."""

    def __init__(self, running: Callable[[LiveRun], None] | None = None) -> None:
        """`running` is called with the run when the run begins."""
        self._running = running
        self._console: Console = _Stderr(stderr=True, highlight=False, soft_wrap=True)
        self._lines = 0
        self._at_ns = 0
        self._spoke = time.monotonic()

    def say(self, text: str, style: str | None = None) -> None:
        """Print one line. Markup is not interpreted, and control characters are removed."""
        self._console.print(printable(text), style=style, markup=False)

    def planning(self, events: int) -> None:
        """Print the progress of planning if it takes longer than a second."""
        if time.monotonic() - self._spoke > 1:
            self._spoke = time.monotonic()
            self.say(f"planning: {events:,} events")

    def finding(self, finding: Finding) -> None:
        """Print a pre-flight finding. A refusal is raised as an error instead."""
        if finding.severity == "warning":
            self.say(f"warning: {finding.text}", "yellow")
        elif finding.severity == "info":
            self.say(finding.text)

    def planned(self, plan: Plan) -> None:
        """Print the number of events to be sent."""
        excluded = plan.reasons.total()
        self.say(
            f"{plural(plan.events, 'event')} on the tape: {plan.planned:,} to send in"
            f" {plural(plan.sessions, 'session')} (at most {plan.peak_sessions:,} at the same time), {excluded:,}"
            " excluded" + (f": {excluded_text(plan)}" if excluded else "")
        )

    def running(self, live: LiveRun) -> None:
        """Pass the run to the callback `running`."""
        if self._running is not None:
            self._running(live)

    def opening(self, opened: int, plan: Plan) -> None:
        """Print the progress of opening the sessions."""
        self.say(f"opening sessions: {opened:,}")

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Print the line of this second."""
        ordered = plan.rules.commit_order
        if self._lines % HEADER_EVERY == 0:
            self.say(ORDER_HEADER if ordered else HEADER, "bold")
        self._lines += 1
        share, eta_ns = progress(tick.at_ns, plan.last_due_ns, done, plan.planned, plan.rules.pace.paced)
        text = line(tick, tick.at_ns - self._at_ns, share, eta_ns, ordered)
        self._at_ns = tick.at_ns
        self.say(text, "red" if tick.errors or tick.order_broken else None)

    def stopping(self, times: int) -> None:
        """Print the effect of Ctrl-C."""
        first = "stopping: waiting for the last answers. Press Ctrl-C again to stop now"
        self.say(first if times == 1 else "stopping now", "yellow")


def excluded_text(plan: Plan) -> str:
    """Return the reasons why events are not sent, the most frequent first."""
    return ", ".join(f"{n:,} {status} ({reason})" for (status, reason), n in plan.reasons.most_common())
