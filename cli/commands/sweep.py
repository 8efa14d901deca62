# SPDX-License-Identifier: Apache-2.0
"""`querytape sweep`: replays a tape's sessions at growing concurrency."""

import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any

import click

from ...analyze import SweepLevel
from ...common.files import new_folder
from ...common.staged import shown_path
from ...common.units import short_duration
from ...experiments.sweep import run_sweep
from ...replay import Watcher
from ..live_lines import LiveLines
from ..metrics_page import MetricsPage
from ..option_sections import SectionedCommand
from ..output import complete_tape
from ..param_types import Duration, Levels
from ..replay_options import sweep_sections
from ..replay_settings import first_ns, options_of, target_of
from ..shown_runs import ShownLevels
from ..stored_folders import StoredFolder
from ..watchers import level_watcher

HEAD = " sessions  statements/s      p50      p95      p99   errors"


def print_line(watcher: Watcher, text: str) -> None:
    """Print a line of the table. If stdout is not a terminal, also print the line above the live view."""
    click.echo(text)
    if isinstance(watcher, LiveLines) and not sys.stdout.isatty():
        watcher.say(text)


def line(level: SweepLevel) -> str:
    """Return a level as a line of the table under HEAD."""
    times = "".join(f"{short_duration(ns):>9}" for ns in (level.p50_ns, level.p95_ns, level.p99_ns))
    return f"{level.sessions:>9,}{level.per_second:>14,.0f}{times}{level.errors:>9,}"


@click.command(
    "sweep",
    cls=SectionedCommand,
    common=(
        *("target", "output", "max_concurrent_sessions", "each", "defaults_file", "ssl_mode"),
        *("allow_writes", "target_is_disposable", "order", "accounts_file"),
    ),
    epilog="""\b
Example:
  querytape sweep shop.tape --target mysql://app@10.0.0.7/shop \\
      --sessions 1,2,4,...,256 --each 60s -o shop.sweep
""",
)
@click.argument("tape", type=StoredFolder())
@click.option(
    "--sessions",
    "max_concurrent_sessions",
    type=Levels(),
    default="1,2,4,...,64",
    show_default=True,
    help="Number of concurrent sessions in each level. `...` repeats the last factor.",
)
@click.option("--each", type=Duration(), default="60s", show_default=True, help="Duration of each level.")
@sweep_sections
def sweep_command(tape: Path, max_concurrent_sessions: tuple[int, ...], each: int, **options: Any) -> None:
    """Replay a tape's sessions at increasing concurrency.

    Each level replays a fixed number of concurrent sessions for the time of --each. The sessions send events as fast as
    the target answers.

    The output shows throughput and latency for each level, in a table, sweep.html and sweep.json. The output folder
    also contains the run of each level.
    """
    with ExitStack() as stack:
        metrics = MetricsPage(options["metrics"], stack)
        complete_tape(tape)
        output: Path = options["output"]
        new_folder(output)
        watcher = level_watcher(options["live"], max_concurrent_sessions, ShownLevels(metrics))
        tell = partial(print_line, watcher)
        tell(HEAD)
        target = target_of(options, stack)
        replay_options = options_of(options | {"stop_after_ns": each}, target, first_ns(tape))
        run_sweep(tape, replay_options, max_concurrent_sessions, lambda level: tell(line(level)), watcher)
    click.echo(f"chart: {shown_path(output)}/sweep.html")
