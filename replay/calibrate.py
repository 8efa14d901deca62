# SPDX-License-Identifier: Apache-2.0
"""Measure the maximum replay rate of this machine with replays against the null server.

The null server itself costs almost nothing. The result is stored in the user's cache. Later runs compare their rates
with these limits.
"""

import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from ..common.duck import sql_text, write_parquet
from ..common.errors import QuerytapeError
from ..common.files import file_entry, new_folder, write_json
from ..common.temporary import temporary_folder
from ..common.version import __version__
from ..schemas import FORMAT_VERSION, Folder, open_folder, select_list
from ..servers.facts import Facts
from ..servers.target import Target
from .checks.machine import measure
from .observe.run_warnings import cache_file
from .options import ReplayOptions
from .plan.make_plan import PlanRequest, make_plan
from .plan.pacing import Pace
from .replay_tape import run_task
from .run_folder import new_run, open_storage
from .task import ReplayTask

LATENESS_RATE = 5_000  # events per second in the run that measures lateness
BEGIN_NS = 1_700_000_000_000_000_000


@dataclass(frozen=True)
class CalibrationLevel:
    """The result of one run against the null server.

    Times are in nanoseconds. Times that need a schedule are None if the run has no schedule.
    """

    sessions: int
    pace: str
    queries_per_second: float
    engine_cpu_ns: float  # CPU time of the engine per query
    process_cpu_ns: float  # CPU time of the process per query
    late_p50_ns: int | None
    late_p99_ns: int | None
    probe_p50_ns: int | None
    probe_p99_ns: int | None
    rss_bytes: int


@contextmanager
def null_server(delay_ns: int = 0) -> Iterator[int]:
    """Run the null server in a separate process and yield its port.

    The replayer's CPU time then excludes the server.
    """
    command = [sys.executable, "-m", "querytape", "null-server", "--delay", f"{delay_ns // 1_000_000}ms", "--until-eof"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        first_line = process.stdout.readline()
        if not first_line.startswith("port "):
            process.kill()
            raise QuerytapeError("the null server did not start")
        try:
            yield int(first_line.split()[1])
        finally:
            process.stdin.close()
            process.wait(20)


def run_level(work: Path, port: int, sessions: int, events: int, pace: Pace) -> CalibrationLevel:
    """Replay a synthetic tape against the null server and return the measurements."""
    name = f"{sessions}-{pace.kind}"
    tape = make_even_tape(work / f"{name}.tape", sessions, events, LATENESS_RATE)
    options = ReplayOptions(
        Target("null", "127.0.0.1", "127.0.0.1", port),
        work / f"{name}.run",
        pace=pace,
        timer_probes=8,
        connect_rate=5000,
        lead_ns=1_000_000_000,
        allow_writes=True,
        sample_ns=0,
    )
    with new_run(options.output) as folder:
        plan = make_plan(PlanRequest(tape, options.rules(), folder.spill, folder.outcomes))
        summary = run_task(ReplayTask(plan, options, folder, Facts("null")))
    accounting, used, late = (summary.info[key] for key in ("accounting", "generator", "lateness"))
    if accounting["executed"] != events:
        raise QuerytapeError(
            f"calibration failed: only {accounting['executed']:,} of {events:,} events were executed"
            f" ({summary.info['partial']})"
        )
    return CalibrationLevel(
        sessions=sessions,
        pace=pace.kind,
        queries_per_second=events / (summary.info["elapsed_ns"] / 1e9),
        engine_cpu_ns=used["engine_cpu_ns"] / events,
        process_cpu_ns=used["cpu_ns"] / events,
        late_p50_ns=late["tool_p50_ns"],
        late_p99_ns=late["tool_p99_ns"],
        probe_p50_ns=late["probe_p50_ns"],
        probe_p99_ns=late["probe_p99_ns"],
        rss_bytes=used["rss_peak_bytes"],
    )


def calibrate(sessions: tuple[int, ...], progress: Callable[[CalibrationLevel], None]) -> dict[str, Any]:
    """Measure this machine with each number of sessions in `sessions`. Store and return the result.

    `progress` is called with the result of each number of sessions.
    """
    levels: list[CalibrationLevel] = []
    measure()  # raises the limit of open files
    with temporary_folder() as folder, null_server() as port:
        for n in sessions:
            levels.append(run_level(Path(folder), port, n, min(200_000, 40_000 * n), Pace("none")))
            progress(levels[-1])
        levels.append(run_level(Path(folder), port, max(*sessions, 1000), LATENESS_RATE * 5, Pace()))
        progress(levels[-1])
    result = {
        "machine": socket.gethostname(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "tool_version": __version__,
        "cores": len(os.sched_getaffinity(0)),
        "limits": asdict(measure()),
        "levels": [asdict(level) for level in levels],
    }
    cache_file().parent.mkdir(parents=True, exist_ok=True)
    write_json(cache_file(), result)
    return result


def make_even_tape(path: Path, sessions: int, events: int, per_second: int, statement: str = "SELECT 1") -> Folder:
    """Write a tape of `events` evenly spaced events and return the tape. `per_second` is their number per second.

    The sessions send the events in turn.
    """
    new_folder(path, "events")
    step = 1_000_000_000 // per_second
    rows = (
        f"SELECT 1 + i % {sessions} AS session, 1 + i // {sessions} AS seq, 'query' AS command,"
        f" {BEGIN_NS} + i * {step} AS start_ns, 0 AS duration_ns, 1000 AS precision_ns,"
        f" {sql_text(statement)}::BLOB AS statement, 0 AS file, i AS \"offset\", 'read' AS class, 0 AS flags"
        f" FROM range({events}) t(i)"
    )
    have = {"session", "seq", "command", "start_ns", "duration_ns", "precision_ns", "statement", "file", "offset"}
    last = BEGIN_NS + (events - 1) * step
    sessions = min(sessions, events)
    listed = (
        f"SELECT s AS session, false AS connect_seen, false AS quit_seen, {BEGIN_NS} + (s - 1) * {step} AS first_ns,"
        f" {last} AS last_ns, {events} // {sessions} + (s <= {events} % {sessions})::INTEGER AS events"
        f" FROM range(1, {sessions + 1}) t(s)"
    )
    known = {"session", "connect_seen", "quit_seen", "first_ns", "last_ns", "events"}
    with open_storage(path) as con:
        query = f"SELECT {select_list('tape', 'events', have | {'class', 'flags'})} FROM ({rows})"
        write_parquet(con, query, path / "events" / "part-00000.parquet")
        query = f"SELECT {select_list('tape', 'sessions', known)} FROM ({listed})"
        write_parquet(con, query, path / "sessions.parquet")
    part = file_entry(path, path / "events" / "part-00000.parquet", events)
    write_json(
        path / "tape.json",
        {
            "format_version": FORMAT_VERSION,
            "finished": True,
            "source": "synthetic",
            "parts": [{**part, "first_ns": BEGIN_NS, "last_ns": last}],
            "tables": [file_entry(path, path / "sessions.parquet", sessions)],
            "files": [],
            "counts": {"events": events, "sessions": sessions, "digests": 0, "problems": 0},
            "first_ns": BEGIN_NS,
            "last_ns": last,
            "precision_ns": 1000,
            "warnings": [],
        },
    )
    return open_folder("tape", path)
