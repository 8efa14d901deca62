# SPDX-License-Identifier: Apache-2.0
"""`querytape demo`: the whole way once, on private servers."""

from pathlib import Path

import click

from .demo.run import run_demo


@click.command(
    "demo",
    short_help="Show the whole way on private servers.",
    epilog="""\b
Examples:
  querytape demo
  querytape demo --seconds 5 --keep /tmp/shop
""",
)
@click.option("--seconds", type=click.FloatRange(2, 600), default=20, show_default=True, help="Length of the workload.")
@click.option(
    "--keep",
    type=click.Path(path_type=Path),
    help="Folder for tape, runs and report; default: a temporary one.",
)
def demo_command(seconds: float, keep: Path | None) -> None:
    """Record a small shop's traffic, replay it on a copy and on a worse server, compare the two runs.

    Starts private MariaDB servers in a temporary folder and stops them; touches nothing else on this machine.
    """
    run_demo(seconds, keep)
