# SPDX-License-Identifier: Apache-2.0
"""The report on a terminal: trust, totals, what changed; 80 columns."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .headline import NO, UNKNOWN, YES, headline
from .masking import printable
from .numbers import count, duration, ratio
from .points import taken
from .questions import Row
from .report import Report
from .verdict import CANNOT_TELL, ERRORS, FASTER, SAME, SLOWER, UNSTABLE, WORDS

COLOURS = {SLOWER: "red", ERRORS: "red", FASTER: "green", UNSTABLE: "yellow", CANNOT_TELL: "dim"}
ANSWERS = {YES: "green", NO: "red", UNKNOWN: "yellow"}
SHOWN_COUNTERS, SHOWN_VARIABLES = 5, 5
COUNTER_WEIGHT = 0.4  # half as many again
LEVELS = {"problem": "red", "warning": "yellow", "information": "dim"}


def show(report: Report, console: Console, top: int = 10) -> None:
    """Print the report: what it comes to first, what carries it after that."""
    names = [f"{letter} = {printable(str(run.path))}" for letter, run in zip("AB", report.runs, strict=False)]
    console.print(f"[bold]{escape(printable(str(report.tape.path)))}[/]  {escape('  '.join(names))}")
    for letter, run in zip("AB", report.runs, strict=False):
        target = run.info.get("target", {})
        console.print(
            f"  {letter}: {escape(printable(str(target.get('name'))))}  {escape(printable(str(target.get('version'))))}"
        )
    _headline(report, console)
    _trust(report, console)
    _rounds(report, console)
    _totals(report, console)
    _digests(report, console, top)
    _errors(report, console, top)
    _results(report, console, top)
    _why(report, console)
    _server_times(report, console, top)
    _books(report, console)


def _headline(report: Report, console: Console) -> None:
    found = headline(report)
    if found is None:
        return
    word, sentence = found
    console.print(f"\n[bold {ANSWERS[word]}]{escape(printable(sentence))}[/]")
    parts = [
        f"[{COLOURS[word]}]{n} {word}[/]" if word in COLOURS else f"{n} {word}"
        for word in WORDS
        if (n := report.count(word))
    ]
    console.print(f"[dim]digests:[/] {', '.join(parts) or 'none'}")


def _trust(report: Report, console: Console) -> None:
    for level, sentence in report.trust:
        console.print(f"[{LEVELS[level]}]{level}:[/] {escape(printable(sentence))}")
    for run, sentence in report.course:
        console.print(f"[yellow]{run.upper()}[/] {escape(printable(sentence))}")


def _rounds(report: Report, console: Console) -> None:
    """Show how the rounds differ: the baseline's own variance first."""
    if report.rounds < 2:
        return
    table = new_table("\nRounds; times against A1", "round", "A", "B", "A q/s", "B q/s", "A p99", "B p99")
    rows = {(row["run"], row["round"]): row for row in report.answers["rounds"]}
    for number in range(1, report.rounds + 1):
        a, b = rows.get(("a", number), {}), rows.get(("b", number), {})
        cells = [f"{row['slowness']:.3f}" if row.get("slowness") else "-" for row in (a, b)]
        cells += [count(row.get("per_second")) for row in (a, b)] + [duration(row.get("p99_ns")) for row in (a, b)]
        table.add_row(str(number), *cells)
    console.print(table)
    console.print(baseline(report))


def baseline(report: Report) -> str:
    """Return how much A differs from itself, and what that lets be seen."""
    found = [row["slowness"] for row in report.answers["rounds"] if row["run"] == "a" and row["slowness"]]
    spread = max(found, default=1) / min(found, default=1) - 1
    seen = sorted(entry["shift"]["detectable"] for entry in report.digests if (entry["shift"] or {}).get("detectable"))
    least = f"; differences of {seen[len(seen) // 2] - 1:.0%} would be seen in half of the digests" if seen else ""
    return f"A against A: its rounds differ by {spread:.1%}{least}."


