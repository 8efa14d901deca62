# SPDX-License-Identifier: Apache-2.0
"""Answer the question "may this traffic move?" with one word, one sentence of reasons, and three parts.

The parts are: breaks, returns something else, is slower. Each part has its share of the events and of the time. If the
report is about DDL (`querytape try`), the question is whether the DDL is worth its cost. The parts are then: cheaper,
dearer writes, dearer reads, breaks, returns something else.
"""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from ...common.text import printable
from ...common.units import duration, plural
from ...schemas.json_shapes import ServerInfo
from ..model import DigestEntry, Report, sides_of
from ..rows import ResultsRow
from ..verdicts.verdict import ERRORS, FASTER, INCONCLUSIVE, SAME, SLOWER, UNSTABLE
from .causes import reason_of, slower_because
from .coverage import few_failed, missing_sentences
from .errors import NEW_ERRORS, by_digest
from .results import against_b, unproven_sentences
from .trust import why_no_claim

YES, NO, UNKNOWN = "yes", "no", "inconclusive"
MAX_UNKNOWN = 0.5  # maximum share of the time that digests without a verdict may have
TEXT_SHOWN = 60
BREAKS, ELSE, SLOW = "breaks", "returns something else", "is slower"
PARTS = (BREAKS, ELSE, SLOW)
CHEAPER, DEARER_WRITES, DEARER_READS = "cheaper", "dearer writes", "dearer reads"
PARTS_OF_DDL = (CHEAPER, DEARER_WRITES, DEARER_READS, BREAKS, ELSE)
OF_TIME = frozenset({SLOW, CHEAPER, DEARER_WRITES, DEARER_READS})
DDL_SHOWN = 120


class Headline(NamedTuple):
    """The answer: yes, no or inconclusive. `sentence` gives the reason, and `notes` give the limits of the answer."""

    answer: str
    sentence: str
    notes: tuple[str, ...] = ()


def headline(report: Report) -> Headline | None:
    """Return the answer and its reason, or None if the report has one side only."""
    if not report.compares:
        return None
    if reason := why_no_claim(report):
        return Headline(UNKNOWN, f"Inconclusive: {reason}.")
    missing = missing_sentences(report)
    if reasons := _against(report):
        return Headline(
            NO, f"No: {', '.join(reasons)}.", (*_worst(report), *_sentences(missing), *_largest_slowdown(report))
        )
    if missing:
        return Headline(UNKNOWN, f"Inconclusive: {missing[0]}.", (*_sentences(missing[1:]), *_largest_slowdown(report)))
    total = sum(_time(entry) for entry in report.digests)
    unknown = sum(_time(entry) for entry in report.digests if entry["verdict"] in (UNSTABLE, INCONCLUSIVE))
    if not report.digests:
        return Headline(UNKNOWN, "Inconclusive: no statement was sent to either side.")
    if unknown > MAX_UNKNOWN * total:
        share = 100 * unknown / total
        return Headline(
            UNKNOWN,
            f"Inconclusive: statements with too few or too variable executions take {share:.0f} % of the execution"
            " time.",
            ("Run more rounds, or record a longer tape.", *_largest_slowdown(report)),
        )
    margin, same, faster = report.settings.margin, report.count(SAME), report.count(FASTER)
    inconclusive = report.count(UNSTABLE) + report.count(INCONCLUSIVE)
    left = (
        f", {inconclusive} {_are(inconclusive)} inconclusive ({100 * unknown / total:.0f} % of the execution time)"
        if inconclusive and total
        else ""
    )
    return Headline(
        YES,
        f"Yes: none of {plural(len(report.digests), 'digest')} is slower by more than {margin.ratio:.0%} and"
        f" {duration(margin.ns)}, and none has new errors.",
        (
            f"{plural(same, 'digest')} {'takes' if same == 1 else 'take'} about the same time,"
            f" {faster} {_are(faster)} faster{left}.",
            *few_failed(report),
            *few_unproven(report),
            *_largest_slowdown(report),
        ),
    )


def _are(n: int) -> str:
    return "is" if n == 1 else "are"


def few_unproven(report: Report) -> list[str]:
    """Return sentences on result differences with an unproven reason."""
    sentences, _ = unproven_sentences(report)
    return _sentences(sentences)


def _sentences(texts: Iterable[str]) -> list[str]:
    """Return texts as sentences with a capital letter and a full stop."""
    return [f"{text[:1].upper()}{text[1:]}." for text in texts]


def _against(report: Report) -> list[str]:
    """Return short texts on the digests with new errors, different results or slower times on B."""
    broken = [entry["new_errors"] for entry in report.digests if entry["verdict"] == ERRORS and entry["new_errors"]]
    different = against_b(report)
    counts = (
        (len(broken), ("has", "have"), f"new errors ({plural(sum(broken), 'event')})"),
        (len(different), ("returns", "return"), "different results"),
        (report.count(SLOWER), ("is", "are"), "slower"),
    )
    reasons = [f"{n:,} {verbs[n != 1]} {what}" for n, verbs, what in counts if n]
    if reasons:
        number, _, rest = reasons[0].partition(" ")
        reasons[0] = f"{number} of {plural(len(report.digests), 'digest')} {rest}"
    return reasons


