# SPDX-License-Identifier: Apache-2.0
"""Declares the common options of `report` and `compare`, and writes the report to the requested places."""

import webbrowser
from collections.abc import Callable
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from .. import analyze  # most of its functions are loaded when they are used
from ..analyze import Margin, Report, Settings, check_gate
from ..common.errors import InputError
from ..common.exit_codes import ExitCode
from ..common.files import publish, refuse_existing
from ..common.lazy import prepare_early
from .option_sections import option, untitled
from .output import console
from .param_types import Duration, Share
from .stored_folders import LocalPath

FILE = LocalPath()
FILE_OR_STDOUT = LocalPath(allow_dash=True)

output_options = untitled(
    option("--html", type=FILE, metavar="FILE", help="Write the report as one self-contained HTML file."),
    option(
        "--json",
        "json_file",
        type=FILE_OR_STDOUT,
        metavar="FILE",
        help="Write the report as JSON (- for standard output).",
    ),
    option(
        "--markdown",
        type=FILE_OR_STDOUT,
        metavar="FILE",
        help="Write the report as Markdown, for a pull request (- for standard output).",
    ),
    option("--tables", type=FILE, metavar="FOLDER", help="Write each table as CSV and Parquet into this new folder."),
    option("--charts", type=FILE, metavar="FOLDER", help="Write the charts as SVG and PNG into this new folder."),
    option(
        "--junit",
        "junit_file",
        type=FILE,
        metavar="FILE",
        help="Write a JUnit file with one test case for each digest.",
    ),
    option(
        "--fail-on",
        metavar="EXPR",
        help="Exit with code 3 if this condition holds, such as 'slower > 0 or p99_ratio > 1.2'.",
    ),
    option("--open", "open_it", is_flag=True, help="Open the HTML file in a browser."),
    option(
        "--samples",
        is_flag=True,
        help="Show literal values: sample statements, query plans and complete error messages.",
    ),
    option(
        "--margin",
        type=Share(),
        default="10%",
        show_default=True,
        help="Smallest relative difference that counts as slower or faster.",
    ),
    option(
        "--margin-time",
        type=Duration(),
        default="50us",
        show_default=True,
        help="Smallest time difference that counts as slower or faster.",
    ),
    option(
        "--undisturbed",
        is_flag=True,
        help="Assume that nothing else ran on the target hosts. A slowdown of all statements is then"
        " attributed to the servers.",
    ),
    option(
        "--exclude-warmup",
        type=Duration(),
        default="0s",
        show_default=True,
        help="Duration of the warm-up. Statements that were sent during the warm-up are excluded.",
    ),
    option("--top", metavar="NUMBER", default=6, show_default=True, help="Number of digests to show on the terminal."),
    option(
        "--memory",
        metavar="SIZE",
        default="1500MB",
        show_default=True,
        help="Memory limit of the analysis. An analysis that needs more memory uses temporary files. The report is"
        " identical.",
    ),
)


def settings_of(options: dict[str, Any]) -> Settings:
    """Return the settings of the report. Raises UsageError for an invalid gate."""
    if options["fail_on"]:
        try:
            check_gate(options["fail_on"])
        except InputError as error:
            raise click.UsageError(str(error)) from error
    if options["open_it"] and options["html"] is None:
        raise click.UsageError("--open: expected --html FILE, too")
    for name in ("tables", "charts"):
        if options[name] is not None:
            refuse_existing(options[name], f"--{name}")
    margin = Margin(float(options["margin"]), options["margin_time"])
    return Settings(
        samples=options["samples"],
        margin=margin,
        skip_ns=options["exclude_warmup"],
        memory=options["memory"],
        undisturbed=options["undisturbed"],
    )


def prepare_output(options: dict[str, Any]) -> None:
    """Load what the verdicts and the output need, while the database counts the events."""
    steps: list[Callable[[], object]] = [partial(import_module, "scipy.special")]
    if not is_printed(options):
        steps.append(partial(getattr, analyze, "show_report"))
    if options["html"] is not None:
        steps += [_load_template, partial(getattr, analyze, "as_html")]
    prepare_early(*steps)


def _load_template() -> None:
    from ..analyze.render.templating import page_template

    page_template("report.html.j2")


def give(report: Report, options: dict[str, Any]) -> int:
    """Show and write a report, and return the exit code."""
    quiet = is_printed(options)
    if not quiet:
        analyze.show_report(report, console(), options["top"])
    if options["html"] is not None:
        write(options["html"], analyze.as_html(report))
        click.echo(f"\nHTML report: {options['html'].absolute()}", err=quiet)
    for name, made in (("json_file", analyze.as_json), ("markdown", analyze.as_markdown)):
        if options[name] is not None:
            write_or_print(options[name], made(report))
    if options["tables"] is not None:
        analyze.write_tables(report, options["tables"])
    if options["charts"] is not None:
        analyze.write_charts(report, options["charts"])
    broken = analyze.failed(options["fail_on"], analyze.gate_values(report)) if options["fail_on"] else []
    if options["junit_file"] is not None:
        write(options["junit_file"], analyze.as_junit(report, broken))
    if options["open_it"]:
        webbrowser.open(options["html"].absolute().as_uri())
    for text in broken:
        click.echo(f"--fail-on: {text}", err=True)
    return ExitCode.CONDITION if broken else ExitCode.SUCCESS


def is_printed(options: dict[str, Any]) -> bool:
    """Return whether JSON or Markdown is written to standard output. Nothing else may then be written there."""
    return any(str(options[name]) == "-" for name in ("json_file", "markdown"))


def write_or_print(path: Path, text: str) -> None:
    """Write a text to a file, or to standard output if the path is `-`."""
    if str(path) == "-":
        click.echo(text, nl=False)
    else:
        write(path, text)


def write(path: Path, text: str) -> None:
    """Write a report atomically. Raises InputError if the file cannot be written.

    From its first byte on, only the owner can read the file. A symbolic link at `path` is replaced, and the target of
    the link is not touched. A pipe or device is written directly.
    """
    try:
        if path.exists() and not path.is_symlink() and not path.is_file():
            path.write_text(text, encoding="utf-8", errors="backslashreplace")
            return
        with publish(path) as temporary:
            temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}") from error
