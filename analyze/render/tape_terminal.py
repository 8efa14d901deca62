# SPDX-License-Identifier: Apache-2.0
"""Print a tape's summary, or what differs between two tapes, on a terminal; 80 columns."""

from rich.console import Console
from rich.markup import escape

from ...common.text import printable
from ...common.units import average, count, duration, percent, plural, whole_percents
from ..findings.measuring_points import describe
from ..tape_summary import TapeDifference, TapeSummary
from .text_table import StatementList, new_table, print_title
from .workload_terminal import not_parsed, show_unused_indexes, show_workload

MAX_ROWS = 8
MICROSECONDS = 1000  # a precision in ns: at most this is known to microseconds
NAME_WIDTH = 18


def show_tape_summary(summary: TapeSummary, console: Console, top: int, samples: bool = False) -> None:
    """Print a tape's summary with at most `top` statements; `samples`: with literal values."""
    _totals(summary, console)
    _rhythm(summary, console)
    _limits(summary, console)
    _classes(summary, console)
    _accounts(summary, console)
    _tables(summary, console)
    _digests(summary, console, top)
    show_workload(summary.workload, console, samples)
    if summary.indexes is not None:
        (totals,) = summary.answers["totals"]
        show_unused_indexes(summary.indexes, (totals["last_ns"] - totals["first_ns"]) / 1e9, console)


def _safe(value: object, most: int | None = None) -> str:
    """Return a text of unknown origin, printable and without rich's markup."""
    return escape(printable(str(value), most))


def _totals(summary: TapeSummary, console: Console) -> None:
    info, (totals,), (together,) = summary.tape.info, summary.answers["totals"], summary.answers["concurrency"]
    seconds = (totals["last_ns"] - totals["first_ns"]) / 1e9
    path = info.get("snapshot_of") or summary.tape.path
    known = [info["source"], *([info["server_version"]] if info.get("server_version") else [])]
    tapes = info.get("tapes")
    shown = f"{path} (a set of {plural(len(tapes), 'tape')})" if tapes else path
    console.print(f"[bold]{_safe(shown)}[/]  {_safe(', '.join(known))}")
    console.print(f"  {_size(totals)} in {seconds:,.1f} s ({count(totals['per_second'])}/s)")
    console.print(
        f"  at once: sessions: at most {count(together['max_sessions'])}; statements: at most"
        f" {count(together['max_statements'])}, {average(together['mean_statements'], 2)} on average"
    )
    console.print(
        f"  durations ({describe(info)}): p50 {duration(totals['p50_ns'])}, p95 {duration(totals['p95_ns'])},"
        f" p99 {duration(totals['p99_ns'])}, max {duration(totals['max_ns'])}"
    )


def _rhythm(summary: TapeSummary, console: Console) -> None:
    """Show how statements arrive, how long clients think, transactions and sizes: a line each."""
    (arrivals,), (transactions,), (sizes,) = (summary.answers[n] for n in ("arrivals", "transactions", "sizes"))
    console.print(
        f"  statements/s: median {count(arrivals['median_per_second'])}, at most"
        f" {count(arrivals['max_per_second'])}; burstiness {average(arrivals['burstiness'], 1)} (random: 1)"
    )
    if arrivals["think_times"]:
        middle, high = arrivals["think_ns"]
        console.print(f"  think time between statements: p50 {duration(middle)}, p95 {duration(high)}")
    if arrivals["connects_per_second"]:
        console.print(
            f"  connects a second: {average(arrivals['connects_per_second'], 1)} on average, at most"
            f" {count(arrivals['max_connects_per_second'])}; open before: {count(arrivals['connects_not_seen'])}"
        )
    if transactions["transactions"]:
        statements, span = transactions["statements"], transactions["span_ns"]
        console.print(
            f"  {count(transactions['transactions'])} transactions, {count(transactions['rolled_back'])} rolled back;"
            f" statements: p50 {statements[0]}, p95 {statements[1]}; time: p50"
            f" {duration(span[0])}, p95 {duration(span[1])}"
        )
    if sizes["statement_bytes"]:
        console.print(
            f"  {count(sizes['reads'])} reads, {count(sizes['writes'])} writes; statement size: median"
            f" {count(sizes['statement_bytes'][0])} bytes, at most {count(sizes['max_statement_bytes'])}"
        )


