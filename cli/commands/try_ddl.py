# SPDX-License-Identifier: Apache-2.0
"""`querytape try`: tests DDL on copies of a server's data."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from ...analyze import build
from ...common.errors import InputError, OptionError
from ...common.exit_codes import ExitCode, help_of_codes
from ...common.files import refuse_existing
from ...experiments.compare import run_comparison
from ...experiments.compare_plan import PLAN_FILE, ComparePlan, complete_rounds, is_comparison
from ...experiments.try_ddl import check_ddl, copies, sentences, usual_schema
from ...servers.sandbox_url import parse_sandbox
from ..comparison import EXPLAINED, explain_changes, options_maker, say
from ..live_lines import LiveLines
from ..output import complete_tape, console
from ..param_types import Duration
from ..replay_settings import parse_replay_options
from ..report_options import give, is_printed, output_options, settings_of
from ..stored_folders import LocalPath, StoredFolder


@click.command(
    "try",
    epilog="""\b
Examples:
  querytape try shop.tape --target 'sandbox?data=/restore/data' \\
      --ddl 'ALTER TABLE orders ADD INDEX k_user (user_id)' -o index.compare
  querytape try shop.tape --target 'sandbox:mysql-8.0?data=/data' \\
      --ddl 'ALTER TABLE t DROP INDEX k_old' --rounds 3 -o drop.compare

\b
Options of `querytape replay` follow after --. Writes are sent, because each
run has a private server with a copy of the data folder. The original folder
is not changed.

\b
"""
    + help_of_codes(ExitCode.CONDITION)
    + """
""",
)
@click.argument("tape", type=StoredFolder())
@click.argument("replay_options", nargs=-1, type=click.UNPROCESSED, metavar="[-- REPLAY OPTIONS]")
@click.option(
    "--target",
    required=True,
    metavar="sandbox[:KIND]?data=FOLDER[&NAME=VALUE...]",
    help="Private server for each run. The server uses a copy of a stopped server's data folder and the given server"
    " options, as in 'sandbox:mysql-8.0?data=/data&innodb_buffer_pool_size=4G'.",
)
@click.option(
    "--ddl",
    multiple=True,
    required=True,
    metavar="SQL",
    help="DDL statement to test. The statement runs in the schema that most statements of the tape use.",
)
@click.option("-o", "--output", required=True, type=LocalPath(), help="Folder of the comparison.")
@click.option("--rounds", type=click.IntRange(1, 1000), default=5, show_default=True, help="Number of runs per side.")
@click.option("--pause", type=Duration(), default="5s", show_default=True, help="Pause before each run.")
@output_options
def try_command(tape: Path, replay_options: tuple[str, ...], target: str, output: Path, **options: Any) -> int:
    """Test an index or other DDL on copies of a server's data.

    Replays the tape without the DDL (A) and with the DDL (B), in turn. Each run has a private server with a fresh copy
    of the same data.
    """
    settings = replace(settings_of(options), ddl=tuple(options["ddl"]))
    sandbox = parse_sandbox(target)
    if sandbox is None or sandbox.data is None:
        raise OptionError(
            f"--target {target}: `querytape try` runs DDL only on private copies of a stopped server's data folder"
            " (expected sandbox?data=FOLDER or sandbox:KIND?data=FOLDER)"
        )
    check_ddl(options["ddl"])
    complete_tape(tape)
    plan = ComparePlan(
        tape.absolute(),
        {"a": target, "b": target},
        rounds=options["rounds"],
        pause_ns=options["pause"],
        replay=("--allow-writes", *replay_options),
        kind="try",
        ddl=options["ddl"],
    )
    if not is_comparison(output):
        refuse_existing(output)
    elif ComparePlan.read(output / PLAN_FILE) != plan:
        raise InputError(f"{output} contains another comparison: choose another folder with -o")
    replaying = parse_replay_options(["--target", target, "-o", str(output), *plan.replay])
    renamed = dict(replaying["map_db"])
    schema = usual_schema(tape)
    with copies(sandbox, options["ddl"], renamed.get(schema, schema), say) as made:
        make_options = options_maker(plan, made.folders)
        run_comparison(plan, output, make_options, say, LiveLines)
        runs = complete_rounds(output)
        report = build(plan.tape, runs["a"], runs["b"], settings)
        explain_changes(report, plan, output, make_options, (*EXPLAINED, "faster"))
    options["html"] = options["html"] or output / "report.html"
    for text in sentences(report, made):
        console(err=is_printed(options)).print(text, style="bold", markup=False)
    return give(report, options)
