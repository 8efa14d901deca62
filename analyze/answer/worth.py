# SPDX-License-Identifier: Apache-2.0
"""Answer whether DDL that was tried is worth it: what it makes cheaper against what it makes dearer or breaks."""

from ...common.units import duration, plural
from ..findings.coverage import missing_sentences
from ..findings.doubt import doubt
from ..findings.headline import MAX_UNKNOWN, NO, UNKNOWN, YES, Headline, few_unproven, headline
from ..findings.results import against_b
from ..model import Report
from ..verdicts.verdict import CANNOT_TELL, ERRORS, UNSTABLE
from .parts import CHEAPER, DEARER_READS, DEARER_WRITES, Part, parts_of


def answer_of(report: Report) -> Headline | None:
    """Return the answer to the report's question, None where nothing is compared."""
    return worth(report) if report.compares and report.settings.ddl else headline(report)


def worth(report: Report) -> Headline:
    """Return whether DDL is worth it: yes where it saves more time than it costs, and nothing breaks or differs."""
    if reason := doubt(report):
        return Headline(UNKNOWN, f"Cannot tell: {reason}.")
    parts = {part.name: part for part in parts_of(report)}
    cheaper, dearer = parts[CHEAPER], [parts[name] for name in (DEARER_WRITES, DEARER_READS)]
    balance = _balance(cheaper, dearer)
    untold = f"; of {plural(cheaper.untold, 'digest')} it can't be told" if cheaper.untold else ""
    missing = missing_sentences(report)
    besides = f" Besides, {'; '.join(missing)}." if missing else ""
    if against := _against(report):
        return Headline(NO, f"No: with it {' and '.join(against)}; {balance}{untold}.{besides}")
    cost = sum(part.lost_ns for part in dearer)
    if cheaper.digests and not missing and -cheaper.lost_ns > cost:
        return Headline(YES, f"Yes, for this traffic: {balance}{untold}.{few_unproven(report)}")
    if missing:
        return Headline(UNKNOWN, f"Cannot tell: {'; '.join(missing)}. Of what was replayed, {balance}{untold}.")
    if not cheaper.digests and not any(part.digests for part in dearer) and _unknown(report):
        return Headline(UNKNOWN, f"Cannot tell: {balance}{untold}, most of the time. Run more rounds.")
    return Headline(NO, f"No, not for this traffic: {balance}{untold}.")


def _balance(cheaper: Part, dearer: list[Part]) -> str:
    """Return what got cheaper and what got dearer, with the time saved and lost, in a few words."""
    words = [_said(cheaper, f"{plural(cheaper.digests, 'digest')} got cheaper", "saved") or "nothing got cheaper"]
    for part, kind in zip(dearer, ("write", "read"), strict=True):
        words.append(_said(part, f"{plural(part.digests, kind)} got dearer", "lost") or f"no {kind} got dearer")
    return ", ".join(words)


def _said(part: Part, text: str, what: str) -> str:
    return f"{text} ({duration(abs(part.lost_ns))} {what})" if part.digests else ""


def _against(report: Report) -> list[str]:
    """Return what breaks or returns something else, each in a few words."""
    broken = [entry["new_errors"] for entry in report.digests if entry["verdict"] == ERRORS and entry["new_errors"]]
    other = against_b(report)
    said = (
        [f"{plural(sum(broken), 'event')} of {plural(len(broken), 'digest')} {'fails' if sum(broken) == 1 else 'fail'}"]
        if broken
        else []
    )
    return said + (
        [f"{plural(len(other), 'digest')} {'returns' if len(other) == 1 else 'return'} something else"] if other else []
    )


def _unknown(report: Report) -> bool:
    """Whether most of the time is in digests of which nothing can be said."""
    times = [(entry["verdict"], _time(entry)) for entry in report.digests]
    unknown = sum(time for word, time in times if word in (CANNOT_TELL, UNSTABLE))
    return unknown > MAX_UNKNOWN * sum(time for _, time in times)


def _time(entry: dict[str, object]) -> int:
    sides = (entry[letter] for letter in ("a", "b"))
    return max(int(side.get("total_ns") or 0) if isinstance(side, dict) else 0 for side in sides)
