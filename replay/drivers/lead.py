# SPDX-License-Identifier: Apache-2.0
"""The lead's side: gathers the drivers, starts them together, adds up their reports and writes one run."""

import re
import secrets
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from os import PathLike
from typing import Any

from ...common.errors import QuerytapeError
from ...common.files import remove_folder
from ...common.signals import stop_on_signals
from ...common.units import plural
from ...schemas import Folder
from ...servers.facts import Facts, gather
from ..checks.logins import check_logins
from ..checks.preflight import Finding, check_tape, check_together
from ..observe.ticks import process_cpu_ns
from ..options import ReplayOptions
from ..plan.catalog import created_by, read_catalog
from ..plan.make_plan import PlanRequest
from ..replay_tape import common_collations, keep_facts, open_hosts, opened, read_target_facts, refuse
from ..run import DriversEnd, EndedRun, RunLogs
from ..run_folder import RunFolder, new_run, open_storage
from ..summary import RunSummary, finish
from ..task import ReplayTask, ask_counters, first_info
from ..watcher import Watcher
from .gathering import NOTHING_SENT, Gathering
from .launch import Started
from .listener import Expected, Listener
from .local import Order, start_driver
from .lost import take_over, write_unreported
from .member import Beginning, Member
from .merging import PARTS, Ticks, merge, part_path, whole_plan, whole_stats
from .replacing import Places, Replacing, chain_of, options_from, refuse_resume, root_of
from .secured import lead_key
from .shared_order import SharedOrder, order_all
from .shares import (
    Drivers,
    deal,
    part_of,
    part_options,
    prints_of,
    refuse_what_needs_all,
    share_id,
    sharing_sentence,
    tapes_of,
)

NUMBERS = re.compile(r"[\d.,]+")


