# SPDX-License-Identifier: Apache-2.0
"""Lead several drivers from their start to their end: plan, open all sessions, start at one moment, and add up ticks.

The base of the lead process of one run (lead.py) and of a fleet (fleet.py).
"""

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from ...common.errors import QuerytapeError, RefusedError
from ...common.units import plural
from ..checks.preflight import Finding
from ..plan.make_plan import NothingToSend, excluded_text
from ..plan.rules import Plan
from ..watcher import Watcher
from .driver import ERRORS
from .local import Order, start_driver
from .member import Member
from .merging import Ticks

LOOK_S = 0.1
AHEAD_NS, AHEAD_A_SESSION_NS = 1_500_000_000, 60_000  # ns from the go message to the start: fixed, and per session
GOING_SHARE = 0.7  # all drivers must confirm within this fraction of the delay
LEAVE_S = 10.0
NOTHING_SENT = ". No event was sent"


class Gathering:
    """The drivers that begin together.

    - `members`: their records. `news` is notified of each change; see `Member`.
    - `zero_ns`: the start on CLOCK_MONOTONIC of this process. `zero_real_ns`: the start by its wall clock.
    - `stops`: how often the user pressed Ctrl-C.
    - `running`: whether all drivers have got the start time.
    - `sent`: number of events that the drivers sent although the start failed.
    """

    def __init__(self, watcher: Watcher, start_at_ns: int | None, stops_if_lost: bool) -> None:
        self.watcher = watcher
        self.news = threading.Condition()
        self.members: list[Member] = []
        self.zero_ns = self.zero_real_ns = 0
        self.stops = self._stops_sent = self.sent = 0
        self._start_at_ns, self._stops_if_lost = start_at_ns, stops_if_lost
        self._merged = self.running = False

    @contextmanager
    def _leading(self) -> Iterator[None]:
        """When the block ends for any reason, no driver remains that could send statements."""
        try:
            yield
        except BaseException as error:
            for member in self.members:
                member.send("stop")
            if not self.running:
                self.sent = self._sent_all_the_same()
            if self.sent:
                text = str(error).removesuffix(NOTHING_SENT)
                text = f"{text}. The drivers sent {plural(self.sent, 'event')} before they stopped"
                raise QuerytapeError(text) from error
            raise
        finally:
            for member in self.members:
                member.dismiss(LEAVE_S, self._merged)

    def _sent_all_the_same(self) -> int:
        """Return how many events the drivers sent although the start failed.

        Such drivers received the start time, but they did not receive the stop in time.
        """
        going = [member for member in self.members if member.going]
        with self.news:
            self.news.wait_for(lambda: all(member.over for member in going), LEAVE_S if going else 0)
        return sum(int(member.info["accounting"]["executed"]) for member in going if member.info is not None)

    def _start_local(self, orders: Sequence[Order], seconds: float) -> None:
        """Start a process on this machine for each member."""
        for member, order in zip(self.members, orders, strict=True):
            member.connect(*start_driver(order))
        self._wait("start", lambda member: bool(member.hello), seconds)

    def _wait(
        self,
        what: str,
        done: Callable[[Member], Any],
        seconds: float | None = None,
        missing: Callable[[], str] | None = None,
    ) -> None:
        """Wait until `done` is true for every driver.

        `missing`: returns the names of the drivers that are not done, if the members have no names yet. Raises
        QuerytapeError if a driver is lost or the time has passed.
        """
        until = None if seconds is None else time.monotonic() + seconds
        shown = time.monotonic()
        with self.news:
            while not all(member.idle or done(member) for member in self.members):
                self._pass_on_findings()
                self._check()
                if until is not None and time.monotonic() > until:
                    named = ", ".join(member.name for member in self.members if not done(member))
                    raise QuerytapeError(
                        f"{missing() if missing else named} did not {what} within {seconds:g} s{NOTHING_SENT}"
                    )
                if time.monotonic() - shown > 1:
                    shown = time.monotonic()
                    if what == "plan":
                        self.watcher.planning(sum(member.planning for member in self.members))
                self.news.wait(LOOK_S)
            self._pass_on_findings()
            self._check()

    def _check(self) -> None:
        """Raise the error that prevents a driver from starting. Called before any statement is sent."""
        if self.members and not self.active:
            excluded = excluded_text(sum((member.reasons for member in self.members), Counter()))
            raise NothingToSend(f"{plural(len(self.members), 'driver')}: no event is left to send: {excluded}")
        for member in self.members:
            if member.failed is not None and not member.idle:
                kind = ERRORS.get(str(member.failed["error"]), QuerytapeError)
                raise kind(self._of(member, str(member.failed["text"]), kind is RefusedError))
            if member.lost is not None:
                raise QuerytapeError(f"{member.name} was lost before the first event was sent: {member.lost}")
            if member.late is not None:
                raise QuerytapeError(f"{member.name} received the start time too late ({member.late}){NOTHING_SENT}")
        if self.stops:
            raise KeyboardInterrupt

    def _of(self, member: Member, text: str, about_target: bool) -> str:
        """Return a message of a driver with the driver's name.

        `about_target`: the other drivers send the same message, because they have the same target.
        """
        return text if about_target else f"{member.name}: {text}"

    @property
    def active(self) -> list[Member]:
        """The drivers that have events to send."""
        return [member for member in self.members if not member.idle]

    def _pass_on_findings(self) -> None:
        for member in self.members:
            while member.findings:
                finding = member.findings.popleft()
                self._find(Finding(finding["severity"], self._of(member, str(finding["text"]), about_target=True)))

    def _find(self, finding: Finding) -> None:
        """Pass on a finding."""
        self.watcher.finding(finding)

    def _agree(self, whole: bool = True) -> tuple[int, int]:
        """Send all drivers the first and last time over all tapes. Return these times.

        Then wait until all drivers have planned with these times. Without `whole`, each driver keeps its own times.
        """
        self._wait("plan", lambda member: member.span is not None)
        spans = [member.span for member in self.members if member.span is not None]
        span = min(first for first, _ in spans), max(last for _, last in spans)
        for member in self.members:
            first, last = span if whole or member.span is None else member.span
            member.send("span", first=first, last=last)
        self._wait("plan", lambda member: member.planned is not None)
        return span

    def _open(self, plan: Plan) -> None:
        """Let all drivers open their sessions. Wait until every driver is ready."""
        for member in self.members:
            member.send("open")
        shown = time.monotonic()
        with self.news:
            while not all(member.ready for member in self.active):
                self._check()
                if time.monotonic() - shown > 1:
                    shown = time.monotonic()
                    self.watcher.opening(sum(member.opened for member in self.members), plan)
                self.news.wait(LOOK_S)

    def _go(self, plan: Plan) -> None:
        """Send every driver the start time on its own clock. Raises QuerytapeError if a driver cannot start in time."""
        for member in self.active:
            member.measure()
        now, real = time.monotonic_ns(), time.time_ns()
        ahead = AHEAD_NS + AHEAD_A_SESSION_NS * plan.peak_sessions
        at = self._start_at_ns
        self.zero_ns = now + max(ahead, 0 if at is None else at - real)
        self.zero_real_ns = real + self.zero_ns - now
        for member in self.active:
            assert member.at_zero is not None
            member.go(self.zero_ns + member.at_zero.offset_ns)
        self._wait("begin", lambda member: member.going, ahead * GOING_SHARE / 1e9)

    # ---- after the start ----

    def _stop(self) -> None:
        """Count a Ctrl-C. `_watch` passes the Ctrl-C on to the drivers."""
        self.stops += 1

    def _watch(self, plan: Plan, ticks: Ticks) -> None:
        """Add up the reports of the drivers once a second, until every driver has ended or is lost."""
        lost: set[int] = set()
        due = self.zero_ns
        while True:
            self._see_lost(lost)
            if all(member.over for member in self.members):
                break
            with self.news:
                self.news.wait(LOOK_S)
            self._pass_on_findings()
            self._pass_on_stops()
            if time.monotonic_ns() >= due:
                due += 1_000_000_000
                self._tick(ticks, plan)
        self._tick(ticks, plan)

    def _tick(self, ticks: Ticks, plan: Plan) -> None:
        with self.news:
            tick = ticks.take()
        self.watcher.tick(tick, ticks.done, plan)

    def _pass_on_stops(self) -> None:
        while self._stops_sent < min(self.stops, 2):
            self._stops_sent += 1
            self.watcher.stopping(self._stops_sent)
            for member in self.members:
                member.send("stop")

    def _see_lost(self, seen: set[int]) -> None:
        for member in self.members:
            if member.lost is None or member.number in seen:
                continue
            seen.add(member.number)
            self.watcher.finding(Finding("warning", f"{member.name} is lost: {member.lost}"))
            if self._stops_if_lost:
                self.stops = max(self.stops, 1)
