# SPDX-License-Identifier: Apache-2.0
"""`querytape demo`: capture, replay and report once, on private servers."""

from pathlib import Path

import click

from ...demo.run import Style, record_demo, run_demo


@click.command(
    "demo",
    epilog="""\b
Examples:
  querytape demo
  querytape demo --seconds 5 --keep /tmp/shop
  querytape demo --record-only --keep shop
""",
)
@click.option(
    "--seconds",
    type=click.FloatRange(2, 600),
    default=20,
    show_default=True,
    help="Duration of the workload in seconds.",
)
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    help="Folder for the tape, runs and report. Default: a new temporary folder, which is not removed.",
)
@click.option(
    "--record-only",
    is_flag=True,
    help="Only record the traffic. Keep slow.log and the folder `data`, a copy of the data before the traffic."
    " Requires --keep.",
)
def demo_command(seconds: float, keep: Path | None, record_only: bool) -> None:
    """Demonstrate capture, replay and report on private servers.

    Records the traffic of a small shop. Replays the traffic against a copy of the shop's server and against a badly
    tuned server, and compares the two runs. Starts private MariaDB servers in a temporary folder and stops them at the
    end. Nothing else on this machine changes.
    """
    if not record_only:
        run_demo(show, seconds, keep)
    elif keep is None:
        raise click.UsageError("--record-only requires --keep FOLDER for the log and the data")
    else:
        record_demo(show, seconds, keep)


def show(text: str, style: Style) -> None:
    """Print a text of the demo. Titles and commands are highlighted on a terminal."""
    click.secho(text, bold=style != "text", fg="cyan" if style == "title" else None)
