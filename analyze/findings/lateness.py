# SPDX-License-Identifier: Apache-2.0
"""Say in one sentence how late the replayer itself was, and in one how many statements waited for their session."""

import re
from collections.abc import Iterator

from ...common.units import duration
from ..database import Row
from ..model import Finding, Report, Severity
from ..verdicts.verdict import FASTER, OF_TAIL, SLOWER
from .doubt import named_runs

LATE_NS = 5_000_000
WAITED_SHARE = 0.05
# What a run says of its own lateness: a report has a sentence for all runs together.
OF_LATENESS = re.compile(r"\b(late|sent up to)\b")
ASLEEP = "only sleep"
_NUMBERS = re.compile(r"\d[\d.,]*")


def lateness(report: Report) -> Iterator[Finding]:
    """Yield at most one finding on the replayer, and one on sessions that waited. Needs the verdicts."""
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
            f"{shares} of the statements waited for the previous answer of their session: there the server is slower"
            " than the original was. Service times do not show this; response times do.",
        )


def _of_replayer(report: Report, rows: dict[str, Row]) -> Iterator[Finding]:
    """Yield how late one statement in a hundred was sent, and what that does to the times."""
    late = {letter: row["p99_ns"] for letter, row in rows.items()}
    least, worst = _least_called(report), max(late.values(), default=0)
    said = [text for _, text in _warnings(report) if OF_LATENESS.search(text)]
    hides = least is not None and worst > least
    if worst <= LATE_NS and not said and not hides:
        return
    severity = Severity.WARNING if worst > LATE_NS or said else Severity.INFORMATION
    more = f", more than the smallest difference that is called ({duration(least)})" if hides and least else ""
    why = " Threads that only sleep woke up as late: other programs kept that machine busy." if _asleep(said) else ""
    sides = _listed({letter: duration(ns) for letter, ns in late.items()})
    yield Finding(
        severity,
        f"The replayer itself sent one statement in a hundred at least {sides} late{more}.{why} Service times hold:"
        " they begin when a statement is sent. Response times include the delay. To lessen it, leave more of the"
        " replayer's machine to it, or replay from a larger one.",
    )


def _asleep(texts: list[str]) -> bool:
    return any(ASLEEP in text for text in texts)


def _listed(values: dict[str, str]) -> str:
    """Return `20 ms (A) and 3 ms (B)`; of one run the value alone."""
    if len(values) == 1:
        return next(iter(values.values()))
    return " and ".join(f"{value} ({letter.upper()})" for letter, value in values.items())


def _least_called(report: Report) -> int | None:
    """Return the smallest difference of medians, in ns, that is called slower or faster; None where none is."""
    called = [
        abs(entry["b"]["p50_ns"] - entry["a"]["p50_ns"])
        for entry in report.digests
        if entry["verdict"] in (SLOWER, FASTER) and entry["a"] and entry["b"] and not entry["why"].startswith(OF_TAIL)
    ]
    return min(called, default=None)


def _warnings(report: Report) -> list[tuple[str, str]]:
    """Return what the runs say of the replayer, each with its run's name."""
    runs = ((name, run.info.get("generator", {})) for name, run in named_runs(report))
    return [(name, text) for name, generator in runs for text in generator.get("warnings", ())]


def limits_of_replayer(report: Report) -> Iterator[Finding]:
    """Yield what else the runs say of the replayer (CPU, rate, memory): one finding for runs that say the same."""
    alike: dict[str, list[tuple[str, str]]] = {}
    for name, text in _warnings(report):
        if not OF_LATENESS.search(text):
            alike.setdefault(_NUMBERS.sub("#", text), []).append((name, text))
    for group in alike.values():
        names = [name for name, _ in group]
        more = " (the first of them is shown)" if len({text for _, text in group}) > 1 else ""
        yield Finding(Severity.WARNING, f"Run{'s' if len(names) > 1 else ''} {', '.join(names)}: {group[0][1]}{more}.")
