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
from .member import Beginning, Member

ATTEMPTS = 3  # drivers that may take over the tapes of one driver
PREPARE_NS = 3_000_000_000  # time to start a driver, in addition to its planning and its connects
AFTER_END_NS = 100_000_000  # from the certain end of the lost driver to the first event of the new driver
AHEAD_NS, AHEAD_A_SESSION_NS = 100_000_000, 60_000  # from the start message to the first event: fixed, and per session
PAUSE_NS = 2_000_000_000  # wait before the second attempt, and twice as long before the third
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
        f"--pace {options.pace.kind}": options.pace.kind != "schedule",
        "--connect-speed and --think-speed": options.pace.scales_separately,
        "--max-idle": options.pace.max_idle_ns is not None,
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

    - `members`: all drivers.
    - `add`: adds a member in place of a lost member, and returns it. The member begins at the given place.
    - `start`: starts a process for a new member. Returns False if only a user can start it.
    - `problem`: returns why a started driver will not join, or None.
    - `find`: passes on a finding.
    - `pace`: the pace of the run.
    - `span`: the first and last moment of all tapes.
    - `zero_ns`: the start of the run on CLOCK_MONOTONIC.
    - `prepare_ns`: how long the first drivers needed until all sessions were open.
    - `join_s`: maximum time until a started driver joins.
    """

    members: list[Member]
    add: Callable[[Member, Beginning], Member]
    start: Callable[[Member], bool]
    problem: Callable[[Member], str | None]
    find: Callable[[Finding], None]
    pace: Pace
    span: tuple[int, int]
    zero_ns: int
    prepare_ns: int
    join_s: float


class Replacing:
    """The new drivers of one run. Call `look` often while the run continues."""

    def __init__(self, places: Places) -> None:
        self._places = places
        self._stopping = False
        self._given_up: set[int] = set()  # numbers of the first drivers whose tapes nobody takes over any more

    def look(self, stopping: bool) -> None:
        """Start a new driver for each driver that was lost since the last call. End the wait for drivers of users."""
        self._stopping = stopping
        for lost in [member for member in self._places.members if self._needs_another(member)]:
            if not stopping:
                self._replace(lost)
        for new in [member for member in self._places.members if member.waits_for_user and not member.over]:
            if stopping or self._is_too_late(new, self._beginning(new)):
                self._give_up(new, "no other driver joined in time")
                self._remove(new)

    def _remove(self, new: Member) -> None:
        """Remove a member without a driver."""
        assert new.replaces is not None
        new.lose("no other driver joined in time")
        new.replaces.successor = None
        self._places.members.remove(new)

    def settle(self, new: Member) -> Beginning:
        """Decide where a new driver begins when it has joined."""
        new.begins = self._beginning(new)
        return new.begins

    def _needs_another(self, member: Member) -> bool:
        if not member.gone or member.successor is not None:
            return False
        root = root_of(member)
        if not root.told or root.number in self._given_up:
            return False
        if len(chain_of(root)) > ATTEMPTS:
            self._give_up(member, f"{ATTEMPTS} new drivers failed")
            return False
        return True

    def _give_up(self, member: Member, why: str) -> None:
        root = root_of(member)
        self._given_up.add(root.number)
        self._places.find(Finding("warning", f"no driver replaces {root.name}: {why}"))

    def _beginning(self, member: Member) -> Beginning:
        """Return where a driver could begin that replaces this lost member, or where this new member could begin."""
        places, chain = self._places, chain_of(root_of(member))
        tries = max(len(chain) - (not member.gone), 1)
        ended = max(each.died_ns or each.granted_ns for each in chain if each.gone) + AFTER_END_NS
        ready = time.monotonic_ns() + ((places.prepare_ns + PREPARE_NS) << (tries - 1)) + _pause_ns(tries)
        return beginning(max(ended, ready) - places.zero_ns, places.pace, places.span[0])

    def _is_too_late(self, member: Member, begins: Beginning) -> bool:
        return begins.due_ns > int((root_of(member).planned or {}).get("last_due_ns") or 0)

    def _replace(self, lost: Member) -> None:
        """Add a new driver and bring it to its start in a thread of its own."""
        begins = self._beginning(lost)
        if self._is_too_late(lost, begins):
            self._give_up(lost, "no event is due after a new driver could begin")
            return
        tries = len(chain_of(root_of(lost)))
        new = self._places.add(lost, begins)
        name = f"driver for {lost.number}"
        threading.Thread(target=self._bring, args=(lost, new, tries), name=name, daemon=True).start()

    def _bring(self, lost: Member, new: Member, tries: int) -> None:
        """Bring a new driver to its start. If that fails for any reason, it is lost."""
        try:
            self._start(lost, new, tries)
        except Exception as error:
            new.lose(str(error) or type(error).__name__)

    def _start(self, lost: Member, new: Member, tries: int) -> None:
        places = self._places
        self._until(new, "", lambda: False, _pause_ns(tries) / 1e9, is_limit=False)
        new.waits_for_user = not places.start(new)
        self._until(new, "join", lambda: bool(new.hello), None if new.waits_for_user else places.join_s)
        new.waits_for_user = False
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

    def _until(
        self, new: Member, what: str, done: Callable[[], Any], seconds: float | None = None, is_limit: bool = True
    ) -> None:
        """Wait for a new driver. Raises QuerytapeError if it is lost or fails.

        `seconds`: the longest wait. Then also raises QuerytapeError if `is_limit`.
        """
        until = None if seconds is None else time.monotonic() + seconds
        with new.news:
            while not done():
                if new.idle:
                    return
                if new.failed is not None:
                    raise QuerytapeError(str(new.failed["text"]))
                if new.lost is not None or new.late is not None:
                    raise QuerytapeError(str(new.lost or new.late))
                if self._stopping:
                    raise QuerytapeError("the run was stopped")
                if not new.hello and (why := self._places.problem(new)) is not None:
                    raise QuerytapeError(why)
                if until is not None and time.monotonic() > until:
                    if not is_limit:
                        return
                    raise QuerytapeError(f"it did not {what} within {seconds:g} s")
                new.news.wait(LOOK_S)


def _pause_ns(tries: int) -> int:
    """Return how long to wait before the next new driver, because the reason of a failure may pass."""
    return PAUSE_NS * (tries - 1)


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
