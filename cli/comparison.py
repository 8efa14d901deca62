# SPDX-License-Identifier: Apache-2.0
"""Shared code of the commands that compare: options of each run, progress lines, plans of changed digests."""

from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

import click

from ..analyze import Report, join_plans, may_be_slower
from ..common.errors import OptionError, TargetError
from ..experiments.compare import ask_for_plans
from ..experiments.compare_plan import ComparePlan
from ..replay import ReplayOptions
from ..servers.sandbox_url import parse_sandbox
from .replay_settings import first_ns, options_of, parse_replay_options, target_of

MakeOptions = Callable[[str, Path], AbstractContextManager[ReplayOptions]]
EXPLAINED = ("slower", "unstable")  # verdicts for which query plans are fetched


def say(text: str) -> None:
    """Print a progress line before a run."""
    click.echo(f"== {text}", err=True)


def options_maker(plan: ComparePlan, data: Mapping[str, Path] | None = None) -> MakeOptions:
    """Return a function that makes the options of one run from the plan's `querytape replay` options.

    `data`: the initial data folder of each side's sandbox. Raises InputError for an invalid sandbox.
    """
    sandboxes = {side: parse_sandbox(target) for side, target in plan.targets.items()}
    if data:
        sandboxes = {side: sandbox and replace(sandbox, data=data[side]) for side, sandbox in sandboxes.items()}

    @contextmanager
    def make_options(side: str, path: Path) -> Iterator[ReplayOptions]:
        words = ["--target", plan.targets[side], "-o", str(path), *plan.replay]
        options = parse_replay_options(words)
        options["target"] = sandboxes[side] or options["target"]
        if options["target_slowlog"]:
            raise OptionError(
                "--target-slowlog cannot be used in a comparison, because the cost of the log would distort the times"
            )
        with ExitStack() as stack:
            yield options_of(options, target_of(options, stack), first_ns(plan.tape))

    return make_options


def explain_changes(
    report: Report,
    plan: ComparePlan,
    output: Path,
    make_options: MakeOptions,
    verdicts: Collection[str] = EXPLAINED,
) -> None:
    """Fetch the query plans of changed digests from both servers.

    These digests are slower, unstable, maybe slower, or have other results. If a digest is in question because of its
    times and its plans agree, it is also executed, because its counters may differ.
    """
    different = {digest for row in report.answers["results"] if (digest := row["digest"])}
    by_time = {
        entry["digest"] for entry in report.digests if entry["verdict"] in verdicts or may_be_slower(report, entry)
    }
    digests = by_time | different
    try:
        folder = ask_for_plans(plan, output, make_options, digests, by_time)
    except TargetError as error:
        click.echo(f"could not read the query plans of the servers: {error}", err=True)
        return
    if folder is not None:
        join_plans(report, folder)
