# SPDX-License-Identifier: Apache-2.0
"""What is on a tape: the portrait that `querytape inspect` shows."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.markup import escape

from ..schemas import Folder, open_folder
from .masking import printable
from .numbers import count, duration, percent
from .points import taken
from .questions import INSPECT, Row, open_desk
from .terminal import new_table


@dataclass
class Portrait:
    """A tape and the rows of each question about it."""

    tape: Folder
    answers: dict[str, list[Row]]


def portrait(path: Path, memory: str = "1500MB") -> Portrait:
    """Ask every question about a tape. Raises FolderError where it is none."""
    tape = open_folder("tape", path)
    desk = open_desk(memory)
    try:
        tape.attach(desk.con, "tape")
        return Portrait(tape, {name: desk.ask(name) for name in INSPECT})
    finally:
        desk.close()


def portrait_json(found: Portrait, top: int) -> str:
    """Return the portrait as JSON; the longest lists are cut to `top` rows."""
    shown: dict[str, Any] = {"path": str(found.tape.path), **found.tape.info}
    for name, rows in found.answers.items():
        shown[name.removeprefix("inspect_")] = rows[:top] if name in ("inspect_digests", "inspect_accounts") else rows
    return json.dumps(shown, indent=1, ensure_ascii=False, default=str) + "\n"


def show_portrait(found: Portrait, console: Console, top: int) -> None:
    """Print the portrait; 80 columns."""
    info, totals = found.tape.info, found.answers["inspect_totals"][0]
    seconds = (totals["last_ns"] - totals["first_ns"]) / 1e9
    console.print(
        f"[bold]{escape(printable(str(found.tape.path)))}[/]  {info['source']},"
        f" {escape(printable(str(info.get('server_version'))))}"
    )
    console.print(
        f"  {totals['events']:,} events, {totals['sessions']:,} sessions, {totals['digests']:,} digests"
        f" in {seconds:,.1f} s ({count(totals['per_second'])}/s)"
    )
    together = found.answers["inspect_concurrency"][0]
    console.print(
        f"  at once: {count(together['sessions_most'])} sessions, {count(together['statements_most'])} statements"
        f" at most, {together['statements_mean'] or 0:.2f} on average"
    )
    console.print(
        f"  durations ({taken(info)}): p50 {duration(totals['p50_ns'])}, p95 {duration(totals['p95_ns'])},"
        f" p99 {duration(totals['p99_ns'])}, max {duration(totals['max_ns'])}"
    )
    _rhythm(found, console)
    precision = (
        "microseconds" if totals["precision_ns"] <= 1000 else "whole seconds; inside them only the order is known"
    )
    console.print(f"  times are known to {precision}")
    _lacks(found, console, totals)
    _counts(found, console, totals["events"])
    _tables(found, console)
    _digests(found, console, top)


def _rhythm(found: Portrait, console: Console) -> None:
    """Show how statements arrive, how long clients think, transactions and sizes: a line each."""
    (arrivals,), (whole,), (sizes,) = (
        found.answers[f"inspect_{name}"] for name in ("arrivals", "transactions", "sizes")
    )
    console.print(
        f"  a second: {count(arrivals['usual_a_second'])} usually, {count(arrivals['most_a_second'])} at most;"
        f" burstiness {arrivals['burstiness'] or 0:.1f} (1 = at random)"
    )
    if arrivals["thinks"]:
        middle, high = arrivals["think_ns"]
        console.print(f"  clients think {duration(middle)} between statements (p95 {duration(high)})")
    if arrivals["connects_a_second"]:
        console.print(
            f"  connects: {arrivals['connects_a_second']:.1f} a second, {count(arrivals['most_connects_a_second'])} at"
            f" most; {count(arrivals['connects_not_seen'])} sessions were open before"
        )
    if whole["transactions"]:
        console.print(
            f"  {count(whole['transactions'])} transactions of {whole['statements'][0]} statements (p95"
            f" {whole['statements'][1]}) in {duration(whole['span_ns'][0])} (p95 {duration(whole['span_ns'][1])});"
            f" {count(whole['rolled_back'])} rolled back"
        )
    if sizes["statement_bytes"]:
        console.print(
            f"  statements of {count(sizes['statement_bytes'][0])} bytes (largest {count(sizes['largest_bytes'])});"
            f" {count(sizes['reads'])} reads, {count(sizes['writes'])} writes"
        )


def _tables(found: Portrait, console: Console) -> None:
    rows = found.answers["inspect_tables"]
    if not rows:
        return
    table = new_table("\nTables that statements name", "table", "reads", "writes", "time")
    for row in rows[:8]:
        name = escape(printable(row["name"], 40))
        table.add_row(name, count(row["reads"] or 0), count(row["writes"] or 0), duration(row["duration_ns"]))
    console.print(table)


@dataclass
class Difference:
    """Two tapes: their totals and what is more or less frequent on the second."""

    tapes: list[Folder]
    totals: list[Row]
    digests: list[Row]


def difference(path: Path, other: Path, memory: str = "1500MB") -> Difference:
    """Ask what changed from one tape to the other. Raises FolderError where one is none."""
    tapes = [open_folder("tape", path), open_folder("tape", other)]
    totals: list[Row] = []
    desk = open_desk(memory)
    try:
        for tape in reversed(tapes):
            tape.attach(desk.con, "tape")
            totals.insert(0, desk.ask("inspect_totals")[0])
        tapes[1].attach(desk.con, "other")
        hours, other_hours = (max(row["last_ns"] - row["first_ns"], 1) / 3.6e12 for row in totals)
        desk.set(hours=hours, other_hours=other_hours)
        return Difference(tapes, totals, desk.ask("two_tapes"))
    finally:
        desk.close()


def show_difference(found: Difference, console: Console, top: int) -> None:
    """Print what changed; 80 columns."""
    for letter, tape, totals in zip("AB", found.tapes, found.totals, strict=True):
        seconds = (totals["last_ns"] - totals["first_ns"]) / 1e9
        console.print(
            f"[bold]{letter}[/] {escape(printable(str(tape.path)))}: {totals['events']:,} events,"
            f" {totals['sessions']:,} sessions, {totals['digests']:,} digests in {seconds:,.0f} s"
            f" ({count(totals['per_second'])}/s)"
        )
    gone = sum(1 for row in found.digests if not row["events_b"])
    new = sum(1 for row in found.digests if not row["events_a"])
    console.print(f"{new:,} digests are new on B, {gone:,} are gone")
    console.print("\n[bold]Statements an hour, the largest changes first[/]")
    console.print(f"[dim]{'':18}{'A':>12}{'B':>12}{'mean A':>11}{'mean B':>11}[/]")
    for row in found.digests[:top]:
        cells = f"{count(row['an_hour_a']):>12}{count(row['an_hour_b']):>12}"
        cells += f"{duration(row['mean_a_ns']):>11}{duration(row['mean_b_ns']):>11}"
        console.print(f"{row['digest']:18}{cells}", no_wrap=True)
        console.print(f"  [dim]{escape(printable(row['normalized'], 76))}[/]", no_wrap=True)


def difference_json(found: Difference, top: int) -> str:
    """Return it as JSON, the list cut to `top` rows."""
    shown = {"tapes": [str(tape.path) for tape in found.tapes], "totals": found.totals, "digests": found.digests[:top]}
    return json.dumps(shown, indent=1, ensure_ascii=False, default=str) + "\n"


def _lacks(found: Portrait, console: Console, totals: Row) -> None:
    info = found.tape.info
    if totals["errors_known"]:
        console.print(f"  {count(totals['errors'])} of them failed")
    else:
        console.print("  which of them failed is not known: this log has no error numbers")
    for warning in info.get("warnings", []):
        console.print(f"  [yellow]not the whole workload:[/] {escape(printable(warning['text']))}")
    if info.get("problems"):
        kinds = ", ".join(f"{n:,} {kind}" for kind, n in info["problems"].items())
        console.print(f"  [yellow]not understood:[/] {escape(printable(kinds))}; inspect --problems shows where")
    if totals["redacted"]:
        console.print(f"  {totals['redacted']:,} statements carried passwords or keys: redacted, never replayed")


def _counts(found: Portrait, console: Console, events: int) -> None:
    table = new_table("\nWhat they do", "class", "events", "share", f"time {taken(found.tape.info)}", "digests")
    for row in found.answers["inspect_classes"]:
        share = percent(row["events"], events)
        table.add_row(row["class"], count(row["events"]), share, duration(row["duration_ns"]), count(row["digests"]))
    for row in found.answers["inspect_commands"]:
        if row["command"] != "query":
            table.add_row(f"[dim]{row['command']}[/]", count(row["events"]), percent(row["events"], events), "", "")
    console.print(table)
    table = new_table("\nWho", "user", "schema", "events", "sessions", left=2)
    for row in found.answers["inspect_accounts"][:8]:
        user, db = printable(str(row["user"])), printable(str(row["db"] or "-"))
        table.add_row(escape(user), escape(db), count(row["events"]), count(row["sessions"]))
    console.print(table)


def _digests(found: Portrait, console: Console, top: int) -> None:
    console.print(f"\n[bold]Digests, by time {taken(found.tape.info)}[/]")
    heads = ("events", "time", "p50", "p95", "max")
    console.print(f"[dim]{'':18}{''.join(f'{head:>11}' for head in heads)}[/]")
    for row in found.answers["inspect_digests"][:top]:
        times = [duration(row[key]) for key in ("duration_ns", "p50_ns", "p95_ns", "max_ns")]
        cells = "".join(f"{cell:>11}" for cell in (count(row["events"]), *times))
        console.print(f"{row['digest']:18}{cells}", no_wrap=True)
        console.print(f"  [dim]{escape(printable(row['normalized'], 76))}[/]", no_wrap=True)
