# SPDX-License-Identifier: Apache-2.0
"""Report how much of the tape the runs did not test: events that were not sent, or that failed on every side."""

from collections import Counter
from collections.abc import Callable, Iterator
from typing import Literal

from ...common.units import count, plural
from ...schemas.names import LATENESS, REASONS
from ..model import Finding, Report, Severity
from ..rows import FailedEverywhereRow
from ..verdicts.verdict import ERRORS, INCONCLUSIVE
from .errors import ON_BOTH, by_digest
from .results import unproven_sentences

MAX_MISSING = 0.01  # share of missing events among all events to send; above it the answer cannot be yes
# Reasons to skip an event that the original client sent and the user did not exclude.
LOST_REASONS = frozenset(name for name, reason in REASONS.items() if reason.lost)
# The slow log and the general log contain the statement of each EXECUTE as a separate entry. If a PREPARE of such a log
# is skipped, no work is lost.
LOGS_OF_WHAT_RAN = frozenset({"slowlog", "general"})
REASONS_SHOWN = 3
# Texts for the causes of late events in lateness.sql.
CAUSES = {"all": "all causes together", **LATENESS}


def missing_sentences(report: Report) -> list[str]:
    """Return short texts on untested traffic above MAX_MISSING. Each text prevents the answer "yes"."""
    sentences = _not_asked(report)
    share, reasons, side = max(_not_sent(report), default=(0.0, "", ""))
    if share > MAX_MISSING:
        sentences.append(f"{_percent(share)} of the events were not sent to {side} ({reasons})")
    if report.compares and _fails_as_production_did_not(report):
        sentences.append(f"both sides differ from production: {_succeeded_text(report)}")
    failed = _failed(report)
    if failed["sent"] and failed["unknown"] > MAX_MISSING * failed["sent"]:
        sentences.append(_unknown_text(report))
    unproven, many = unproven_sentences(report)
    if many:
        sentences += unproven
    if report.compares:
        sentences += [*_to_one_side(report), *_failed_in_a(report)]
    return sentences


def lost_reasons(report: Report) -> frozenset[str]:
    """Return the skip reasons that count as missing events for the source of this tape."""
    sources = set(str(report.tape.tape_info.get("source")).split("+"))
    return LOST_REASONS - {"sql_prepare"} if sources <= LOGS_OF_WHAT_RAN else LOST_REASONS


def _to_one_side(report: Report) -> Iterator[str]:
    """Yield short texts on events that were sent to one side and excluded for the other side.

    A text is yielded only if these events exceed MAX_MISSING of all events.
    """
    executed = {letter: _events_of(report, letter, "executed").total() for letter in report.sides}
    excluded = {letter: _events_of(report, letter, "filtered", "skipped") for letter in report.sides}
    for letter, other in (("a", "b"), ("b", "a")):
        alone = excluded[other] - excluded[letter]  # events excluded only for the other side, by reason
        left = min(alone.total(), executed[letter] - executed[other])
        if left > MAX_MISSING * executed[letter]:
            reasons = "; ".join(f"{count(n)}: {reason_words(reason)}" for reason, n in alone.most_common(REASONS_SHOWN))
            share = _percent(left / executed[letter])
            yield f"{share} of the events sent to {letter.upper()} were excluded for {other.upper()} ({reasons})"


def _events_of(report: Report, letter: str, *statuses: str) -> Counter[str]:
    """Count the events of a side that have one of these statuses, by reason.

    Events with a reason in lost_reasons() are left out, because they should have been sent.
    """
    return Counter(
        {
            row["reason"] or row["status"]: row["events"]
            for row in report.answers["accounting"]
            if row["run"] == letter and row["status"] in statuses and row["reason"] not in lost_reasons(report)
        }
    )


def _failed_in_a(report: Report) -> Iterator[str]:
    """Yield a short text on events of inconclusive digests that failed only in A.

    The text is yielded only if these events exceed MAX_MISSING of all events.
    """
    inconclusive = {entry["digest"] for entry in report.digests if entry["verdict"] == INCONCLUSIVE}
    rows = [row for row in report.answers["errors"] if row["what"] == "gone" and row["digest"] in inconclusive]
    sent, failed = _failed(report)["sent"], sum(row["events"] for row in rows)
    if sent and failed > MAX_MISSING * sent:
        errno = max(rows, key=lambda row: int(row["events"]))["before"]
        yield (
            f"{_percent(failed / sent)} of the sent events failed only in A (mostly error {errno}), so their times"
            " cannot be compared"
        )