def _limits(summary: TapeSummary, console: Console) -> None:
    """Show what the tape does not know, and what is not on it."""
    info, (totals,) = summary.tape.info, summary.answers["totals"]
    fine = totals["precision_ns"] <= MICROSECONDS
    console.print(f"  precision of times: {'microseconds' if fine else 'seconds; only the order is known inside them'}")
    if totals["errors_known"]:
        console.print(f"  {count(totals['errors'])} statements failed")
    else:
        console.print("  it is not known which statements failed: this log has no error numbers")
    if held := info.get("coverage"):
        console.print(
            f"  the log holds {percent(min(held['logged'], held['executed']), held['executed'])} of the"
            f" {count(held['executed'])} statements that the server executed in that time (by {_safe(held['basis'])})"
        )
    for warning in info.get("warnings", []):
        console.print(f"  [yellow]partial tape:[/] {_safe(warning['text'])}")
    if info.get("problems"):
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in info["problems"].items())
        console.print(f"  [yellow]not understood:[/] {_safe(kinds)}; inspect --problems shows where")
    if unknown := not_parsed(summary.workload):
        console.print(f"  [yellow]{unknown}[/]")
    if totals["redacted"]:
        console.print(f"  {totals['redacted']:,} statements carried passwords or keys: redacted, never replayed")


def _classes(summary: TapeSummary, console: Console) -> None:
    time = f"time {describe(summary.tape.info)}"
    print_title(console, "Classes of statements, and other commands")
    table = new_table("class", "events", "share", time, "digests")
    classes = summary.answers["classes"]
    others = [row for row in summary.answers["commands"] if row["without_class"]]
    shares = whole_percents([*(row["events"] for row in classes), *(row["without_class"] for row in others)])
    for row, share in zip(classes, shares, strict=False):
        table.add_row(row["class"], count(row["events"]), share, duration(row["duration_ns"]), count(row["digests"]))
    for row, share in zip(others, shares[len(classes) :], strict=True):
        table.add_row(f"[dim]{row['command']}[/]", count(row["without_class"]), share, "", "")
    console.print(table)


def _accounts(summary: TapeSummary, console: Console) -> None:
    print_title(console, "Users and schemas")
    table = new_table("user", "schema", "events", "sessions", left=2)
    for row in summary.answers["accounts"][:MAX_ROWS]:
        table.add_row(_safe(row["user"]), _safe(row["db"] or "-"), count(row["events"]), count(row["sessions"]))
    console.print(table)


def _tables(summary: TapeSummary, console: Console) -> None:
    rows = summary.answers["tables"]
    if not rows:
        return
    print_title(console, "Tables that statements name")
    table = new_table("table", "reads", "writes", "time")
    for row in rows[:MAX_ROWS]:
        name = _safe(row["name"], 40)
        table.add_row(name, count(row["reads"] or 0), count(row["writes"] or 0), duration(row["duration_ns"]))
    console.print(table)


def _digests(summary: TapeSummary, console: Console, top: int) -> None:
    print_title(console, f"Statements, by total time {describe(summary.tape.info)}")
    statements = StatementList(console, NAME_WIDTH, 11)
    statements.head(("events", "time", "p50", "p95", "max"))
    for row in summary.answers["digests"][:top]:
        times = [duration(row[column]) for column in ("duration_ns", "p50_ns", "p95_ns", "max_ns")]
        statements.add(row["digest"], [count(row["events"]), *times], row["normalized"])


def _size(totals: dict[str, int]) -> str:
    return ", ".join(plural(totals[f"{word}s"], word) for word in ("event", "session", "digest"))


def show_tape_difference(changed: TapeDifference, console: Console, top: int) -> None:
    """Print what differs between two tapes, A and a later B, with at most `top` statements."""
    for letter, tape, totals in zip("AB", changed.tapes, changed.totals, strict=True):
        seconds = (totals["last_ns"] - totals["first_ns"]) / 1e9
        console.print(
            f"[bold]{letter}[/] {_safe(tape.path)}: {_size(totals)} in {seconds:,.0f} s"
            f" ({count(totals['per_second'])}/s)"
        )
    gone = sum(1 for row in changed.digests if not row["events_b"])
    new = sum(1 for row in changed.digests if not row["events_a"])
    console.print(f"{new:,} digests are new on B, {gone:,} are gone")
    print_title(console, "Statements an hour, the largest changes first")
    statements = StatementList(console, NAME_WIDTH, 12)
    statements.head(("A", "B", "mean A", "mean B"))
    for row in changed.digests[:top]:
        cells = [count(row["per_hour_a"]), count(row["per_hour_b"])]
        cells += [duration(row["mean_a_ns"]), duration(row["mean_b_ns"])]
        statements.add(row["digest"], cells, row["normalized"])
