# SPDX-License-Identifier: Apache-2.0
"""`querytape report`."""

from pathlib import Path
from typing import Any

import click

from .analyze import build
from .cli_outputs import give, output_options, settings_of
from .compare import PLAN, ComparePlan, is_comparison, runs_of
from .errors import InputError
from .recovery import complete_tape


@click.command(
    "report",
    epilog="""\b
Examples:
  querytape report shop.tape old.run new.run
  querytape report shop.tape old.run new.run --html report.html
  querytape report shop.tape new.run --json - | jq .verdicts
  querytape report upgrade.compare --fail-on 'slower > 0 or new_errors > 0'

\b
Exit codes: 0, 1 (a fault), 2 (usage), 3 (--fail-on holds).
Names for --fail-on: slower, faster, unstable, cannot_tell, new_errors,
  gone_errors, different_results, stalls, problems, p50_ratio, p95_ratio,
  p99_ratio, throughput_ratio; ratios are B over A.
""",
)
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="TAPE RUN [RUN2]")
@output_options
def report_command(paths: tuple[Path, ...], **given: Any) -> int:
    """Compare two runs of a tape, or show what one run did; or the folder of a comparison.

    With two runs the first is the reference (A) and the second is judged (B): both were measured in the client, so
    their times can be ranked. With one run the tape's own times stand beside it for information: they were taken in
    the server.
    """
    settings = settings_of(given)
    tape, a, b = sides_of(paths)
    complete_tape(tape)
    return give(build(tape, a, b, settings), given)


def sides_of(paths: tuple[Path, ...]) -> tuple[Path, list[Path], list[Path]]:
    """Return tape, runs of A and of B. Raises InputError for a comparison without rounds."""
    if len(paths) == 1 and is_comparison(paths[0]):
        runs = runs_of(paths[0])
        if not runs["a"] or not runs["b"]:
            raise InputError(f"{paths[0]}: no round is complete yet")
        return ComparePlan.read(paths[0] / PLAN).tape, runs["a"], runs["b"]
    if len(paths) not in (2, 3):
        raise click.UsageError("expected a tape and one or two runs, or the folder of a comparison")
    return paths[0], [paths[1]], list(paths[2:])
