# SPDX-License-Identifier: Apache-2.0
"""Divide what speaks against B into three parts, each with its share of the traffic and of the time.

Of DDL that was tried, the parts are what got cheaper, what got dearer, what breaks and what returns something else.
"""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ...common.text import printable
from ...common.units import duration, plural
from ..database import Row
from ..findings.errors import NEW_ERRORS, by_digest
from ..model import Report
from ..verdicts.verdict import CANNOT_TELL, FASTER, SLOWER, UNSTABLE

BREAKS, ELSE, SLOW = "breaks", "returns something else", "is slower"
PARTS = (BREAKS, ELSE, SLOW)
CHEAPER, DEARER_WRITES, DEARER_READS = "got cheaper", "writes that got dearer", "reads that got dearer"
PARTS_OF_DDL = (CHEAPER, DEARER_WRITES, DEARER_READS, BREAKS, ELSE)
OF_TIME = frozenset({SLOW, CHEAPER, DEARER_WRITES, DEARER_READS})
DDL_SHOWN = 120


@dataclass(frozen=True)
class Part:
    """One part: how many digests and events, and which shares of all events and of all time they are.

    `explained`: how many of the events have a reason for which two servers that are both right may differ. `lost_ns`:
    what B takes longer. `time_share` is None where no times are known. `untold`: digests of which it can't be told.
    """

    name: str
    digests: int
    events: int
    events_share: float
    time_share: float | None
    explained: int = 0
    lost_ns: int = 0
    untold: int = 0

    def said(self) -> str:
        """Return it in a few words."""
        untold = f"of {plural(self.untold, 'digest')} it can't be told" if self.untold else ""
        if not self.events:
            return f"nothing{' that is certain; ' if untold else ''}{untold}"
        words = [f"{plural(self.digests, 'digest')}, {plural(self.events, 'event')}"]
        words.append(f"{share(self.events_share)} of the traffic")
        if self.time_share is not None:
            words.append(f"{share(self.time_share)} of the time")
        if self.explained:
            words.append(f"{self.explained:,} of the events with a known reason")
        if self.lost_ns:
            gained = "saved" if self.name == CHEAPER else "gained in sum"
            words.append(f"{duration(abs(self.lost_ns))} {'lost' if self.lost_ns > 0 else gained}")
        return "; ".join(filter(None, (", ".join(words), untold)))


def question(report: Report) -> str:
    """Return what is answered, with the names of both servers."""
    if report.settings.ddl:
        said = "; ".join(printable(text, DDL_SHOWN) for text in report.settings.ddl)
        return f"Is this DDL worth it? {said} (A: before it, B: after it)"
    a, b = (_server(letter, rounds[0].info.get("target") or {}) for letter, rounds in report.sides.items())
    return f"May this traffic move from {a} to {b}?"


def _server(letter: str, target: dict[str, Any]) -> str:
    said = ", ".join(printable(str(target[key]), 60) for key in ("name", "version") if target.get(key))
    return f"{letter.upper()} ({said})" if said else letter.upper()


def share(part: float) -> str:
    """Return a share in words: what there is at all is never 0 %."""
    if not part:
        return "0 %"
    return "less than 0.1 %" if part < 0.001 else f"{100 * part:.1f} %"


def events_of(report: Report) -> dict[str, Counter[str]]:
    """Return {part: events by digest}."""
    slower = _with_verdict(report, SLOWER)
    other: Counter[str] = Counter()
    for row in other_results(report):
        other[row["digest"]] += row["events"]
    against = {BREAKS: by_digest(report.answers["errors"], *NEW_ERRORS), ELSE: other}
    if not report.settings.ddl:
        return {**against, SLOW: slower}
    reads = {entry["digest"] for entry in report.digests if entry["class"] == "read"}  # a COMMIT is a write's
    dearer = [Counter({d: n for d, n in slower.items() if (d in reads) == which}) for which in (False, True)]
    return {CHEAPER: _with_verdict(report, FASTER), DEARER_WRITES: dearer[0], DEARER_READS: dearer[1], **against}


def _with_verdict(report: Report, word: str) -> Counter[str]:
    return Counter({entry["digest"]: times_sent(entry) for entry in report.digests if entry["verdict"] == word})


def other_results(report: Report) -> list[Row]:
    """Return the rows of results.sql that are another answer; another number of warnings is none."""
    return [row for row in report.answers["results"] if row["kind"] != "warnings"]


def parts_of(report: Report) -> list[Part]:
    """Return PARTS, or PARTS_OF_DDL, in this order; those that are empty, too."""
    entries = {entry["digest"]: entry for entry in report.digests}
    all_events = sum(times_sent(entry) for entry in report.digests)
    on_tape = any(entry["tape_ns"] for entry in report.digests)
    all_time = sum(time_of(entry, on_tape) for entry in report.digests)
    known = sum(row["events"] for row in other_results(report) if row["known"] is not None)
    parts = []
    for name, events in events_of(report).items():
        lost = (
            sum((entries[d]["pair"] or {}).get("lost_ns") or 0 for d in events if d in entries)
            if name in OF_TIME
            else 0
        )
        time = sum(time_share(entries[d], n, on_tape) for d, n in events.items() if d in entries)
        parts.append(
            Part(
                name,
                len(events),
                events.total(),
                min(1.0, events.total() / all_events) if all_events else 0.0,
                min(1.0, time / all_time) if all_time else None,
                known if name == ELSE else 0,
                lost,
                report.count(CANNOT_TELL) + report.count(UNSTABLE) if name in (SLOW, CHEAPER) else 0,
            )
        )
    return parts


def times_sent(entry: Row) -> int:
    """Return how often a digest was sent, to the side that got it more often."""
    return max(int((entry[letter] or {}).get("n") or 0) for letter in ("a", "b"))


def time_of(entry: Row, on_tape: bool) -> float:
    """Return a digest's time: on the tape where the tape has times, else of the side where it took more."""
    if on_tape:
        return float(entry["tape_ns"] or 0)
    return float(max(int((entry[letter] or {}).get("total_ns") or 0) for letter in ("a", "b")))


def time_share(entry: Row, events: int, on_tape: bool) -> float:
    """Return the time of so many of a digest's events."""
    sent = times_sent(entry)
    return time_of(entry, on_tape) * min(1.0, events / sent) if sent else 0.0
