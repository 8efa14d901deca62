# SPDX-License-Identifier: Apache-2.0
"""Complete a run that has ended: write the outcomes of unsent events, the accounting and run.json."""

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import plain_reason, small_database
from ..common.errors import NativeFault, QuerytapeError, TargetError
from ..common.files import file_entry
from ..common.text import printable
from ..common.units import plural
from ..native.bindings.engine import LATENESS, EndedBy
from ..schemas import TABLES, Folder, check_parquet
from ..schemas.names import COUNTERS
from ..servers.queries import query_or_none
from ..servers.target import fault_text
from .checks.machine import generator
from .follow import follow_problem, settle
from .observe.accounting import account, count_restored, session_totals, summarise
from .observe.control_files import forget_stop
from .observe.prepared import end_own_prepared, prepared_warnings
from .observe.query_plans import keep_query_plans
from .observe.run_warnings import last_calibration, order_warnings, warnings
from .observe.sampler import cache_counters, server_counters
from .observe.toolkit import keep_summaries
from .plan.database import write_missing
from .plan.windows import BASE_MEMORY, raise_memory
from .run import EndedRun
from .run_folder import open_storage
from .task import tape_info

IN_ACCOUNTING = tuple(name for name, counter in COUNTERS.items() if counter.in_accounting)
# Variables of a server that change without user action.
VOLATILE_VARIABLES = frozenset(
    {"timestamp", "gtid_executed", "gtid_binlog_pos", "gtid_current_pos", "gtid_binlog_state", "rand_seed1"}
)
ENDED_BY = {
    EndedBy.ERRORS: "more statements failed than --max-errors allows",
    EndedBy.LOSS: "a connection was lost (--on-lost stop)",
    EndedBy.OVERLOAD: "the queue was full while events were overdue (--overload stop)",
}
CONNECTION_REASONS = ("connect_failed", "connection_lost", "transaction_lost")  # reasons for unsent events
LATE_REASONS = ("drain_timeout", "stopped", "tape_unread")


@dataclass(frozen=True)
class RunSummary:
    """A finished run: its folder, its run.json, and its errors by number. Times are in nanoseconds."""

    path: Path
    info: dict[str, Any]
    late_p50_ns: int | None = None
    late_p99_ns: int | None = None
    errors: dict[int, int] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether the run reached its end and its accounting is balanced."""
        return self.info["partial"] is None and bool(self.info["accounting"]["balanced"])


def finish(run: EndedRun) -> RunSummary:
    """Complete the run's folder and return the run. Raises QuerytapeError if its files cannot be read."""
    try:
        with open_storage(run.task.folder.spill) as con:
            return _finish(run, con)
    except duckdb.Error as error:
        raise QuerytapeError(
            f"{run.task.folder.path}: cannot complete the accounting: {plain_reason(error)}"
        ) from error
    finally:  # always remove temporary files
        run.task.folder.clean()
        run.logs.speed.clean()
        forget_stop(run.task.folder.path)


def _finish(run: EndedRun, con: duckdb.DuckDBPyConnection) -> RunSummary:
    folder, stats = run.task.folder.open(), run.stats
    run.info["server_counters"] = _server_counters(run)
    run.info["follow"] = None
    if run.task.pieces is not None:
        run.info["follow"] = settle(run.task.pieces.growing, run.task.plan)
        run.info.update(tape=tape_info(run.task.plan), plan=run.task.plan.as_json())
    if run.rows_written < run.task.plan.planned:
        reason = "stopped" if run.stops or run.timed_out or run.standstill else "tape_unread"
        write_missing(run.task.plan, folder.source("outcomes"), run.task.folder.outcomes / "part-end", reason)
    counts = {name: getattr(stats, name) for name in IN_ACCOUNTING}
    accounting = account(con, run.task.plan.tape, folder, counts, run.task.plan.rules.amplification.total)
    totals = summarise(con, folder)
    sessions = session_totals(con, folder)
    run.info.update(
        finished=True,
        started_ns=stats.zero_real_ns or None,
        elapsed_ns=totals["end_ns"],
        partial=why_partial(run, accounting, sessions),
        accounting=accounting,
        lateness={name: getattr(stats, name) for name in LATENESS},
        generator=generator(stats, run.threads_peak, run.cpu_ns),
        clock_pairs=run.logs.ticks.clock_pairs,
        speed_changes=run.logs.speed.changes,
        drain={"waited_ns": _drained(run, totals["end_ns"]), "cut": stats.drain_timeout},
        sessions=sessions,
        state=count_restored(con, run.task.plan.tape, folder),
        sampling_problem=run.logs.sampler.problem,
        variables_changed=None,
        summaries=[],
        query_plans=0,
        query_cache=run.info.get("query_cache"),
        prepared=None,
        problems_afterwards=[],
    )
    if run.drivers is not None:
        run.info["accounting"]["sent_unknown"] = run.drivers.sent_unknown
        run.info["generator"]["cores"] = run.drivers.cores
    run.info["files"] = file_entries(folder, con)
    run.info["generator"]["warnings"] = run_warnings(run)
    run.task.folder.write(run.info)  # written now, so later failures do not affect the accounting
    run.info["prepared"] = _try(run, "prepared", _end_prepared)
    run.info["generator"]["warnings"] += prepared_warnings(run.info["prepared"])
    run.info["variables_changed"] = _try(run, "variables_changed", _changed_variables)
    run.info["query_cache"] = _try(run, "query_cache", _query_cache)
    run.info["summaries"] = _try(run, "summaries", _summaries)
    run.info["query_plans"] = _try(run, "query_plans", _query_plans)
    run.info["files"] = file_entries(folder, con)
    run.task.folder.write(run.info)
    return RunSummary(run.task.folder.path, run.info, totals["late_p50_ns"], totals["late_p99_ns"], totals["errors"])


