# SPDX-License-Identifier: Apache-2.0
"""List the limits of a report as sentences: partial runs, lateness, other programs, differing rounds."""

import re
from collections.abc import Iterable, Iterator
from itertools import pairwise
from shlex import quote
from statistics import median_high
from typing import cast

from ...common.staged import shown_path
from ...common.units import count, duration, plural
from ...schemas import Folder
from ...schemas.json_shapes import Accounting, Generator, PlanInfo, PreparedInfo, RunInfo, TapeInfo, Warned
from ..model import Finding, Report, Severity, sides_of
from ..rows import LatenessRow
from ..run_set import RunSet
from ..verdicts.verdict import FASTER, OF_TAIL, SLOWER, UNSTABLE, Conditions
from .causes import is_written, may_be_slower, plans_known
from .coverage import coverage

MIN_STEP_S = 0.5
MAX_APART_NS = 10_000_000  # replays of a set's tapes that began further apart have a warning
MIN_ROUNDS = 3
# Replay parameters that change the load. Both sides should use equal values.
LOAD_PARAMETERS = ("speed", "pace", "order")
LATE_NS = 5_000_000
WAITED_SHARE = 0.05
# Warnings of a run on its own lateness. The report replaces these warnings with one sentence for all runs.
OF_LATENESS = re.compile(r"\b(late|sent up to)\b")
ASLEEP = "only sleep"
_NUMBERS = re.compile(r"\d[\d.,]*")
FULL = "no CPU core was idle, so other programs may be the cause"
UNSEEN = "other programs with unknown CPU use may be the cause"
PLACES = {"server": "in the server", "wire": "on the wire", "proxy": "at the proxy", "client": "in the client"}


def trust(report: Report) -> list[Finding]:
    """Return the limits of this report, worst first."""
    findings = [Finding(Severity.WARNING, _of_tape(warning)) for warning in report.tape.tape_info.get("warnings", [])]
    for name, run in named_runs(report):
        findings += _of_run(name, run)
    findings += [*coverage(report), *limits_of_replayer(report), *lateness(report)]
    if report.compares:
        findings += [*_comparison(report), *interference(report), *unknown_plans(report)]
    else:
        findings += _one_run(report)
    worst_first = list(Severity)
    return sorted(findings, key=lambda finding: worst_first.index(finding.severity))


def _of_tape(warning: Warned) -> str:
    """Return a sentence on missing content of the tape. The warning of quick mode is already a full sentence."""
    return f"{warning['text']}." if warning.get("kind") == "quick" else f"The tape is partial: {warning['text']}."


def _of_run(name: str, run: Folder) -> Iterator[Finding]:
    info = run.run_info
    if not info.get("finished"):
        yield Finding(
            Severity.PROBLEM, f"Run {name} was killed. It has no accounting and ends with the last written data."
        )
    if info.get("partial"):
        yield Finding(Severity.PROBLEM, f"Run {name} is partial: {info['partial']}.")
    if not (info.get("accounting") or {}).get("balanced", True):
        yield Finding(
            Severity.PROBLEM,
            f"The accounting of run {name} does not balance, because the run lacks events of the tape.",
        )
    if isinstance(run, RunSet):
        yield _of_set(name, run)
    if text := other_data(name, info):
        yield Finding(Severity.WARNING, text)
    for each in run.runs if isinstance(run, RunSet) else (run,):
        if step := clock_step_s(each.run_info.get("clock_pairs") or []):
            yield Finding(
                Severity.WARNING,
                f"The wall clock stepped by {step:+.1f} s during run {name}. Measured times are not affected.",
            )


def _of_set(name: str, runs: RunSet) -> Finding:
    """Return a finding on how far apart the replays of a set's tapes began."""
    apart, error = runs.skew
    said = f"The {len(runs.runs)} replays of run {name} began {duration(apart)} apart by the"
    said += " clocks of their hosts." if error is None else f" clock of the target (error at most {duration(error)})."
    if apart <= MAX_APART_NS:
        return Finding(Severity.INFORMATION, said)
    return Finding(Severity.WARNING, f"{said} Their events overlapped differently than on the tape.")


