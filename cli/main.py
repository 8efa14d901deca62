# SPDX-License-Identifier: Apache-2.0
"""Runs the command line `querytape`: lists the commands, imports the requested one, and shows errors in one line."""

import sys

import click

from ..common.errors import OptionError, QuerytapeError
from ..common.exit_codes import ExitCode
from ..common.files import fault_of
from ..common.signals import Ending, one_ending
from ..common.text import printable_lines, take_every_text
from ..common.version import __version__
from .lazy_group import LazyCommand, LazyGroup

COMMANDS = {
    "capture": LazyCommand(
        ".commands.capture:capture_group", "Record the queries of a production server on a tape.", "Record"
    ),
    "tape": LazyCommand(
        ".commands.tape:tape_group", "Merge, cut, filter, split, copy, pseudonymize and check tapes.", "Record"
    ),
    "export": LazyCommand(
        ".commands.export:export_command", "Write a tape as a slow log, CSV, JSON lines or SQL.", "Record"
    ),
    "replay": LazyCommand(".commands.replay:replay_command", "Replay a tape against a server.", "Replay"),
    "fleet": LazyCommand(
        ".commands.fleet:fleet_command", "Replay many tapes at the same time, each against its own target.", "Replay"
    ),
    "speed": LazyCommand(".commands.speed:speed_command", "Change the speed of a running replay.", "Replay"),
    "driver": LazyCommand(
        ".commands.driver:driver_command", "Replay some tapes of a set for a lead process on another host.", "Replay"
    ),
    "collect": LazyCommand(
        ".commands.collect:collect_command", "Merge undelivered parts of drivers into their run.", "Replay"
    ),
    "report": LazyCommand(".commands.report:report_command", "Compare two runs of a tape, or show one run.", "Report"),
    "compare": LazyCommand(
        ".commands.compare:compare_command",
        "Replay a tape against two servers in turn and compare the results.",
        "Report",
    ),
    "sql": LazyCommand(".commands.sql:sql_command", "Query a tape or a run with SQL (DuckDB).", "Report"),
    "serve": LazyCommand(
        ".commands.serve:serve_command", "Serve the tapes, runs and comparisons of a folder as web pages.", "Report"
    ),
    "inspect": LazyCommand(
        ".commands.inspect_tape:inspect_command", "Show the contents of a tape and list missing data.", "Workload"
    ),
    "lint": LazyCommand(
        ".commands.lint:lint_command",
        "Find statements that another server version rejects or runs differently.",
        "Workload",
    ),
    "plans": LazyCommand(
        ".commands.plans:plans_command",
        "Compare the query plans of two servers for the statements of a tape.",
        "Workload",
    ),
    "fingerprint": LazyCommand(
        ".commands.fingerprint:fingerprint_command",
        "Show the digest and the normalised text of statements.",
        "Workload",
    ),
    "demo": LazyCommand(
        ".commands.demo:demo_command", "Demonstrate capture, replay and report on private servers.", "Lab"
    ),
    "try": LazyCommand(
        ".commands.try_ddl:try_command", "Test an index or other DDL on copies of a server's data.", "Lab"
    ),
    "sweep": LazyCommand(".commands.sweep:sweep_command", "Replay a tape's sessions at increasing concurrency.", "Lab"),
    "calibrate": LazyCommand(
        ".commands.calibrate:calibrate_command", "Measure the highest load that this machine can replay.", "Lab"
    ),
    "null-server": LazyCommand(
        ".commands.null_server:null_server_command", "Run a server that answers every command with OK.", "Lab"
    ),
    "completion": LazyCommand(
        ".commands.completion:completion_command", "Print the completion script of a shell.", "Lab"
    ),
}


def show_version(context: click.Context, param: click.Parameter, given: bool) -> None:
    """Print the version, and with --libraries the libraries, after both options are parsed. Then exit."""
    asked = context.meta.setdefault("querytape.version", {})
    asked[param.name] = given
    if len(asked) < 2 or context.resilient_parsing or not any(asked.values()):
        return
    if not asked["version"]:
        raise click.UsageError("--libraries: only with --version", context)
    click.echo(f"querytape, version {__version__}")
    if asked["libraries"]:
        from .libraries import library_lines

        for line in library_lines():
            click.echo(line)
    context.exit()


@click.group(
    cls=LazyGroup,
    lazy=COMMANDS,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 80},
    epilog="""\b
Examples:
  querytape capture slowlog /var/log/mysql/slow.log -o shop.tape
  querytape inspect shop.tape
  querytape replay shop.tape --target mysql://app@10.0.0.7:3306/shop -o a.run
  querytape report shop.tape a.run b.run --html report.html
""",
)
@click.option(
    "--version",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="Show the version and exit.",
)
@click.option(
    "--libraries",
    is_flag=True,
    is_eager=True,
    expose_value=False,
    callback=show_version,
    help="With --version: also list the libraries and their versions.",
)
def group() -> None:
    """Record MySQL traffic, replay it against other servers, and compare the results."""


def is_duckdb_error(error: Exception) -> bool:
    """Return whether DuckDB raised the error, without importing DuckDB."""
    return "duckdb" in sys.modules and isinstance(error, sys.modules["duckdb"].Error)


def is_server_error(error: Exception) -> bool:
    """Return whether the error is a server error or a lost connection, without importing the client library."""
    return "pymysql" in sys.modules and isinstance(error, sys.modules["pymysql"].MySQLError)


def main() -> None:
    """Run the command line. An error that the user can correct becomes one line on stderr and exit code 1.

    The first Ctrl-C, SIGTERM or SIGHUP ends the command in an orderly way, with exit code 130.
    """
    status: int | None = None
    take_every_text(sys.stdout, sys.stderr)
    try:
        with one_ending() as ending:
            status = exit_code(ending)
    except KeyboardInterrupt:  # signal during an error message or after all work
        status = stopped() if status is None else status
    sys.exit(status)


def exit_code(ending: Ending) -> int:
    """Run the command line, print errors, and return the exit code."""
    try:
        status = group.main(prog_name="querytape", standalone_mode=False)
        return status if isinstance(status, int) else 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except (click.Abort, KeyboardInterrupt):
        return stopped()
    except QuerytapeError as error:
        click.echo(printable_lines(f"querytape: {error}"), err=True)
        return ExitCode.USAGE if isinstance(error, OptionError) else ExitCode.ERROR
    except Exception as error:
        if ending.asked:  # DuckDB raises its own error for an interrupt
            return stopped()
        if is_server_error(error):
            from ..servers.target import fault_text

            click.echo(printable_lines(f"querytape: server error: {fault_text(error)}"), err=True)
            return 1
        if isinstance(error, OSError) and (fault := fault_of(error)) is not None:
            click.echo(printable_lines(f"querytape: {fault}"), err=True)
            return 1
        if not is_duckdb_error(error):
            raise
        from ..common.duck import DAMAGED, plain_reason

        reason = plain_reason(error)
        hint = ": run `querytape tape verify TAPE` to find the damaged file" if reason.startswith(DAMAGED) else ""
        click.echo(printable_lines(f"querytape: {reason}{hint}"), err=True)
        return 1


def stopped() -> int:
    """Print that a signal ended the program, and return the exit code."""
    click.echo("querytape: stopped", err=True)
    return ExitCode.STOPPED