class Lead(Gathering):
    """One run by several drivers. Call `replay` once."""

    def __init__(self, tape: Folder, options: ReplayOptions, drivers: Drivers, watcher: Watcher) -> None:
        super().__init__(watcher, options.start_at_ns, stops_if_lost=drivers.on_lost == "stop")
        self.tape, self.options, self.drivers = tape, options, drivers
        names = deal(tape, drivers.count)
        self.members = [
            Member(number, mine, part_path(options.output, number), self.news) for number, mine in enumerate(names, 1)
        ]
        self.span = (0, 0)
        self._cpu_before = process_cpu_ns()
        self._found: set[str] = set()
        self._other_servers: list[str] = []
        self._stopped_by: Member | None = None  # the driver whose commits the others would wait for
        self._order: SharedOrder | None = None
        self._replacing: Replacing | None = None
        self._listener: Listener | None = None
        self._running: tuple[RunFolder, dict[str, Any]] | None = None
        self._started: Started | None = None
        self._begun_ns = self._prepare_ns = self._end_ns = 0
        self._run_id = secrets.token_hex(8)

    def replay(self, folder: RunFolder, facts: Facts, read_target: Facts | None) -> RunSummary:
        """Replay with all drivers into the run's folder. Raises QuerytapeError before any statement is sent."""
        (folder.path / PARTS).mkdir(mode=0o700)
        with self._gathered():
            self.span = self._agree()
            self._find_other_servers(facts)
            if self.options.commit_order and (why := sharing_sentence([member.uses for member in self.members])):
                self._share_order(why, folder, facts, read_target)
            plan = whole_plan(self.tape, self.options.rules(), folder.spill, self.members)
            findings = check_together(plan, self.options.target, facts)
            for finding in findings:
                self._find(finding)
            refuse(findings)
            if self.options.schema_facts:
                keep_facts(plan, self.options, folder)
            self.watcher.planned(plan)
            self._open(plan)
            self._prepare_ns = time.monotonic_ns() - self._begun_ns
            hosts = open_hosts(self.options, facts)
            task = ReplayTask(plan, self.options, folder, facts, read_target, watcher=self.watcher, hosts=hosts)
            info, logs = first_info(task) | ask_counters(task), RunLogs(task)
            with stop_on_signals(self._stop):
                self._go(plan)
                self.running = True
                if self.drivers.on_lost == "resume":
                    self._replacing = Replacing(self._places())
                info |= {"driver_run": self._run_id, "drivers": [member.as_json() for member in self.members]}
                folder.write(info)
                self._running = folder, info
                logs.sampler.start()
                try:
                    self._watch(plan, Ticks(logs.ticks, self.members, self.zero_ns))
                finally:
                    logs.sampler.stop()
                return self._finish(task, info, logs)

    # ---- before the start ----

    @contextmanager
    def _gathered(self) -> Iterator[None]:
        """Start local drivers or wait for all drivers to join. Then lead them."""
        self._begun_ns = time.monotonic_ns()
        with ExitStack() as hosts, self._leading():  # what started drivers on other hosts ends last
            if self.drivers.joined:
                self._listen(hosts)
                self._begun_ns = time.monotonic_ns()
            else:
                self._start_local([self._order_of(member) for member in self.members], self.drivers.gather_s)
            yield

    def _order_of(self, member: Member) -> Order:
        """Return the work of a local driver."""
        mine = part_options(self.options, self.drivers.count, output=member.part)
        if member.begins is not None:
            mine = options_from(member.begins, mine)
        about = {"driver": {"run": self._run_id, "number": member.number, "tapes": member.names}}
        return Order(self.tape.path, tuple(member.names), mine, about)

    # ---- new drivers in place of lost drivers (replacing.py) ----

    def _places(self) -> Places:
        pace, find, join_s = self.options.pace, self._find, self.drivers.gather_s
        given = pace, self.span, self.zero_ns, self._prepare_ns, join_s
        return Places(self.members, self._add_for, self._start_for, self._problem_of, find, *given)

    def _add_for(self, lost: Member, begins: Beginning) -> Member:
        number = len(self.members) + 1
        new = Member(number, lost.names, part_path(self.options.output, number), self.news)
        new.leases, new.replaces, new.begins = lost.leases, lost, begins
        if self._started is not None:
            new.expected_part = self._started.part(number)
        lost.successor = new
        self.members.append(new)  # from now on, it may join
        return new

    def _start_for(self, new: Member) -> bool:
        if not self.drivers.joined:
            new.connect(*start_driver(self._order_of(new)))
            return True
        root = root_of(new)
        if self._started is None:
            self._find(Finding("warning", f"{root.name} can be replaced: start another driver with the same options"))
            return False
        self._started.start_again(str(root.hello["part"]), new.number)
        return True

    def _problem_of(self, new: Member) -> str | None:
        """Return why a started driver will not join."""
        return None if self._started is None else self._started.problem(self._parts(), new.expected_part)

    def _parts(self) -> set[str]:
        """Return the names of the parts of the drivers that have joined."""
        return {str(member.hello["part"]) for member in self.members if member.hello}

    def _listen(self, hosts: ExitStack) -> None:
        """Wait for drivers from other hosts, or start a driver on each of the hosts."""
        launcher = self.drivers.launcher
        key = lead_key(self.drivers.join_key, makes=launcher is not None and launcher.carries_key)
        prints = prints_of(self.options, key)
        expected = Expected(share_id(self.tape), prints, self._run_id)
        resumes = self.drivers.on_lost == "resume"
        for member in self.members:
            member.leases = resumes
        listener = Listener(self.drivers.listen, key, self.members, expected, self._settle)
        with ExitStack() as listening:
            (hosts if resumes else listening).enter_context(listener)
            drivers = plural(len(self.members), "driver")
            text = f"waiting for {drivers} at {listener.address}"
            self._find(Finding("info", text if launcher is None else f"{text}. Starting them on {launcher.where}"))
            if launcher is not None:
                begun = launcher.started(listener.join, key, self._run_id, len(self.members))
                self._started = hosts.enter_context(begun)
            self._listener = listener

            def joined(member: Member) -> bool:
                self._pass_on_refused()
                if not member.hello and (why := self._problem_of(member)) is not None:
                    raise QuerytapeError(f"{why}{NOTHING_SENT}")
                return bool(member.hello)

            started = self._started
            missing = None if started is None else lambda: started.waiting(self._parts())
            self._wait("join", joined, self.drivers.gather_s, missing)

    def _settle(self, member: Member) -> Beginning | None:
        """Return where a joining driver begins. None means at the start of the run."""
        return None if self._replacing is None or member.replaces is None else self._replacing.settle(member)

    def _pass_on_refused(self) -> None:
        while self._listener is not None and self._listener.refused:
            self.watcher.finding(Finding("warning", self._listener.refused.popleft()))

    def _share_order(self, why: str, folder: RunFolder, facts: Facts, read_target: Facts | None) -> None:
        """Plan the order of all sessions here. Each driver uses its part of this order instead of its own."""
        self._find(Finding("info", why))
        room = folder.spill / "order"
        room.mkdir()
        with closing(self.options.target.connect(self.options.connect_timeout_s)) as con:
            catalog = read_catalog(con, created_by(self.tape))
        known = common_collations(facts, read_target)
        rules = self.options.rules()
        request = PlanRequest(self.tape, rules, room, room, catalog, known, span=lambda first, last: self.span)
        order = order_all(request, [part_of(self.tape, member.names) for member in self.members])
        for note in order.notes:
            self._find(Finding("warning", f"--order commit: {note}"))
        for member in self.members:
            if member.planned is not None:
                member.planned["notes"] = order.notes
        self._order = SharedOrder(self.members, self.options.order_bound_ns)
        self._order.send(order)
        remove_folder(room)

    def _find_other_servers(self, facts: Facts) -> None:
        """Warn if drivers have another target than the lead process. A load balancer may have chosen it."""
        others = [
            member.name for member in self.members if member.server and facts.identity not in (None, member.server)
        ]
        if others:
            named = f"{', '.join(others[:3])}{' and others' if len(others) > 3 else ''}"
            self._other_servers = [f"{named}: the target is another server than the target of the lead process"]
            self._find(Finding("warning", self._other_servers[0]))

    def _find(self, finding: Finding) -> None:
        """Pass each finding on only once, because all drivers check the same target and report the same findings."""
        if finding.severity != "refuse" and finding.text not in self._found:
            self._found.add(finding.text)
            self.watcher.finding(finding)

    def _see_lost(self, seen: set[int]) -> None:
        """Also let the drivers wait for each other, and stop them if one of them ended too early for that."""
        super()._see_lost(seen)
        self._pass_on_refused()
        if self._replacing is not None:
            self._see_failed(seen)
            self._replacing.look(stopping=self.stops > 0)
            self._write_drivers()
        if self._order is None:
            return
        self._order.break_circle()
        early = [member for member in self.active if ended_early(member)]
        if early and not self.stops and self._stopped_by is None and not all(member.over for member in self.members):
            self._stopped_by = early[0]
            self.watcher.finding(
                Finding("warning", f"{early[0].name} ended early. The other drivers need its commits, so the run stops")
            )
            for member in self.members:
                member.send("stop")

    def _see_failed(self, seen: set[int]) -> None:
        """Show why a driver failed during the run. It is replaced like a lost driver."""
        for member in self.members:
            if member.failed is not None and not member.idle and member.number not in seen:
                seen.add(member.number)
                self._find(Finding("warning", f"{member.name} failed: {member.failed['text']}"))

    def _write_drivers(self) -> None:
        """Write the new drivers into run.json, for `querytape collect`."""
        if self._running is not None and len(self._running[1]["drivers"]) < len(self.members):
            folder, info = self._running
            info["drivers"] = [member.as_json() for member in self.members]
            folder.write(info)

    # ---- the end ----

    def _finish(self, task: ReplayTask, info: dict[str, Any], logs: RunLogs) -> RunSummary:
        """Merge all parts into one run and complete it."""
        now_ns = self._end_ns = time.monotonic_ns() - self.zero_ns
        if self._listener is not None:
            self._listener.close()
        first = [member for member in self.members if member.replaces is None]
        unknown = sum(self._complete(member, task) for member in first if member.info is None)
        info["drivers"] = [member.as_json() for member in self.members]
        with open_storage(task.folder.spill) as con:
            merge(task.folder.path, self.members, con)
            self._merged = True
            logs.gather(con)
        ended = EndedRun(
            task=task,
            info=info,
            stats=whole_stats(self.members, self.zero_real_ns, now_ns),
            logs=logs,
            rows_written=task.plan.planned,
            threads_peak=sum(self._used("threads_peak")),
            cpu_ns=sum(self._used("cpu_ns")) + process_cpu_ns() - self._cpu_before,
            stops=self.stops,
            drivers=DriversEnd(self._partial(unknown), unknown, self._cores(), self._other_servers + self._warnings()),
        )
        return finish(ended)

    def _complete(self, member: Member, task: ReplayTask) -> int:
        """Write the missing outcomes of a lost driver, after those of the drivers that replaced it.

        Return for how many of its events it is unknown whether they were sent.
        """
        if member.successor is not None:
            with open_storage(task.folder.spill) as con:
                take_over(member, con)
        spans = [span for each in chain_of(member) if (span := self._unsure(each)) is not None]
        folders = member.part / "again", member.part / "outcomes"
        known = common_collations(task.facts, task.read_facts)
        tape, rules = part_of(self.tape, member.names), task.plan.rules
        request = PlanRequest(tape, rules, *folders, collations=known, span=lambda first, last: self.span)
        member.unknown = write_unreported(request, spans)
        return member.unknown

    def _unsure(self, member: Member) -> tuple[int, int | None] | None:
        """Return the time in which a lost driver may have sent events, since the start. None if it sent none.

        An end of None means that the driver may still be running.
        """
        if member.info is not None or not member.told:
            return None
        until = member.died_ns or member.granted_ns
        if 0 < until <= self.zero_ns:
            return None
        return 0 if member.begins is None else member.begins.due_ns, until - self.zero_ns if until else None

    def _used(self, what: str) -> Iterator[int]:
        for member in self.members:
            if member.info is not None:
                yield int(member.info["generator"][what])

    def _cores(self) -> int:
        """Return the total number of cores of all hosts. Each host counts once."""
        hosts = {str(member.hello["host"]): int(member.hello["cores"]) for member in self.members if member.hello}
        return sum(hosts.values())

    def _warnings(self) -> list[str]:
        """Return the warnings of the drivers. Warnings that differ only in their numbers become one warning."""
        alike: dict[str, list[str]] = {}
        for member in self.members:
            for text in (member.info or {"generator": {}})["generator"].get("warnings") or ():
                alike.setdefault(NUMBERS.sub("", text), []).append(f"{member.name}: {text}")
        return [
            texts[0] if len(texts) == 1 else f"{texts[0]} (also {plural(len(texts) - 1, 'other driver')})"
            for texts in alike.values()
        ]

    def _end_of(self, member: Member) -> str:
        """Return how a lost driver ended, and which driver replaced it."""
        why = f"was lost: {member.lost or (member.failed or {}).get('text')}"
        for after in chain_of(member)[1:]:
            if after.going and after.begins is not None and after.begins.due_ns < self._end_ns:
                return f"{why}; {after.name} replaced it from {after.begins.due_ns / 1e9:.1f} s on"
        return why

    def _partial(self, unknown: int) -> str | None:
        """Return why events were not sent, if a driver is the reason. Return None otherwise."""
        lost = [
            f"{member.name} {self._end_of(member)}"
            for member in self.active
            if member.info is None and (member.replaces is None or member.going)
        ]
        if lost:
            about = f"; {plural(unknown, 'further event')} may have been sent" if unknown else ""
            return "; ".join(lost) + about
        if self.stops:
            return None
        if self._stopped_by is not None:
            why = (self._stopped_by.info or {}).get("partial")
            return f"{self._stopped_by.name}: {why}; the other drivers needed its commits, so they were stopped"
        own = [f"{member.name}: {text}" for member in self.members if (text := (member.info or {}).get("partial"))]
        return "; ".join(own) or None


