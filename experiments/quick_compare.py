# SPDX-License-Identifier: Apache-2.0
"""Compares two servers without a load: sends sample reads serially, A B B A, until the verdicts are certain.

First all samples are sent once (warm-a1.run, warm-b1.run). This warms the caches and measures the cost of each sample.
Then rounds follow, as many as the time allows. Digests with a certain verdict are left out of later rounds. The folder
has the format of a comparison. Its tape is `quick.tape`.
"""

import time
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from ..analyze import Settings, build
from ..common.duck import open_database
from ..common.errors import InputError, QuerytapeError
from ..common.files import make_private
from ..common.units import plural
from ..replay import ReplayOptions, RunSummary, Watcher, replay
from ..replay.observe.explain import keep_read_only
from ..replay.observe.query_plans import Place
from ..replay.plan.pacing import Amplification, Pace
from ..replay.plan.selection import Selection
from ..schemas import open_folder
from ..servers.library_functions import library_functions
from ..servers.queries import query_or_none
from ..servers.target import Target
from .compare_plan import PLAN_FILE, SIDES, ComparePlan, complete_rounds
from .quick_selection import WITHOUT_TIME, Questions, choose
from .quick_tape import write_quick_tape

QUICK_TAPE = "quick.tape"
FEW_ROUNDS, ROUNDS, MAX_ROUNDS = 2, 6, 96  # numbers of rounds: for failing digests, before the first verdict, at most
LOOKS = (2, 6, 12, 24, 48, 96)  # rounds after which verdicts are checked; few checks limit false positives
PROBE_SHARE, ROUNDS_SHARE, MIN_SHARE = 0.25, 0.6, 0.1  # shares of the total time
MAX_LAPS = 40
CHEAP_NS = 100_000_000  # time per round in which a cheap digest is repeated
LONG_NS, MAX_LOOPS = 1_000_000_000, 20  # wanted length of a run in ns; maximum loops of the tape for this length
SAMPLE_NS = 200_000_000  # sampling interval; the runs are short
UNDECIDED = ("unstable", "inconclusive")


@dataclass(frozen=True)
class QuickOptions:
    """`within_s`: limit of the total time. `each_ns`: time after which a statement is killed.

    `say` gets a line before each step. `make_watcher` makes the watcher of each side's first run.
    """

    within_s: float = 300.0
    each_ns: int = 10_000_000_000
    settings: Settings = field(default_factory=Settings)
    say: Callable[[str], None] = field(default=lambda text: None)
    make_watcher: Callable[[], Watcher] = Watcher


@dataclass(frozen=True)
class QuickResult:
    """The new tape, the runs of both sides, and the number of digests that were undecided when the time was up."""

    tape: Path
    runs: dict[str, list[Path]]
    undecided: int


def compare_quickly(
    plan: ComparePlan,
    folder: Path,
    sides: Mapping[str, ReplayOptions],
    options: QuickOptions,
) -> QuickResult:
    """Compare two servers by samples of a tape's reads. Writes the new folder.

    `sides`: the replay options of each side: target, TLS, accounts and renamed schemas. Raises InputError if the tape
    has no suitable read. Raises TargetError if a server has no session that is surely read-only. Raises QuerytapeError
    if a run is interrupted.
    """
    until = time.monotonic() + options.within_s
    tape = open_folder("tape", plan.tape)
    questions = choose(tape, stored_functions([side.target for side in sides.values()]))
    if not questions.places:
        raise InputError(
            f"{plan.tape}: no statement to send: {', '.join(questions.left) or 'the tape contains no statement'}"
        )
    make_private(folder)
    plan = replace(plan, kind="quick", tape=(folder / QUICK_TAPE).absolute(), rounds=ROUNDS, pause_ns=0)
    plan.write(folder / PLAN_FILE)  # from here on, an interrupted comparison can be reported
    sender = _Sender(folder, sides, options, until)
    by_tape = {digest: 2 * ns / events for digest, (events, ns) in questions.sizes.items()}
    once = allocate(questions, by_tape, (), PROBE_SHARE * options.within_s * 1e9, max_laps=1, rounds=1)
    write_quick_tape(tape, questions, once, folder / "probe.tape")
    options.say(f"sending {plural(len(questions.places), 'statement')} once")
    began, sent_ns = time.monotonic(), 0
    for side in SIDES:
        summary = sender.send(folder / "probe.tape", f"warm-{side}1.run", side, options.make_watcher())
        sent_ns += int(summary.info["elapsed_ns"])
    costs, failing = probed(folder)
    overhead_s = (time.monotonic() - began - sent_ns / 1e9) / 2
    left_s = ROUNDS_SHARE * (until - time.monotonic()) - 2 * ROUNDS * overhead_s
    left_s = max(left_s, MIN_SHARE * options.within_s)  # prefer fewer rounds to fewer digests
    laps = allocate(questions, costs, failing, left_s * 1e9)
    write_quick_tape(tape, questions, laps, folder / QUICK_TAPE, costs)
    undecided = _rounds(sender, questions)
    runs = complete_rounds(folder)
    replace(plan, rounds=max(len(runs["a"]), 1)).write(folder / PLAN_FILE)
    return QuickResult(plan.tape, runs, undecided)


