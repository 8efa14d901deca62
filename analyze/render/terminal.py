# SPDX-License-Identifier: Apache-2.0
"""Print a report on a terminal of 80 columns: headline, limits, totals and changes."""

from collections.abc import Mapping, Sequence
from typing import Any

from rich.console import Console

from ...common.text import printable
from ...common.units import count, duration
from ..findings.trust import where_measured
from ..model import DigestEntry, Report, Severity, sides_of
from ..rows import RoundsPart, RoundsRow
from ..verdicts.verdict import ERRORS, FASTER, SAME, SLOWER
from ..view import VERDICT_TONES, View, view_of
from .answer_text import COLOURS, show_answer, show_servers
from .error_rows import apart, show_errors
from .explanations_text import show_explanations, wrapped
from .text_table import TEXT_WIDTH, StatementList, new_table, print_title, safe
from .totals import totals

SEVERITY_COLOURS = {Severity.PROBLEM: "red", Severity.WARNING: "yellow", Severity.INFORMATION: "dim"}
# Totals that fit on one screen. The other outputs show all of them.
SHOWN_TOTALS = (
    "executed",
    "errors",
    "per_second",
    "service_p50_ns",
    "service_p95_ns",
    "service_p99_ns",
    "response_p99_ns",
)
NAME_WIDTH, CELL_WIDTH = 22, 9
NOT_DUE = "no lateness, because --pace none has no due times"
TEXT_NAME_WIDTH = 48


def show_report(report: Report, console: Console, top: int = 10) -> None:
    """Print a report with at most `top` rows of each list."""
    view, texts = view_of(report), {entry["digest"]: entry["text"] for entry in report.digests}
    _runs(view, console)
    show_servers(view.differences, console)
    show_answer(view, texts, console)
    _counts(view, console)
    _findings(report, console)
    _rounds(report, view, console)
    _totals(report, console)
    _digests(report, console, top)
    show_errors(report, console, top)
    _results(view, texts, console, top)
    show_explanations(report, console)
    _server_times(report, console, top)
    _accounting(report, view, console)


def _runs(view: View, console: Console) -> None:
    console.print(f"[bold]{safe(view.tape)}[/]")
    for run in view.runs:
        console.print(f"  {run.letter}: {safe(run.path)}{run.more}, {safe(run.target)}, {safe(run.version)}")


def _counts(view: View, console: Console) -> None:
    """Print how many digests got each verdict."""
    if not view.verdicts:
        return
    counts = [f"[{COLOURS[tone]}]{n} {word}[/]" if tone else f"{n} {word}" for word, n, tone in view.verdicts if n]
    console.print(f"[dim]digests:[/] {', '.join(counts) or 'none'}")


def _findings(report: Report, console: Console) -> None:
    for severity, text in report.trust:
        console.print(f"[{SEVERITY_COLOURS[severity]}]{severity}:[/] {safe(text)}")
    for run, text in report.over_time:
        console.print(f"[yellow]{run.upper()}[/] {safe(text)}")


def _rounds(report: Report, view: View, console: Console) -> None:
    """Print how the rounds differ. The rounds of A come first."""
    if report.rounds < 2:
        return
    print_title(console, "Rounds, with latency relative to the first round of A")
    table = new_table("round", "A", "B", "A q/s", "B q/s", "A p99", "B p99")
    rows: dict[tuple[str, int], RoundsRow | RoundsPart] = {
        (row["run"], row["round"]): row for row in report.answers["rounds"]
    }
    for number in range(1, report.rounds + 1):
        a, b = rows.get(("a", number), RoundsPart()), rows.get(("b", number), RoundsPart())
        cells = [f"{row['relative_latency']:.3f}" if row.get("relative_latency") else "-" for row in (a, b)]
        cells += [count(row.get("per_second")) for row in (a, b)] + [duration(row.get("p99_ns")) for row in (a, b)]
        table.add_row(str(number), *cells)
    console.print(table)
    console.print(view.baseline)


def _totals(report: Report, console: Console) -> None:
    heads = [letter.upper() for letter in report.sides] + (["B / A"] if report.compares else [])
    print_title(console, "Totals")
    table = new_table("", *heads)
    for total in totals(report):
        if total.column in SHOWN_TOTALS:
            table.add_row(total.name, *total.cells, *([total.ratio] if report.compares else []))
    console.print(table)


def _digests(report: Report, console: Console, top: int) -> None:
    statements = StatementList(console, NAME_WIDTH, CELL_WIDTH)
    if report.compares:
        print_title(console, "Statements by time lost or gained in B")
        statements.head(("n", "p50 A", "p50 B", "p95 A", "p95 B", "lost"))
    else:
        print_title(console, "Statements by total time in the run")
        console.print(
            f"[dim]Times of the tape were measured {where_measured(report.tape.tape_info)} (only for information).[/]"
        )
        statements.head(("n", "p50", "p95", "total", "tape p50", "tape p95"))
    changed = [entry for entry in report.digests if entry["verdict"] != SAME] or report.digests
    texts = apart([entry["text"] for entry in changed[:top]], TEXT_WIDTH)
    for entry, text in zip(changed[:top], texts, strict=True):
        name, cells = _compared(entry) if report.compares else _single(entry)
        tone = VERDICT_TONES.get(entry["verdict"])
        style = COLOURS[tone] if tone else "bold"
        whole = f"{entry['verdict']}: {entry['why']}"
        why = wrapped(entry["why"], "  ") if entry["why"] and name != whole and not _says_why(entry) else []
        statements.add(
            name,
            cells,
            text,
            style,
            why,
        )
        for line in wrapped(entry["note"], "  ") if entry["note"] else []:
            console.print(f"[yellow]{safe(line)}[/]", no_wrap=True)
    _hidden(console, len(report.digests) - len(changed[:top]))


