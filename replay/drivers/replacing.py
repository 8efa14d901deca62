# SPDX-License-Identifier: Apache-2.0
"""Put a new driver in the place of each lost driver (`--on-driver-lost resume`).

The new driver sends the events that are due from a later time on, like a replay with `--from`. Earlier events of the
lost driver are not sent. No statement is sent twice, because the lost driver has certainly stopped before that time:

- A driver on the machine of the lead process has been killed.
- A driver on another host sends nothing after its limit, which the lead process moves twice per second (member.py).
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from ...common.errors import InputError, QuerytapeError
from ..checks.preflight import Finding
from ..options import ReplayOptions
from ..plan.pacing import Pace
from .driver import ERRORS
from .member import Beginning, Member

ATTEMPTS = 3  # drivers that may take over the tapes of one driver
PREPARE_NS = 3_000_000_000  # time to start a driver, in addition to its planning and its connects
AFTER_END_NS = 100_000_000  # from the certain end of the lost driver to the first event of the new driver
AHEAD_NS, AHEAD_A_SESSION_NS = 100_000_000, 60_000  # from the start message to the first event: fixed, and per session
LOOK_S = 0.1


def options_from(begins: Beginning, options: ReplayOptions) -> ReplayOptions:
    """Return the options of a driver that begins later. Its times count from its own first moment."""
    until = options.stop_after_ns
    return replace(
        options,
        selection=replace(options.selection, from_ns=begins.tape_ns),
        pace=replace(options.pace, ramp_ns=0),
        stop_after_ns=None if until is None else max(until - begins.due_ns, 1),
    )


def beginning(earliest_ns: int, pace: Pace, first_ns: int) -> Beginning:
    """Return the first place from `earliest_ns` on at which due times have no rounding errors.

    - `earliest_ns`: time since the start of the run.
    - `first_ns`: the first moment of all tapes.
    """
    speed, half = pace.think_speed or pace.speed, pace.ramp_ns // 2
    steps = -(-(max(earliest_ns, pace.ramp_ns) - half) // speed.denominator)
    return Beginning(steps * speed.denominator + half, first_ns + steps * speed.numerator)


def refuse_resume(options: ReplayOptions) -> None:
    """Raise InputError for options with which a new driver cannot continue at a time of the run."""
    wrong = {
        "--pace none": not options.pace.paced,
        "--connect-speed and --think-speed": options.pace.scales_separately,
        "--loop": options.amplification.loop > 1,
        "--order commit": options.commit_order,
    }
    if found := [name for name, given in wrong.items() if given]:
        raise InputError(
            f"--on-driver-lost resume cannot be combined with {found[0]}, because a new driver begins at a time of the"
            " run, without the events before it"
        )


@dataclass(frozen=True)
class Places:
    """What a run gives its new drivers.

    - `members`: all drivers. New drivers are added.
    - `add`: returns a new member with the tapes of a lost member.
    - `start`: starts a process for a new member in place of a lost member. Returns False if only a user can start it.
    - `problem`: returns why a started driver will not join, or None.
    - `find`: passes on a finding.
    - `pace`: the pace of the run.
    - `span`: the first and last moment of all tapes.
    - `zero_ns`: the start of the run on CLOCK_MONOTONIC.
    - `prepare_ns`: how long the first drivers needed until all sessions were open.
    - `join_s`: maximum time until a started driver joins.
    """

    members: list[Member]
    add: Callable[[Member], Member]
    start: Callable[[Member, Member], bool]
    problem: Callable[[Member], str | None]
    find: Callable[[Finding], None]
    pace: Pace
    span: tuple[int, int]
    zero_ns: int
    prepare_ns: int
    join_s: float


class Replacing:
    """The new drivers of one run. Call `look` often while the run goes on."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._stopping = False
        self._waiting: list[Member] = []  # new drivers that only a user can start
        self._given_up: set[int] = set()  # numbers of the first drivers whose tapes nobody takes over any more

    def look(self, stopping: bool) -> None:
        """Start a new driver for each driver that was lost since the last call."""
        self._stopping = stopping
        if not stopping:
            for lost in [member for member in self._places.members if self._needs_another(member)]:
                self._replace(lost)
        if stopping or all(member.over for member in self._places.members if member not in self._waiting):
            for new in self._waiting:
                self._given_up.add(root_of(new).number)
                new.lose("no other driver joined")

    def settle(self, new: Member) -> Beginning:
        """Decide where a new driver begins. Called when its process is started, and when it joins."""
        assert new.replaces is not None
        new.begins = self._beginning(new.replaces)
        return new.begins

    def _needs_another(self, member: Member) -> bool:
        if member.lost is None or member.successor is not None:
            return False
        root = root_of(member)
        return root.going and root.number not in self._given_up and len(chain_of(root)) <= ATTEMPTS

    def _beginning(self, lost: Member) -> Beginning:
        places, tries = self._places, len(chain_of(root_of(lost))) - (lost.successor is not None)
        ended = (lost.died_ns or lost.granted_ns) + AFTER_END_NS
        ready = time.monotonic_ns() + ((places.prepare_ns + PREPARE_NS) << (tries - 1))
        return beginning(max(ended, ready) - places.zero_ns, places.pace, places.span[0])

    def _replace(self, lost: Member) -> None:
        """Add a new driver and bring it to its start in a thread of its own."""
        root = root_of(lost)
        begins = self._beginning(lost)
        if begins.due_ns > int((root.planned or {}).get("last_due_ns") or 0):
            self._given_up.add(root.number)
            return
        new = self._places.add(lost)
        new.begins, new.replaces, lost.successor = begins, lost, new
        threading.Thread(target=self._bring, args=(lost, new), name=f"driver for {lost.number}", daemon=True).start()

    def _bring(self, lost: Member, new: Member) -> None:
        try:
            self._start(lost, new)
        except (QuerytapeError, OSError) as error:
            new.lose(str(error))
            self._places.find(Finding("warning", f"{new.name} could not replace {lost.name}: {error}"))

    def _start(self, lost: Member, new: Member) -> None:
        places = self._places
        started = places.start(new, lost)
        if not started:
            self._waiting.append(new)
        self._until(new, "join", lambda: bool(new.hello), places.join_s if started else None)
        if new in self._waiting:
            self._waiting.remove(new)
        self._until(new, "read the tape", lambda: new.span is not None)
        begins = new.begins
        assert begins is not None
        new.send("span", first=begins.tape_ns, last=max(places.span[1], begins.tape_ns))
        self._until(new, "plan", lambda: new.planned is not None)
        if new.idle:
            return
        new.send("open")
        self._until(new, "connect", lambda: new.ready)
        offset = new.measure().offset_ns
        ahead = AHEAD_NS + AHEAD_A_SESSION_NS * int((new.planned or {}).get("peak_sessions") or 0)
        if time.monotonic_ns() + ahead > places.zero_ns + begins.due_ns:
            raise QuerytapeError("it was ready too late")
        new.go(places.zero_ns + begins.due_ns + offset)
        self._until(new, "begin", lambda: new.going)
        at_s = begins.due_ns / 1e9
        places.find(Finding("info", f"{new.name} replaces {lost.name} from {at_s:.1f} s on"))

    def _until(self, new: Member, what: str, done: Callable[[], Any], seconds: float | None = None) -> None:
        """Wait for a new driver. Raises QuerytapeError if it is lost, fails, or the time has passed."""
        until = None if seconds is None else time.monotonic() + seconds
        with new.news:
            while not done():
                if new.idle:
                    return
                if new.failed is not None:
                    kind = ERRORS.get(str(new.failed["error"]), QuerytapeError)
                    raise kind(str(new.failed["text"]))
                if new.lost is not None or new.late is not None:
                    raise QuerytapeError(str(new.lost or new.late))
                if self._stopping:
                    raise QuerytapeError("the run was stopped")
                if not new.hello and (why := self._places.problem(new)) is not None:
                    raise QuerytapeError(why)
                if until is not None and time.monotonic() > until:
                    raise QuerytapeError(f"it did not {what} within {seconds:g} s")
                new.news.wait(LOOK_S)


def root_of(member: Member) -> Member:
    """Return the first driver of these tapes."""
    while member.replaces is not None:
        member = member.replaces
    return member


def chain_of(member: Member) -> list[Member]:
    """Return a driver and all drivers that replaced it, in order."""
    found = [member]
    while (after := found[-1].successor) is not None:
        found.append(after)
    return found
