# SPDX-License-Identifier: Apache-2.0
"""Measures what this machine can replay at most, by runs against the null server, which costs nearly nothing.

The result is kept in the user's cache, so that every later run can say how near it came to these limits.
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

from ..common.errors import QuerytapeError
from ..common.files import write_json
from ..common.temporary import temporary_folder
from ..common.version import __version__
from ..servers.facts import Facts
from ..servers.target import Target
from .checks.machine import measure
from .last_calibration import cache_file
from .options import ReplayOptions
from .plan.make_plan import PlanRequest, make_plan
from .plan.pacing import Pace
from .replay_tape import run_task
from .run_folder import new_run
from .synthetic_tape import make_even_tape
from .task import ReplayTask

LATENESS_RATE = 5_000  # events a second of the run that measures lateness


@dataclass(frozen=True)
class CalibrationLevel:
    """One run against the null server. Times in nanoseconds; None where nothing is due."""

    sessions: int
    pace: str
    queries_per_second: float
    engine_cpu_ns: float  # a query
    process_cpu_ns: float  # a query
    late_p50_ns: int | None
    late_p99_ns: int | None
    probe_p50_ns: int | None
    probe_p99_ns: int | None
    rss_bytes: int


@contextmanager
def null_server(delay_ns: int = 0) -> Iterator[int]:
    """Run the null server in a process of its own, so that its CPU time is not ours; yield its port."""
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
    """Replay a synthetic tape against the null server and return what it came to."""
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
            f"calibration: {accounting['executed']:,} of {events:,} events came through: {summary.info['partial']}"
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
    """Measure this machine with each of `sessions`; keep and return the result. `progress` gets each level."""
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
