# SPDX-License-Identifier: Apache-2.0
"""`querytape plans`: compares the query plans of two servers."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import click

from ...analyze import build_plans, plans_json, plans_markdown, plans_page, show_plans
from ...common.errors import InputError
from ...common.exit_codes import ExitCode, help_of_codes
from ...common.files import refuse_existing
from ...common.temporary import temporary_folder
from ...experiments.plans import PlanOptions, ask_plans
from ...replay import Target
from ..output import complete_tape, console
from ..param_types import Duration
from ..report_options import FILE, FILE_OR_STDOUT, is_printed, write, write_or_print
from ..server_options import login_options, server_of
from ..stored_folders import NewFolder, StoredFolder


@click.command(
    "plans",
    epilog="""\b
Examples:
  querytape plans shop.tape --target a=mysql://app@old/shop \\
      --target b=mysql://app@new/shop -o upgrade.plans
  querytape plans shop.tape --target a=mysql://app@old/shop \\
      --target b=mysql://app@new/shop --analyze 2s --html plans.html
  querytape report upgrade.compare --plans upgrade.plans

\b
The command writes nothing on the servers and causes no load: EXPLAIN runs in
read-only sessions, one statement at a time.

\b
"""
    + help_of_codes(ExitCode.INCOMPLETE)
    + """

\b
The result is incomplete if some statements were not explained.
""",
)
@click.argument("tape", type=StoredFolder())
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="a=URL, b=URL",
    help="The two servers: a is the reference, b is the candidate.",
)
@click.option("-o", "--output", type=NewFolder(), help="Keep all plans in this new folder.")
@click.option(
    "--per-digest",
    type=click.IntRange(1, 5),
    default=5,
    show_default=True,
    help="Number of statements per digest: the most common, the rarest, the longest, and those with the"
    " smallest and largest values.",
)
@click.option(
    "--analyze",
    type=Duration(),
    metavar="TIME",
    help="Also run each read for at most this time, to measure its duration and counters.",
)
@click.option(
    "--each",
    type=Duration(),
    default="2s",
    show_default=True,
    help="Maximum time of one EXPLAIN. A longer EXPLAIN is killed.",
)
@click.option(
    "--within", type=Duration(), default="10m", show_default=True, help="Maximum duration of the whole command."
)
@click.option(
    "--map-db",
    nargs=2,
    multiple=True,
    metavar="TAPE TARGET",
    help="Use schema TARGET on both servers instead of the tape's schema TAPE.",
)
@click.option(
    "--digest", "digests", multiple=True, metavar="DIGEST", help="Compare only this digest; may be given several times."
)
@click.option("--html", type=FILE, metavar="FILE", help="Write the report as one HTML file.")
@click.option(
    "--json", "json_file", type=FILE_OR_STDOUT, metavar="FILE", help="Write the report as JSON (- for standard output)."
)
@click.option(
    "--markdown", type=FILE_OR_STDOUT, metavar="FILE", help="Write the report as Markdown (- for standard output)."
)
@click.option("--samples", is_flag=True, help="Show complete query plans, including literal values.")
@click.option(
    "--top", default=10, show_default=True, metavar="NUMBER", help="Number of digests to show on the terminal."
)
@login_options
def plans_command(tape: Path, output: Path | None, **options: Any) -> int:
    """Compare the query plans of two servers for the statements of a tape.

    Runs EXPLAIN for a few statements of each digest on both servers. The report first lists different schemas,
    statistics and settings. Then the report lists the digests with different plans, sorted by their execution time on
    the tape.
    """
    complete_tape(tape)
    if output is not None:
        refuse_existing(output)
    with ExitStack() as stack:
        folder = output or Path(stack.enter_context(temporary_folder())) / "plans"
        renamed = dict(options["map_db"])
        chosen = PlanOptions(
            per_digest=options["per_digest"],
            each_s=options["each"] / 1e9,
            all_s=options["within"] / 1e9,
            analyze_s=None if options["analyze"] is None else options["analyze"] / 1e9,
            digests=frozenset(options["digests"]) or None,
            count=() if options["analyze"] is None else None,
            count_all_s=options["within"] / 1e9,
            schemas={"a": renamed, "b": renamed},
        )
        ask_plans(tape, targets_of(options), folder, chosen, progress)
        report = build_plans(folder, tape_path=tape)
        if not is_printed(options):
            show_plans(report, console(), options["top"])
        if options["html"] is not None:
            write(options["html"], plans_page(report, options["samples"]))
        if options["json_file"] is not None:
            write_or_print(options["json_file"], plans_json(report, options["samples"]))
        if options["markdown"] is not None:
            write_or_print(options["markdown"], plans_markdown(report))
        incomplete = report.folder.info.get("problems") or report.folder.info.get("not_asked")
        return ExitCode.INCOMPLETE if incomplete else ExitCode.SUCCESS


def targets_of(options: dict[str, Any]) -> dict[str, Target]:
    """Return the two servers. Raises InputError unless their names are a and b."""
    urls = dict(text.partition("=")[::2] for text in options["targets"])
    if set(urls) != {"a", "b"}:
        raise InputError("plans needs --target a=URL and --target b=URL; a is the reference")
    return {side: server_of(url, options) for side, url in sorted(urls.items())}


def progress(done: int, of: int) -> None:
    """Show the progress on a terminal."""
    if sys.stderr.isatty():
        click.echo(f"\r{done:,} of {of:,} statements explained", err=True, nl=done >= of)