def clock_step_s(pairs: list[list[int]]) -> float | None:
    """Return the jump of the wall clock against the monotonic clock in seconds, or None if the clock did not jump.

    `pairs` are [monotonic ns, real ns] in order of time.
    """
    steps = [(b[1] - a[1] - (b[0] - a[0])) / 1e9 for a, b in pairwise(pairs)]
    worst = max(steps, key=abs, default=0.0)
    return worst if abs(worst) > MIN_STEP_S else None


def _one_run(report: Report) -> Iterator[Finding]:
    where = where_measured(report.tape.tape_info)
    yield Finding(
        Severity.INFORMATION,
        f"The report has only one run. Tape durations were measured {where}, and run durations in the client, so they"
        " cannot be compared. Add a second run to compare.",
    )


def _given(rounds: Iterable[Folder], name: str) -> list[str]:
    """Return the distinct values of a parameter over the rounds of one side, in the order of the rounds."""
    return list(dict.fromkeys(str(run.parameters.get(name)) for run in rounds))


def _comparison(report: Report) -> Iterator[Finding]:
    """Yield the differences in load between the two sides, and the limits that follow from the number of rounds."""
    for name in LOAD_PARAMETERS:
        values = {letter: _given(rounds, name) for letter, rounds in report.sides.items()}
        if len({value for given in values.values() for value in given}) > 1:
            listed = ", ".join(f"{letter.upper()}: {' and '.join(given)}" for letter, given in values.items())
            yield Finding(Severity.WARNING, f"The runs differ in --{name} ({listed}), so their loads differ.")
    if report.rounds < MIN_ROUNDS:
        yield Finding(
            Severity.INFORMATION,
            "Each side has fewer than 3 rounds, so the intervals exclude the variation between server starts."
            " Use querytape compare with --rounds 5 to include this variation.",
        )
    if report.unpaired_rounds:
        yield Finding(
            Severity.INFORMATION,
            f"Excluded from the report: {plural(report.unpaired_rounds, 'round')} without a partner on the other side.",
        )


def why_no_claim(report: Report) -> str | None:
    """Return why the runs cannot support any verdict on times, or None if they can support verdicts."""
    for name, run in named_runs(report):
        accounting = run.run_info.get("accounting") or {}
        if accounting and not accounting.get("balanced", True):
            return f"the accounting of run {name} does not balance"
        if run.run_info.get("measuring_point", "client") != "client":
            return "the runs were measured at different places"
    return None


def named_runs(report: Report) -> Iterator[tuple[str, Folder]]:
    """Yield each run with its name: A and B, or A1, A2, ... if there are several rounds."""
    for letter, rounds in report.sides.items():
        for number, run in enumerate(rounds, 1):
            yield f"{letter.upper()}{number}" if report.rounds > 1 else letter.upper(), run


def baseline(report: Report) -> str:
    """Return a sentence on the spread between A's own rounds and on the smallest change that can be found."""
    levels = [
        row["relative_latency"]
        for row in report.answers["rounds"]
        if row["run"] == "a" and row["relative_latency"] is not None
    ]
    spread = max(levels, default=1) / min(levels, default=1) - 1
    ratios = [ratio for entry in report.digests if (shift := entry["shift"]) and (ratio := shift["detectable"])]
    seen = (
        f" For half of the statements, the report can detect a change of {median_high(ratios) - 1:.0%}."
        if ratios
        else ""
    )
    return f"The rounds of A differ by up to {spread:.1%}.{seen}"


def lateness(report: Report) -> Iterator[Finding]:
    """Yield at most one finding on the replayer and one on waiting sessions. The verdicts must be known."""
    rows = {(row["run"], row["cause"]): row for row in report.answers["lateness"]}
    yield from _of_replayer(report, {run: row for (run, cause), row in rows.items() if cause == "tool"})
    waited = {
        letter: row["over_1ms"] / row["events"]
        for letter in report.sides
        if (row := rows.get((letter, "session"))) and row["events"]
    }
    if max(waited.values(), default=0.0) > WAITED_SHARE:
        shares = _listed({letter: f"{100 * share:.0f} %" for letter, share in waited.items()})
        yield Finding(
            Severity.WARNING,
            f"{shares} of the statements waited for the previous reply in their session, because the server is slower"
            " than the original. Response times include this wait, but service times do not.",
        )


