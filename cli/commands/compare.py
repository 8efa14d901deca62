# SPDX-License-Identifier: Apache-2.0
"""`querytape compare`: replays a tape against two servers in turn, and compares them."""

from contextlib import ExitStack, nullcontext
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from ...analyze import Settings, build
from ...common.errors import InputError
from ...common.exit_codes import ExitCode, help_of_codes
from ...common.files import refuse_existing
from ...experiments.compare import run_comparison, without_query_cache
from ...experiments.compare_plan import PLAN_FILE, SIDES, ComparePlan, complete_rounds, is_comparison
from ...experiments.nightly import finish_night, one_night, prune
from ...experiments.quick_compare import QuickOptions, compare_quickly
from ...experiments.quick_selection import WITHOUT_TIME, sentences
from ..comparison import explain_changes, options_maker, say
from ..metrics_page import METRICS, MetricsPage
from ..option_sections import SectionedCommand, untitled
from ..output import complete_tape, console
from ..param_types import Duration
from ..report_options import give, is_printed, output_options, settings_of
from ..shown_runs import quick_heading, round_heading, show_round
from ..stored_folders import LocalPath, StoredFolder
from ..watchers import LIVE, run_watcher

WITHIN_NS, EACH_NS = 300_000_000_000, 10_000_000_000
OF_THE_PLAN = ("rounds", "warmup", "pause_ns", "reset", "query_cache")
NOT_QUICK = ("rounds", "warmup", "pause_ns", "reset", "plan_file", "add", "metrics")