def run_warnings(run: EndedRun) -> list[str]:
    """Return warnings about the run's times. With several drivers, each driver has already checked its own machine."""
    if run.drivers is not None:
        return order_warnings(run.info) + run.drivers.warnings
    standstill = [] if run.standstill is None else [run.standstill.text]
    return standstill + order_warnings(run.info) + warnings(run.info, last_calibration())


def _try(run: EndedRun, key: str, ask: Callable[[EndedRun], Any]) -> Any:
    """Query the target after the run. A failure is recorded in run.json and does not affect the run."""
    try:
        return ask(run)
    except Exception as error:
        text = printable(f"{key}: {fault_text(error)}", 500)
        run.info["problems_afterwards"].append(text)
        run.info["generator"]["warnings"].append(f"after the run {text}")
        return run.info[key]


def file_entries(folder: Folder, con: duckdb.DuckDBPyConnection | None = None) -> list[dict[str, Any]]:
    """Return the entries of the run's Parquet files in run.json.

    `folder`: the run's folder, opened before the run was finished. `con`: the database to use. None opens a new
    database.
    """
    return [
        file_entry(folder.path, file, rows)
        for table in TABLES["run"]
        for file, rows in check_parquet("run", table, folder.files(table), con).items()
    ]


def why_partial(run: EndedRun, accounting: dict[str, Any], sessions: dict[str, int]) -> str | None:
    """Return why the run is partial. Return None if the run reached its end."""
    at_s = max(run.stats.now_ns, 0) / 1e9
    not_sent = f"{plural(accounting['not_sent'], 'event')} not sent"
    cut = run.stats.drain_timeout
    if run.drivers is not None and run.drivers.partial is not None:
        return run.drivers.partial
    if run.stops:
        why = run.task.group.stopped_because
        return f"{f'stopped, because {why},' if why else 'stopped by the user'} after {at_s:.1f} s: {not_sent}"
    if run.standstill is not None:
        return f"stopped after {at_s:.1f} s: {run.standstill.reason}; {not_sent}"
    if run.stats.ended_by:
        return f"stopped after {at_s:.1f} s: {ENDED_BY[run.stats.ended_by]}; {not_sent}"
    if run.feeder_error is not None:
        return f"the tape could not be read to its end ({_why_not_fed(run.feeder_error)}): {not_sent}"
    troubled = sessions["lost"] + sessions["failed"]
    if troubled and accounting["not_sent"] and (gone := _target_gone(run)):
        return f"the target was lost: {plural(troubled, 'session')} ended, {not_sent}; current error: {gone}"
    if sessions["failed"] and not sessions["opened"]:
        return f"no session could be opened: {not_sent}; {_first_error(run)}"
    if cut:
        return f"no answer to {plural(cut, 'event')} before the end of --drain: {not_sent}"
    unsent = accounting["reasons"].get("not_sent", {})
    if lost := sum(unsent.get(reason, 0) for reason in CONNECTION_REASONS):
        first = f"; {_first_error(run)}" if sessions["failed"] else ""
        return f"connections failed or were lost: {plural(lost, 'event')} not sent{first}"
    if lacking := unsent.get("schema_failed", 0):
        return f"the target lacks schemas of the tape: {plural(lacking, 'event')} not sent"
    if late := sum(unsent.get(reason, 0) for reason in LATE_REASONS):
        return f"{plural(late, 'event')} not sent before the end of --drain"
    return follow_problem(run.info.get("follow"))