def _of_replayer(report: Report, rows: dict[str, LatenessRow]) -> Iterator[Finding]:
    """Yield a finding on how late the replayer sent the latest 1 % of the statements.

    The finding also describes the effect on the times.
    """
    late = {letter: row["p99_ns"] for letter, row in rows.items()}
    least, worst = _least_called(report), max(late.values(), default=0)
    said = [text for _, text in _warnings(report) if OF_LATENESS.search(text)]
    hides = least is not None and worst > least
    if worst <= LATE_NS and not said and not hides:
        return
    severity = Severity.WARNING if worst > LATE_NS or said else Severity.INFORMATION
    more = (
        f" This delay is longer than the smallest difference that has a verdict ({duration(least)})."
        if hides and least
        else ""
    )
    why = " Sleeping threads also woke up late, so other programs used this machine." if _asleep(said) else ""
    sides = _listed({letter: duration(ns) for letter, ns in late.items()})
    yield Finding(
        severity,
        f"The replayer sent 1 % of the statements at least {sides} late.{more}{why} Service times are"
        " correct, but response times include the delay. Use a larger machine for the replayer.",
    )


def _asleep(texts: list[str]) -> bool:
    return any(ASLEEP in text for text in texts)


def _listed(values: dict[str, str]) -> str:
    """Return values by side as `20 ms (A) and 3 ms (B)`, or only the value if there is one side."""
    if len(values) == 1:
        return next(iter(values.values()))
    return " and ".join(f"{value} ({letter.upper()})" for letter, value in values.items())


def _least_called(report: Report) -> int | None:
    """Return the smallest difference of medians in ns among slower and faster digests.

    Returns None if no digest has one of these verdicts.
    """
    called = [
        tuple(side.get("p50_ns") for side in sides_of(entry))
        for entry in report.digests
        if entry["verdict"] in (SLOWER, FASTER) and not entry["why"].startswith(OF_TAIL)
    ]
    return min((abs(b - a) for a, b in called if a is not None and b is not None), default=None)


def _warnings(report: Report) -> list[tuple[str, str]]:
    """Return the warnings of the runs about the replayer, each with the name of its run."""
    runs = ((name, run.run_info.get("generator") or Generator()) for name, run in named_runs(report))
    return [(name, text) for name, generator in runs for text in generator.get("warnings", ())]


def limits_of_replayer(report: Report) -> Iterator[Finding]:
    """Yield the warnings about the replayer that do not concern lateness (CPU, rate, memory).

    Runs with equal warnings share one finding.
    """
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, text in _warnings(report):
        if not OF_LATENESS.search(text):
            alike.setdefault(_NUMBERS.sub("#", text), []).append((name, text))
    for group in alike.values():
        names = [name for name, _ in group]
        more = " (numbers of the first run)" if len({text for _, text in group}) > 1 else ""
        yield Finding(Severity.WARNING, f"Run{'s' if len(names) > 1 else ''} {', '.join(names)}: {group[0][1]}{more}.")


def conditions(report: Report) -> Conditions:
    """Return the conditions that apply to the verdicts on all digests."""
    found = report.disturbance
    return Conditions(
        no_claim=why_no_claim(report),
        disturbed=found.said if found.disturbed else None,
        unseen=UNSEEN if not found.seen else f"{FULL} ({found.said})" if found.crowded else None,
        rounds=report.rounds,
    )


