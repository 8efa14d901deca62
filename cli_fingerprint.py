# SPDX-License-Identifier: Apache-2.0
"""`querytape fingerprint`: what a statement's digest is, ours or Percona Toolkit's."""

from typing import BinaryIO

import click

from .capture.tools.pt_fingerprint import pt_fingerprint, pt_id
from .native.statements import Normalizer
from .terminal import printable


@click.command(
    "fingerprint",
    short_help="Show the digest of statements.",
    epilog="""\b
Examples:
  echo "SELECT * FROM t WHERE id = 7" | querytape fingerprint
  querytape fingerprint --pt queries.sql
""",
)
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--pt", is_flag=True, help="As Percona Toolkit 3.5: its fingerprint, and its id of 32 digits.")
@click.option("--pt16", is_flag=True, help="The same with the 16 digits that releases before 3.0.11 print.")
def fingerprint_command(file: BinaryIO, pt: bool, pt16: bool) -> None:
    """Print the digest and the normalised text of statements, one a line, from FILE or standard input."""
    normalizer = Normalizer()
    for line in file:
        statement = line.rstrip(b"\r\n")
        if not statement:
            continue
        if pt or pt16:
            text = pt_fingerprint(statement)
            name = pt_id(text)[16 if pt16 else 0 :]
            shown = text.decode("utf-8", "replace")
        else:
            found = normalizer.normalize(statement)
            name, shown = found.digest, found.text
        click.echo(f"{name}  {printable(shown)}")
