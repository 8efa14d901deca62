# SPDX-License-Identifier: Apache-2.0
"""`querytape collect`: adds the undelivered parts of drivers to their run."""

import json
import sys
from pathlib import Path

import click

from ...common.exit_codes import ExitCode, help_of_codes
from ...common.staged import is_address
from ...common.text import printable
from ...common.units import plural
from ..run_lines import exit_code
from ..stored_folders import LocalPath, StoredFolder, local_copy


@click.command(
    "collect",
    epilog="""\b
Examples:
  querytape collect big.run             the lead was killed
  querytape collect big.run part.run    a link was cut

\b
"""
    + help_of_codes(ExitCode.INCOMPLETE, ExitCode.UNKNOWN),
)
@click.argument("run", type=LocalPath())
@click.argument("parts", nargs=-1, type=StoredFolder(), metavar="[PART]...")
def collect_command(run: Path, parts: tuple[Path, ...]) -> int:
    """Merge undelivered parts of drivers into their run.

    In a replay with --drivers, each driver sends its part of the run to the lead process. If the lead process is lost,
    the drivers continue and keep their parts. Parts of local drivers are in RUN. Name the parts of other drivers on the
    command line.

    If a driver lost its connection to the lead process, RUN lists the driver's events as not sent (driver_lost). The
    command replaces these events with the driver's part. The command reads and writes only
    files. The parts that the command line names are kept. The exit code is 1 if the run is still incomplete.
    """
    from ...replay.drivers.collect import collect

    summary = collect(run, parts, stored_tape(run))
    counts = summary.info["accounting"]
    if counts["sent_unknown"]:
        click.echo(f"UNKNOWN: the target may have executed {plural(counts['sent_unknown'], 'event')} of a lost driver")
    click.echo(
        f"{summary.path}: {counts['tape_events']:,} events = {counts['executed']:,} executed"
        f" + {counts['filtered']:,} filtered + {counts['skipped']:,} skipped + {counts['not_sent']:,} not sent"
    )
    if summary.info["partial"]:
        click.echo(printable(f"  PARTIAL: {summary.info['partial']}"))
    sys.stdout.flush()
    return exit_code(summary)


def stored_tape(run: Path) -> Path | None:
    """Return a local copy of the run's tape if the tape is in an object store, otherwise None."""
    try:
        named = str(json.loads((run / "run.json").read_text(encoding="utf-8"))["tape"]["path"])
    except (OSError, ValueError, KeyError, TypeError):  # `collect` reports a damaged run
        return None
    return Path(local_copy(named, click.get_current_context())) if is_address(named) else None