def interference(report: Report) -> Iterator[Finding]:
    """Yield findings on time blocks that other programs disturbed, and on whether other programs were visible."""
    found = report.disturbance
    if found.disturbed:
        slower, faster = int(found.b_more.sum()), int(found.a_more.sum())
        yield Finding(
            Severity.WARNING,
            f"Other programs disturbed one side more: {found.said}. Of {found.blocks} time blocks, {slower} cannot"
            f" prove slower statements, and {faster} cannot prove faster statements. {what_would_tell(report)}",
        )
    elif found.crowded:
        yield Finding(
            Severity.WARNING,
            f"Other programs left no CPU core idle: {found.said}. With fewer than {MIN_ROUNDS} rounds, a change"
            f" of all statements gets no verdict. {what_would_tell(report)}",
        )
    if not found.seen and not report.settings.undisturbed:
        yield Finding(
            Severity.INFORMATION,
            f"The CPU use of other programs on the targets is unknown. With fewer than {MIN_ROUNDS} rounds, a"
            " change of all statements gets no verdict. Use replay --host-metrics, or report --undisturbed.",
        )


def what_would_tell(report: Report) -> str:
    """Return a sentence with the command that would give a clearer result."""
    if report.settings.ddl:
        return f"Repeat the same `querytape try` on a quiet machine, or with --rounds {max(2 * report.rounds, 5)}."
    targets = " ".join(f"--target {side}={_target(report, side)}" for side in report.sides)
    rounds = max(2 * report.rounds, 5)
    return (
        "Repeat the comparison on quiet machines or with more rounds: querytape compare"
        f" {shown_path(report.tape.path)} {targets} --rounds {rounds} -o again.compare"
    )


def unknown_plans(report: Report) -> Iterator[Finding]:
    """Yield a finding with the number of slower statements that lack a query plan, and the command to get the plans.

    A run keeps only the plans of its costliest statements. No finding is yielded for DDL that was tried, because both
    sides were temporary servers of querytape.
    """
    if report.settings.ddl:
        return
    slower = [
        entry["digest"]
        for entry in report.digests
        if (entry["verdict"] in (SLOWER, UNSTABLE) or may_be_slower(report, entry))
        and is_written(report, entry["digest"], "explainable")
    ]
    unknown = [digest for digest in slower if len(plans_known(report, digest)) < 2]
    if not unknown:
        return
    a, b = (_target(report, side) for side in report.sides)
    yield Finding(
        Severity.INFORMATION,
        f"Query plans are unknown for {len(unknown):,} of {plural(len(slower), 'statement')} that are or may be slower."
        f" Run querytape plans {shown_path(report.tape.path)} --target a={a} --target b={b} -o again.plans, then report"
        " --plans again.plans.",
    )


def _target(report: Report, side: str) -> str:
    """Return the --target of a side as a word of a shell command."""
    sandbox = report.settings.sandboxes.get(side)
    return quote(sandbox) if sandbox else f"mysql://{report.sides[side][0].target.get('name', 'HOST')}"


def other_data(name: str, info: RunInfo) -> str | None:
    """Return a sentence with the reasons why the data of a run may differ from the data of the tape.

    The reasons come from run.json. Returns None if no reason is known.
    """
    reasons = list(_reasons(info))
    return f"The data of run {name} may differ from the original data: {'; '.join(reasons)}." if reasons else None


def _reasons(info: RunInfo) -> Iterator[str]:
    plan, counts = info.get("plan") or PlanInfo(), info.get("accounting") or Accounting()
    prepared = cast(PreparedInfo, info.get("prepared") or {})
    if ids := plan.get("ids_unknown"):
        yield f"the tape lacks the ids of {plural(ids, 'INSERT')}, so the target generated them"
    if failed := counts.get("overrides_failed"):
        yield f"the target rejected a timestamp or id of the tape {plural(failed, 'time')}"
    if broken := counts.get("order_broken"):
        waits = max(counts.get("order_waits") or 0, broken)
        yield f"--order-bound ended {count(broken)} of {plural(int(waits), 'wait')} for the commit order"
    if ended := prepared.get("rolled_back"):
        yield f"{plural(len(ended), 'unfinished XA transaction')} {_was(len(ended))} rolled back"
    if left := prepared.get("left"):
        yield f"{plural(len(left), 'unfinished XA transaction')} {_was(len(left))} left on the target"


def _was(n: int) -> str:
    return "was" if n == 1 else "were"


def where_measured(tape_info: TapeInfo) -> str:
    """Return the measuring point of a tape from its tape.json: "in the server", "on the wire", ..."""
    return PLACES.get(str(tape_info.get("measuring_point")), "elsewhere")