def ended_early(member: Member) -> bool:
    """Return whether some events of a driver will never be sent, so that other drivers would wait for their commits.

    The commits of events that were not sent because of their own connection count as finished.
    """
    if member.info is None:
        return member.lost is not None or (member.failed is not None and not member.idle)
    reasons = (member.info.get("accounting") or {}).get("reasons") or {}
    return any((reasons.get("not_sent") or {}).get(reason) for reason in ("stopped", "tape_unread"))


def replay_by_drivers(
    tape: str | PathLike[str] | Folder, options: ReplayOptions, drivers: Drivers, watcher: Watcher | None = None
) -> RunSummary:
    """Replay a set of tapes with several drivers into one new run folder. Return the run.

    In the main thread, the first Ctrl-C stops sending and ends the run as partial. The second Ctrl-C ends the run at
    once.

    - InputError: the tape or the options are invalid.
    - TargetError: the target cannot be reached.
    - RefusedError: the pre-flight of a driver refuses the replay.
    - QuerytapeError: a driver is lost before any statement was sent.
    """
    whole = opened(tape)
    if drivers.launcher is not None:
        drivers = replace(drivers, count=drivers.launcher.count(len(tapes_of(whole))))
    refuse_what_needs_all(options, drivers.count)
    if drivers.on_lost == "resume":
        refuse_resume(options)
    refuse(check_tape(whole.info, options.partial_ok))
    with new_run(options.output) as folder:
        with closing(options.target.connect(options.connect_timeout_s)) as con:
            options = replace(options, target=options.target.settled(con))
            facts = gather(con)
        read_target = read_target_facts(options)
        check_logins(options, folder)
        return Lead(whole, options, drivers, watcher or Watcher()).replay(folder, facts, read_target)