def _rounds(sender: "_Sender", questions: Questions) -> int:
    """Run rounds until every digest is decided or the time is up. Return the number of undecided digests."""
    folder, options = sender.folder, sender.options
    asked: list[str] = questions.digests
    number, loops, look_s = 0, 1, 0.0
    while asked and number < MAX_ROUNDS:
        number += 1
        options.say(f"round {number}: {len(asked):,} digests")
        began, sent_ns = time.monotonic(), 0
        only = None if len(asked) == len(questions.digests) else asked
        for side in SIDES if number % 2 else reversed(SIDES):
            summary = sender.send(
                folder / QUICK_TAPE, f"{side}{number}.run", side, Watcher(), digests=only, loops=loops
            )
            sent_ns = max(sent_ns, int(summary.info["elapsed_ns"]))
        if number >= ROUNDS:  # a run takes at least about 1 s, so the few open digests are repeated more often
            loops = min(max(int(LONG_NS * loops / max(sent_ns, 1)), 1), MAX_LOOPS)
        look = time.monotonic()
        no_time = look + (look - began) + look_s > sender.until
        if number in LOOKS or no_time:
            runs = complete_rounds(folder)
            report = build(folder / QUICK_TAPE, runs["a"], runs["b"], options.settings)
            words = {entry["digest"]: entry["verdict"] for entry in report.digests if entry["pair"]}
            failing = {entry["digest"] for entry in report.digests if entry["new_errors"]}
            asked = [digest for digest in asked if digest not in failing and still_open(words.get(digest), number)]
            look_s = 2 * (time.monotonic() - look)  # doubled: the final report takes as long as this check
        if no_time:
            break
    return len(asked)


def still_open(word: str | None, rounds: int) -> bool:
    """Return whether a digest without new errors is sent again.

    `word`: its verdict, or None if its statements fail on both sides.
    """
    return word is not None if rounds < ROUNDS else word in UNDECIDED


@dataclass
class _Sender:
    """Replays a tape of samples: serially, only reads, with checksums."""

    folder: Path
    sides: Mapping[str, ReplayOptions]
    options: QuickOptions
    until: float

    def send(
        self,
        tape: Path,
        name: str,
        side: str,
        watcher: Watcher,
        *,
        digests: Sequence[str] | None = None,
        loops: int = 1,
    ) -> RunSummary:
        """Replay the samples into the folder. `digests`: None = all. Raises QuerytapeError if the run was stopped."""
        given = self.sides[side]
        options = ReplayOptions(
            target=given.target,
            output=self.folder / name,
            pace=Pace("none"),
            selection=Selection(digests=tuple(digests or ())),
            amplification=Amplification(loop=loops),
            overrides=given.overrides,
            on_lost="reopen",
            statement_timeout_ns=self.options.each_ns,
            max_concurrent_sessions=1,
            verify=True,
            init=given.init,
            charset=given.charset,
            partial_ok=True,
            query_plans=False,
            schema_facts=name in ("a1.run", "b1.run"),
            sample_ns=min(given.sample_ns, SAMPLE_NS),
            host_metrics=given.host_metrics,
        )
        summary = replay(tape, options, watcher)
        if not summary.complete:
            raise QuerytapeError(f"{options.output}: {summary.info['partial'] or 'the accounting does not balance'}")
        return summary


