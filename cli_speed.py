# SPDX-License-Identifier: Apache-2.0
"""`querytape speed`: another speed for a replay that is under way."""

from pathlib import Path

import click

from .replay.control import ask_speed


@click.command(
    "speed",
    short_help="Change the speed of a replay that is under way.",
    epilog="""\b
Examples:
  querytape speed a.run 2
  querytape speed a.run 1/2
""",
)
@click.argument("run", type=click.Path(path_type=Path))
@click.argument("factor")
def speed_command(run: Path, factor: str) -> None:
    """Let the replay that writes RUN go on at FACTOR times the tape's speed, within a second.

    The run keeps when its speed was changed: `speed_changes` in run.json.
    """
    ask_speed(run, factor)
    click.echo(f"{run}: asked for speed {factor}")
