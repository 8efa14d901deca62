# SPDX-License-Identifier: Apache-2.0
"""Compares two servers without a load: samples of each digest that reads, serially, A B B A, until it can tell.

First all samples are sent once (warm-a1.run, warm-b1.run): caches are warm then, and it is known what they cost. Then
come rounds, of what the time allows. What is decided is left out of later rounds. The folder is a comparison's: its
tape is `quick.tape`.
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
from ..replay import ReplayOptions, RunSummary, Watcher, replay
from ..replay.observe.explain import keep_read_only
from ..replay.observe.query_plans import Place
from ..replay.plan.pacing import Amplification, Pace
from ..replay.plan.selection import Selection
from ..schemas import open_folder
from ..servers.library_functions import library_functions
from ..servers.queries import query_or_none
from ..servers.target import Target
from .compare import complete_rounds
from .compare_plan import PLAN_FILE, SIDES, ComparePlan
from .quick_selection import WITHOUT_TIME, Questions, choose
from .quick_tape import write_quick_tape

QUICK_TAPE = "quick.tape"
FEW_ROUNDS, ROUNDS, MAX_ROUNDS = 2, 6, 96  # where statements fail; before the verdicts are looked at; at most
LOOKS = (2, 6, 12, 24, 48, 96)  # so few that looking again and again finds no more than chance
PROBE_SHARE, ROUNDS_SHARE, MIN_SHARE = 0.25, 0.6, 0.1  # of the time
MAX_LAPS = 40
CHEAP_NS = 100_000_000  # of a round: a digest is sent again and again within it
LONG_NS, MAX_LOOPS = 1_000_000_000, 20  # a run that lasts; how often a tape is repeated for that
SAMPLE_NS = 200_000_000  # runs are short
UNDECIDED = ("unstable", "inconclusive")


@dataclass(frozen=True)
class QuickOptions:
    """`within_s`: how long all of it may take. `each_ns`: a statement that takes longer is killed.

    `say` gets a line before each step; `make_watcher` watches the first run of each side.
    """

    within_s: float = 300.0
    each_ns: int = 10_000_000_000
    settings: Settings = field(default_factory=Settings)
    say: Callable[[str], None] = field(default=lambda text: None)
    make_watcher: Callable[[], Watcher] = Watcher


@dataclass(frozen=True)
class QuickResult:
    """The new tape, the runs of both sides, and what is not decided although the time is up."""

    tape: Path
    runs: dict[str, list[Path]]
    undecided: int


def compare_quickly(
    plan: ComparePlan,
    folder: Path,
    sides: Mapping[str, ReplayOptions],
    options: QuickOptions,
) -> QuickResult:
    """Compare two servers by samples of a tape's reads, into the new folder.

    `sides`: targets, TLS, accounts and renamed schemas of each replay. Raises InputError where the tape has no read
    that is asked, TargetError where a server can't be asked in a session that is surely read-only, QuerytapeError where
    a run is cut off.
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
    plan.write(folder / PLAN_FILE)  # a report of what is stopped from here on says what there is
    sender = _Sender(folder, sides, options, until)
    by_tape = {digest: 2 * ns / events for digest, (events, ns) in questions.sizes.items()}
    once = allocate(questions, by_tape, (), PROBE_SHARE * options.within_s * 1e9, max_laps=1, rounds=1)
    write_quick_tape(tape, questions, once, folder / "probe.tape")
    options.say(f"sending each of {len(questions.places):,} statements once")
    began, sent_ns = time.monotonic(), 0
    for side in SIDES:
        summary = sender.send(folder / "probe.tape", f"warm-{side}1.run", side, options.make_watcher())
        sent_ns += int(summary.info["elapsed_ns"])
    costs, failing = probed(folder)
    overhead_s = (time.monotonic() - began - sent_ns / 1e9) / 2
    left_s = ROUNDS_SHARE * (until - time.monotonic()) - 2 * ROUNDS * overhead_s
    left_s = max(left_s, MIN_SHARE * options.within_s)  # rather fewer rounds than digests
    laps = allocate(questions, costs, failing, left_s * 1e9)
    write_quick_tape(tape, questions, laps, folder / QUICK_TAPE, costs)
    undecided = _rounds(sender, questions)
    runs = complete_rounds(folder)
    replace(plan, rounds=max(len(runs["a"]), 1)).write(folder / PLAN_FILE)
    return QuickResult(plan.tape, runs, undecided)


def _rounds(sender: "_Sender", questions: Questions) -> int:
    """Run rounds until all is decided or the time is up; return how many digests are not decided."""
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
        if number >= ROUNDS:  # a run takes a second or so whatever it sends: few digests are sent more often
            loops = min(max(int(LONG_NS * loops / max(sent_ns, 1)), 1), MAX_LOOPS)
        look = time.monotonic()
        no_time = look + (look - began) + look_s > sender.until
        if number in LOOKS or no_time:
            runs = complete_rounds(folder)
            report = build(folder / QUICK_TAPE, runs["a"], runs["b"], options.settings)
            words = {entry["digest"]: entry["verdict"] for entry in report.digests if entry["pair"]}
            failing = {entry["digest"] for entry in report.digests if entry["new_errors"]}
            asked = [digest for digest in asked if digest not in failing and still_open(words.get(digest), number)]
            look_s = 2 * (time.monotonic() - look)  # and once more for the report
        if no_time:
            break
    return len(asked)


def still_open(word: str | None, rounds: int) -> bool:
    """Whether a digest that does not fail anew is sent again; None: it fails on both sides."""
    return word is not None if rounds < ROUNDS else word in UNDECIDED


@dataclass
class _Sender:
    """Replays a tape of samples: serially, reads only, with checksums."""

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
        """Replay into the folder. `digests`: None = all. Raises QuerytapeError for a run that was stopped."""
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
    """Return how often each sample is sent in a round, within a time of all rounds; the digests with most time first.

    `costs`: of one statement, on both servers together; of those that failed, or were killed, only few rounds are
    needed. First one statement of each digest, then the others, then more laps. Digests that do not fit are left out of
    the questions: they are not asked for lack of time.
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
    if not laps:  # whatever it costs: one statement of the digest that costs most on the tape
        laps[questions.places[0]] = 1
    questions.leave(by_digest.keys() - {place.digest for place in laps}, WITHOUT_TIME)
    return laps


def probed(folder: Path) -> tuple[dict[str, float], set[str]]:
    """Return what a statement of each digest took on both servers together, and which digests failed on either."""
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
    """Return the functions that the servers store, in lower case.

    Raises TargetError where a server does not say that a session is read-only, or can't list them.
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
