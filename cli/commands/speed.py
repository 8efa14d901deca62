# SPDX-License-Identifier: Apache-2.0
"""`querytape speed`: changes the speed of a running replay."""

from pathlib import Path

import click

from ...replay.observe.control_files import request_speed
from ..stored_folders import LocalPath


@click.command(
    "speed",
    epilog="""\b
Examples:
  querytape speed a.run 2
  querytape speed a.run 1/2
  querytape speed a.run pause
""",
)
@click.argument("run", type=LocalPath())
@click.argument("factor")
def speed_command(run: Path, factor: str) -> None:
    """Change the speed of a running replay.

    Within a second, the replay that writes RUN continues at FACTOR times the tape's speed. The field speed_changes in
    run.json lists each change of speed with its time. After `pause`, the replay sends no events until the next
    `querytape speed`. A pause does not count as lateness. During a pause, sessions keep their transactions and locks,
    but the server may disconnect sessions (wait_timeout).
    """
    request_speed(run, factor)
    click.echo(f"{run}: speed {factor} was requested")
