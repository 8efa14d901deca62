# SPDX-License-Identifier: Apache-2.0
"""`querytape capture server`: switches on a server's own log for a while, and captures it."""

import sys
import tempfile
from contextlib import closing
from pathlib import Path

import click

from ...capture import SOURCES, Settings, capture_source
from ...capture.server_log import METHODS, RecordOptions, check_options, plan_logging, record_log, restore_server
from ...common.files import refuse_existing
from ...common.signals import unwind_on_signals
from ...servers.facts import gather
from ...servers.source import describe_server
from ...servers.target import parse_target
from ..output import say_tape
from ..param_types import Duration, Size
from ..progress import CaptureProgress
from ..server_options import login_options


@click.command(
    "server",
    epilog="""\b
Examples:
  querytape capture server mysql://admin@prod/ --dry-run
  querytape capture server mysql://admin@prod/ --duration 30m -o shop.tape
  querytape capture server mysql://admin@prod/ --restore      after a kill

\b
The account needs SYSTEM_VARIABLES_ADMIN (or SUPER), and PROCESS to see the
sessions of other accounts.
""",
)
@click.argument("url", metavar="mysql://USER@HOST:PORT/")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Tape to write (a new folder).")
@click.option("--duration", type=Duration(), default="10m", show_default=True, help="How long the server logs.")
@click.option(
    "--read",
    "method",
    type=click.Choice(METHODS),
    default="auto",
    show_default=True,
    help="Where to read the log: its file (if it is on this machine), the table mysql.slow_log, or the table"
    " mysql.general_log.",
)
@click.option("--max-disk", type=Size(), default="8G", show_default=True, help="Stop when the log has this size.")
@click.option(
    "--max-rate",
    type=Size(),
    default="64M",
    show_default=True,
    help="Stop when the log grows by more than this a second, for 5 s.",
)
@click.option("--dry-run", is_flag=True, help="Show the settings that would be changed, and change nothing.")
@click.option("--restore", "restoring", is_flag=True, help="Set back the settings that a killed capture had changed.")
@click.option(
    "--restore-file", type=click.Path(path_type=Path), help="File that keeps the old settings during the capture."
)
@click.option("--keep-log", is_flag=True, help="Do not delete the server's log file after the capture.")
@login_options
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
    """Switch on a server's own log for a while, and capture it.

    Shows the settings that it will change, changes them, and sets each back to its old value: at the end, at Ctrl-C,
    and after an error. A file keeps the old values during the capture: after a kill, --restore sets them back.
    """
    target = parse_target(url, defaults_file, defaults_group, ask_password)
    if restoring:
        for line in restore_server(target, restore_file):
            click.echo(line)
        return 0
    options = RecordOptions(duration / 1e9, max_disk, max_rate, method, restore_file, say_line)
    check_options(options)
    with closing(target.connect()) as con:
        plan = plan_logging(target, gather(con), options)
    click.echo("\n".join(plan.lines()), err=True)
    if dry_run:
        return 0
    if output is None:
        raise click.UsageError("expected -o TAPE, or --dry-run")
    refuse_existing(output)
    server = describe_server(url, defaults_file, defaults_group)
    with unwind_on_signals(), tempfile.TemporaryDirectory(prefix="querytape-") as work:
        recorded = record_log(target, plan, options, Path(work))
        click.echo(f"capture server: {recorded.ended}; the settings are back as before", err=True)
        for warning in recorded.warnings:
            click.echo(f"  {warning}", err=True)
        with CaptureProgress() as progress:
            settings = Settings(server=server, watch=progress.update)
            info = capture_source(SOURCES[recorded.kind], [str(recorded.log)], output, settings)
        if plan.log_file is not None and not keep_log:
            recorded.log.unlink(missing_ok=True)
    say_tape(output, info)
    return 0


def say_line(text: str) -> None:
    """Print the progress, one line a second; on a terminal over the line before."""
    if sys.stderr.isatty():
        click.echo(f"\r\x1b[Kcapture server: {text}", err=True, nl=False)
    else:
        click.echo(f"capture server: {text}", err=True)
