# SPDX-License-Identifier: Apache-2.0
"""`querytape export`: writes a tape in the formats of other programs."""

import os
import sys
from pathlib import Path

import click

from ...capture.tools.export import FORMATS, export
from ...common.files import publish, refuse_existing
from ...common.temporary import temporary_folder
from ..output import readable_tape
from ..stored_folders import LocalPath, StoredFolder


@click.command(
    "export",
    epilog="""\b
Examples:
  querytape export shop.tape --format slowlog -o shop.log
  querytape export shop.tape --format slowlog | pt-query-digest
  querytape export shop.tape --format csv -o shop.csv
""",
)
@click.argument("tape", type=StoredFolder())
@click.option(
    "--format",
    "format_",
    type=click.Choice(FORMATS),
    default="slowlog",
    show_default=True,
    help="Format of the output.",
)
@click.option("-o", "--output", type=LocalPath(), help="File to write. Default: standard output.")
def export_command(tape: Path, format_: str, output: Path | None) -> int:
    """Write a tape as a slow log, CSV, JSON lines or SQL.

    pt-query-digest, pt-upgrade, mysqldumpslow and querytape can read the slow log. The format sql contains only the
    statements.
    """
    tape = readable_tape(tape)
    with temporary_folder() as work:
        if output is None:
            try:
                export(tape, format_, sys.stdout.buffer, Path(work))
                sys.stdout.buffer.flush()
            except BrokenPipeError:  # the reader closed the pipe
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 0
        refuse_existing(output)
        with publish(output) as temporary, temporary.open("wb") as out:
            count = export(tape, format_, out, Path(work))
    click.echo(f"{output}: {count:,} entries", err=True)
    return 0
