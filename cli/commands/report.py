# SPDX-License-Identifier: Apache-2.0
"""`querytape report`: compares two runs of a tape, or shows one run."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from ...analyze import gate_help, join_plans
from ...analyze.library import report
from ...common.errors import InputError
from ...common.exit_codes import ExitCode, help_of_codes
from ...common.text import printable, printable_lines
from ...common.units import count, plural, utc_time
from ...experiments.compare_plan import PLAN_FILE, PLANS, ComparePlan, complete_rounds, is_comparison
from ..cluster_options import cluster_options, on_cluster
from ..output import complete_tape
from ..report_options import give, output_options, prepare_output, settings_of
from ..stored_folders import StoredFolder

if TYPE_CHECKING:
    from ...experiments.show_statement import ShownStatement


@click.command(
    "report",
    epilog="""\b
Examples:
  querytape report shop.tape old.run new.run
  querytape report shop.tape old.run new.run --html report.html
  querytape report shop.tape new.run --json - | jq .verdicts
  querytape report upgrade.compare --fail-on 'slower > 0 or new_errors > 0'
  querytape report shop.tape old.run new.run --show 1f0c
  querytape report week.tape old.run new.run --memory 4GB

\b
"""
    + help_of_codes(ExitCode.CONDITION)
    + """

\b
Names for --fail-on:
"""
    + gate_help(),
)
@click.argument("paths", nargs=-1, required=True, type=StoredFolder(), metavar="TAPE RUN [RUN2]")
@click.option(
    "--plans",
    "plans_folder",
    type=StoredFolder(exists=True),
    metavar="FOLDER",
    help="Also show the query plans that `querytape plans` wrote into this folder.",
)
@click.option(
    "--show",
    metavar="DIGEST",
    help="Instead of the report, show one statement of this digest with its literal values and outcomes."
    " Failed statements come first. The first digits of the digest are enough.",
)
@output_options
@cluster_options
def report_command(paths: tuple[Path, ...], plans_folder: Path | None, show: str | None, **options: Any) -> int:
    """Compare two runs of a tape, or show one run.

    With two runs, the first is the reference (A) and the second is the candidate (B). With one run, the report shows
    the tape's times next to the run's times. These times are not compared, because the tape's times were measured in
    the server. The folder of a comparison (querytape compare) can be given instead of a tape and runs. A folder with
    a run of each tape of a set counts as one run.
    """
    settings = settings_of(options)
    if is_comparison(paths[0]):
        plan = ComparePlan.read(paths[0] / PLAN_FILE)
        settings = replace(settings, ddl=plan.ddl, sandboxes=plan.sandboxes)
    tape, a, b = sides_of(paths)
    complete_tape(tape)
    if show is not None:
        from ...experiments.show_statement import show_statement

        sides = {side: runs for side, runs in (("a", a), ("b", b)) if runs}
        click.echo("\n".join(shown_lines(show_statement(tape, sides, show), list(sides))))
        return 0
    prepare_output(options)
    with on_cluster(settings, options, tape, [*a, *b]) as working:
        content = report(tape, a, b, working).content
    kept = paths[0] / PLANS
    if plans_folder is None and is_comparison(paths[0]) and kept.is_dir():
        plans_folder = kept
    if plans_folder is not None:
        join_plans(content, plans_folder)
    return give(content, options)


def shown_lines(shown: "ShownStatement", sides: list[str]) -> list[str]:
    """Return lines about one execution of a digest, and its statement with its values."""
    event, counts = shown.event, shown.counts
    named = {"tape": "tape", **{side: side.upper() for side in sides}}
    failed = ", ".join(f"{name} {_known(counts[side])}" for side, name in named.items())
    lines = [
        f"digest {event['digest']}: {printable(shown.normalized, 200)}",
        f"{count(counts['executions'])} executions on the tape; failures: {failed}",
        f"session {event['session']}, event {event['seq']}, {utc_time(event['start_ns'])} UTC, user"
        f" {printable(event['user'] or 'unknown')}, schema {printable(event['db'] or 'none')} ({shown.why})",
    ]
    for side in ("tape", *sides):
        name = "the tape" if side == "tape" else side.upper()
        errno, error, rows = shown.outcomes.get(side, (None, None, None))
        if errno is None:
            said = "the error status is unknown" if side == "tape" else "not sent"
        elif errno:
            said = f"error {errno}: {printable(error or 'no message was recorded')}"
        else:
            changed = " changed" if event["class"] == "write" else ""
            said = "no error" + (f", {plural(rows, 'row')}{changed}" if rows is not None else "")
        lines.append(f"{name}: {said}")
    return [*lines, "", f"{printable_lines(event['text'])};"]


def _known(n: int | None) -> str:
    return "unknown" if n is None else count(n)


def sides_of(paths: tuple[Path, ...]) -> tuple[Path, list[Path], list[Path]]:
    """Return the tape, the runs of A and the runs of B. Raises InputError for a comparison without rounds."""
    if len(paths) == 1 and is_comparison(paths[0]):
        runs = complete_rounds(paths[0])
        if not runs["a"] or not runs["b"]:
            raise InputError(f"{paths[0]}: no round is complete yet")
        return ComparePlan.read(paths[0] / PLAN_FILE).tape, runs["a"], runs["b"]
    if len(paths) == 2 and (paths[0] / "run.json").exists():
        raise click.UsageError(
            f"{paths[0]} is a run: name its tape first (querytape report TAPE {paths[0]} {paths[1]})"
        )
    if len(paths) not in (2, 3):
        raise click.UsageError("expected a tape and one or two runs, or the folder of a comparison")
    return paths[0], [paths[1]], list(paths[2:])
