# SPDX-License-Identifier: Apache-2.0
"""Say what limits a report, in sentences."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import pairwise

from ...schemas import Folder
from ..model import Finding, Report, Severity
from .coverage import coverage
from .doubt import named_runs
from .interference import interference
from .lateness import lateness, limits_of_replayer
from .measuring_points import describe
from .other_data import other_data

MIN_STEP_S = 0.5
MIN_ROUNDS = 3
# Parameters of a replay that change its load: of two runs they should be equal.
LOAD_PARAMETERS = ("speed", "pace", "order")


def trust(report: Report) -> list[Finding]:
    """Return what limits this report, worst first."""
    findings = [Finding(Severity.WARNING, _of_tape(warning)) for warning in report.tape.info.get("warnings", [])]
    for name, run in named_runs(report):
        findings += _of_run(name, run)
    findings += [*coverage(report), *limits_of_replayer(report), *lateness(report)]
    findings += [*_comparison(report), *interference(report)] if report.compares else _one_run(report)
    worst_first = list(Severity)
    return sorted(findings, key=lambda finding: worst_first.index(finding.severity))


def _of_tape(warning: Mapping[str, str]) -> str:
    """Return a sentence on what is not on the tape; quick mode says itself what it did not ask."""
    return f"{warning['text']}." if warning.get("kind") == "quick" else f"The tape is partial: {warning['text']}."


def _of_run(name: str, run: Folder) -> Iterator[Finding]:
    info = run.info
    if not info.get("finished"):
        yield Finding(
            Severity.PROBLEM, f"Run {name} was killed: it ends with what was written until then and has no accounting."
        )
    if info.get("partial"):
        yield Finding(Severity.PROBLEM, f"Run {name} is partial: {info['partial']}.")
    if info.get("accounting") and not info["accounting"].get("balanced", True):
        yield Finding(
            Severity.PROBLEM, f"The accounting of run {name} does not balance: events of the tape are unaccounted for."
        )
    if text := other_data(name, info):
        yield Finding(Severity.WARNING, text)
    if step := clock_step_s(info.get("clock_pairs") or []):
        yield Finding(
            Severity.WARNING,
            f"The wall clock stepped by {step:+.1f} s during run {name}; measured times are not affected.",
        )


def clock_step_s(pairs: list[list[int]]) -> float | None:
    """Return by how much the wall clock jumped against the monotonic one, None where it did not.

    `pairs` are [monotonic ns, real ns] in order of time.
    """
    steps = [(b[1] - a[1] - (b[0] - a[0])) / 1e9 for a, b in pairwise(pairs)]
    worst = max(steps, key=abs, default=0.0)
    return worst if abs(worst) > MIN_STEP_S else None


def _one_run(report: Report) -> Iterator[Finding]:
    yield Finding(
        Severity.INFORMATION,
        f"There is one run. The tape's durations were taken {describe(report.tape.info)}, the run's in the client: they"
        " can't be ranked against each other. Give a second run to compare.",
    )


def _given(rounds: Iterable[Folder], name: str) -> list[str]:
    """Return the values of a parameter over the rounds of one side, each once, in the order of the rounds."""
    return list(dict.fromkeys(str(run.info.get("parameters", {}).get(name)) for run in rounds))


def _comparison(report: Report) -> Iterator[Finding]:
    """Yield what the two sides do not have in common."""
    for name in LOAD_PARAMETERS:
        values = {letter: _given(rounds, name) for letter, rounds in report.sides.items()}
        if len({value for given in values.values() for value in given}) > 1:
            listed = ", ".join(f"{letter.upper()}: {' and '.join(given)}" for letter, given in values.items())
            yield Finding(Severity.WARNING, f"The runs differ in --{name} ({listed}): so do their loads.")
    if report.rounds < MIN_ROUNDS:
        yield Finding(
            Severity.INFORMATION,
            "Each side ran once or twice: how a server differs from one start to the next is not in the intervals."
            " To measure it, run querytape compare with --rounds 5.",
        )
    if report.unpaired_rounds:
        yield Finding(
            Severity.INFORMATION,
            f"{report.unpaired_rounds} rounds have no partner on the other side and are not in this report.",
        )