def _why_not_fed(error: BaseException) -> str:
    """Return why the feeder ended. Errors of DuckDB get plain messages, even if they passed through a stream."""
    if isinstance(error, (duckdb.Error, NativeFault)):
        return plain_reason(error)
    return str(error)


def _target_gone(run: EndedRun) -> str | None:
    """Return the target's error if the target no longer accepts connections."""
    try:
        run.task.options.target.connect(run.task.options.connect_timeout_s).close()
    except TargetError as error:
        return printable(str(error))
    return None


def _changed_variables(run: EndedRun) -> dict[str, list[str | None]] | None:
    """Return the target's changed variables: name -> [before, after]. Return None if the target cannot be queried."""
    before: dict[str, str] = run.info["target"]["variables"]
    try:
        with closing(run.task.options.target.connect(run.task.options.connect_timeout_s)) as con:
            after = {str(row[0]): str(row[1]) for row in query_or_none(con, "SHOW GLOBAL VARIABLES", 2) or ()}
    except TargetError:
        return None
    names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
    return {name: [before.get(name), after.get(name)] for name in names if name not in VOLATILE_VARIABLES}


def _end_prepared(run: EndedRun) -> dict[str, Any] | None:
    """Roll back the XA transactions that the replay prepared and did not end. Return None if there are none.

    In a run with several drivers, only the lead process rolls back.
    """
    before, options = run.info["target"].get("prepared"), run.task.options
    if "driver" in run.info or not options.allow_writes:
        return None
    return end_own_prepared(run.task.plan.tape, run.task.folder, options, before)


def _query_cache(run: EndedRun) -> dict[str, Any] | None:
    """Return the counters of the query cache before and after the run. None if the server has no query cache."""
    before = (run.info["query_cache"] or {}).get("before")
    if before is None:
        return None
    reads = run.task.options.reads_to or run.task.options.target
    return {"before": before, "after": cache_counters(reads, run.task.options.connect_timeout_s)}


def _server_counters(run: EndedRun) -> dict[str, Any] | None:
    """Return the server's write counters before and after the run. None for a run without writes."""
    before = (run.info.get("server_counters") or {}).get("before")
    if before is None:
        return None
    return {"before": before, "after": server_counters(run.task.options.target, run.task.options.connect_timeout_s)}


def _summaries(run: EndedRun) -> list[str]:
    """Keep the reports of Percona Toolkit. Return the names of the tools that ran."""
    if not run.task.options.summaries:
        return []
    servers = {
        "source": run.task.plan.tape.info.get("server"),
        **{name: run.info.get(name) for name in ("target", "read_target")},
    }
    variables = {name: server["variables"] for name, server in servers.items() if server and server.get("variables")}
    target = run.task.options.target
    return keep_summaries(run.task.folder.path, target, target.is_local, variables)


def _query_plans(run: EndedRun) -> int:
    """Keep query plans of the costliest statements. Return how many statements were explained."""
    if not run.task.options.query_plans:
        return 0
    with open_storage(run.task.folder.spill) as con:
        raise_memory(con, BASE_MEMORY + 4 * int(run.task.plan.tape.info.get("largest_event") or 0))
        schemas = dict(run.task.options.overrides.schemas)
        return keep_query_plans(con, run.task.plan.tape, run.task.folder.open(), run.task.options.target, schemas)


def _first_error(run: EndedRun) -> str:
    """Return the error of the first session that could not connect."""
    with small_database() as con:
        rows = con.execute(
            f"SELECT errno, error FROM {run.task.folder.open().source('sessions')}"
            " WHERE errno <> 0 AND connected_ns IS NULL ORDER BY connect_ns, session LIMIT 1"
        ).fetchall()
    return f"the first error was {printable(' '.join(map(str, rows[0]))) if rows else 'unknown'}"


def _drained(run: EndedRun, end_ns: int) -> int:
    """Return how long the run waited for answers after the last due time, in nanoseconds."""
    return max(end_ns - run.task.plan.last_due_ns, 0) if run.task.options.pace.paced else 0
