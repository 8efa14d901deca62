# SPDX-License-Identifier: Apache-2.0
"""`querytape compare`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from .analyze import build
from .cli_outputs import give, output_options, settings_of
from .cli_replay import LiveLines
from .compare import PLAN, ComparePlan, is_comparison, run_all, runs_of
from .errors import InputError
from .parameters import Duration
from .recovery import complete_tape


@click.command(
    "compare",
    short_help="Replay against two servers in turn, several times, and judge.",
    context_settings={"ignore_unknown_options": False},
    epilog="""\b
Examples:
  querytape compare shop.tape --target a=mysql://app@old/shop \\
      --target b=mysql://app@new/shop -o upgrade.compare
  querytape compare shop.tape --target a=mysql://root@127.0.0.1:3307/shop \\
      --target b=mysql://root@127.0.0.1:3308/shop --reset ./restore.sh \\
      -o u.compare -- --allow-writes --target-is-disposable
  querytape compare --plan upgrade.toml -o again.compare
  querytape compare --add 3 -o upgrade.compare

\b
Behind -- come options of `querytape replay`, the same for both sides.
--reset runs with QUERYTAPE_SIDE (a, b), QUERYTAPE_TARGET and QUERYTAPE_RUN.
""",
)
@click.argument("tape", required=False, type=click.Path(path_type=Path))
@click.argument("replay_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- REPLAY OPTIONS]")
@click.option("--target", "targets", multiple=True, metavar="a=URL, b=URL", help="a is the reference, b is judged.")
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The comparison's folder.")
@click.option("--rounds", type=click.IntRange(1, 1000), help="How often each side is run.  [default: 5]")
@click.option("--warmup", type=click.IntRange(0, 100), help="Rounds that are run first and not compared.  [default: 0]")
@click.option("--pause", type=Duration(), help="Before each run.  [default: 5s]")
@click.option("--reset", metavar="CMD", help="Run before each run: brings both targets back to where they began.")
@click.option("--plan", "plan_file", type=click.Path(path_type=Path, exists=True), help="A plan.toml that says it all.")
@click.option("--add", type=click.IntRange(1, 1000), help="Add rounds to the comparison in -o.")
@output_options
def compare_command(tape: Path | None, replay_options: tuple[str, ...], output: Path, **given: Any) -> int:
    """Replay a TAPE against two targets in turn, A B A B ..., and say what changed beyond their own variance.

    The folder keeps the plan, each run and report.html; run again, a comparison that was cut off goes on. How one round
    of A differs from the next is shown first: only what lies beyond it is called slower or faster.
    """
    settings = settings_of(given)
    plan = plan_of(tape, replay_options, output, given)
    complete_tape(plan.tape)
    run_all(plan, output, lambda text: click.echo(f"== {text}", err=True), LiveLines)
    runs = runs_of(output)
    given["html"] = given["html"] or output / "report.html"
    return give(build(plan.tape, runs["a"], runs["b"], settings), given)


def plan_of(tape: Path | None, replay_options: tuple[str, ...], output: Path, given: dict[str, Any]) -> ComparePlan:
    """Return what is to be run: of the command line, a plan file, or the comparison that is there already."""
    if given["add"] or (output.exists() and tape is None and given["plan_file"] is None):
        if not is_comparison(output):
            raise InputError(f"{output}: there is no comparison to go on with")
        plan = ComparePlan.read(output / PLAN)
        return replace(plan, rounds=plan.rounds + (given["add"] or 0))
    if given["plan_file"] is not None:
        if tape is not None or given["targets"] or replay_options:
            raise click.UsageError("--plan says it all: leave out TAPE, --target and replay options")
        plan = ComparePlan.read(given["plan_file"])
    elif tape is None:
        raise click.UsageError("expected a TAPE, --plan, or --add")
    else:
        targets = dict(text.partition("=")[::2] for text in given["targets"])
        plan = ComparePlan.checked(ComparePlan(tape.absolute(), targets, replay=replay_options))
    changed = {
        "rounds": given["rounds"],
        "warmup": given["warmup"],
        "pause_ns": given["pause"],
        "reset": given["reset"],
    }
    plan = replace(plan, **{name: value for name, value in changed.items() if value is not None})
    if is_comparison(output) and ComparePlan.read(output / PLAN) != plan:
        raise InputError(f"{output} holds another comparison: choose another name with -o, or go on with --add N")
    if output.exists() and not is_comparison(output):
        raise InputError(f"{output} already exists: choose another name with -o, or remove it first")
    return plan
