# SPDX-License-Identifier: Apache-2.0
"""One replay: plan and pre-flight, then three threads around the engine.

feeder   windows of the plan ──Arrow──► engine        (blocks while the queue budget is full)
writer   engine ──Arrow──► outcomes/part-run-*.parquet, ticks (every few seconds)
main     counters once a second, Ctrl-C
"""

import threading
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import duckdb

from ..errors import InputError, QuerytapeError, TargetError
from ..native.engine import EndedBy, Engine, EngineStats
from ..native.errors import NativeFault
from ..schemas import FolderError, open_folder
from ..servers.accounts import log_in_as
from ..servers.facts import ask, gather
from ..signals import stop_on_signals
from .accounting import account, session_totals, summarise
from .control import SpeedFile
from .engine_setup import engine_options
from .hosts import Host
from .limits import last_calibration
from .machine import generator, is_local, measure
from .opening import open_host, reader_facts, refuse
from .options import ReplayOptions, RunSummary
from .plan import make_plan
from .planner import feed_streams, open_planner, session_stream, write_missing
from .plans import keep_plans
from .preflight import Finding, check, check_reader, check_tape, counted
from .rules import Plan
from .run_folder import RunFolder, first_info, new_run
from .sampling import Sampler
from .saturation import warnings
from .storage import open_storage, write_parquet
from .tables import read_catalog
from .ticks import Tick, TickLog, process_cpu_ns
from .toolkit import keep_summaries

TICK_S = 1.0
# What the engine adds to the books beside the events.
OWN_COUNTS = (
    "injected",
    "attributes_dropped",
    "bulk_expanded",
    "sessions_reopened",
    "timeouts",
    "overload_waits",
    "overload_drops",
    "order_waits",
    "order_broken",
    "order_wait_ns",
    "unforced",
    "mirror_failed",
)
# Variables that change by themselves.
MOVING = frozenset(
    {"timestamp", "gtid_executed", "gtid_binlog_pos", "gtid_current_pos", "gtid_binlog_state", "rand_seed1"}
)
ENDED_BY = {
    EndedBy.ERRORS: "more statements failed than --max-errors allows",
    EndedBy.LOSS: "a connection was lost (--on-lost stop)",
    EndedBy.OVERLOAD: "the queue was full while events were overdue (--overload stop)",
}


class Watcher:
    """What a caller may watch; this one watches nothing. Called in the thread that called `replay`."""

    def planning(self, events: int) -> None:
        """Take how many events of the tape were looked at so far."""

    def finding(self, finding: Finding) -> None:
        """Take one finding of the pre-flight, before anything is sent."""

    def planned(self, plan: Plan) -> None:
        """Take the plan, once the pre-flight has passed."""

    def opening(self, opened: int, plan: Plan) -> None:
        """Take how many sessions are open, once a second until the run's zero."""

    def tick(self, tick: Tick, done: int, plan: Plan) -> None:
        """Take what happened in the last second; `done` is events so far."""

    def stopping(self, times: int) -> None:
        """Take that Ctrl-C was pressed for the first or second time."""


def replay(tape_path: Path, options: ReplayOptions, watcher: Watcher | None = None) -> RunSummary:
    """Replay a tape against a target into a new run folder and return the run.

    In the main thread, Ctrl-C (or SIGTERM) once stops sending and ends the run as partial; twice cuts it now.
    Raises InputError (tape, options), TargetError (can't be reached), RefusedError (the pre-flight).
    """
    watcher = watcher or Watcher()
    try:
        tape = open_folder("tape", tape_path)
    except FolderError as fault:
        raise InputError(str(fault)) from fault
    rules = options.rules()
    refuse(check_tape(tape.info, options.permissions()))
    with new_run(options.output) as folder:
        with closing(options.target.connect(options.connect_timeout_s)) as con:
            options = replace(options, target=options.target.settled(con))
            facts = gather(con)
            reader = reader_facts(options)
            catalog = read_catalog(con) if rules.commit_order else None
        for account in options.forcing.accounts.values():
            log_in_as(options.target, account)
        try:
            plan = make_plan(tape, rules, folder.spill, folder.outcomes, tell=watcher.planning, catalog=catalog)
        except duckdb.Error as fault:
            raise InputError(f"{tape_path}: the tape can't be read: {fault}") from fault
        findings = check(plan, options.target, facts, measure(), options.permissions())
        if options.reads_to is not None and reader is not None:
            findings += check_reader(plan, options.reads_to, reader, facts)
        for finding in findings:
            watcher.finding(finding)
        refuse(findings)
        host = open_host(options)
        watcher.planned(plan)
        info = first_info(plan, options, facts, reader)
        folder.write(info)
        return Replay(plan, options, folder, info, watcher, host).run()


