# SPDX-License-Identifier: Apache-2.0
"""`querytape replay`: the face of the replay stage."""

import sys
import time
from fractions import Fraction
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from .errors import InputError
from .parameters import Duration, Size
from .recovery import complete_tape
from .replay import (
    Finding,
    Plan,
    ReplayOptions,
    RunSummary,
    Tick,
    Watcher,
    parse_speed,
    parse_target,
    replay,
)
from .replay.live import HEADER, HEADER_EVERY, duration, line, progress
from .replay.preflight import counted
from .schemas import DANGERS
from .terminal import printable


class Speed(click.ParamType[Any]):
    """An exact factor, or `max`."""

    name = "factor"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Fraction | None:
        """Return a fraction, None for max."""
        try:
            return parse_speed(str(value))
        except InputError as fault:
            self.fail(str(fault).removeprefix("--speed: "), param, ctx)


class LiveLines(Watcher):
    """Findings, then one line a second, on stderr; coloured on a terminal."""

    def __init__(self) -> None:
        self._console = Console(stderr=True, highlight=False, soft_wrap=True)
        self._lines = 0
        self._at_ns = 0
        self._spoke = time.monotonic()

    def say(self, text: str, style: str | None = None) -> None:
        """Print one line; nothing in it is taken for markup or reaches the terminal as a control character."""
        self._console.print(printable(text), style=style, markup=False)

    def planning(self, events: int) -> None:
        """Print how far the plan is, where that takes longer than a second."""
        if time.monotonic() - self._spoke > 1:
            self._spoke = time.monotonic()
            self.say(f"planning: {events:,} events")

    def finding(self, finding: Finding) -> None:
        """Print what the pre-flight found; what is refused comes as the error."""
        if finding.level == "warning":
            self.say(f"warning: {finding.text}", "yellow")
        elif finding.level == "info":
            self.say(finding.text)

    def planned(self, plan: Plan) -> None:
        """Print what will be sent."""
        held = plan.reasons.total()
        self.say(
            f"{counted(plan.events, 'event')} on the tape: {plan.planned:,} to send in"
            f" {counted(plan.sessions, 'session')} (at most {plan.peak_sessions:,} at once), {held:,} not"
            + (f": {held_text(plan)}" if held else "")
        )

    def opening(self, opened: int, plan: Plan) -> None:
        """Print how far the opening of sessions is."""
        self.say(f"opening sessions: {opened:,}")

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Print the line of this second."""
        if self._lines % HEADER_EVERY == 0:
            self.say(HEADER, "bold")
        self._lines += 1
        share, eta_ns = progress(tick.at_ns, plan.last_due_ns, done, plan.planned, plan.rules.speed is not None)
        text = line(tick, tick.at_ns - self._at_ns, share, eta_ns)
        self._at_ns = tick.at_ns
        self.say(text, "red" if tick.errors else None)

    def stopping(self, times: int) -> None:
        """Print what Ctrl-C did."""
        first = "stopping: nothing more is sent, answers are awaited; Ctrl-C again ends it now"
        self.say(first if times == 1 else "stopping now", "yellow")


def held_text(plan: Plan) -> str:
    """Return why events are not sent, the most frequent first."""
    return ", ".join(f"{n:,} {status} ({reason})" for (status, reason), n in plan.reasons.most_common())


@click.command(
    "replay",
    short_help="Replay a tape against a server.",
    epilog="""\b
Examples:
  querytape replay shop.tape --target mysql://app@10.0.0.7:3306/shop -o a.run
  querytape replay shop.tape --target mysql://app@10.0.0.7/shop -o fast.run \\
      --speed max
  querytape replay shop.tape --target 'mysql://app@/?socket=/run/mysqld/s' \\
      --defaults-file ~/.my.cnf -o s.run
  querytape replay shop.tape --target mysql://root@127.0.0.1:3307/shop \\
      --allow-writes --target-is-disposable -o w.run

\b
The line of each second:
  time  since the first event was due     p95    service time of 95 %
  open  sessions open now                 err/s  statements that failed
  q/s   statements a second, of which     late   sent later than due, p99
        read, write and other             done   of the schedule; eta: left

\b
Names for --allow-statement:
  shutdown, kill, set_global, accounts, replication, load_data, into_file,
  plugins, flush, table_maintenance, instance, set_session_unsafe, lock_tables
