# SPDX-License-Identifier: Apache-2.0
"""`querytape capture server`: a server's own log, for a while."""

import signal
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

import click

from .capture import SOURCES, Settings, capture
from .capture.server import METHODS, RecordOptions, check_options, make_plan, record, restore_server
from .cli_capture import capture_group, say_result
from .errors import InputError
from .parameters import Duration, Size
from .progress import CaptureProgress
from .servers.facts import gather
from .servers.source import describe_server
from .servers.target import parse_target


@capture_group.command(
    "server",
    short_help="Switch a server's own log on for a while, and back.",
    epilog="""\b
Examples:
  querytape capture server mysql://admin@prod/ --dry-run
  querytape capture server mysql://admin@prod/ --duration 30m -o shop.tape
  querytape capture server mysql://admin@prod/ --restore      after a crash

\b
The account needs SYSTEM_VARIABLES_ADMIN or SUPER, and PROCESS to see others.
""",
)
@click.argument("url", metavar="mysql://USER@HOST:PORT/")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The tape to write (a new folder).")
@click.option("--duration", type=Duration(), default="10m", show_default=True, help="How long to log.")
@click.option(
    "--read",
    "method",
    type=click.Choice(METHODS),
    default="auto",
    show_default=True,
    help="From the log's file where this machine has it, from mysql.slow_log, or from mysql.general_log.",
)
@click.option("--max-disk", type=Size(), default="8G", show_default=True, help="Stop when the log is this large.")
@click.option(
    "--max-rate", type=Size(), default="64M", show_default=True, help="Stop when it grows faster, a second, for 5 s."
)
@click.option("--dry-run", is_flag=True, help="Show what would be changed, change nothing.")
@click.option("--restore", "restoring", is_flag=True, help="Take back what a capture that was killed had changed.")
@click.option("--restore-file", type=click.Path(path_type=Path), help="Where the settings of before are kept.")
@click.option("--keep-log", is_flag=True, help="Leave the server's log file there when the tape is written.")
@click.option("--ask-password", is_flag=True, help="Ask for the password. Else MYSQL_PWD or an option file.")
@click.option("--defaults-file", type=click.Path(path_type=Path), help="MySQL option file with [client].")
@click.option("--defaults-group", help="Also read this group of it.")
def server_command(
    url: str,
    output: Path | None,
    duration: int,
    method: str,
    max_disk: int,
    max_rate: int,
    dry_run: bool,
    restoring: bool,
    restore_file: Path | None,
    keep_log: bool,
    ask_password: bool,
    defaults_file: Path | None,
    defaults_group: str | None,
) -> int:
    """Log everything a server does for a while and make a tape of it.

    Shows the settings it will change, changes them, and sets every one as it was before: at the end, at Ctrl-C, when it
    fails. They are kept in a file meanwhile: --restore takes them back where it was killed.
    """
    target = parse_target(url, defaults_file, defaults_group, ask_password)
    if restoring:
        for line in restore_server(target, restore_file):
            click.echo(line)
        return 0
    options = RecordOptions(duration / 1e9, max_disk, max_rate, method, restore_file, say_line)
    check_options(options)
    with closing(target.connect()) as con:
        plan = make_plan(target, gather(con), options)
    click.echo("\n".join(plan.lines()), err=True)
    if dry_run:
        return 0
    if output is None:
        raise InputError("-o TAPE is missing (or --dry-run)")
    if output.exists():
        raise InputError(f"{output} already exists: choose another name with -o, or remove it first")
    server = describe_server(url, defaults_file, defaults_group)
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _as_ctrl_c)
    with tempfile.TemporaryDirectory(prefix="querytape-") as work:
        recorded = record(target, plan, options, Path(work))
        click.echo(f"capture server: {recorded.ended}; the settings are as before", err=True)
        for warning in recorded.warnings:
            click.echo(f"  {warning}", err=True)
        with CaptureProgress() as progress:
            settings = Settings(server=server, watch=progress.update)
            info = capture(SOURCES[recorded.kind], [str(recorded.log)], output, settings)
        if plan.log_file is not None and not keep_log:
            recorded.log.unlink(missing_ok=True)
    say_result(output, info)
    return 0


def _as_ctrl_c(number: int, frame: Any) -> None:
    raise KeyboardInterrupt


def say_line(text: str) -> None:
    """Say how far it is, a line a second; over the last one on a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[Kcapture server: {text}", err=True, nl=False)
    else:
        click.echo(f"capture server: {text}", err=True)
