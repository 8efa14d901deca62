# SPDX-License-Identifier: Apache-2.0
"""Run a plan with three threads around the engine.

feeder   windows of the plan ──Arrow──► engine        (blocks while the queue budget is full)
writer   engine ──Arrow──► outcomes/part-run-*.parquet, ticks (every few seconds)
main     counters once a second, Ctrl-C, --duration
"""

import math
import threading
import time
from collections.abc import Callable
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import plain_reason, write_parquet
from ..common.errors import NativeFault, QuerytapeError
from ..common.signals import stop_on_signals
from ..common.text import printable
from ..common.units import NS_PER_SECOND
from ..native.bindings.engine import Engine, EngineStats
from ..servers.target import MAX_FAULT
from .checks.preflight import Finding
from .engine_options import engine_options
from .follow import rest_ns
from .observe.control_files import SpeedFile, stops_asked
from .observe.live import LiveRun
from .observe.sampler import Sampler
from .observe.standstill import Standstill, look_for_standstill
from .observe.ticks import TickLog, process_cpu_ns
from .plan.database import feed_streams, session_stream, take_planner
from .run_folder import open_storage
from .task import ReplayTask, ask_counters, first_info

TICK_S = 1.0
ZERO_S = 0.01  # how often a run with a time limit looks whether it has begun, in seconds


class RunLogs:
    """The logs of a run, except its outcomes: counters per second, speed changes, counters of the servers."""

    def __init__(self, task: ReplayTask) -> None:
        options, folder = task.options, task.folder
        self.ticks = TickLog(folder.ticks)
        self.speed = SpeedFile(folder.path, options.pace)
        self.sampler = Sampler(folder.path, options.target, options.sample_ns, task.hosts)

    def gather(self, con: duckdb.DuckDBPyConnection) -> None:
        """Write the remaining ticks and samples after the end of the run."""
        self.ticks.gather(con)
        self.sampler.flush(con)


@dataclass(frozen=True)
class EndedRun:
    """A run whose outcomes are written, but whose run.json (`info`) is incomplete.

    - `stops`: how many times the user stopped the run.
    - `timed_out`: whether the run reached `stop_after_ns`.
    - `rows_written`: number of outcomes of sent events.
    - `feeder_error`: why the tape was not read to its end.
    - `cpu_ns`: CPU time of this process, over all threads.
    - `standstill`: the chain of waits, if the replay progressed only because waits were ended by their timeout.
    - `drivers`: the combined result of several drivers.
    """

    task: ReplayTask
    info: dict[str, Any]
    stats: EngineStats
    logs: RunLogs
    rows_written: int
    threads_peak: int
    cpu_ns: int
    stops: int
    timed_out: bool = False
    standstill: Standstill | None = None
    feeder_error: BaseException | None = None
    drivers: "DriversEnd | None" = None


@dataclass(frozen=True)
class DriversEnd:
    """The combined result of several drivers.

    - `partial`: why events were not sent, or None.
    - `sent_unknown`: number of events of lost drivers for which it is unknown whether they were sent.
    - `warnings`: warnings of the drivers.
    - `cores`: number of cores of all hosts.
    """

    partial: str | None
    sent_unknown: int
    cores: int
    warnings: list[str] = field(default_factory=list)


