# SPDX-License-Identifier: Apache-2.0
"""`querytape collect`: parts of a run by several drivers that were not delivered."""

import sys
from pathlib import Path

import click

from ...common.text import printable


@click.command(
    "collect",
    epilog="""\b
Examples:
  querytape collect big.run             the lead was killed
  querytape collect big.run part.run    a link was cut
""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("parts", nargs=-1, type=click.Path(path_type=Path), metavar="[PART]...")
def collect_command(run: Path, parts: tuple[Path, ...]) -> int:
    """Put parts of drivers into their run.

    Where the lead of a replay was lost, its drivers go on and keep their parts: those of local drivers are in RUN, name
    the others. Where a driver's link was lost, its part takes the place of what the run calls driver_lost. Files
    alone are read and written; parts that are named stay as they are. The exit code is 1 where the run is not whole
    then.
    """
    from ...replay.drivers.collect import collect

    summary = collect(run, parts)
    counts = summary.info["accounting"]
    if counts["sent_unknown"]:
        click.echo(f"UNKNOWN WHETHER SENT: {counts['sent_unknown']:,} events of a lost driver")
    click.echo(
        f"{summary.path}: {counts['tape_events']:,} events = {counts['executed']:,} executed"
        f" + {counts['filtered']:,} filtered + {counts['skipped']:,} skipped + {counts['not_sent']:,} not sent"
    )
    if summary.info["partial"]:
        click.echo(printable(f"  PARTIAL: {summary.info['partial']}"))
    sys.stdout.flush()
    return 0 if summary.complete else 1
