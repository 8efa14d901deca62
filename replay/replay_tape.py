# SPDX-License-Identifier: Apache-2.0
"""Replay a tape: check tape and target, plan, refuse unsafe replays, run the plan, and complete the run."""

from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from os import PathLike
from pathlib import Path

import duckdb

from ..common.duck import plain_reason, small_database
from ..common.errors import FolderError, InputError, RefusedError
from ..common.signals import stop_on_signals
from ..schemas import Folder, open_folder
from ..servers.clock import read_clock
from ..servers.facts import Facts, gather
from .checks.logins import check_logins
from .checks.machine import measure
from .checks.preflight import Finding, check, check_read_target, check_tape
from .follow import Growing, Pieces, check_follow, first_piece, late_start
from .observe.host import Host, SshHost, local_process, pid_file
from .observe.schema_facts import keep_schema_facts, tape_schemas
from .options import ReplayOptions
from .plan.catalog import Catalog, created_by, read_catalog
from .plan.make_plan import PlanRequest, make_plan
from .plan.overrides import source_steps
from .plan.rules import Plan
from .run import Replay
from .run_folder import RunFolder, new_run
from .summary import RunSummary, finish
from .task import ReplayTask
from .watcher import ALONE, ReplayGroup, Watcher


def replay(
    tape_path: str | PathLike[str] | Folder,
    options: ReplayOptions,
    watcher: Watcher | None = None,
    growing: Growing | None = None,
    group: ReplayGroup = ALONE,
) -> RunSummary:
    """Replay a tape against a target into a new run folder. Return the run.

    `growing`: a tape that is still being written. It is followed until its capture ends or the run is stopped. `group`:
    the replays of parts of one tape that begin at the same moment.

    In the main thread, the first Ctrl-C (or SIGTERM) stops sending and ends the run as partial. The second Ctrl-C ends
    the run at once.

    - InputError: the tape or the options are invalid.
    - TargetError: the target cannot be reached.
    - RefusedError: the pre-flight refuses the replay.
    """
    watcher = watcher or Watcher()
    if growing is not None:
        check_follow(options)
    tape = opened(tape_path, growing)
    options.rules()  # reports invalid options before the folder is made
    refuse(check_tape(tape.info, options.partial_ok))
    with new_run(options.output) as folder:
        task = checked(tape, options, folder, watcher, group)
        if growing is not None:
            late = late_start(task.options, task.plan, growing)
            task = replace(task, options=late, pieces=Pieces(growing, task.plan, folder.outcomes))
        return run_task(task)


def span_of(tape: Folder, options: ReplayOptions, group: ReplayGroup) -> Callable[[int, int], tuple[int, int]]:
    """Return the function that maps the first and last moment of this tape to those of all tapes replayed together.

    With --start-at, a tape of a split set keeps its place in the set. Replays of all tapes of the set at the same time
    then send their events like one replay of the whole tape.
    """
    first, last = tape.tape_info.get("set_first_ns"), tape.tape_info.get("set_last_ns")
    if options.start_at_ns is None or group.holds or first is None or last is None:
        return group.span
    begin = max(first, options.selection.from_ns or first)
    return lambda own_first, own_last: (min(begin, own_first), max(last, own_last))


def checked(
    tape: Folder, options: ReplayOptions, folder: RunFolder, watcher: Watcher, group: ReplayGroup
) -> ReplayTask:
    """Query the servers, plan the tape and check everything. Raises the exceptions of `replay`."""
    rules = options.rules()
    with closing(options.target.connect(options.connect_timeout_s)) as con:
        options = replace(options, target=options.target.settled(con))
        facts, clock = gather(con), read_clock(con)
        read_target = read_target_facts(options)
        catalog = read_catalog(con, created_by(tape)) if rules.commit_order or rules.overrides.ids else None
    group.connected(facts)
    options = options.with_steps(source_steps(tape.info), catalog.steps if catalog else None)
    check_logins(options, folder)
    request = PlanRequest(
        tape,
        rules,
        folder.spill,
        folder.outcomes,
        catalog=catalog or Catalog(),
        collations=common_collations(facts, read_target),
        keep_planner=True,
        span=span_of(tape, options, group),
        progress=watcher.planning,
        lists_tables=rules.commit_order and not group.alone,
    )
    try:
        plan = make_plan(request)
    except duckdb.Error as error:
        raise InputError(f"{tape.path}: cannot read the tape: {plain_reason(error)}") from error
    findings = check(plan, options, facts, measure(), alone=group.alone)
    if options.reads_to is not None and read_target is not None:
        findings += check_read_target(plan, options.reads_to, read_target, facts)
    for finding in findings:
        watcher.finding(finding)
    refuse(findings)
    hosts = open_hosts(options, facts)
    if options.schema_facts:
        keep_facts(plan, options, folder)
    watcher.planned(plan)
    return ReplayTask(plan, options, folder, facts, read_target, watcher=watcher, hosts=hosts, group=group, clock=clock)


def run_task(task: ReplayTask) -> RunSummary:
    """Run a checked plan into its folder and complete the run."""
    running = Replay(task)
    with stop_on_signals(running.stop):  # active until the last write of run.json: every started run is completed
        task.folder.write(running.info)
        return finish(running.run())


def opened(tape: str | PathLike[str] | Folder, growing: Growing | None = None, has_parts: bool = True) -> Folder:
    """Return the open tape, or its first piece if the tape is still being written. Raises InputError.

    `has_parts`: see `open_folder`.
    """
    try:
        if growing is not None:
            return first_piece(growing)
        return tape if isinstance(tape, Folder) else open_folder("tape", Path(tape), has_parts)
    except FolderError as error:
        raise InputError(str(error)) from error


def keep_facts(plan: Plan, options: ReplayOptions, folder: RunFolder) -> None:
    """Keep properties of the tape's schemas on the target.

    Raises TargetError if the target can no longer be reached.
    """
    renamed = options.overrides.schemas
    with small_database() as con, closing(options.target.connect(options.connect_timeout_s)) as server:
        there = {name: renamed.get(name, name) for name in tape_schemas(con, plan.tape, options.target.db)}
        keep_schema_facts(con, server, there, folder.path / "schema_facts.parquet", plan.rules.allow_writes)


def read_target_facts(options: ReplayOptions) -> Facts | None:
    """Return the facts of the read target. Return None if there is no read target.

    Raises TargetError if the read target cannot be reached.
    """
    if options.reads_to is None:
        return None
    with closing(options.reads_to.connect(options.connect_timeout_s)) as con:
        return gather(con)


def common_collations(facts: Facts, read_target: Facts | None) -> dict[int, str]:
    """Return the collations that have the same id and name on every target."""
    known = facts.collations or {}
    if read_target is None:
        return known
    return {number: names for number, names in known.items() if (read_target.collations or {}).get(number) == names}


def open_hosts(options: ReplayOptions, facts: Facts) -> tuple[Host, ...]:
    """Return the local machine, and the target's machine if it is visible. Raises TargetError if ssh cannot connect."""
    if not options.sample_ns:
        return ()
    if options.host_metrics:
        return SshHost(options.host_metrics, pid_file(facts.variables)), Host(source="tool")
    if options.target.is_local:
        return (Host(pid=local_process(options.target, facts)),)
    return (Host(source="tool"),)


def refuse(findings: Iterable[Finding]) -> None:
    """Raise RefusedError with the text of every refusing finding. Do nothing if no finding refuses."""
    reasons = [finding.text for finding in findings if finding.severity == "refuse"]
    if reasons:
        raise RefusedError("refused: " + "\n           ".join(reasons))
