# SPDX-License-Identifier: Apache-2.0
"""Replay many tapes at the same time, each against its own target.

Each pair of tape and target has its own process and its own run. All pairs have one zero, so their events come in the
order in which they were recorded.
"""

import json
import secrets
from collections import defaultdict
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from ...common.duck import small_database
from ...common.errors import InputError
from ...common.files import new_folder, remove_folder
from ...common.signals import stop_on_signals
from ...schemas import Folder, open_folder
from ...servers.facts import gather
from ..checks.preflight import Finding, check_together
from ..observe.accounting import summarise
from ..observe.run_warnings import of_fleet
from ..observe.ticks import TickLog
from ..options import ReplayOptions
from ..plan.rules import Plan
from ..replay_tape import refuse
from ..summary import RunSummary
from ..watcher import Watcher
from .gathering import Gathering
from .local import Order
from .member import Member
from .merging import Ticks, whole_plan
from .shares import tapes_of

GATHER_S, GATHER_A_PAIR_S = 120.0, 2.0  # longest time until all processes have started, fixed and for each pair
Align = Literal["time", "start"]


@dataclass(frozen=True)
class Pair:
    """A tape and the options of its replay. `options.output` is the folder of its run."""

    name: str
    tape: Folder
    options: ReplayOptions


@dataclass(frozen=True)
class PairEnd:
    """The end of a pair: its run, or the reason why it has no complete run.

    `sent`: whether statements may have been sent.
    """

    name: str
    summary: RunSummary | None
    problem: str | None = None
    sent: bool = False


class Fleet(Gathering):
    """The pairs of a fleet. Call `replay` once."""

    def __init__(self, pairs: Sequence[Pair], watcher: Watcher, start_at_ns: int | None, align: Align) -> None:
        super().__init__(watcher, start_at_ns, stops_if_lost=False)
        self.pairs, self.align = pairs, align
        self.members = [
            Member(number, [tape.path.name for tape in tapes_of(pair.tape)], pair.options.output, self.news, pair.name)
            for number, pair in enumerate(pairs, 1)
        ]
        self._run_id = secrets.token_hex(8)

    def replay(self, folder: Path) -> list[PairEnd]:
        """Replay all pairs. Raises QuerytapeError before any statement is sent."""
        with self._leading():
            self._start_local(self._orders(), GATHER_S + GATHER_A_PAIR_S * len(self.pairs))
            self._agree(whole=self.align == "time")
            events = sum(int((member.planned or {}).get("events") or 0) for member in self.members)
            plan = whole_plan(self.pairs[0].tape, self.pairs[0].options.rules(), folder, self.members, events)
            self._check_shared_targets()
            self.watcher.planned(plan)
            self._open(plan)
            with stop_on_signals(self._stop):
                self._go(plan)
                self.running = True
                self._watch(plan, Ticks(TickLog(folder), self.members, self.zero_ns))
        ends = [self._end(pair, member) for pair, member in zip(self.pairs, self.members, strict=True)]
        for text in of_fleet([end.summary.info for end in ends if end.summary is not None]):
            self._find(Finding("warning", f"all pairs: {text}"))
        return ends

    def _orders(self) -> list[Order]:
        shared = {pair.name for listed in self._by_target() if len(listed) > 1 for pair, _ in listed}
        orders = []
        for pair, member in zip(self.pairs, self.members, strict=True):
            about = {"fleet": {"run": self._run_id, "pair": pair.name, "pairs": len(self.pairs)}}
            alone = pair.name not in shared
            orders.append(Order(pair.tape.path, tuple(member.names), pair.options, about, alone))
        return orders

    def _by_target(self) -> list[list[tuple[Pair, Member]]]:
        """Return the pairs of each target."""
        listed: dict[Any, list[tuple[Pair, Member]]] = defaultdict(list)
        for pair, member in zip(self.pairs, self.members, strict=True):
            target = pair.options.target
            listed[target.socket or (target.address, target.port)].append((pair, member))
        return list(listed.values())

    def _check_shared_targets(self) -> None:
        """Check the sessions of all pairs with the same target against its limits. Raises RefusedError."""
        for listed in self._by_target():
            if len(listed) < 2:
                continue
            options = listed[0][0].options
            with closing(options.target.connect(options.connect_timeout_s)) as con:
                facts = gather(con)
            plan = Plan(listed[0][0].tape, options.rules(), options.output)
            plan.peak_sessions = sum(int((member.planned or {}).get("peak_sessions") or 0) for _, member in listed)
            names = ", ".join(pair.name for pair, _ in listed)
            findings = [
                Finding(finding.severity, f"{names}: {finding.text}")
                for finding in check_together(plan, options.target, facts)
            ]
            for finding in findings:
                self._find(finding)
            refuse(findings)

    def _find(self, finding: Finding) -> None:
        if finding.severity != "refuse":
            self.watcher.finding(finding)

    def _of(self, member: Member, text: str, about_target: bool) -> str:
        return f"{member.name}: {text}"

    def _end(self, pair: Pair, member: Member) -> PairEnd:
        if member.idle:
            return PairEnd(pair.name, None, str((member.failed or {}).get("text")))
        path = pair.options.output
        try:
            info = json.loads((path / "run.json").read_text(encoding="utf-8"))
        except (OSError, ValueError):
            info = {}
        if not info.get("finished"):  # a process can be lost after its run was complete
            why = member.lost or str((member.failed or {}).get("text"))
            return PairEnd(pair.name, None, why, sent=member.going)
        with small_database() as con:
            totals = summarise(con, open_folder("run", path))
        return PairEnd(
            pair.name, RunSummary(path, info, totals["late_p50_ns"], totals["late_p99_ns"], totals["errors"])
        )


def replay_fleet(
    pairs: Sequence[Pair],
    folder: Path,
    watcher: Watcher | None = None,
    *,
    start_at_ns: int | None = None,
    align: Align = "time",
) -> list[PairEnd]:
    """Replay all pairs at the same time. Return their ends in the same order.

    - `folder`: a new folder for the runs. The runs of all pairs are inside.
    - `start_at_ns`: the start by the wall clock, in ns since 1970. None means as soon as all pairs are ready.
    - `align`: "time" keeps the distances between the first events of the tapes. "start" lets each tape begin at once.

    In the main thread, the first Ctrl-C stops sending and ends the runs as partial. The second Ctrl-C ends them at
    once. Raises QuerytapeError before any statement was sent. A pair that is lost later does not stop the other pairs.
    """
    if not pairs:
        raise InputError("a fleet needs at least one pair of tape and target")
    new_folder(folder)
    fleet = Fleet(pairs, watcher or Watcher(), start_at_ns, align)
    try:
        return fleet.replay(folder)
    except BaseException:
        if not fleet.running and not fleet.sent:  # otherwise the runs are the only record of what was sent
            remove_folder(folder)
        raise
