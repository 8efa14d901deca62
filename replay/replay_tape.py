# SPDX-License-Identifier: Apache-2.0
"""Replays a tape: checks tape and target, plans, refuses what must not run, then runs the plan and sums it up."""

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from os import PathLike
from pathlib import Path

import duckdb

from ..common.duck import plain_reason, small_database
from ..common.errors import FolderError, InputError, RefusedError
from ..common.signals import stop_on_signals
from ..schemas import Folder, open_folder
from ..servers.facts import Facts, gather
from .checks.logins import check_logins
from .checks.machine import is_local, measure
from .checks.preflight import Finding, check, check_read_target, check_tape
from .follow import Growing, Pieces, check_follow, first_piece, late_start
from .observe.host import Host, SshHost
from .observe.schema_facts import keep_schema_facts, tape_schemas
from .observe.server_counters import cache_counters, server_counters
from .observe.target_process import local_process, pid_file
from .options import ReplayOptions
from .plan.catalog import read_catalog
from .plan.make_plan import make_plan
from .plan.overrides import source_steps
from .plan.rules import Plan
from .run import Replay
from .run_folder import RunFolder, first_info, new_run
from .summary import RunSummary, finish
from .together import ALONE, Together
from .watcher import Watcher


def replay(
    tape_path: str | PathLike[str] | Folder,
    options: ReplayOptions,
    watcher: Watcher | None = None,
    growing: Growing | None = None,
    together: Together = ALONE,
) -> RunSummary:
    """Replay a tape against a target into a new run folder and return the run.

    `growing`: the tape is under way, and is replayed as it grows, until its capture ends or the run is stopped.
    `together`: it is one of several replays of parts of one tape, which begin at one moment.
    In the main thread, Ctrl-C (or SIGTERM) once stops sending and ends the run as partial; twice ends it now.
    Raises InputError (tape, options), TargetError (can't be reached), RefusedError (the pre-flight).
    """
    watcher = watcher or Watcher()
    try:
        if growing is not None:
            check_follow(options)
        tape = first_piece(growing) if growing is not None else opened(tape_path)
    except FolderError as error:
        raise InputError(str(error)) from error
    rules = options.rules()
    refuse(check_tape(tape.info, options.permissions()))
    with new_run(options.output) as folder:
        with closing(options.target.connect(options.connect_timeout_s)) as con:
            options = replace(options, target=options.target.settled(con))
            facts = gather(con)
            read_target = read_target_facts(options)
            catalog = read_catalog(con) if rules.commit_order or rules.overrides.ids else None
        options = options.with_steps(source_steps(tape.info), catalog.steps if catalog else None)
        check_logins(options, folder)
        known = common_collations(facts, read_target)
        try:
            tell, into = watcher.planning, folder.outcomes
            plan = make_plan(tape, rules, folder.spill, into, None, tell, catalog, known, None, True, together.span)
        except duckdb.Error as error:
            raise InputError(f"{tape.path}: the tape can't be read: {plain_reason(error)}") from error
        findings = check(plan, options.target, facts, measure(), options.permissions(), not together.holds)
        if options.reads_to is not None and read_target is not None:
            findings += check_read_target(plan, options.reads_to, read_target, facts)
        for finding in findings:
            watcher.finding(finding)
        refuse(findings)
        hosts = open_hosts(options, facts)
        if options.schema_facts:
            keep_facts(plan, options, folder)
        watcher.planned(plan)
        if growing is None:
            return run_plan(plan, options, folder, facts, watcher, read_target, hosts, None, together)
        pieces = Pieces(growing, plan, folder.outcomes, known)
        options = late_start(options, plan, growing)
        return run_plan(plan, options, folder, facts, watcher, read_target, hosts, pieces)


def run_plan(
    plan: Plan,
    options: ReplayOptions,
    folder: RunFolder,
    facts: Facts,
    watcher: Watcher,
    read_target: Facts | None = None,
    hosts: Sequence[Host] = (),
    pieces: Pieces | None = None,
    together: Together = ALONE,
) -> RunSummary:
    """Run a checked plan into its folder. `facts`: of the target; `hosts`: its machine and this one, where seen."""
    info = first_info(plan, options, facts, read_target) | together.about()
    reads = read_target or facts  # the server whose query cache may answer
    if "query_cache_type" in reads.variables:
        counters = cache_counters(options.reads_to or options.target, options.connect_timeout_s)
        info["query_cache"] = {"before": counters, "after": None}
    if options.allow_writes:
        written = server_counters(options.target, options.connect_timeout_s)
        info["server_counters"] = {"before": written, "after": None}
    library = facts.library | reads.library
    running = Replay(plan, options, folder, info, watcher, hosts, pieces, library, together)
    with stop_on_signals(running.stop):  # from the first run.json to the last: a run that was begun is finished
        folder.write(info)
        return finish(running.run())


def opened(tape: str | PathLike[str] | Folder) -> Folder:
    """Return a tape opened, where it is not. Raises FolderError."""
    return tape if isinstance(tape, Folder) else open_folder("tape", Path(tape))


def keep_facts(plan: Plan, options: ReplayOptions, folder: RunFolder) -> None:
    """Keep what the tape's schemas are on the target. Raises TargetError where it can't be reached any more."""
    renamed = options.overrides.schemas
    with small_database() as con, closing(options.target.connect(options.connect_timeout_s)) as server:
        there = {name: renamed.get(name, name) for name in tape_schemas(con, plan.tape, options.target.db)}
        keep_schema_facts(con, server, there, folder.path / "schema_facts.parquet", plan.rules.allow_writes)


def read_target_facts(options: ReplayOptions) -> Facts | None:
    """Return what is known of the read target. Raises TargetError where it can't be reached."""
    if options.reads_to is None:
        return None
    with closing(options.reads_to.connect(options.connect_timeout_s)) as con:
        return gather(con)


def common_collations(facts: Facts, read_target: Facts | None) -> dict[int, str]:
    """Return the collations that every target knows by the same id and name."""
    known = facts.collations or {}
    if read_target is None:
        return known
    return {number: names for number, names in known.items() if (read_target.collations or {}).get(number) == names}


def open_hosts(options: ReplayOptions, facts: Facts) -> tuple[Host, ...]:
    """Return the target's machine, where it can be seen, and this one. Raises TargetError where ssh gets nowhere."""
    if not options.sample_ns:
        return ()
    if options.host_metrics:
        return SshHost(options.host_metrics, pid_file(facts.variables)), Host(source="tool")
    if is_local(options.target):
        return (Host(pid=local_process(options.target, facts)),)
    return (Host(source="tool"),)


def refuse(findings: Iterable[Finding]) -> None:
    """Raise RefusedError with every finding that refuses the replay; return where there is none."""
    reasons = [finding.text for finding in findings if finding.severity == "refuse"]
    if reasons:
        raise RefusedError("refused: " + "\n           ".join(reasons))