""",
)
@click.argument("tape", type=click.Path(path_type=Path))
@click.option(
    "--target", required=True, metavar="URL", help="mysql://user@host:3306/db, or mysql://user@/db?socket=/path."
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The run to write (a new folder).")
@click.option("--speed", type=Speed(), default="1", show_default=True, help="Factor: 0.5, 1, 2, 3/2, or max.")
@click.option(
    "--defaults-file", type=click.Path(path_type=Path), help="Option file with a [client] group: user, password, ..."
)
@click.option("--defaults-group", metavar="NAME", help="A further group of the option file, which wins over [client].")
@click.option(
    "--ask-password", is_flag=True, help="Ask for the password. Else QUERYTAPE_PASSWORD, MYSQL_PWD or the file."
)
@click.option("--allow-writes", is_flag=True, help="Send writes and DDL as well. Default: reads only.")
@click.option("--target-is-disposable", is_flag=True, help="The target's data may be lost.")
@click.option(
    "--allow-statement",
    "allow_statements",
    multiple=True,
    type=click.Choice([name for name in DANGERS if name != "none"]),
    metavar="NAME",
    help="Send this kind of dangerous statement as well. May be repeated.",
)
@click.option("--partial-ok", is_flag=True, help="Replay a tape that is not the whole workload.")
@click.option("--charset", default="utf8mb4", show_default=True, help="Character set of every connection.")
@click.option("--drain", type=Duration(), default="60s", show_default=True, help="Wait this long for the last answers.")
@click.option("--lead", type=Duration(), default="2s", show_default=True, help="Open sessions this long ahead.")
@click.option("--connect-rate", type=click.IntRange(1), default=500, show_default=True, help="Connects a second ahead.")
@click.option("--queue-memory", type=Size(), default="256M", show_default=True, help="Memory of waiting events.")
@click.option(
    "--canaries", type=click.IntRange(0, 64), default=0, help="Threads that measure how late this machine wakes."
)
def replay_command(
    tape: Path,
    target: str,
    output: Path,
    speed: Fraction | None,
    defaults_file: Path | None,
    defaults_group: str | None,
    ask_password: bool,
    allow_writes: bool,
    target_is_disposable: bool,
    allow_statements: tuple[str, ...],
    partial_ok: bool,
    charset: str,
    drain: int,
    lead: int,
    connect_rate: int,
    queue_memory: int,
    canaries: int,
) -> int:
    """Replay a TAPE against a server, one thread and connection for each original one, at the original times.

    Only reads are sent unless --allow-writes. What speaks against the target is said before anything is sent. Ctrl-C
    once stops sending and keeps the run as partial; twice ends it now. Exit code 1: refused, partial, or unbalanced.
    """
    complete_tape(tape)
    options = ReplayOptions(
        target=parse_target(target, defaults_file, defaults_group, ask_password),
        output=output,
        speed=speed,
        charset=charset,
        drain_ns=drain,
        lead_ns=lead,
        connect_rate=connect_rate,
        queue_bytes=queue_memory,
        canaries=canaries,
        allow_writes=allow_writes,
        target_is_disposable=target_is_disposable,
        allow_statements=frozenset(allow_statements),
        partial_ok=partial_ok,
    )
    summary = replay(tape, options, LiveLines())
    sys.stderr.flush()
    for text in summary_lines(summary):
        click.echo(printable(text))
    return 0 if summary.complete else 1


def summary_lines(summary: RunSummary) -> list[str]:
    """Return the last lines of a replay: the books, lateness, errors, sessions, and where the run is."""
    info = summary.info
    books, lateness, sessions = info["accounting"], info["lateness"], info["sessions"]
    found = [
        f"{summary.path}: {books['tape_events']:,} events = {books['executed']:,} executed"
        f" + {books['filtered']:,} filtered + {books['skipped']:,} skipped + {books['not_sent']:,} not sent",
        f"  took {info['elapsed_ns'] / 1e9:,.1f} s, {books['injected']:,} commands injected",
        f"  sessions: {sessions['opened']:,} opened ({sessions['opened_ahead']:,} ahead),"
        f" {sessions['failed']:,} failed, {sessions['lost']:,} lost,"
        f" {sessions['in_transaction_at_end']:,} closed in a transaction",
    ]
    if summary.late_p99_ns is not None:
        found.append(
            f"  lateness: p50 {duration(summary.late_p50_ns)}, p99 {duration(summary.late_p99_ns)};"
            f" of the tool alone p50 {duration(lateness['tool_p50_ns'])}, p99 {duration(lateness['tool_p99_ns'])}"
        )
    if summary.errors:
        listed = ", ".join(f"{errno} x {n:,}" for errno, n in list(summary.errors.items())[:8])
        found.append(f"  errors: {sum(summary.errors.values()):,} ({listed})")
    if not books["balanced"]:
        found.append("  THE ACCOUNTING DOES NOT BALANCE: this run can't be trusted; please report it as a bug")
    if info["partial"]:
        found.append(f"  PARTIAL: {info['partial']}")
    return found
