# SPDX-License-Identifier: Apache-2.0
"""`querytape fleet`: replays many tapes at the same time, each against its own target."""

import sys
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

import click

from ...common.exit_codes import ExitCode
from ...common.text import printable
from ..fleet_plan import read_fleet_plan
from ..live_lines import LiveLines
from ..param_types import Moment
from ..run_lines import exit_code, summary_lines
from ..stored_folders import NewFolder

if TYPE_CHECKING:
    from ...replay.drivers.fleet import PairEnd


@click.command(
    "fleet",
    epilog="""\b
Example of a plan:
  replay = ["--allow-writes", "--target-is-disposable"]
  [[pair]]
  tape = "shop.tape"
  target = "mysql://app@10.0.0.7/shop"
  [[pair]]
  tape = "stock.tape"
  target = "mysql://app@10.0.0.8/stock"
  replay = ["--defaults-file", "stock.cnf"]

\b
Examples:
  querytape fleet plan.toml -o new.runs
  querytape report shop.tape new.runs/shop.run
""",
)
@click.argument("plan", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=NewFolder(), help="New folder for the runs.")
@click.option("--start-at", "start_at_ns", type=Moment(), metavar="TIME", help="Start at this time (UTC).")
@click.option(
    "--align",
    type=click.Choice(["time", "start"]),
    default="time",
    show_default=True,
    help="Keep the time between the first events of the tapes (time), or send all first events at the same time"
    " (start).",
)
def fleet_command(plan: Path, output: Path, start_at_ns: int | None, align: str) -> int:
    """Replay many tapes at the same time, each against its own target.

    PLAN is a TOML file with one [[pair]] for each tape and its target. `replay` lists options of `querytape replay`,
    for one pair or for all pairs. Several pairs may have the same target, for example if several servers become one.
    Paths are relative to the current folder.

    Each pair has its own process and its own run, which is named after the pair (`name`, or the name of the tape). All
    runs have the same zero, the first event of all tapes. Every pair is checked before. If a pair is refused, no pair
    sends anything. A pair that is lost later does not stop the other pairs. Ctrl-C ends all runs as partial.

    The exit code is that of the worst pair; see `querytape replay`.
    """
    from ...replay.drivers.fleet import replay_fleet

    planned = read_fleet_plan(plan)
    with ExitStack() as stack:
        pairs = [pair.open(output, stack) for pair in planned]
        ends = replay_fleet(pairs, output, LiveLines(), start_at_ns=start_at_ns, align=align)  # type: ignore[arg-type]
    sys.stderr.flush()
    for end in sorted(ends, key=lambda end: end.summary is not None):  # first the pairs without a run
        for text in end_lines(end):
            click.echo(printable(text))
    return max((code_of(end) for end in ends), key=severity)


def end_lines(end: "PairEnd") -> list[str]:
    """Return the last lines about a pair."""
    if end.summary is not None:
        return summary_lines(end.summary)
    about = ". Some of its statements may have been sent" if end.sent else ""
    return [f"{end.name}: NO COMPLETE RUN: {end.problem}{about}"]


def code_of(end: "PairEnd") -> int:
    """Return the exit code of a pair."""
    if end.summary is not None:
        return exit_code(end.summary)
    return ExitCode.UNKNOWN if end.sent else ExitCode.ERROR


def severity(code: int) -> int:
    """Return the rank of an exit code. A higher rank is worse."""
    return (0, ExitCode.INCOMPLETE, ExitCode.ERROR, ExitCode.UNKNOWN).index(code)