def _worst(report: Report) -> list[str]:
    """Return a sentence on the most urgent digest that is slower or has new errors, if there is one."""
    found = (e for e in report.digests if e["verdict"] == SLOWER or (e["verdict"] == ERRORS and e["new_errors"]))
    entry = next(found, None)
    if entry is None:
        return []
    lost = f", {duration(entry['pair']['lost_ns'])} lost" if entry["verdict"] == SLOWER and entry["pair"] else ""
    if entry["note"]:
        lost = f", {entry['note']}"
    return [f"Worst: {printable(entry['text'], TEXT_SHOWN)} ({entry['why']}{lost})."]


def _largest_slowdown(report: Report) -> list[str]:
    """Return a sentence on the inconclusive digest that lost the most time. The loss must be at least the margin."""
    found = ((pair["lost_ns"], e) for e in report.digests if e["verdict"] == INCONCLUSIVE and (pair := e["pair"]))
    lost_ns, entry = max(found, key=lambda each: each[0], default=(0, None))
    if entry is None or lost_ns < report.settings.margin.ns:
        return []
    text, lost = printable(entry["text"], TEXT_SHOWN), duration(lost_ns)
    reason = reason_of(report, entry)
    words = slower_because([reason])
    perhaps = f"; {'possible cause: ' if reason.difference else ''}{words}" if words else ""
    return [f"Largest inconclusive slowdown: {text} ({lost}; {entry['why']}{perhaps})."]


def _time(entry: DigestEntry) -> int:
    """Return a digest's total service time in ns, on the side with the greater total."""
    return max(side.get("total_ns") or 0 for side in sides_of(entry))


@dataclass(frozen=True)
class Part:
    """One part of the answer: its number of digests and events, and its shares of all events and of all time.

    `explained`: events whose results may differ between two correct servers. `lost_ns`: extra time on B. `time_share`
    is None if no times are known. `inconclusive`: number of inconclusive digests.
    """

    name: str
    digests: int
    events: int
    events_share: float
    time_share: float | None
    explained: int = 0
    lost_ns: int = 0
    inconclusive: int = 0

    def said(self) -> str:
        """Return the part as a short text."""
        inconclusive = f"{plural(self.inconclusive, 'inconclusive digest')}" if self.inconclusive else ""
        if not self.events:
            return f"no digest with a verdict, {inconclusive}" if inconclusive else "nothing"
        words = [f"{plural(self.digests, 'digest')}, {plural(self.events, 'event')}"]
        words.append(f"{share(self.events_share)} of the traffic")
        if self.time_share is not None:
            words.append(f"{share(self.time_share)} of the execution time")
        if self.explained:
            words.append(f"{plural(self.explained, 'event')} with a known reason")
        if self.lost_ns:
            gained = "saved" if self.name == CHEAPER else "saved in total"
            words.append(f"{duration(abs(self.lost_ns))} {'lost' if self.lost_ns > 0 else gained}")
        return "; ".join(filter(None, (", ".join(words), inconclusive)))


def question(report: Report) -> str:
    """Return the question that the report answers, with the names of both servers."""
    if report.settings.ddl:
        said = "; ".join(printable(text, DDL_SHOWN) for text in report.settings.ddl)
        return f"Is this DDL worth it? {said} (A: before the DDL, B: after the DDL)"
    a, b = (_server(letter, rounds[0].target) for letter, rounds in report.sides.items())
    return f"May this traffic move from {a} to {b}?"


def _server(letter: str, target: ServerInfo) -> str:
    said = ", ".join(printable(text, 60) for text in (target.get("name"), target.get("version")) if text)
    return f"{letter.upper()} ({said})" if said else letter.upper()


def share(part: float) -> str:
    """Return a share as text. A share above zero is never shown as 0 %."""
    if not part:
        return "0 %"
    return "less than 0.1 %" if part < 0.001 else f"{100 * part:.1f} %"


def events_of(report: Report) -> dict[str, Counter[str | None]]:
    """Return the events of each part of the answer, by digest."""
    slower = _with_verdict(report, SLOWER)
    other: Counter[str | None] = Counter()
    for row in other_results(report):
        other[row["digest"]] += row["events"]
    against = {BREAKS: by_digest(report.answers["errors"], *NEW_ERRORS), ELSE: other}
    if not report.settings.ddl:
        return {**against, SLOW: slower}
    reads = {entry["digest"] for entry in report.digests if entry["class"] == "read"}  # COMMIT counts as a write
    dearer = [Counter({d: n for d, n in slower.items() if (d in reads) == which}) for which in (False, True)]
    return {CHEAPER: _with_verdict(report, FASTER), DEARER_WRITES: dearer[0], DEARER_READS: dearer[1], **against}


def _with_verdict(report: Report, word: str) -> Counter[str | None]:
    return Counter({entry["digest"]: times_sent(entry) for entry in report.digests if entry["verdict"] == word})


