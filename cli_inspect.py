# SPDX-License-Identifier: Apache-2.0
"""`querytape inspect`."""

from pathlib import Path

import click
from rich.console import Console

from .analyze import difference, difference_json, portrait, portrait_json, show_difference, show_portrait
from .recovery import complete_tape
from .schemas import open_folder
from .terminal import show_problems


@click.command(
    "inspect",
    epilog="""\b
Examples:
  querytape inspect shop.tape
  querytape inspect shop.tape --problems
  querytape inspect november.tape --against october.tape
  querytape inspect shop.tape --json | jq .counts
""",
)
@click.argument("tape", type=click.Path(path_type=Path))
@click.option("--against", type=click.Path(path_type=Path), help="Show what changed since this older tape.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead.")
@click.option(
    "--problems", is_flag=True, help="Show each place of the source that was not understood, and nothing else."
)
@click.option("--top", default=12, show_default=True, help="How many digests to show.")
def inspect_command(tape: Path, against: Path | None, as_json: bool, problems: bool, top: int) -> None:
    """Show what is on a tape, and what it lacks."""
    complete_tape(tape)
    if problems:
        show_problems(open_folder("tape", tape))
        return
    if against is not None:
        complete_tape(against)
        changed = difference(against, tape)
        if as_json:
            click.echo(difference_json(changed, max(top, 100)), nl=False)
        else:
            show_difference(changed, Console(width=None if Console().is_terminal else 80, highlight=False), top)
        return
    found = portrait(tape)
    if as_json:
        click.echo(portrait_json(found, max(top, 100)), nl=False)
    else:
        show_portrait(found, Console(width=None if Console().is_terminal else 80, highlight=False), top)
