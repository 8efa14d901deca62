# SPDX-License-Identifier: Apache-2.0
"""Compares two targets: replays one tape against both in turn (A B A B ...).

A reset and a pause come before each run. The folder of a comparison contains its plan (`plan.toml`) and the runs
`a1.run`, `b1.run`, `a2.run`, ... Rounds can be added later. An interrupted comparison continues at the first missing
run.
"""

import os
import shutil
import subprocess
import time
from collections.abc import Callable, Collection
from contextlib import AbstractContextManager, ExitStack, closing
from dataclasses import replace
from pathlib import Path

from ..common.errors import QuerytapeError, TargetError
from ..common.files import make_private
from ..replay import ReplayOptions, Watcher, replay
from ..replay.observe.counting import WITHOUT_CACHE
from ..servers.queries import query_or_none
from ..servers.sandbox_url import parse_sandbox
from ..servers.target import Target
from .compare_plan import PLAN_FILE, PLANS, SIDES, ComparePlan, is_complete
from .plans import PlanOptions, ask_plans

# Arguments: side, folder of the run. The `with` block gets the options of the replay. A private server stops at the end
# of the block.
MakeOptions = Callable[[str, Path], AbstractContextManager[ReplayOptions]]


def run_comparison(
    plan: ComparePlan,
    folder: Path,
    make_options: MakeOptions,
    say: Callable[[str], None],
    make_watcher: Callable[[], Watcher],
) -> None:
    """Run the steps of the plan that are missing in the comparison's folder.

    `say` gets a line before each run. `make_watcher` makes the watcher of each run. Raises QuerytapeError if a reset
    fails, or a run is refused or partial. Also raises before the first run if a server refuses the login.
    """
    if not folder.exists():
        make_private(folder)
    plan.write(folder / PLAN_FILE)
    if not plan.reset:  # a reset may start the servers
        check_servers(plan, folder, make_options)
    for side, name in plan.steps():
        path = folder / name
        if is_complete(path):
            continue
        shutil.rmtree(path, ignore_errors=True)  # repeat the interrupted run
        say(f"{name}: {plan.targets[side]}")
        reset_targets(plan, side, path.stem)
        time.sleep(plan.pause_ns / 1e9)
        with make_options(side, path) as options:
            given = options if plan.query_cache else without_query_cache(options)
            summary = replay(plan.tape, given, make_watcher())
        if not summary.complete:
            raise QuerytapeError(
                f"{path}: {summary.info['partial'] or 'the accounting does not balance'}. The comparison was stopped"
            )


def check_servers(plan: ComparePlan, folder: Path, make_options: MakeOptions) -> None:
    """Connect to each server that a missing run needs, because an unavailable B would waste a whole run of A.

    Raises TargetError.
    """
    for side in sorted({side for side, name in plan.steps() if not is_complete(folder / name)}):
        if parse_sandbox(plan.targets[side]) is None:
            with make_options(side, folder / "check.run") as options, closing(options.target.connect()):
                pass


def reset_targets(plan: ComparePlan, side: str, name: str) -> None:
    """Run the plan's `reset` command, which restores the targets' data. Raises QuerytapeError if the command fails."""
    if not plan.reset:
        return
    variables = {"QUERYTAPE_SIDE": side, "QUERYTAPE_TARGET": plan.targets[side], "QUERYTAPE_RUN": name}
    done = subprocess.run(["/bin/sh", "-c", plan.reset], env={**os.environ, **variables}, stdin=subprocess.DEVNULL)
    if done.returncode:
        raise QuerytapeError(f"--reset failed with exit code {done.returncode} before run {name}: {plan.reset}")


def ask_for_plans(
    plan: ComparePlan, folder: Path, make_options: MakeOptions, digests: Collection[str], count: Collection[str] = ()
) -> Path | None:
    """Fetch the query plans of these digests from both servers. Return their folder, or None if `digests` is empty.

    `count`: digests whose reads are executed once more if their plans agree, to compare their counters. Earlier plans
    are replaced. Raises TargetError if a server is not available. A sandbox is restarted with the initial data of each
    run.
    """
    if not digests:
        return None
    targets, schemas = {}, {}
    with ExitStack() as stack:
        for side in SIDES:
            options = stack.enter_context(make_options(side, folder / PLANS))
            targets[side], schemas[side] = options.target, dict(options.overrides.schemas)
        shutil.rmtree(folder / PLANS, ignore_errors=True)
        options_of_plans = PlanOptions(digests=frozenset(digests), schemas=schemas, count=frozenset(count))
        ask_plans(plan.tape, targets, folder / PLANS, options_of_plans)
    return folder / PLANS


def without_query_cache(options: ReplayOptions) -> ReplayOptions:
    """Return options with an initial statement that disables the query cache in each session.

    The options are returned unchanged if no server uses a query cache. The statement needs no privilege, and changes
    nothing on the server. Raises TargetError if only one of target and read target has a query cache, because both get
    the same initial statements.
    """
    targets = [target for target in (options.target, options.reads_to) if target is not None]
    uses = [_uses_cache(target) for target in targets]
    if True not in uses:
        return options
    if None in uses:
        other = targets[uses.index(None)]
        raise TargetError(f"--no-query-cache: {other.name} has no query cache, but the other server has one")
    return replace(options, init=(*options.init, WITHOUT_CACHE))


def _uses_cache(target: Target) -> bool | None:
    """Return whether the server's query cache is enabled and has memory.

    None means that the server has no query cache.
    """
    with closing(target.connect()) as con:
        rows = query_or_none(
            con, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('query_cache_type', 'query_cache_size')", 2
        )
    found = {str(row[0]).lower(): str(row[1]).upper() for row in rows or ()}
    kind = found.get("query_cache_type")
    return None if kind is None else kind != "OFF" and found.get("query_cache_size") != "0"