def _says_why(entry: DigestEntry) -> bool:
    """Return whether the short verdict already contains the whole reason, or the digest has no verdict."""
    return not entry["verdict"] or (entry["verdict"] == ERRORS and bool(entry["new_errors"]))


def _hidden(console: Console, rows: int) -> None:
    """Print the number of hidden rows and the options that show them."""
    if rows > 0:
        console.print(f"[dim]... {rows:,} more (use --top N, --html or --json)[/]")


def _compared(entry: DigestEntry) -> tuple[str, list[str]]:
    """Return the short verdict and the numbers of both sides."""
    (a, b), pair = sides_of(entry), entry["pair"]
    times = [duration(side.get("p50_ns")) for side in (a, b)] + [duration(side.get("p95_ns")) for side in (a, b)]
    if entry["verdict"] == ERRORS:
        name = f"errors: {entry['new_errors']:,} new" if entry["new_errors"] else "fails on both"
    elif entry["verdict"] in (SLOWER, FASTER):
        name = f"{entry['verdict']}: {entry['why']}"
    else:
        name = entry["verdict"]
    if len(name) >= NAME_WIDTH:  # the reason is on lines of its own
        name = entry["verdict"]
    return printable(name, NAME_WIDTH - 1), [count(b.get("n")), *times, duration(pair["lost_ns"] if pair else None)]


def _single(entry: DigestEntry) -> tuple[str, list[str]]:
    a, _ = sides_of(entry)
    times = (a.get("p50_ns"), a.get("p95_ns"), a.get("total_ns"), a.get("tape_p50_ns"), a.get("tape_p95_ns"))
    return entry["digest"], [count(a.get("n")), *map(duration, times)]


def _results(view: View, texts: Mapping[str, str], console: Console, top: int) -> None:
    if not view.results:
        print_title(console, "Results", f"  {view.results_answer}")
        return
    print_title(console, f"Results that differ from {view.reference}", f" ({view.results_checked})")
    statements = StatementList(console, TEXT_NAME_WIDTH, CELL_WIDTH + 2)
    statements.head(("events", "more rows"))
    for row in view.results[:top]:
        reason = f" (likely reason: {row.reason})" if row.reason else ""
        name = printable(f"{row.what}{reason}", TEXT_NAME_WIDTH - 1)
        statements.add(name, [count(row.events), row.more_rows], texts.get(row.digest) or "")
    _hidden(console, len(view.results) - top)


def _server_times(report: Report, console: Console, top: int) -> None:
    """Print the times from the servers' own logs. These times share one measuring point and are comparable."""
    rows: Sequence[Mapping[str, Any]] = report.answers["server_times"]
    if not rows:
        return
    places = [place for place in ("tape", "a", "b") if any(row[f"{place}_n"] is not None for row in rows)]
    print_title(console, "Times from the slow logs of the servers", " (not comparable with the times above)")
    statements = StatementList(console, NAME_WIDTH, CELL_WIDTH)
    names = [place if place == "tape" else place.upper() for place in places]
    statements.head([f"{quantile} {name}" for quantile in ("p50", "p95") for name in names])
    texts = {entry["digest"]: entry["text"] for entry in report.digests}
    for row in rows[:top]:
        cells = [duration(row[f"{place}_{quantile}_ns"]) for quantile in ("p50", "p95") for place in places]
        statements.add(row["digest"], cells, texts.get(row["digest"]) or "")


def _accounting(report: Report, view: View, console: Console) -> None:
    """Print the outcome of the events and the causes of lateness, in two paragraphs per run."""
    print_title(console, "Accounting and lateness")
    for letter in map(str.upper, report.sides):
        parts = [
            f"{count(line.events)} {line.status}{_in_brackets(line.reason)}"
            for line in view.events
            if line.letter == letter
        ]
        late = [line for line in view.lateness if line.letter == letter]
        causes = [f"{line.cause} {duration(line.p99_ns)}" for line in late if line.p99_ns > 0]
        text = f"p99 lateness: {', '.join(causes) or 'none'}" if late else NOT_DUE
        for shown in wrapped(f"{letter}: {', '.join(parts)}", "  "):
            console.print(safe(shown), no_wrap=True, crop=False)
        for shown in wrapped(text, "     "):
            console.print(f"[dim]{safe(shown)}[/]", no_wrap=True, crop=False)


def _in_brackets(text: str) -> str:
    return f" ({text})" if text else ""
