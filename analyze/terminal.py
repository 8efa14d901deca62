# SPDX-License-Identifier: Apache-2.0
"""The report on a terminal: trust, totals, what changed; 80 columns."""

from typing import Any

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from .masking import printable
from .numbers import count, duration, percent, ratio
from .points import taken
from .questions import Row
from .report import Report
from .verdict import CANNOT_TELL, ERRORS, FASTER, SAME, SLOWER, UNSTABLE

COLOURS = {SLOWER: "red", ERRORS: "red", FASTER: "green", UNSTABLE: "yellow"}
LEVELS = {"problem": "red", "warning": "yellow", "information": "dim"}


def show(report: Report, console: Console, top: int = 10) -> None:
    """Print the report."""
    names = [f"{letter} = {printable(str(run.path))}" for letter, run in zip("AB", report.runs, strict=False)]
    console.print(f"[bold]{escape(printable(str(report.tape.path)))}[/]  {escape('  '.join(names))}")
    for letter, run in zip("AB", report.runs, strict=False):
        target = run.info.get("target", {})
        console.print(
            f"  {letter}: {escape(printable(str(target.get('name'))))}  {escape(printable(str(target.get('version'))))}"
        )
    _verdict_line(report, console)
    for level, sentence in report.trust:
        console.print(f"[{LEVELS[level]}]{level}:[/] {escape(printable(sentence))}")
    _accounting(report, console)
    _lateness(report, console)
    _totals(report, console)
    _digests(report, console, top)
    _errors(report, console, top)
    _results(report, console, top)
    _server_times(report, console, top)


def _verdict_line(report: Report, console: Console) -> None:
    if not report.compares:
        return
    words = [
        (SLOWER, "red"),
        (ERRORS, "red"),
        (FASTER, "green"),
        (SAME, ""),
        (UNSTABLE, "yellow"),
        (CANNOT_TELL, "dim"),
    ]
    parts = [
        f"[{style}]{n} {word}[/]" if style else f"{n} {word}" for word, style in words if (n := report.count(word))
    ]
    console.print("[bold]B compared with A, by digest:[/] " + (", ".join(parts) or "nothing to compare"))


def new_table(title: str, *columns: str, left: int = 1) -> Table:
    """Return a plain table; the first `left` columns are texts that may fold, the others numbers."""
    table = Table(title=title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number < left else "right", overflow="fold", no_wrap=number >= left)
    return table


def _accounting(report: Report, console: Console) -> None:
    table = new_table("\nDid each run do what the tape says?", "run", "status", "reason", "events", "share", left=3)
    for letter in "ab"[: len(report.runs)]:
        rows = [row for row in report.answers["accounting"] if row["run"] == letter]
        total = sum(row["events"] for row in rows)
        for row in rows:
            share = percent(row["events"], total)
            table.add_row(letter.upper(), row["status"], row["reason"] or "", count(row["events"]), share)
    console.print(table)


def _lateness(report: Report, console: Console) -> None:
    rows = report.answers["lateness"]
    if not rows:
        console.print("\n[bold]Lateness[/]  none: at --pace none nothing is due")
        return
    table = new_table("\nSent later than due, by cause", "run", "cause", "p50", "p99", "max", "over 1 ms", left=2)
    for row in rows:
        share = percent(row["over_1ms"], row["events"])
        table.add_row(
            row["run"].upper(),
            row["cause"],
            duration(row["p50_ns"]),
            duration(row["p99_ns"]),
            duration(row["max_ns"]),
            share,
        )
    console.print(table)


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
    ("service max", "service_max_ns", duration),
    ("response p50", "response_p50_ns", duration),
    ("response p90", "response_p90_ns", duration),
    ("response p95", "response_p95_ns", duration),
    ("response p99", "response_p99_ns", duration),
    ("response max", "response_max_ns", duration),
    ("rows sent", "rows_sent", count),
    ("rows affected", "rows_affected", count),
)


def _digests(report: Report, console: Console, top: int) -> None:
    if report.compares:
        console.print("\n[bold]Digests, by time lost or gained in B[/]")
        heads = ("n", "p50 A", "p50 B", "p95 A", "p95 B", "lost")
    else:
        console.print(f"\n[bold]Digests, by time in the run[/] (tape: {taken(report.tape.info)}, for information)")
        heads = ("n", "p50", "p95", "total", "tape p50", "tape p95")
    console.print(f"[dim]{'':22}{''.join(f'{head:>9}' for head in heads)}[/]")
    for entry in report.digests[:top]:
        name, cells = _compared(entry) if report.compares else _single(entry)
        colour = COLOURS.get(entry["verdict"], "bold")
        console.print(f"[{colour}]{escape(f'{name:22}')}[/]{''.join(f'{cell:>9}' for cell in cells)}", no_wrap=True)
        console.print(f"  [dim]{escape(printable(entry['text'], 76))}[/]", no_wrap=True)
    if len(report.digests) > top:
        console.print(f"[dim]... {len(report.digests) - top:,} more: --top N, --html or --json[/]")


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
