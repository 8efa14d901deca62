# SPDX-License-Identifier: Apache-2.0
"""`querytape try`."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ...analyze import build
from ...common.errors import InputError
from ...common.files import refuse_existing
from ...experiments.compare import complete_rounds, is_comparison, run_comparison
from ...experiments.compare_plan import PLAN_FILE, ComparePlan
from ...experiments.try_ddl import check_ddl, copies, sentences, usual_schema
from ..comparison import EXPLAINED, explain_changes, options_maker, say
from ..live_lines import LiveLines
from ..output import complete_tape, console
from ..param_types import Duration, Pair
from ..replay_settings import parse_replay_options, sandbox_config
from ..report_options import give, output_options, settings_of


@click.command(
    "try",
    epilog="""\b
Examples:
  querytape try shop.tape --target sandbox --sandbox-data /restore/data \\
      --ddl 'ALTER TABLE orders ADD INDEX k_user (user_id)' -o index.compare
  querytape try shop.tape --target sandbox:mysql-8.0 --sandbox-data /data \\
      --ddl 'ALTER TABLE t DROP INDEX k_old' --rounds 3 -o drop.compare

\b
Options of `querytape replay` follow after --. Writes are sent: each run has a
private server with a copy of the data folder, which is left as it is.

\b
Exit codes: 0 success, 1 error, 2 wrong usage, 3 --fail-on holds.
""",
)
@click.argument("tape", type=click.Path(path_type=Path))
@click.argument("replay_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- REPLAY OPTIONS]")
@click.option(
    "--target", required=True, metavar="sandbox[:KIND]", help="Private server to start for each run: sandbox:mysql-8.0."
)
@click.option(
    "--sandbox-data",
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Data folder of a stopped server, to copy.",
)
@click.option(
    "--sandbox-option",
    multiple=True,
    type=Pair(),
    metavar="NAME=VALUE",
    help="Option of the private servers, such as innodb_buffer_pool_size=4G; may be given several times.",
)
@click.option(
    "--ddl", multiple=True, required=True, metavar="SQL", help="Statement to try, in the tape's usual schema."
)
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="Folder of the comparison.")
@click.option(
    "--rounds", type=click.IntRange(1, 1000), default=5, show_default=True, help="Number of runs of each side."
)
@click.option("--pause", type=Duration(), default="5s", show_default=True, help="Pause before each run.")
@output_options
def try_command(
    tape: Path, replay_options: tuple[str, ...], target: str, sandbox_data: Path, output: Path, **options: Any
) -> int:
    """Try an index, or other DDL, on copies of a server's data.

    The tape is replayed before (A) and after (B) the DDL, A B A B ..., each time on a private server with a fresh copy
    of the same data. The verdict is on all statements: those that got faster, and the writes that got slower.
    """
    settings = replace(settings_of(options), ddl=tuple(options["ddl"]))
    if target != "sandbox" and not target.startswith("sandbox:"):
        raise InputError(
            f"--target {target}: DDL is tried on private copies alone: give sandbox, or sandbox:KIND, and the data"
            " folder of a stopped server with --sandbox-data"
        )
    check_ddl(options["ddl"])
    private = [f"{name}={value}" for name, value in options["sandbox_option"]]
    complete_tape(tape)
    plan = ComparePlan(
        tape.absolute(),
        {"a": target, "b": target},
        rounds=options["rounds"],
        pause_ns=options["pause"],
        replay=("--allow-writes", *(word for text in private for word in ("--sandbox-option", text)), *replay_options),
        kind="try",
        ddl=options["ddl"],
    )
    if not is_comparison(output):
        refuse_existing(output)
    elif ComparePlan.read(output / PLAN_FILE) != plan:
        raise InputError(f"{output} holds another comparison: choose another name with -o")
    kind = target.partition(":")[2] or "mariadb"
    replaying = parse_replay_options(["--target", target, "-o", str(output), *plan.replay])
    renamed = dict(replaying["map_db"])
    schema = usual_schema(tape)
    config = sandbox_config(replaying)
    with copies(kind, sandbox_data, options["ddl"], renamed.get(schema, schema), say, config) as made:
        make_options = options_maker(plan, made.folders)
        run_comparison(plan, output, make_options, say, LiveLines)
        runs = complete_rounds(output)
        report = build(plan.tape, runs["a"], runs["b"], settings)
        explain_changes(report, plan, output, make_options, (*EXPLAINED, "faster"))
    options["html"] = options["html"] or output / "report.html"
    quiet = any(str(options[name]) == "-" for name in ("json_file", "markdown"))
    for text in sentences(report, made):
        console(err=quiet).print(text, style="bold", markup=False)
    return give(report, options)