def other_results(report: Report) -> list[ResultsRow]:
    """Return the rows of results.sql, without the rows for a different number of warnings."""
    return [row for row in report.answers["results"] if row["kind"] != "warnings"]


def parts_of(report: Report) -> list[Part]:
    """Return all parts of the answer, empty parts included, in the order of PARTS or PARTS_OF_DDL."""
    entries: dict[str | None, DigestEntry] = {entry["digest"]: entry for entry in report.digests}
    all_events = sum(times_sent(entry) for entry in report.digests)
    on_tape = any(entry["tape_ns"] for entry in report.digests)
    all_time = sum(time_of(entry, on_tape) for entry in report.digests)
    known = sum(row["events"] for row in other_results(report) if row["known"] is not None)
    parts = []
    for name, events in events_of(report).items():
        lost = (
            sum(pair["lost_ns"] for d in events if d in entries and (pair := entries[d]["pair"]))
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
                report.count(INCONCLUSIVE) + report.count(UNSTABLE) if name in (SLOW, CHEAPER) else 0,
            )
        )
    return parts


def times_sent(entry: DigestEntry) -> int:
    """Return how often a digest was sent, on the side with more events."""
    return max(side.get("n") or 0 for side in sides_of(entry))


def time_of(entry: DigestEntry, on_tape: bool) -> float:
    """Return a digest's time on the tape if the tape has times, otherwise on the side that took longer."""
    if on_tape:
        return float(entry["tape_ns"] or 0)
    return float(_time(entry))


def time_share(entry: DigestEntry, events: int, on_tape: bool) -> float:
    """Return a digest's time, scaled down to `events` of its events."""
    sent = times_sent(entry)
    return time_of(entry, on_tape) * min(1.0, events / sent) if sent else 0.0


def answer_of(report: Report) -> Headline | None:
    """Return the answer to the report's question, or None if the report has one side only."""
    return answer_on_ddl(report) if report.compares and report.settings.ddl else headline(report)


def answer_on_ddl(report: Report) -> Headline:
    """Return whether DDL is worth its cost.

    The answer is yes if the DDL saves more time than it costs, and no statement fails or returns different results.
    """
    if reason := why_no_claim(report):
        return Headline(UNKNOWN, f"Inconclusive: {reason}.")
    parts = {part.name: part for part in parts_of(report)}
    cheaper, dearer = parts[CHEAPER], [parts[name] for name in (DEARER_WRITES, DEARER_READS)]
    balance = _balance(cheaper, dearer)
    inconclusive = f", {plural(cheaper.inconclusive, 'inconclusive digest')}" if cheaper.inconclusive else ""
    missing = missing_sentences(report)
    note = _sentences([f"{balance}{inconclusive}"])
    if against := _against_ddl(report):
        return Headline(NO, f"No: {' and '.join(against)}.", (*note, *_sentences(missing)))
    cost = sum(part.lost_ns for part in dearer)
    if cheaper.digests and not missing and -cheaper.lost_ns > cost:
        return Headline(YES, f"Yes, for this traffic: {balance}{inconclusive}.", tuple(few_unproven(report)))
    if missing:
        return Headline(UNKNOWN, f"Inconclusive: {missing[0]}.", (*_sentences(missing[1:]), *note))
    if not cheaper.digests and not any(part.digests for part in dearer) and _unknown(report):
        return Headline(
            UNKNOWN,
            "Inconclusive: the digests without a verdict take most of the execution time.",
            (*note, "Run more rounds."),
        )
    return Headline(NO, f"No, not for this traffic: {balance}{inconclusive}.")


def _balance(cheaper: Part, dearer: list[Part]) -> str:
    """Return a short text on cheaper and dearer statements, with the time saved and lost."""
    words = [_said(cheaper, f"{plural(cheaper.digests, 'digest')} got cheaper", "saved") or "no digest got cheaper"]
    for part, kind in zip(dearer, ("write", "read"), strict=True):
        words.append(
            _said(part, f"{plural(part.digests, kind)} got more expensive", "lost") or f"no {kind} got more expensive"
        )
    return ", ".join(words)


def _said(part: Part, text: str, what: str) -> str:
    return f"{text} ({duration(abs(part.lost_ns))} {what})" if part.digests else ""


def _against_ddl(report: Report) -> list[str]:
    """Return short texts on failing events and different results."""
    broken = [entry["new_errors"] for entry in report.digests if entry["verdict"] == ERRORS and entry["new_errors"]]
    other = against_b(report)
    said = (
        [f"{plural(sum(broken), 'event')} of {plural(len(broken), 'digest')} {'fails' if sum(broken) == 1 else 'fail'}"]
        if broken
        else []
    )
    return said + (
        [f"{plural(len(other), 'digest')} {'returns' if len(other) == 1 else 'return'} different results"]
        if other
        else []
    )


def _unknown(report: Report) -> bool:
    """Return whether most of the time belongs to digests without a verdict."""
    times = [(entry["verdict"], _time(entry)) for entry in report.digests]
    unknown = sum(time for word, time in times if word in (INCONCLUSIVE, UNSTABLE))
    return unknown > MAX_UNKNOWN * sum(time for _, time in times)