class Replay:
    """A replay that has passed its pre-flight. `run` is called once."""

    def __init__(
        self,
        plan: Plan,
        options: ReplayOptions,
        folder: RunFolder,
        info: dict[str, Any],
        watcher: Watcher,
        host: Host | None = None,
    ) -> None:
        self.plan = plan
        self.options = options
        self.folder = folder
        self.info = info
        self.watcher = watcher
        self.engine = Engine(engine_options(options, plan.order_tables))
        self.ticks = TickLog(folder.ticks)
        self.speed = SpeedFile(folder.path, options.pace)
        self.sampler = Sampler(folder.path, options.target, options.sample_ns, host)
        self.stops = 0
        self.timed_out = False
        self.rows_written = 0
        self.threads_peak = 0
        self._cpu_before = process_cpu_ns()
        self._faults: dict[str, BaseException] = {}
        self._news = threading.Event()  # the writer or feeder has something that the main thread should look at

    def run(self) -> RunSummary:
        """Send everything, write everything, close the books."""
        with closing(self.engine):
            with open_planner(self.plan) as con:
                self.engine.sessions(session_stream(con, self.plan))
            workers = [self._thread(self._feed, "feeder"), self._thread(self._write, "writer")]
            with stop_on_signals(self._stop):
                self.engine.start()
                for worker in workers:
                    worker.start()
                self.sampler.start()
                stats = self._watch(workers[1])
                self.sampler.stop()
            for worker in workers:
                worker.join()
            self._raise_fault()
            self._write_sessions()
        try:
            return self._finish(stats)
        except duckdb.IOException as fault:
            raise QuerytapeError(
                f"{self.folder.path}: the books can't be closed, a file can't be read any more: {fault}"
            ) from fault

    def _thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as fault:
                self._faults[name] = fault
                self.engine.stop(2 if name == "writer" else 1)
            self._news.set()

        return threading.Thread(target=guarded, name=name, daemon=True)

    def _raise_fault(self) -> None:
        """Raise what ended the writer early: without outcomes there is no run."""
        fault = self._faults.get("writer")
        if isinstance(fault, (OSError, duckdb.Error, NativeFault)):
            raise QuerytapeError(f"{self.folder.path}: the outcomes can't be written: {fault}") from fault
        if fault is not None:
            raise fault

    def _stop(self) -> None:
        """Ctrl-C: the first sends nothing more, the second cuts the connections."""
        self.stops += 1
        self.engine.stop(min(self.stops, 2))
        self.watcher.stopping(self.stops)
        self._news.set()

    # ---- the three threads ----

    def _feed(self) -> None:
        """Give the engine one window of the plan after the other."""
        with open_planner(self.plan) as con:
            for stream in feed_streams(con, self.plan):
                if self.stops or self.timed_out or self.engine.stats().ended_by:
                    break
                self.engine.feed(stream)
        self.engine.feed_end()

    def _write(self) -> None:
        """Write outcomes and ticks a slice at a time; a slice that ends early is the last."""
        number = 0
        with open_storage(self.folder.spill) as con:
            while True:
                until = time.monotonic_ns() + self.options.slice_ns
                self.rows_written += self._write_slice(con, self.folder.outcomes / f"part-run-{number:05d}.parquet")
                self.ticks.flush(con)
                self.sampler.flush(con)
                number += 1
                if time.monotonic_ns() < until:
                    break

    def _write_slice(self, con: Any, final: Path) -> int:
        stream = self.engine.outcomes(self.options.slice_ns)
        con.register("incoming", stream)
        try:
            return write_parquet(con, "FROM incoming", final)
        finally:
            con.unregister("incoming")
            stream.close()

    def _watch(self, writer: threading.Thread) -> EngineStats:
        """Look at the counters once a second until the writer has everything; return the last ones."""
        due = time.monotonic() + TICK_S
        while True:
            self._news.wait(max(due - time.monotonic(), 0))
            self._news.clear()
            ended = not writer.is_alive()
            if ended or time.monotonic() >= due:
                due += TICK_S
                stats = self.engine.stats()
                self._tick(stats)
                if ended:
                    return stats

    def _tick(self, stats: EngineStats) -> None:
        self.threads_peak = max(self.threads_peak, sum(1 for _ in Path("/proc/self/task").iterdir()))
        if stats.zero_real_ns == 0:
            self.watcher.opening(stats.sessions_open, self.plan)
            return
        self.speed.look(self.engine, stats.now_ns)
        limit = self.options.stop_after_ns
        if limit is not None and stats.now_ns >= limit:
            self.timed_out = True
            self.engine.stop(1)
        self.watcher.tick(self.ticks.take(stats), stats.executed + stats.not_sent, self.plan)

    # ---- the end ----

    def _write_sessions(self) -> None:
        stream = self.engine.session_results()
        with open_storage(self.folder.spill) as con:
            con.register("results", stream)
            write_parquet(con, "FROM results ORDER BY session", self.folder.path / "sessions.parquet")
            con.unregister("results")
            stream.close()
            self.ticks.gather(con, self.folder.open().source("ticks"))
            self.sampler.flush(con)

    def _finish(self, stats: EngineStats) -> RunSummary:
        """Say what was never sent, close the books and complete run.json."""
        run = self.folder.open()
        if self.rows_written < self.plan.planned:
            reason = "stopped" if self.stops or self.timed_out else "not_fed"
            write_missing(self.plan, run.source("outcomes"), self.folder.outcomes / "part-end", reason)
        own = {name: getattr(stats, name) for name in OWN_COUNTS}
        books = account(self.plan.tape, run, self.folder.spill, own, self.plan.rules.copies.total)
        totals = summarise(run, self.folder.spill)
        sessions = session_totals(run, self.folder.spill)
        self.info.update(
            finished=True,
            started_ns=stats.zero_real_ns or None,
            elapsed_ns=totals["end_ns"],
            partial=self._partial(stats, books, sessions),
            accounting=books,
            lateness={
                name: getattr(stats, name) for name in ("tool_p50_ns", "tool_p99_ns", "canary_p50_ns", "canary_p99_ns")
            },
            generator=generator(stats, self.threads_peak, process_cpu_ns() - self._cpu_before),
            clock_pairs=self.ticks.clock_pairs,
            speed_changes=self.speed.changes,
            drain={"waited_ns": self._drained(totals["end_ns"]), "cut": stats.drain_cut},
            sessions=sessions,
            sampling_problem=self.sampler.problem,
            variables_changed=self._changed_variables(),
            summaries=self._summaries(),
            explained=self._explain(),
        )
        self.info["generator"]["warnings"] = warnings(self.info, last_calibration())
        self.folder.clean()
        self.speed.clean()
        self.folder.write(self.info)
        return RunSummary(self.folder.path, self.info, totals["late_p50_ns"], totals["late_p99_ns"], totals["errors"])

    def _partial(self, stats: EngineStats, books: dict[str, Any], sessions: dict[str, int]) -> str | None:
        """Return why the run did not come to its end, None where it did."""
        at_s = max(stats.now_ns, 0) / 1e9
        not_sent = f"{counted(books['not_sent'], 'event')} not sent"
        if self.stops:
            return f"stopped by the user after {at_s:.1f} s: {not_sent}"
        if stats.ended_by:
            return f"stopped after {at_s:.1f} s: {ENDED_BY[stats.ended_by]}; {not_sent}"
        if "feeder" in self._faults:
            return f"the tape could not be read to its end ({self._faults['feeder']}): {not_sent}"
        troubled = sessions["lost"] + sessions["failed"]
        if troubled and books["not_sent"] and (gone := self._target_gone()):
            return f"the target was lost: {counted(troubled, 'session')} ended, {not_sent}; now {gone}"
        if sessions["failed"] and not sessions["opened"]:
            return f"no session could be opened: {not_sent}; the first error was {self._first_error()}"
        if stats.drain_cut:
            return f"{counted(stats.drain_cut, 'event')} cut off without an answer at the end of --drain, {not_sent}"
        return None

    def _target_gone(self) -> str | None:
        """Return what the target says where it takes no connection any more."""
        try:
            self.options.target.connect(self.options.connect_timeout_s).close()
        except TargetError as fault:
            return str(fault)
        return None

    def _changed_variables(self) -> dict[str, list[str | None]] | None:
        """Return the target's variables that are not what they were: [before, after]; None where it can't be asked."""
        before: dict[str, str] = self.info["target"]["variables"]
        try:
            with closing(self.options.target.connect(self.options.connect_timeout_s)) as con:
                after = {str(name): str(value) for name, value in ask(con, "SHOW GLOBAL VARIABLES") or ()}
        except TargetError:
            return None
        names = sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))
        return {name: [before.get(name), after.get(name)] for name in names if name not in MOVING}

    def _summaries(self) -> list[str]:
        if not self.options.summaries:
            return []
        servers = {"source": self.plan.tape.info.get("server"), **{k: self.info.get(k) for k in ("target", "reader")}}
        sides = {name: server["variables"] for name, server in servers.items() if server and server.get("variables")}
        return keep_summaries(self.folder.path, self.options.target, is_local(self.options.target), sides)

    def _explain(self) -> int:
        """Keep plans of the costliest statements; how many."""
        if not self.options.plans:
            return 0
        with open_storage(self.folder.spill) as con:
            schemas = dict(self.options.forcing.schemas)
            target, writes = self.options.target, self.options.allow_writes
            return keep_plans(con, self.plan.tape, self.folder.open(), target, schemas, writes)

    def _first_error(self) -> str:
        with open_storage(self.folder.spill) as con:
            found = con.execute(
                f"SELECT errno, error FROM {self.folder.open().source('sessions')}"
                " WHERE errno <> 0 ORDER BY connect_ns LIMIT 1"
            ).fetchall()
        return " ".join(str(part) for part in found[0]) if found else "unknown"

    def _drained(self, end_ns: int) -> int:
        """Return how long answers were waited for behind the last due time."""
        return max(end_ns - self.plan.last_due_ns, 0) if self.options.pace.paced else 0
