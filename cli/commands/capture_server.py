# SPDX-License-Identifier: Apache-2.0
"""`querytape capture server`: enables a server's own log for a while, and captures the log."""

import sys
from contextlib import ExitStack, closing
from pathlib import Path
from typing import Any

import click

from ...capture.server_log import (
    METHODS,
    HandedBack,
    LoggingPlan,
    RecordOptions,
    Rights,
    WatchOptions,
    check_options,
    check_rights,
    plan_logging,
    record_log,
    restore_server,
    settle_recorded,
    tape_of,
    with_renewal,
)
from ...capture.source import Settings
from ...common.errors import RefusedError
from ...common.exit_codes import ExitCode, help_of_codes
from ...common.files import refuse_existing
from ...common.signals import unwind_on_signals
from ...common.temporary import temporary_folder
from ...servers.facts import gather
from ...servers.source import describe_with_sessions
from ...servers.target import Target
from ..metrics_page import METRICS, MetricsPage, show_capture, show_coverage
from ..option_sections import taken, untitled
from ..output import exit_code, say_tape
from ..param_types import Duration, PerSecond, Size
from ..progress import CaptureProgress
from ..server_options import login_options, server_of
from ..stored_folders import NewFolder

URL = "mysql://USER@HOST:PORT/"


@click.command(
    "server",
    epilog="""\b
Examples:
  querytape capture server mysql://admin@prod/ --dry-run
  querytape capture server mysql://admin@prod/ --duration 30m -o shop.tape
  querytape capture server mysql://admin@prod/ --restore      after a kill

\b
The account needs SYSTEM_VARIABLES_ADMIN (or SUPER), SELECT on mysql.slow_log
if the log is not read as a file, and PROCESS and SELECT on performance_schema
to see the sessions of other accounts. --dry-run checks these privileges.

\b
"""
    + help_of_codes(ExitCode.INCOMPLETE)
    + """

\b
The exit code is 1 if settings could not be restored.
""",
)
@click.argument("url", metavar=URL)
@click.option("-o", "--output", type=NewFolder(), help="New folder for the tape.")
@click.option("--duration", type=Duration(), default="10m", show_default=True, help="Duration of the capture.")
@click.option(
    "--read",
    "method",
    type=click.Choice(METHODS),
    default="auto",
    show_default=True,
    help="Source of the log: file (if the slow log's file is on this machine), table (mysql.slow_log) or"
    " general (mysql.general_log).",
)
@click.option("--max-disk", type=Size(), default="8G", show_default=True, help="Stop when the log reaches this size.")
@click.option(
    "--max-rate",
    type=Size(),
    default="64M",
    show_default=True,
    help="Maximum growth of the log per second. The capture stops if the log grows faster for 5 s.",
)
@click.option(
    "--dry-run",
    is_flag=True,
    help="Show the planned changes and their effects. Check privileges, and check for an earlier capture that"
    " was not restored. Change nothing.",
)
@click.option("--restore", "restoring", is_flag=True, help="Restore the settings that a killed capture changed.")
@click.option(
    "--restore-file", type=click.Path(path_type=Path), help="File that keeps the old settings during the capture."
)
@click.option("--keep-log", is_flag=True, help="Keep the server's log file after the capture. Default: delete it.")
@click.option(
    "--watch",
    type=Duration(),
    default="10m",
    show_default=True,
    help="Maximum time to wait after the capture until no session has long_query_time=0. The server's own slow"
    " log stays disabled during this wait. Ctrl-C ends the wait.",
)
@click.option(
    "--end-sessions",
    is_flag=True,
    help="After the capture, kill sessions that still have long_query_time=0, if they are idle and outside"
    " transactions.",
)
@click.option(
    "--renew-idle",
    type=PerSecond(),
    metavar="RATE",
    help="Rate (5/s, 30/m) at which the capture kills sessions that are older than the capture. Only idle sessions"
    " outside transactions are killed. Connection pools reconnect, and the log contains the new sessions.",
)
@click.option(
    "--log-again",
    is_flag=True,
    help="Enable the server's own slow log again at the end of --watch, even if remaining sessions still log"
    " every statement.",
)
@untitled(METRICS)
@click.option(
    "--partial-ok",
    is_flag=True,
    help="Exit with code 0 even if the log lacks more than 5 % of the executed statements.",
)
@login_options
def server_command(url: str, **options: Any) -> int:
    """Enable a server's own log temporarily and capture the log.

    Shows the planned changes, changes the server's settings, and restores them at the end, at Ctrl-C, and after an
    error. A file keeps the old values during the capture. If the capture is killed, --restore restores the values from
    this file. At the end, the command lists the sessions that still have the capture's settings. The command also shows
    the percentage of executed statements that are on the tape.
    """
    target = server_of(url, options, URL)
    watch = WatchOptions(options["watch"] / 1e9, options["end_sessions"], options["log_again"], say_line)
    if options["restoring"]:
        with unwind_on_signals():
            back = restore_server(target, options["restore_file"], watch)
        for line in back.lines:
            click.echo(line)
        return 0 if back.done else ExitCode.ERROR
    limits = RecordOptions(
        **taken(RecordOptions, options),
        duration_s=options["duration"] / 1e9,
        say=say_line,
        renew_rate=options["renew_idle"] or 0.0,
    )
    check_options(limits)
    plan, rights = look(target, limits, watch)
    click.echo("\n".join(plan.lines()), err=True)
    for lack in (*rights.needed, *rights.useful):
        click.echo(f"  lacking: {lack}", err=True)
    if rights.needed:
        raise RefusedError("; ".join(rights.needed))
    if options["dry_run"]:
        return 0
    if options["output"] is None:
        raise click.UsageError("expected -o TAPE, or --dry-run")
    refuse_existing(options["output"])
    return run(target, plan, limits, watch, options)