def _not_asked(report: Report) -> list[str]:
    """Return a short text on the part of the tape that `compare --quick` did not send.

    The list is empty if this part is not above MAX_MISSING. The tape of samples records the size of the part.
    """
    quick = report.tape.tape_info.get("quick") or {}
    share = float(quick.get("share_not_asked") or 0)
    if share <= MAX_MISSING:
        return []
    rows = sorted(quick.get("not_asked", {}).items(), key=lambda item: -int(item[1].get("tape_ns", 0)))
    reasons = ", ".join(reason for reason, _ in rows[:REASONS_SHOWN])
    known = "time" if quick.get("asked", {}).get("tape_ns") else "statements"
    return [f"--quick did not send {_percent(share)} of the tape's {known} ({reasons}), so replay the whole tape"]


def few_failed(report: Report) -> list[str]:
    """Return a sentence on the events that failed on both sides but succeeded on the tape, if there are any."""
    return [f"{_capital(_succeeded_text(report))}."] if _failed(report)["succeeded"] else []


def coverage(report: Report) -> Iterator[Finding]:
    """Yield a finding per side with events that were not sent, and findings on events that failed on every side."""
    for share, reasons, side in _not_sent(report):
        if share:
            severity = Severity.PROBLEM if share > MAX_MISSING else Severity.WARNING
            yield Finding(severity, f"Run {side} did not send {_percent(share)} of the events ({reasons}).")
    failed = _failed(report)
    texts: dict[Literal["succeeded", "unknown"], Callable[[Report], str]] = {
        "succeeded": _succeeded_text,
        "unknown": _unknown_text,
    }
    for name, text in texts.items():
        if not failed[name]:
            continue
        severe = failed[name] > MAX_MISSING * failed["sent"]
        if name == "succeeded":
            severe = _fails_as_production_did_not(report)
        yield Finding(
            Severity.PROBLEM if severe else Severity.INFORMATION,
            f"{_capital(text(report))}, so these statements have no verdict."
            f" The first failed event is session {failed['first_session']}, event {failed['first_seq']}.",
        )


def _not_sent(report: Report) -> Iterator[tuple[float, str, str]]:
    """Yield (share, reasons, side) for each side, over all rounds.

    `share`: the events that were not sent, divided by all events to send.
    """
    reasons_of_loss = lost_reasons(report)
    for letter in report.sides:
        lost: Counter[str] = Counter()
        executed = 0
        for row in report.answers["accounting"]:
            if row["run"] != letter:
                continue
            if row["status"] == "executed":
                executed += row["events"]
            if row["reason"] == "nothing_to_close":
                continue
            if row["status"] == "not_sent" or (row["status"] == "skipped" and row["reason"] in reasons_of_loss):
                lost[row["reason"] or "unknown"] += row["events"]
        total = lost.total()
        reasons = "; ".join(f"{count(n)}: {reason_words(reason)}" for reason, n in lost.most_common(REASONS_SHOWN))
        yield (total / (executed + total) if total else 0.0), reasons, letter.upper()


def _failed(report: Report) -> FailedEverywhereRow:
    return report.answers["failed_everywhere"][0]


def _fails_as_production_did_not(report: Report) -> bool:
    """Return whether too many events failed on every side but succeeded on the tape.

    The limit is MAX_MISSING of all events, or MAX_MISSING of the events of one digest.
    """
    failed = _failed(report)
    return failed["succeeded"] > MAX_MISSING * failed["sent"] or any(
        entry["verdict"] == ERRORS and not entry["new_errors"] for entry in report.digests
    )


def _succeeded_text(report: Report) -> str:
    failed = _failed(report)
    digests = len(by_digest(report.answers["errors"], ON_BOTH if report.compares else "new"))
    return (
        f"{plural(failed['succeeded'], 'event')} of {plural(digests, 'digest')} failed {_where(report)} (mostly"
        f" error {failed['succeeded_errno']}) but succeeded on the tape"
    )


def _unknown_text(report: Report) -> str:
    failed = _failed(report)
    share = _percent(failed["unknown"] / failed["sent"])
    return (
        f"{share} of the sent events failed {_where(report)} (mostly error {failed['unknown_errno']}), and the tape"
        " does not record whether they failed originally"
    )


def _where(report: Report) -> str:
    return "on both sides" if report.compares else "in the run"


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _percent(share: float) -> str:
    return "less than 0.1 %" if share < 0.001 else f"{100 * share:.1f} %"


def reason_words(reason: str | None) -> str:
    """Return the text for a skip reason. An unknown reason is returned unchanged."""
    if reason is None:
        return ""
    if reason.startswith("danger:"):
        return f"statements that affect the whole server and need --allow-statement {reason.partition(':')[2]}"
    return REASONS[reason].words if reason in REASONS else reason
