# SPDX-License-Identifier: Apache-2.0
"""Describe a tape in sentences: its size, its rhythm and its missing content.

The terminal and the page show these sentences. Texts from the tape are made printable.
"""

from typing import NamedTuple

from ...common.staged import shown_path
from ...common.text import printable
from ...common.units import NS_PER_SECOND, average, count, duration, percent, plural
from ..findings.trust import where_measured
from ..tape_rows import TapeTotalsRow
from ..tape_summary import TapeSummary
from .workload_sections import not_parsed

MICROSECONDS = 1000  # ns; a tape with this precision has times in microseconds at best


class Limit(NamedTuple):
    """One limit of a tape. `warning`: the emphasised words at its beginning, if the reader must notice it."""

    text: str
    warning: str = ""


def name_of(summary: TapeSummary) -> str:
    """Return the tape's path, with a note if the tape is a set of tapes."""
    path = printable(str(summary.tape.tape_info.get("snapshot_of") or shown_path(summary.tape.path)))
    tapes = summary.tape.tape_info.get("tapes")
    return f"{path} (a set of {plural(len(tapes), 'tape')})" if tapes else path


def source_of(summary: TapeSummary) -> str:
    """Return the source of the tape, with the server's version if known."""
    info = summary.tape.tape_info
    return printable(", ".join(filter(None, (info["source"], info.get("server_version")))))


def seconds_of(totals: TapeTotalsRow) -> float:
    """Return the length of a tape's traffic in seconds, or 0.0 if the tape is empty."""
    return ((totals["last_ns"] or 0) - (totals["first_ns"] or 0)) / NS_PER_SECOND


def size_text(totals: TapeTotalsRow) -> str:
    """Return the numbers of events, sessions and digests."""
    numbers = {"event": totals["events"], "session": totals["sessions"], "digest": totals["digests"]}
    return ", ".join(plural(number, word) for word, number in numbers.items())


def size_lines(summary: TapeSummary) -> list[str]:
    """Return lines on the size of the tape: numbers, length, concurrency, durations."""
    info, (totals,), (together,) = summary.tape.tape_info, summary.answers["totals"], summary.answers["concurrency"]
    return [
        f"{size_text(totals)} in {seconds_of(totals):,.1f} s ({count(totals['per_second'])}/s)",
        f"concurrent sessions: at most {count(together['max_sessions'])}; concurrent statements: at most"
        f" {count(together['max_statements'])}, {average(together['mean_statements'], 2)} on average",
        f"durations ({where_measured(info)}): p50 {duration(totals['p50_ns'])}, p95 {duration(totals['p95_ns'])},"
        f" p99 {duration(totals['p99_ns'])}, max {duration(totals['max_ns'])}",
    ]


def rhythm_lines(summary: TapeSummary) -> list[str]:
    """Return lines on the rhythm of the tape: arrivals, think times, transactions, sizes."""
    answers = summary.answers
    (arrivals,), (transactions,), (sizes,) = answers["arrivals"], answers["transactions"], answers["sizes"]
    lines = [
        f"statements/s: median {count(arrivals['median_per_second'])}, at most"
        f" {count(arrivals['max_per_second'])}; burstiness"
        f" {average(arrivals['burstiness'], 1)} (1 means random arrivals)"
    ]
    if arrivals["think_times"] and (think := arrivals["think_ns"]):
        middle, high = think
        lines.append(f"think time between statements: p50 {duration(middle)}, p95 {duration(high)}")
    if arrivals["connects_per_second"]:
        lines.append(
            f"connects per second: {average(arrivals['connects_per_second'], 1)} on average, at most"
            f" {count(arrivals['max_connects_per_second'])}; already connected: {count(arrivals['connects_not_seen'])}"
        )
    statements, span = transactions["statements"], transactions["span_ns"]
    if transactions["transactions"] and statements and span:
        lines.append(
            f"{plural(transactions['transactions'], 'transaction')}, {count(transactions['rolled_back'])} rolled back"
            f" (statements: p50 {statements[0]}, p95 {statements[1]}; time: p50"
            f" {duration(span[0])}, p95 {duration(span[1])})"
        )
    if sizes["statement_bytes"]:
        lines.append(
            f"{plural(sizes['reads'], 'read')}, {plural(sizes['writes'], 'write')}; statement size: median"
            f" {count(sizes['statement_bytes'][0])} bytes, at most {count(sizes['max_statement_bytes'])}"
        )
    return lines


def limits(summary: TapeSummary) -> list[Limit]:
    """Return the unknown fields and the missing content of the tape."""
    info, (totals,) = summary.tape.tape_info, summary.answers["totals"]
    found = _known(totals) if totals["events"] else [Limit("the tape has no events", "empty tape:")]
    if held := info.get("coverage"):
        found.append(
            Limit(
                f"the log contains {percent(min(held['logged'], held['executed']), held['executed'])} of the"
                f" {count(held['executed'])} statements that the server executed in this period"
                f" (counted by {printable(str(held['basis']))})"
            )
        )
    found += [Limit(printable(str(warning["text"])), "partial tape:") for warning in info.get("warnings", [])]
    if info.get("problems"):
        kinds = printable(", ".join(f"{n:,} {kind}" for kind, n in info["problems"].items()))
        found.append(Limit(f"{kinds} (inspect --problems lists them)", "not parsed:"))
    if unknown := not_parsed(summary.workload):
        found.append(Limit("", unknown))
    if totals["redacted"]:
        found.append(
            Limit(f"redacted and not replayable: {plural(totals['redacted'], 'statement')} with passwords or keys")
        )
    return found


def _known(totals: TapeTotalsRow) -> list[Limit]:
    """Return the limits of the tape's data on times and failures."""
    fine = (totals["precision_ns"] or 0) <= MICROSECONDS
    failures = "failed statements are unknown, because this log has no error numbers"
    if totals["errors_known"]:
        failures = f"{plural(totals['errors'], 'statement')} failed"
    precision = "microseconds" if fine else "seconds (the order within a second is known)"
    return [Limit(f"precision of times: {precision}"), Limit(failures)]
