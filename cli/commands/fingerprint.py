# SPDX-License-Identifier: Apache-2.0
"""`querytape fingerprint`: shows the digest of a statement, computed by querytape's or Percona Toolkit's rules."""

from typing import BinaryIO

import click

from ...capture.pt_fingerprint import pt_fingerprint, pt_id
from ...common.text import printable
from ...native.bindings.statements import Normalizer


@click.command(
    "fingerprint",
    epilog="""\b
Examples:
  echo "SELECT * FROM t WHERE id = 7" | querytape fingerprint
  querytape fingerprint --pt queries.sql
""",
)
@click.argument("file", type=click.File("rb"), default="-")
@click.option("--pt", is_flag=True, help="Print the fingerprint and 32-digit id of Percona Toolkit 3.0.11 and later.")
@click.option(
    "--pt16", is_flag=True, help="Print the fingerprint and the 16-digit id. Percona Toolkit before 3.0.11 used them."
)
def fingerprint_command(file: BinaryIO, pt: bool, pt16: bool) -> None:
    """Show the digest and the normalised text of statements.

    FILE (default: standard input) contains one statement per line.
    """
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
            normal = normalizer.normalize(statement)
            name, shown = normal.digest, normal.text
        click.echo(f"{name}  {printable(shown)}")