def look(target: Target, limits: RecordOptions, watch: WatchOptions) -> tuple[LoggingPlan, Rights]:
    """Return the planned changes and the rights that the account lacks for them. Changes nothing on the server."""
    with closing(target.connect()) as con:
        facts = gather(con)
        plan = plan_logging(target, facts, limits)
        rights = check_rights(
            con,
            facts,
            plan.method,
            plan.restore_file,
            changes=bool(plan.changes),
            end_sessions="--end-sessions" if watch.end_sessions else "--renew-idle" if limits.renew_rate else "",
        )
        if limits.renew_rate:
            plan = with_renewal(plan, con, limits.renew_rate)
    return plan, rights


def run(target: Target, plan: LoggingPlan, limits: RecordOptions, watch: WatchOptions, options: dict[str, Any]) -> int:
    """Record a log, capture the tape, and check that the server's settings are restored. Return the exit code."""
    server, open_sessions = describe_with_sessions(target)
    output: Path = options["output"]
    with unwind_on_signals(), temporary_folder() as work, ExitStack() as stack:
        page = MetricsPage(options["metrics"], stack)
        recorded = record_log(target, plan, limits, Path(work))
        click.echo(f"capture server: {recorded.course.ended}", err=True)
        seen: frozenset[int] = frozenset()
        try:
            with CaptureProgress() as progress:
                settings = Settings(
                    server=server,
                    open_sessions=open_sessions,
                    watch=progress.update,
                    running=lambda live: show_capture(page, live),
                )
                info, seen = tape_of(recorded, plan, output, settings)
            if plan.log_file is not None and not options["keep_log"]:
                recorded.log.unlink(missing_ok=True)
            say_tape(output, info)
            held = info.get("coverage") or {}
            show_coverage(page, held.get("share"))
            if renewed := recorded.course.renewal.sentence():
                click.echo(f"  {renewed}")
            if held:
                click.echo(
                    f"  the log contains {held['share']:.1%} of the statements that the server executed (counted by"
                    f" {held['basis']})"
                )
        finally:
            back = settle_recorded(target, plan.restore_file, recorded, watch, seen)
            say_back(back)
    if not back.done:
        return ExitCode.ERROR
    partial = any(warning["kind"] == "coverage" for warning in info["warnings"]) and not options["partial_ok"]
    return ExitCode.INCOMPLETE if partial or recorded.course.broke else exit_code(info)


def say_back(back: HandedBack) -> None:
    """Print whether the server's settings and sessions are restored."""
    if back.done:
        click.echo("capture server: the original settings are restored", err=True)
    for line in back.lines:
        click.echo(f"  {line}", err=True)


def say_line(text: str) -> None:
    """Print a progress line. On a terminal the line overwrites the previous line."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[Kcapture server: {text}", err=True, nl=False)
    else:
        click.echo(f"capture server: {text}", err=True)
