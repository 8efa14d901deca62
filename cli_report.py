# SPDX-License-Identifier: Apache-2.0
"""`querytape report`."""

from pathlib import Path

import click
from rich.console import Console

from . import __version__
from .analyze import Settings, as_json, build, render, show
from .errors import InputError
from .recovery import complete_tape


@click.command(
    "report",
    epilog="""\b
Examples:
  querytape report shop.tape old.run new.run
  querytape report shop.tape old.run new.run --html report.html
  querytape report shop.tape new.run --json - | jq .verdicts
""",
)
@click.argument("tape", type=click.Path(path_type=Path))
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN [RUN2]")
@click.option("--html", type=click.Path(path_type=Path), help="Write the report as one self-contained HTML file.")
@click.option(
    "--json",
    "json_file",
    type=click.Path(path_type=Path, allow_dash=True),
    help="Write it as JSON; - is standard output.",
)
@click.option("--samples", is_flag=True, help="Show literal values: a sample of each digest, whole error messages.")
@click.option("--top", default=10, show_default=True, help="How many digests to show on the terminal.")
@click.option("--memory", default="1500MB", show_default=True, help="Memory for the analysis.")
def report_command(
    tape: Path, runs: tuple[Path, ...], html: Path | None, json_file: Path | None, samples: bool, top: int, memory: str
) -> None:
    """Compare two runs of a tape, or show what one run did.

    With two runs the first is the reference (A) and the second is judged (B): both were measured in the client, so
    their times can be ranked. With one run the tape's own times stand beside it for information: they were taken in
    the server.
    """
    if len(runs) > 2:
        raise click.UsageError("expected one or two runs")
    complete_tape(tape)
    report = build(tape, runs[:1], runs[1:], Settings(samples=samples, memory=memory))
    to_stdout = json_file is not None and str(json_file) == "-"
    if not to_stdout:
        show(report, Console(width=None if Console().is_terminal else 80, highlight=False), top)
    if html is not None:
        write(html, render(report, __version__))
        click.echo(f"\nHTML report: {html.absolute()}", err=to_stdout)
    if json_file is not None:
        text = as_json(report)
        if to_stdout:
            click.echo(text, nl=False)
        else:
            write(json_file, text)


def write(path: Path, text: str) -> None:
    """Write a report readable by its owner alone. Raises InputError where that can't be done."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        path.chmod(0o600)
    except OSError as fault:
        raise InputError(f"{path}: can't be written: {fault.strerror}") from fault
