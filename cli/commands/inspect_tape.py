# SPDX-License-Identifier: Apache-2.0
"""`querytape inspect`: shows the contents of a tape."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any, cast

import click

from ...analyze import (
    compare_tapes,
    show_tape_difference,
    show_tape_summary,
    summarise_tape,
    tape_difference_json,
    tape_facts,
    tape_page,
    tape_summary_json,
)
from ...analyze.workload.indexes import IndexUse, index_report
from ...common.errors import OptionError
from ...schemas import open_folder
from ..libraries import library_lines
from ..output import console, readable_tape, show_problems
from ..report_options import FILE, write
from ..server_options import login_options, server_of
from ..stored_folders import StoredFolder


@click.command(
    "inspect",
    epilog="""\b
Examples:
  querytape inspect shop.tape
  querytape inspect shop.tape --html shop.html
  querytape inspect shop.tape --problems
  querytape inspect november.tape --against october.tape
  querytape inspect shop.tape --source mysql://app@prod/
  querytape inspect shop.tape --json | jq .counts
  querytape inspect shop.tape --facts > facts.json
""",
)
@click.argument("tape", type=StoredFolder())
@click.option("--against", type=StoredFolder(), help="Show the changes since this older tape.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON instead of text.")
@click.option(
    "--html",
    type=FILE,
    metavar="FILE",
    help="Also write an HTML file with charts of arrivals, concurrency, durations and think times.",
)
@click.option(
    "--facts",
    is_flag=True,
    help="Print JSON for a bug report. The JSON contains only numbers and kinds: no statements, names, accounts,"
    " addresses or values.",
)
@click.option("--problems", is_flag=True, help="List only the parts of the source that could not be parsed.")
@click.option("--top", default=12, metavar="NUMBER", show_default=True, help="Number of digests to show.")
@click.option("--samples", is_flag=True, help="Show the literal values of the most frequently written rows.")
@click.option(
    "--source",
    metavar="URL",
    help="List the indexes of this server (mysql://USER@HOST/) that no statement of the tape could use.",
)
@login_options
def inspect_command(tape: Path, against: Path | None, html: Path | None, source: str | None, **options: Any) -> None:
    """Show the contents of a tape and list missing data.

    The output begins with the source, the time span and all known missing data. The next part lists sessions, classes,
    tables, transactions and the costliest digests. The last part describes the workload: columns by role,
    transactions, reads in loops, hot rows and waits.
    """
    top, as_json, samples = options["top"], options["as_json"], options["samples"]
    for name, value in (("--source", source), ("--html", html)):
        if value is not None and (options["problems"] or against is not None):
            raise OptionError(f"{name} cannot be combined with --problems or --against")
    if options["facts"] and (options["problems"] or samples or any((against, source, html))):
        raise OptionError("--facts cannot be combined with other options")
    tape = readable_tape(tape)
    if options["facts"]:
        click.echo(json.dumps(tape_facts(tape) | {"libraries": library_lines()}, indent=1))
        return
    if options["problems"]:
        show_problems(open_folder("tape", tape))
        return
    if against is not None:
        against = readable_tape(against)
        changed = compare_tapes(against, tape)
        if as_json:
            click.echo(tape_difference_json(changed, max(top, 100)), nl=False)
        else:
            show_tape_difference(changed, console(), top)
        return
    use = None if source is None else _asked(source, options)
    summary = summarise_tape(tape, pictures=html is not None)
    if use is not None:
        summary.indexes = index_report(summary.answers, summary.workload, use)
    if as_json:
        click.echo(tape_summary_json(summary, max(top, 100), samples), nl=False)
    else:
        show_tape_summary(summary, console(), top, samples)
    if html is not None:
        write(html, tape_page(summary, samples))
        click.echo(f"\nHTML page: {html.absolute()}", err=as_json)


def _asked(source: str, options: dict[str, Any]) -> IndexUse:
    """Ask the server for the use of its indexes."""
    from ...servers.index_use import ask_index_use

    return cast(IndexUse, asdict(ask_index_use(server_of(source, options, what="--source"))))