def allocate(
    questions: Questions,
    costs: Mapping[str, float],
    failing: Collection[str],
    budget_ns: float,
    max_laps: int = MAX_LAPS,
    rounds: int = ROUNDS,
) -> dict[Place, int]:
    """Return the repetitions of each sample in a round, within a time limit for all rounds.

    `costs`: time of one statement on both servers together. Digests that failed or were killed need only few rounds.
    The digests with the most time come first. Each digest first gets one statement, then the other samples, then more
    laps. Digests that do not fit are removed from the questions, with lack of time as the reason.
    """
    laps: dict[Place, int] = {}
    spent = 0.0
    by_digest: dict[str, list[Place]] = {}
    for place in questions.places:
        by_digest.setdefault(place.digest, []).append(place)
    price = {
        digest: costs.get(digest, 0.0) * (min(FEW_ROUNDS, rounds) if digest in failing else rounds)
        for digest in by_digest
    }
    for turn in range(max(map(len, by_digest.values()), default=0)):
        for digest, places in by_digest.items():
            known = digest in costs or rounds == 1
            if turn < len(places) and known and spent + price[digest] <= budget_ns:
                laps[places[turn]] = 1
                spent += price[digest]
    for digest, places in by_digest.items():
        sent = [place for place in places if place in laps]
        if not sent or digest in failing:
            continue
        lap = price[digest] * len(sent)
        more = min(max_laps - 1, int(CHEAP_NS * rounds / max(lap, 1)), int((budget_ns - spent) / max(lap, 1)))
        if more > 0:
            laps.update(dict.fromkeys(sent, 1 + more))
            spent += more * lap
    if not laps:  # sends at least one statement of the tape's costliest digest
        laps[questions.places[0]] = 1
    questions.leave(by_digest.keys() - {place.digest for place in laps}, WITHOUT_TIME)
    return laps


def probed(folder: Path) -> tuple[dict[str, float], set[str]]:
    """Return the time of one statement of each digest on both servers together, and the digests that failed."""
    tape = open_folder("tape", folder / "probe.tape")
    runs = [open_folder("run", folder / f"warm-{side}1.run") for side in SIDES]
    parts = " UNION ALL ".join(f"FROM {run.source('outcomes')}" for run in runs)
    with open_database() as con:
        rows: list[tuple[Any, ...]] = con.execute(
            "SELECT e.digest, 2 * avg(o.done_ns - o.sent_ns), bool_or(o.errno <> 0)"
            f" FROM {tape.source('events')} e JOIN ({parts}) o USING (session, seq)"
            " WHERE e.command IN ('query', 'execute') AND e.class = 'read' AND o.done_ns IS NOT NULL GROUP BY e.digest"
        ).fetchall()
    return {digest: float(ns) for digest, ns, _ in rows}, {digest for digest, _, failed in rows if failed}


def stored_functions(targets: Sequence[Target]) -> frozenset[str]:
    """Return the names of the servers' stored functions, in lower case.

    Raises TargetError if a server does not report that a session is read-only, or cannot list its functions.
    """
    names: set[str] = set()
    for target in targets:
        with closing(target.connect()) as server:
            keep_read_only(server, target)
            rows = query_or_none(server, "SELECT ROUTINE_NAME FROM information_schema.ROUTINES")
            if rows is None:
                raise QuerytapeError(f"{target.name}: cannot list the stored functions, so no statement is sent")
            names |= {str(row[0]).lower() for row in rows}
            names |= {name.lower() for name in library_functions(server).names or ()}
    return frozenset(names)