def new_table(title: str, *columns: str, left: int = 1) -> Table:
    """Return a plain table; the first `left` columns are texts that may fold, the others numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", overflow="fold", no_wrap=number >= left)
    return table


def _books(report: Report, console: Console) -> None:
    """Show what became of the events, and why they were late: a line for each run."""
    console.print("\n[bold]Did the runs do what the tape says?[/]")
    for letter in "ab"[: len(report.runs)]:
        rows = [row for row in report.answers["accounting"] if row["run"] == letter]
        parts = [f"{count(r['events'])} {r['status']}{f' ({reason})' if (reason := r['reason']) else ''}" for r in rows]
        console.print(f"  {letter.upper()}: {', '.join(parts)}")
        late = [row for row in report.answers["lateness"] if row["run"] == letter]
        causes = [f"{row['cause']} {duration(row['p99_ns'])}" for row in late if row["p99_ns"] > 0]
        text = f"late at p99: {', '.join(causes) or 'nothing'}" if late else "nothing was due (--pace none)"
        console.print(f"[dim]     {text}[/]")


def _totals(report: Report, console: Console) -> None:
    table = new_table(
        "\nTotals",
        "",
        *[letter.upper() for letter in "ab"[: len(report.runs)]],
        *(["B / A"] if report.compares else []),
    )
    rows = {row["run"]: row for row in report.answers["totals"]}
    sides = [rows.get(letter, {}) for letter in "ab"[: len(report.runs)]]
    for name, key, shown in TOTALS:
        if key not in SHOWN_TOTALS:
            continue
        values = [side.get(key) for side in sides]
        cells = [shown(value) for value in values]
        if report.compares:
            before, after = values[0], values[-1]
            cells.append(ratio(after / before) if before and after and shown is duration else "")
        table.add_row(name, *cells)
    console.print(table)


TOTALS: tuple[tuple[str, str, Any], ...] = (
    ("executed", "executed", count),
    ("errors", "errors", count),
    ("elapsed", "elapsed_ns", duration),
    ("per second", "per_second", count),
    ("service time, sum", "service_ns", duration),
    ("service p50", "service_p50_ns", duration),
    ("service p90", "service_p90_ns", duration),
    ("service p95", "service_p95_ns", duration),
    ("service p99", "service_p99_ns", duration),
    ("service p99.9", "service_p999_ns", duration),
    ("service max", "service_max_ns", duration),
    ("response p50", "response_p50_ns", duration),
    ("response p90", "response_p90_ns", duration),
    ("response p95", "response_p95_ns", duration),
    ("response p99", "response_p99_ns", duration),
    ("response max", "response_max_ns", duration),
    ("rows sent", "rows_sent", count),
    ("rows affected", "rows_affected", count),
)


# Those of one screen; the other reports have all.
SHOWN_TOTALS = frozenset(
    {
        "executed",
        "errors",
        "per_second",
        "service_p50_ns",
        "service_p95_ns",
        "service_p99_ns",
        "response_p99_ns",
    }
)


def _digests(report: Report, console: Console, top: int) -> None:
    if report.compares:
        console.print("\n[bold]Digests, by time lost or gained in B[/]")
        heads = ("n", "p50 A", "p50 B", "p95 A", "p95 B", "lost")
    else:
        console.print(f"\n[bold]Digests, by time in the run[/] (tape: {taken(report.tape.info)}, for information)")
        heads = ("n", "p50", "p95", "total", "tape p50", "tape p95")
    console.print(f"[dim]{'':22}{''.join(f'{head:>9}' for head in heads)}[/]")
    chosen = [entry for entry in report.digests if entry["verdict"] != SAME] or report.digests
    for entry in chosen[:top]:
        name, cells = _compared(entry) if report.compares else _single(entry)
        colour = COLOURS.get(entry["verdict"], "bold")
        console.print(f"[{colour}]{escape(f'{name:22}')}[/]{''.join(f'{cell:>9}' for cell in cells)}", no_wrap=True)
        console.print(f"  [dim]{escape(printable(entry['text'], 76))}[/]", no_wrap=True)
    if hidden := len(report.digests) - len(chosen[:top]):
        console.print(f"[dim]... {hidden:,} more: --top N, --html or --json[/]")


def _compared(entry: Row) -> tuple[str, list[str]]:
    a, b, pair = entry["a"] or {}, entry["b"] or {}, entry["pair"] or {}
    times = [duration(side.get(key)) for key in ("p50_ns", "p95_ns") for side in (a, b)]
    why = {ERRORS: entry["why"].removesuffix("s").removesuffix(" new error") + " new"}.get(
        entry["verdict"], entry["why"]
    )
    name = entry["verdict"] if entry["verdict"] != ERRORS else "errors"
    shown = f"{name}: {why}" if entry["verdict"] in (SLOWER, FASTER, ERRORS) else name
    return printable(shown, 21), [count(b.get("n")), *times, duration(pair.get("lost_ns"))]


def _single(entry: Row) -> tuple[str, list[str]]:
    a = entry["a"] or {}
    keys = ("p50_ns", "p95_ns", "total_ns", "tape_p50_ns", "tape_p95_ns")
    return entry["digest"], [count(a.get("n")), *(duration(a.get(key)) for key in keys)]


def _errors(report: Report, console: Console, top: int) -> None:
    rows = report.answers["errors"]
    if not report.compares and not rows:
        counts = report.answers["error_counts"]
        total = sum(row["events"] for row in counts)
        known = "errno" in report.tape.info.get("knows", [])
        why = "the same as on the tape" if known else "the tape does not know which failed originally"
        console.print(f"\n[bold]Errors[/]  {total:,} ({why})")
        rows = []
    if not rows:
        return
    reference = "A" if report.compares else "the tape"
    table = new_table(f"\nErrors, compared with {reference}", "what", "message", "before", "after", "events", left=2)
    for row in rows[:top]:
        style = "red" if row["what"] in ("new", "changed") else ""
        what = f"[{style}]{row['what']}[/]" if style else row["what"]
        message = escape(printable(row["error"] or "", 44))
        table.add_row(what, message, str(row["before"]), str(row["after"]), count(row["events"]))
    console.print(table)


def _results(report: Report, console: Console, top: int) -> None:
    rows, (known,) = report.answers["results"], report.answers["compared"]
    reference = "A" if report.compares else "the tape"
    checked = f"{count(known['rows'])} events by rows, {count(known['checksums'])} by checksum"
    if not rows:
        same = "every answer is the same as in" if known["rows"] else "nothing could be compared with"
        console.print(f"\n[bold]Results[/]  {same} {reference} ({checked})")
        return
    title = f"\nOther results than in {reference} ({checked})"
    table = new_table(title, "what differs", "statement", "why it may", "events", "more rows", left=3)
    texts = {entry["digest"]: entry["text"] for entry in report.digests}
    for row in rows[:top]:
        text = escape(printable(texts.get(row["digest"], row["digest"]) or "", 30))
        more = count(row["more_sent"]) if row["kind"] == "rows" else ""
        table.add_row(row["kind"], text, row["known"] or "", count(row["events"]), more)
    console.print(table)


def _why(report: Report, console: Console) -> None:
    """Show what may explain it: other plans, other counters, other variables."""
    lines = []
    for entry in report.digests:
        for change in (report.plans.get(entry["digest"]) or {"changes": []})["changes"]:
            lines.append(f"plan of {entry['digest'][:8]}: {change}")
    for row in report.answers["counters"][:SHOWN_COUNTERS]:
        if report.compares and abs(row["weight"]) > COUNTER_WEIGHT:
            lines.append(f"{row['name']}: {count(row['a'])} -> {count(row['b'])} for each 1,000 statements")
    if report.variables:
        named = [
            f"{row['name']} {row['a']} -> {row['b']}" for row in report.variables if None not in (row["a"], row["b"])
        ]
        lines += named[:SHOWN_VARIABLES]
        if len(report.variables) > SHOWN_VARIABLES:
            lines.append(f"{len(report.variables)} variables differ in all: --html, --json")
    if lines:
        console.print("\n[bold]What may explain it[/]")
    for text in lines:
        console.print(f"  {escape(printable(text, 160))}")


def _server_times(report: Report, console: Console, top: int) -> None:
    """Show what the servers' own logs say, side by side: times of one measuring point."""
    rows = report.answers["server_times"]
    if not rows:
        return
    sides = [side for side in ("tape", "a", "b") if any(row[f"{side}_n"] is not None for row in rows)]
    console.print("\n[bold]In the server, by its own slow log[/] (ranked against each other only)")
    heads = [f"{name} {side if side == 'tape' else side.upper()}" for name in ("p50", "p95") for side in sides]
    console.print(f"[dim]{'':22}{''.join(f'{head:>9}' for head in heads)}[/]")
    texts = {entry["digest"]: entry["text"] for entry in report.digests}
    for row in rows[:top]:
        cells = [duration(row[f"{side}_{name}_ns"]) for name in ("p50", "p95") for side in sides]
        console.print(f"{row['digest']:22}{''.join(f'{cell:>9}' for cell in cells)}", no_wrap=True)
        text = escape(printable(texts.get(row["digest"]) or "", 76))
        console.print(f"  [dim]{text}[/]", no_wrap=True)