@click.command(
    "compare",
    cls=SectionedCommand,
    common=(
        *("targets", "output", "rounds", "reset", "quick", "plan_file", "nightly"),
        *("html", "fail_on", "samples"),
    ),
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
  querytape compare --plan upgrade.toml --nightly /srv/nights --keep 14 \\
      --fail-on 'slower > 0 or new_errors > 0'
  querytape compare shop.tape --target a=mysql://app@old/shop \\
      --target b=mysql://app@new/shop --quick -o quick.compare

\b
Options of `querytape replay` follow after --. They apply to both sides.
The environment of the --reset command contains QUERYTAPE_SIDE (a or b),
QUERYTAPE_TARGET and QUERYTAPE_RUN.

\b
"""
    + help_of_codes(ExitCode.CONDITION, ExitCode.INCOMPLETE)
    + """

\b
The result of --quick is incomplete if the time did not suffice for all reads.
""",
)
@click.argument("tape", required=False, type=StoredFolder())
@click.argument("replay_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- REPLAY OPTIONS]")
@click.option(
    "--target",
    "targets",
    multiple=True,
    metavar="a=URL, b=URL",
    help="The two servers, as URLs for `querytape replay`: a is the reference, b is the candidate.",
)
@click.option(
    "-o",
    "--output",
    type=LocalPath(),
    help="Folder of the comparison. An existing comparison is continued.",
)
@click.option(
    "--nightly",
    type=LocalPath(),
    metavar="FOLDER",
    help="Instead of -o: folder for a new comparison, which is named by date and time (UTC). When the new comparison"
    " is complete, older comparisons are removed (--keep).",
)
@click.option(
    "--keep",
    type=click.IntRange(1),
    metavar="NUMBER",
    default=30,
    show_default=True,
    help="With --nightly: number of complete comparisons to keep. If the new comparison fails, no older comparison is"
    " removed.",
)
@click.option("--rounds", type=click.IntRange(1, 1000), help="Number of runs per side.  [default: 5]")
@click.option(
    "--warmup", type=click.IntRange(0, 100), help="Number of warm-up rounds, which are not compared.  [default: 0]"
)
@click.option("--pause", "pause_ns", type=Duration(), help="Pause before each run.  [default: 5s]")
@click.option("--reset", metavar="CMD", help="Shell command that restores the data of both servers before each run.")
@click.option(
    "--no-query-cache",
    "query_cache",
    flag_value=False,
    default=None,
    help="Disable the query cache in the replay's sessions (MySQL before 8.0, MariaDB).",
)
@click.option(
    "--plan",
    "plan_file",
    type=click.Path(path_type=Path, exists=True),
    help="Read the tape, targets and options from this plan.toml.",
)
@click.option(
    "--add",
    type=click.IntRange(1, 1000),
    metavar="NUMBER",
    help="Number of rounds to add to the comparison in the folder of -o.",
)
@click.option(
    "--quick",
    is_flag=True,
    help="Compare without load. Up to five statements of each read digest are sent to both servers, one statement at"
    " a time.",
)
@click.option("--within", type=Duration(), help="Maximum duration of --quick.  [default: 5m]")
@click.option(
    "--each",
    type=Duration(),
    help="Maximum time of one statement of --quick. Longer statements are killed.  [default: 10s]",
)
@untitled(METRICS, LIVE)
@output_options
def compare_command(
    tape: Path | None,
    replay_options: tuple[str, ...],
    output: Path | None,
    nightly: Path | None,
    keep: int,
    **options: Any,
) -> int:
    """Replay a tape against two servers in turn and compare the results.

    The runs alternate (A B A B ...), so that both servers have the same conditions. The output folder keeps the plan,
    each run and report.html. To continue an interrupted comparison, repeat the command. The report first shows how much
    the rounds of A differ from each other. B is reported as slower or faster only if the difference between A and B is
    larger.

    With --quick there is no full replay. Samples of the reads are sent one at a time (A B B A) until each verdict is
    certain or the time is up. Rows and errors are also compared. The first lines of the output list the statements
    that were not sent.
    """
    if (output is None) == (nightly is None):
        raise click.UsageError("expected -o FOLDER, or --nightly FOLDER")
    if options["quick"]:
        not_with_quick(options)
    with ExitStack() as stack:
        options["page"] = MetricsPage(options["metrics"], stack)
        if output is not None:
            return compare(tape, replay_options, output, options)
        if options["add"]:
            raise click.UsageError(
                "--add cannot be combined with --nightly, because each night is a new comparison. Use -o instead"
            )
        assert nightly is not None
        return run_night(nightly, keep, tape, replay_options, options)


def not_with_quick(options: dict[str, Any]) -> None:
    """Raise UsageError if one of the given options cannot be used with --quick."""
    if wrong := [name for name in NOT_QUICK if options[name] is not None]:
        raise click.UsageError(f"--{wrong[0].partition('_')[0]} cannot be combined with --quick")


def run_night(
    folder: Path, keep: int, tape: Path | None, replay_options: tuple[str, ...], options: dict[str, Any]
) -> int:
    """Run a comparison in a new folder that is named by date.

    Remove the oldest folders after a complete comparison. Return the exit code.
    """
    with one_night(folder) as night:
        options["json_file"] = options["json_file"] or night / "report.json"
        code = compare(tape, replay_options, night, options)
        finish_night(night, code)
        for path in prune(folder, keep):
            click.echo(f"removed {path}, because {keep} newer nightly comparisons are complete", err=True)
    return code


def compare(tape: Path | None, replay_options: tuple[str, ...], output: Path, options: dict[str, Any]) -> int:
    """Run the missing runs of a comparison, write the report, and return the exit code."""
    settings = settings_of(options)
    if options["quick"]:
        return compare_samples(tape, replay_options, output, settings, options)
    if wrong := [name for name in ("within", "each") if options[name] is not None]:
        raise click.UsageError(f"--{wrong[0]} requires --quick")
    plan = plan_of(tape, replay_options, output, options)
    complete_tape(plan.tape)
    make_options = options_maker(plan)
    page: MetricsPage = options["page"]
    run_comparison(
        plan,
        output,
        make_options,
        say,
        lambda: run_watcher(
            options["live"],
            lambda live: show_round(page, live),
            heading=lambda name: round_heading(name, plan.rounds, plan.warmup),
            one_of_many=True,
        ),
    )
    runs = complete_rounds(output)
    options["html"] = options["html"] or output / "report.html"
    report = build(plan.tape, runs["a"], runs["b"], replace(settings, sandboxes=plan.sandboxes))
    explain_changes(report, plan, output, make_options)
    return give(report, options)


def compare_samples(
    tape: Path | None, replay_options: tuple[str, ...], output: Path, settings: Settings, options: dict[str, Any]
) -> int:
    """Run `--quick`, print the report, and return the exit code."""
    plan = plan_of(tape, replay_options, output, options)
    make_options = options_maker(plan)
    refuse_existing(output)
    complete_tape(plan.tape)
    options["html"] = options["html"] or output / "report.html"
    with ExitStack() as stack:
        sides = {side: stack.enter_context(make_options(side, output)) for side in SIDES}
        if any(each.allow_writes or each.reads_to for each in sides.values()):
            raise click.UsageError("--quick sends only reads: omit --allow-writes and --reads-to")
        if not plan.query_cache:
            sides = {side: without_query_cache(each) for side, each in sides.items()}
        within_ns, each_ns = options["within"] or WITHIN_NS, options["each"] or EACH_NS
        watcher = partial(run_watcher, options["live"], heading=quick_heading, one_of_many=True)
        quick = QuickOptions(within_ns / 1e9, each_ns, settings, say=say, make_watcher=watcher)
        result = compare_quickly(plan, output, sides, quick)
        report = build(result.tape, result.runs["a"], result.runs["b"], settings)
        explain_changes(report, replace(plan, tape=result.tape), output, lambda side, path: nullcontext(sides[side]))
    for text in sentences(report.tape.info["quick"]):
        console(err=is_printed(options)).print(text, style="bold", markup=False)
    code = give(report, options)
    return code or (ExitCode.INCOMPLETE if WITHOUT_TIME in report.tape.info["quick"]["not_asked"] else ExitCode.SUCCESS)


def plan_of(tape: Path | None, replay_options: tuple[str, ...], output: Path, options: dict[str, Any]) -> ComparePlan:
    """Return the plan of the comparison: from the command line, a plan file, or the existing output folder."""
    if options["add"] or (output.exists() and tape is None and options["plan_file"] is None):
        if not is_comparison(output):
            raise InputError(f"{output}: not a comparison (expected plan.toml in the folder)")
        plan = ComparePlan.read(output / PLAN_FILE)
        if plan.kind != "compare":
            raise InputError(
                f"{output}: cannot add rounds to a comparison of kind `{plan.kind}`: start a new comparison"
            )
        return replace(plan, rounds=plan.rounds + (options["add"] or 0))
    if options["plan_file"] is not None:
        if tape is not None or options["targets"] or replay_options:
            raise click.UsageError(
                "--plan sets the tape, the targets and the replay options: omit these options on the command line"
            )
        plan = ComparePlan.read(options["plan_file"])
    elif tape is None:
        raise click.UsageError("expected a TAPE, --plan, or --add")
    else:
        targets = dict(text.partition("=")[::2] for text in options["targets"])
        plan = ComparePlan.checked(ComparePlan(tape.absolute(), targets, replay=replay_options))
    plan = replace(plan, **{name: options[name] for name in OF_THE_PLAN if options[name] is not None})
    if is_comparison(output) and ComparePlan.read(output / PLAN_FILE) != plan:
        raise InputError(
            f"{output} contains another comparison: choose another folder with -o, or continue that comparison with"
            " --add N"
        )
    if not is_comparison(output):
        refuse_existing(output)
    return plan
