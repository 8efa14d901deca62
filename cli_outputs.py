# SPDX-License-Identifier: Apache-2.0
"""What `report` and `compare` have in common: how a report is made, and where it goes."""

import webbrowser
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from . import __version__
from .analyze import Margin, Report, Settings, as_json, as_markdown, render, show, write_charts, write_tables
from .errors import InputError
from .gates import FAILED_GATE, check_gate, failed, junit, values
from .parameters import Duration, Share

FILE = click.Path(path_type=Path)
FILE_OR_STDOUT = click.Path(path_type=Path, allow_dash=True)

OPTIONS = (
    click.option("--html", type=FILE, help="Write the report as one self-contained HTML file."),
    click.option("--json", "json_file", type=FILE_OR_STDOUT, help="Write it as JSON; - is standard output."),
    click.option("--markdown", type=FILE_OR_STDOUT, help="Write it as Markdown, for a pull request; - likewise."),
    click.option("--tables", type=FILE, help="Write each table as CSV and Parquet into this new folder."),
    click.option("--charts", type=FILE, help="Write the charts as SVG and PNG into this new folder."),
    click.option("--junit", "junit_file", type=FILE, help="Write a JUnit file: a case for each digest."),
    click.option("--fail-on", metavar="EXPR", help="Exit with 3 where it holds, as 'slower > 0 or p99_ratio > 1.2'."),
    click.option("--open", "open_it", is_flag=True, help="Open the HTML file in a browser."),
    click.option("--samples", is_flag=True, help="Show literal values: samples, plans, whole error messages."),
    click.option("--margin", type=Share(), default="10%", show_default=True, help="A smaller difference is none."),
    click.option("--margin-time", type=Duration(), default="50us", show_default=True, help="Likewise, in time."),
    click.option("--exclude-warmup", type=Duration(), default="0s", help="Leave out what was sent before this."),
    click.option("--top", default=6, show_default=True, help="How many digests to show on the terminal."),
    click.option("--memory", default="1500MB", show_default=True, help="Memory for the analysis."),
)


def output_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options of a report."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command


def settings_of(given: dict[str, Any]) -> Settings:
    """Return how the report is to be made. Raises InputError for a gate that can't be understood."""
    if given["fail_on"]:
        check_gate(given["fail_on"])
    if given["open_it"] and given["html"] is None:
        raise click.UsageError("--open: give --html FILE as well")
    for name in ("tables", "charts"):
        if given[name] is not None and given[name].exists():
            raise InputError(f"--{name} {given[name]}: already exists: choose another name, or remove it first")
    margin = Margin(given["margin"], given["margin_time"])
    return Settings(given["samples"], margin, given["exclude_warmup"], given["memory"])


def give(report: Report, given: dict[str, Any]) -> int:
    """Show and write a report; return the exit code."""
    quiet = any(str(given[name]) == "-" for name in ("json_file", "markdown"))
    if not quiet:
        show(report, Console(width=None if Console().is_terminal else 80, highlight=False), given["top"])
    if given["html"] is not None:
        write(given["html"], render(report, __version__))
        click.echo(f"\nHTML report: {given['html'].absolute()}", err=quiet)
    for name, made in (("json_file", as_json), ("markdown", as_markdown)):
        if given[name] is not None:
            write_or_print(given[name], made(report))
    if given["tables"] is not None:
        write_tables(report, given["tables"])
    if given["charts"] is not None:
        write_charts(report, given["charts"])
    broken = failed(given["fail_on"], values(report)) if given["fail_on"] else []
    if given["junit_file"] is not None:
        write(given["junit_file"], junit(report, broken))
    if given["open_it"]:
        webbrowser.open(given["html"].absolute().as_uri())
    for text in broken:
        click.echo(f"--fail-on: {text}", err=True)
    return FAILED_GATE if broken else 0


def write_or_print(path: Path, text: str) -> None:
    """Write a text to a file, or to standard output for -."""
    if str(path) == "-":
        click.echo(text, nl=False)
    else:
        write(path, text)


def write(path: Path, text: str) -> None:
    """Write a report readable by its owner alone. Raises InputError where that can't be done."""
    try:
        path.write_text(text, encoding="utf-8", errors="backslashreplace")
        path.chmod(0o600)
    except OSError as fault:
        raise InputError(f"{path}: can't be written: {fault.strerror}") from fault
