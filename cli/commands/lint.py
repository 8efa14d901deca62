# SPDX-License-Identifier: Apache-2.0
"""`querytape lint`: finds statements that another server version refuses or executes differently."""

from pathlib import Path

import click

from ...analyze import lint_json, lint_tape, show_lint
from ...analyze.lint.rules import EFFECTS, Version, VersionError, parse_version
from ...common.exit_codes import ExitCode, help_of_codes
from ..output import console, readable_tape
from ..param_types import Parsed
from ..stored_folders import StoredFolder


class VersionType(Parsed[Version]):
    """A server family and version: mysql-8.4, mysql-9.x, mariadb-11.8."""

    name = "version"

    def _parse(self, text: str) -> Version:
        try:
            return parse_version(text)
        except VersionError as error:
            raise ValueError(str(error)) from error


@click.command(
    "lint",
    epilog="""\b
"""
    + help_of_codes(ExitCode.CONDITION, ExitCode.INCOMPLETE)
    + """

\b
The result is incomplete if --to is newer than the rules.

\b
Examples:
  querytape lint shop.tape --to mysql-8.4
  querytape lint shop.tape --to mariadb-11.8 --top 10
  querytape lint shop.tape --from mysql-5.7 --to mysql-9.x --fail-on fails
""",
)
@click.argument("tape", type=StoredFolder())
@click.option(
    "--to",
    "target",
    type=VersionType(),
    required=True,
    help="Version of the new server, such as mysql-8.4 or mariadb-11.8.",
)
@click.option(
    "--from",
    "source",
    type=VersionType(),
    help="Version of the source server, if the tape does not contain the version.",
)
@click.option(
    "--top", default=3, metavar="NUMBER", show_default=True, help="Number of statements to show for each rule."
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text. The JSON contains every digest.")
@click.option(
    "--fail-on", type=click.Choice(EFFECTS), help="Exit with code 3 if a statement has this effect or a worse effect."
)
def lint_command(
    tape: Path, target: Version, source: Version | None, top: int, as_json: bool, fail_on: str | None
) -> int:
    """Find statements that another server version rejects or runs differently.

    Needs no server. Finds reserved words and removed or deprecated syntax, functions, variables and SQL modes. Also
    finds zero dates, GROUP BY that no longer sorts, and statements that the other server family cannot prepare.

    Each finding lists its digests, their share of the execution time, and a section of the server's manual. The rules
    check only the text of statements. Replay the tape to find other differences.
    """
    tape = readable_tape(tape)
    result = lint_tape(tape, target, source)
    if as_json:
        click.echo(lint_json(result), nl=False)
    else:
        show_lint(result, console(), top)
    worst = EFFECTS[: EFFECTS.index(fail_on) + 1] if fail_on else ()
    if any(result.of(effect) for effect in worst):
        return ExitCode.CONDITION
    return ExitCode.INCOMPLETE if fail_on and target.known is not None else ExitCode.SUCCESS
