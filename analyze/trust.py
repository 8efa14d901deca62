# SPDX-License-Identifier: Apache-2.0
"""How far can a report be trusted? Sentences on what limits it, and whether it carries a claim at all."""

from itertools import pairwise
from typing import TYPE_CHECKING

from ..schemas import Folder
from .numbers import duration
from .points import taken

if TYPE_CHECKING:
    from .report import Report

LATE_NS = 5_000_000
WAITED_SHARE = 0.05
LEVELS = ("problem", "warning", "information")
Sentences = list[tuple[str, str]]


def doubt(report: "Report") -> str | None:
    """Return why the runs can't carry any claim about times, None where they can."""
    for letter, run in _lettered(report):
        books = run.info.get("accounting") or {}
        if books and not books.get("balanced", True):
            return f"the books of run {letter} don't balance"
        if run.info.get("measuring_point", "client") != "client":
            return "the runs were not measured in the same place"
    return None


def trust(report: "Report") -> Sentences:
    """Return (level, sentence) on how far this report can be trusted, worst first."""
    found: Sentences = [
        ("warning", f"The tape is not the whole workload: {warning['text']}.")
        for warning in report.tape.info.get("warnings", [])
    ]
    for letter, run in _lettered(report):
        info = run.info
        if not info.get("finished"):
            found.append(
                ("problem", f"Run {letter} was killed: it has what was written until then, and no accounting.")
            )
        if info.get("partial"):
            found.append(("problem", f"Run {letter} is partial: {info['partial']}."))
        if info.get("accounting") and not info["accounting"].get("balanced", True):
            found.append(("problem", f"The books of run {letter} don't balance: events are missing from it."))
        for text in info.get("generator", {}).get("warnings", ()):
            found.append(("warning", f"Run {letter}: {text}."))
        if step := _clock_step_s(info.get("clock_pairs") or []):
            found.append(
                ("warning", f"The wall clock stepped by {step:+.1f} s during run {letter}: times are not hurt.")
            )
    found += _lateness(report)
    found += _sides(report)
    return sorted(found, key=lambda entry: LEVELS.index(entry[0]))


def _lettered(report: "Report") -> list[tuple[str, Folder]]:
    many = report.rounds > 1
    return [
        (f"{letter}{number}" if many else letter, run)
        for letter, side in (("A", report.a), ("B", report.b))
        for number, run in enumerate(side, 1)
    ]


def _clock_step_s(pairs: list[list[int]]) -> float | None:
    """Return by how much the wall clock jumped against the monotonic one, None where it did not."""
    steps = [(b[1] - a[1] - (b[0] - a[0])) / 1e9 for a, b in pairwise(pairs)]
    worst = max(steps, key=abs, default=0.0)
    return worst if abs(worst) > 0.5 else None


def _lateness(report: "Report") -> Sentences:
    """Lateness by cause, against the size of the effects that are shown."""
    found: Sentences = []
    for letter in "ab"[: len(report.runs)]:
        rows = {row["cause"]: row for row in report.answers["lateness"] if row["run"] == letter}
        tool, session = rows.get("tool"), rows.get("session")
        if tool and tool["p99_ns"] > LATE_NS:
            found.append(
                (
                    "warning",
                    f"In run {letter.upper()} the replayer itself was late by {tool['p99_ns'] / 1e6:.1f} ms at p99:"
                    " this machine is too busy. Service times hold; response times hold this lateness, too.",
                )
            )
        if session and session["events"] and session["over_1ms"] > WAITED_SHARE * session["events"]:
            share = 100 * session["over_1ms"] / session["events"]
            found.append(
                (
                    "warning",
                    f"In run {letter.upper()} {share:.0f} % of the events waited for their session's last answer:"
                    " the target is slower than the original there. Service times alone hide it; see response times.",
                )
            )
    return found


def effects(report: "Report") -> Sentences:
    """The tool's own lateness against the smallest difference that was called; for after the verdicts."""
    called = [
        abs(entry["b"]["p50_ns"] - entry["a"]["p50_ns"])
        for entry in report.digests
        if entry["verdict"] in ("slower", "faster") and entry["a"] and entry["b"] and entry["why"].startswith("x")
    ]
    late = max((row["p99_ns"] for row in report.answers["lateness"] if row["cause"] == "tool"), default=0)
    if not called or late <= min(called):
        return []
    return [
        (
            "information",
            f"The replayer's own lateness ({duration(late)} at p99) is more than the smallest difference that is called"
            f" ({duration(min(called))}): service times do not hold it, response times do.",
        )
    ]


def _sides(report: "Report") -> Sentences:
    """What the two sides have in common, or not."""
    found: Sentences = []
    if not report.compares:
        return [
            (
                "information",
                f"One run: the tape's durations were taken {taken(report.tape.info)}, the run's in the client; they"
                " can't be ranked against each other. Give a second run for a comparison.",
            )
        ]
    runs = [*report.a, *report.b]
    for key, what in (
        ("speed", "at different speeds"),
        ("pace", "with different paces"),
        ("order", "in different orders"),
    ):
        values = {str(run.info.get("parameters", {}).get(key)) for run in runs}
        if len(values) > 1:
            found.append(("warning", f"The runs went {what} ({', '.join(sorted(values))}): their loads differ."))
    if report.rounds < 3:
        found.append(
            (
                "information",
                "Each side was run once or twice: what a server does differently from one start to the next is not in"
                " the intervals. `querytape compare --rounds 5` measures it.",
            )
        )
    if report.left_out:
        found.append(("information", f"{report.left_out} rounds have no partner on the other side and are left out."))
    return found
