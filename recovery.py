# SPDX-License-Identifier: Apache-2.0
"""A tape that a killed capture left is completed when it is first used."""

from pathlib import Path

import click

from .capture import recover
from .schemas import open_folder


def complete_tape(path: Path) -> None:
    """Complete an unfinished tape and say so; a finished one is left alone."""
    tape = open_folder("tape", path)
    if tape.finished:
        return
    info = recover(path)
    click.echo(f"{path}: its capture was killed; {info['counts']['events']:,} events were saved", err=True)