class Replay:
    """A replay that has passed its pre-flight. Call `run` once."""

    def __init__(self, task: ReplayTask) -> None:
        self.task = task
        self.info = first_info(task) | ask_counters(task)
        plan, options, target = task.plan, task.options, task.options.target
        rest = None if task.pieces is None else rest_ns(plan)
        settings = engine_options(options, plan, task.facts, task.read_facts, rest)
        self.engine = Engine(replace(settings, holds=task.group.holds))
        self.logs = RunLogs(task)
        newest, until = self.logs.sampler.newest, options.stop_after_ns
        self.live = LiveRun(task.folder.path.name, self.engine, plan, newest, target=target.name, stop_after_ns=until)
        self.stops = 0
        self._started = self._ended = self._told_failed = False
        self.timed_out = False
        self.standstill: Standstill | None = None
        self.rows_written = 0
        self.threads_peak = 0
        self._cpu_before = process_cpu_ns()
        self._errors: dict[str, BaseException] = {}
        self._news = threading.Event()  # wakes the main thread when the writer or feeder ends

    def run(self) -> EndedRun:
        """Send all events and write their outcomes. Raises QuerytapeError if the outcomes cannot be written."""
        with closing(self.engine), self.live, ExitStack() as ending:
            ending.callback(self.task.watcher.ended)
            self.task.watcher.running(self.live)
            planner, storage = take_planner(self.task.plan), open_storage(self.task.folder.spill)
            self.engine.sessions(session_stream(planner, self.task.plan))
            workers = [
                self._thread(lambda: self._feed(planner), "feeder"),
                self._thread(lambda: self._write(storage), "writer"),
            ]
            with stop_on_signals(self.stop):
                self.engine.start()
                self._started = True
                self.task.group.started(self.engine)
                if self.stops:
                    self.engine.stop(min(self.stops, 2))
                for worker in workers:
                    worker.start()
                self.logs.sampler.start()
                stats = self._watch(workers[1])
                self.logs.sampler.stop()
            for worker in workers:
                worker.join()
            self._ended = True
            self._raise_writer_error()
            self._write_sessions(storage)
        return EndedRun(
            task=self.task,
            info=self.info,
            stats=stats,
            logs=self.logs,
            rows_written=self.rows_written,
            threads_peak=self.threads_peak,
            cpu_ns=process_cpu_ns() - self._cpu_before,
            stops=self.stops,
            timed_out=self.timed_out,
            standstill=self.standstill,
            feeder_error=self._errors.get("feeder"),
        )

    def _thread(self, work: Callable[[], None], name: str) -> threading.Thread:
        def guarded() -> None:
            try:
                work()
            except BaseException as error:
                self._errors[name] = error
                self.engine.stop(2 if name == "writer" else 1)
            self._news.set()

        return threading.Thread(target=guarded, name=name, daemon=True)

    def _raise_writer_error(self) -> None:
        """Raise the error that ended the writer early. A run is not valid without its outcomes."""
        error = self._errors.get("writer")
        if isinstance(error, (OSError, duckdb.Error, NativeFault)):
            reason = plain_reason(error) if isinstance(error, duckdb.Error) else error
            raise QuerytapeError(f"{self.task.folder.path}: cannot write the outcomes: {reason}") from error
        if error is not None:
            raise error

    def stop(self) -> None:
        """Handle Ctrl-C. The first Ctrl-C stops sending. The second Ctrl-C cuts the connections."""
        if self._ended:  # the run is completing its accounting
            return
        self.stops += 1
        if self._started:
            self.engine.stop(min(self.stops, 2))
        with suppress(RuntimeError, OSError):  # the signal may have interrupted an output line or closed the terminal
            self.task.watcher.stopping(self.stops)

    # ---- the three threads ----

    def _feed(self, planner: duckdb.DuckDBPyConnection) -> None:
        """Feed the engine one window of the plan after another."""
        with planner as con:
            for stream in feed_streams(con, self.task.plan):
                if self._is_stopped():
                    break
                self.engine.feed(stream)
        if self.task.pieces is not None:
            self.task.pieces.feed(self.engine, self._is_stopped)
        self.engine.feed_end()

    def _is_stopped(self) -> bool:
        return bool(self.stops or self.timed_out or self.standstill or self.engine.peek().ended_by)

    def _write(self, con: duckdb.DuckDBPyConnection) -> None:
        """Write outcomes and ticks in time slices. A slice that ends before its time is the last slice."""
        number = 0
        while True:
            until = time.monotonic_ns() + self.task.options.slice_ns
            self.rows_written += self._write_slice(con, self.task.folder.outcomes / f"part-run-{number:05d}.parquet")
            self.logs.ticks.flush(con)
            self.logs.sampler.flush(con)
            number += 1
            if time.monotonic_ns() < until:
                break

    def _write_slice(self, con: Any, final: Path) -> int:
        stream = self.engine.outcomes(self.task.options.slice_ns)
        con.register("incoming", stream)
        try:
            return write_parquet(con, "FROM incoming", final)
        finally:
            con.unregister("incoming")
            stream.close()

    def _watch(self, writer: threading.Thread) -> EngineStats:
        """Read the counters once a second until the writer has ended. Return the last counters."""
        due = time.monotonic() + TICK_S
        while True:
            self._news.wait(max(min(due - time.monotonic(), self._left_s()), 0))
            self._news.clear()
            ended = not writer.is_alive()
            if ended or time.monotonic() >= due:
                due += TICK_S
                stats = self.engine.stats()
                self._tick(stats)
                if ended:
                    return stats

    def _left_s(self) -> float:
        """Return when to look at the time limit again, in seconds. Stop the run if it has reached the limit."""
        limit = self.task.options.stop_after_ns
        if limit is None or self.timed_out:
            return math.inf
        stats = self.engine.peek()
        if stats.zero_real_ns == 0:
            return ZERO_S
        if stats.now_ns < limit:
            return (limit - stats.now_ns) / NS_PER_SECOND
        self.timed_out = True
        self.engine.stop(1)
        return math.inf

    def _tick(self, stats: EngineStats) -> None:
        self.live.counters = stats
        self.threads_peak = max(self.threads_peak, sum(1 for _ in Path("/proc/self/task").iterdir()))
        if stats.sessions_failed and not self._told_failed and (error := self.engine.connect_error()) is not None:
            self._told_failed = True
            self.task.watcher.finding(Finding("warning", f"a session could not connect: {printable(error, MAX_FAULT)}"))
        for _ in range(stops_asked(self.task.folder.path) - self.stops):
            self.stop()
        if stats.zero_real_ns == 0:
            self.task.watcher.opening(stats.sessions_open, self.task.plan)
            return
        self.logs.speed.apply(self.engine, stats.now_ns)
        if self.standstill is None:
            self.standstill = look_for_standstill(self.engine, stats, self.task.plan, self.task.options)
            if self.standstill is not None:
                self.engine.stop(1)
        self.task.watcher.tick(self.logs.ticks.take(stats), stats.executed + stats.not_sent, self.task.plan)

    def _write_sessions(self, storage: duckdb.DuckDBPyConnection) -> None:
        """Write the results of the sessions, which are known only at the end of the run.

        Close the writer's database.
        """
        stream = self.engine.session_results()
        with storage as con:
            con.register("results", stream)
            write_parquet(con, "FROM results ORDER BY session", self.task.folder.path / "sessions.parquet")
            con.unregister("results")
            stream.close()
            self.logs.gather(con)
