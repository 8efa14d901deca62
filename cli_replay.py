# SPDX-License-Identifier: Apache-2.0
"""`querytape replay`: the face of the replay stage."""

import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from .capture.tools.derive import Choice, derive
from .cli_replay_options import (
    all_sections,
    copies_of,
    failures_of,
    forcing_of,
    pace_of,
    selection_of,
)
from .recovery import complete_tape
from .replay import Finding, Plan, ReplayOptions, RunSummary, Target, Tick, Watcher, parse_target, replay
from .replay.live import HEADER, HEADER_EVERY, duration, line, progress
from .replay.preflight import counted
from .replay.sandbox import start_server
from .schemas import open_folder
from .sections import SectionedCommand
from .servers.tls import Tls
from .target_slowlog import slow_log_beside
from .terminal import printable

SLOWLOG_MOST = 8 << 30


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
        share, eta_ns = progress(tick.at_ns, plan.last_due_ns, done, plan.planned, plan.rules.pace.paced)
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
    cls=SectionedCommand,
    short_help="Replay a tape against a server.",
    epilog="""\b
Examples:
  querytape replay shop.tape --target mysql://app@10.0.0.7:3306/shop -o a.run
  querytape replay shop.tape --target mysql://app@10.0.0.7/shop -o fast.run \\
      --pace none
  querytape replay shop.tape --target 'mysql://app@/?socket=/run/mysqld/s' \\
      --defaults-file ~/.my.cnf -o s.run
  querytape replay shop.tape --target mysql://root@127.0.0.1:3307/shop \\
      --allow-writes --target-is-disposable --order commit -o w.run
  querytape replay web.tape jobs.tape --target mysql://app@10.0.0.7/shop \\
      -o both.run
  querytape replay shop.tape --target mysql://app@10.0.0.7/shop -o peak.run \\
      --from '2026-11-20 12:00' --to '2026-11-20 12:30' --amplify 2

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
@click.argument("tapes", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="TAPE...")
@all_sections
def replay_command(tapes: tuple[Path, ...], **given: Any) -> int:
    """Replay a TAPE against a server, one thread and connection for each original one, at the original times.

    Several tapes are merged first, each session for itself, into one beside the run (x.run: x.tape), which is kept.

    Only reads are sent unless --allow-writes. What speaks against the target is said before anything is sent. Ctrl-C
    once stops sending and keeps the run as partial; twice ends it now. `querytape speed RUN 2` changes the speed
    meanwhile. Exit code 1: refused, partial, or unbalanced.
    """
    for each in tapes:
        complete_tape(each)
    tape = one_tape(tapes, given["output"])
    with ExitStack() as stack:
        target = target_of(given, stack)
        options = options_of(given, target, first_ns(tape))
        lines = LiveLines()
        if given["target_slowlog"]:
            stack.enter_context(slow_log_beside(target, options.output, SLOWLOG_MOST, lines.say))
        summary = replay(tape, options, lines)
    sys.stderr.flush()
    for text in summary_lines(summary):
        click.echo(printable(text))
    return 0 if summary.complete else 1


def one_tape(tapes: tuple[Path, ...], output: Path) -> Path:
    """Return the tape, or what several come to."""
    if len(tapes) == 1:
        return tapes[0]
    merged = output.with_name(f"{output.name.removesuffix('.run')}.tape")
    info = derive(list(tapes), merged, Choice())
    click.echo(f"{merged}: {info['counts']['events']:,} events of {len(tapes)} tapes", err=True)
    return merged


def target_of(given: dict[str, Any], stack: ExitStack) -> Target:
    """Return the target; a sandbox is started, and ended with the stack."""
    if given["target"] == "sandbox" or given["target"].startswith("sandbox:"):
        kind = given["target"].partition(":")[2] or "mariadb"
        server = stack.enter_context(start_server(kind, template=given["sandbox_data"]))
        return parse_target(server.url(), environ={})
    if given["sandbox_data"] is not None:
        raise click.UsageError("--sandbox-data: only with --target sandbox")
    return server_of(given["target"], given)


def server_of(url: str, given: dict[str, Any]) -> Target:
    """Return a server by its URL and the options that say how to log in."""
    files = {name: str(given[f"ssl_{name}"]) for name in ("ca", "cert", "key") if given[f"ssl_{name}"]}
    mode = given["ssl_mode"] or ("PREFERRED" if files else None)
    return parse_target(
        url,
        given["defaults_file"],
        given["defaults_group"],
        given["ask_password"],
        tls=Tls(mode.upper(), **files) if mode else None,
        compress=given["compress"],
    )


def first_ns(tape: Path) -> int:
    """Return when the tape begins."""
    return int(open_folder("tape", tape).info.get("first_ns") or 0)


def options_of(given: dict[str, Any], target: Target, tape_first_ns: int) -> ReplayOptions:
    """Return the options of one replay from those of the command line."""
    sandbox = given["target"].startswith("sandbox")
    return ReplayOptions(
        target=target,
        output=given["output"],
        reads_to=server_of(given["reads_to"], given) if given["reads_to"] else None,
        pace=pace_of(given),
        selection=selection_of(given, tape_first_ns),
        copies=copies_of(given),
        forcing=forcing_of(given, target.password),
        failures=failures_of(given),
        commit_order=given["order"] == "commit",
        verify=given["verify"],
        start_at_ns=given["start_at"],
        stop_after_ns=given["duration"],
        init=given["init"],
        charset=given["charset"],
        drain_ns=given["drain"],
        lead_ns=given["lead"],
        connect_rate=given["connect_rate"],
        queue_bytes=given["queue_memory"],
        canaries=given["canaries"],
        sample_ns=given["sample_every"],
        summaries=given["summaries"],
        plans=given["plans"],
        host_metrics=given["host_metrics"],
        allow_writes=given["allow_writes"],
        target_is_disposable=given["target_is_disposable"] or sandbox,
        allow_statements=frozenset(given["allow_statements"]),
        partial_ok=given["partial_ok"],
    )


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
    found += [f"  warning: {text}" for text in info["generator"].get("warnings", ())]
    if info["partial"]:
        found.append(f"  PARTIAL: {info['partial']}")
    return found
