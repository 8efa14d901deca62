# SPDX-License-Identifier: Apache-2.0
"""What this machine can replay at most: runs against the null server, which costs nearly nothing.

Kept in the user's cache, so that every later run can tell how near it came to these limits.
"""

import os
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from .. import __version__
from ..errors import QuerytapeError
from ..schemas import write_json
from ..servers.facts import Facts
from ..servers.target import Target
from .limits import cache_file
from .machine import measure
from .options import ReplayOptions
from .pacing import Pace
from .plan import make_plan
from .run_folder import first_info, new_run
from .runner import Replay, Watcher
from .synthetic import make_even_tape

RATE = 5_000  # events a second of the lateness runs


@dataclass(frozen=True)
class Level:
    """One run against the null server. Times in nanoseconds; None where nothing is due."""

    sessions: int
    pace: str
    queries_per_second: float
    engine_cpu_ns: float  # a query
    process_cpu_ns: float  # a query
    late_p50_ns: int | None
    late_p99_ns: int | None
    canary_p50_ns: int | None
    canary_p99_ns: int | None
    rss_bytes: int


@contextmanager
def null_server(delay_ns: int = 0) -> Iterator[int]:
    """Run the null server in a process of its own, so that its CPU time is not ours; yield its port."""
    command = [sys.executable, "-m", "querytape", "null-server", "--delay", f"{delay_ns // 1_000_000}ms", "--until-eof"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        said = process.stdout.readline()
        if not said.startswith("port "):
            process.kill()
            raise QuerytapeError("the null server did not start")
        try:
            yield int(said.split()[1])
        finally:
            process.stdin.close()
            process.wait(20)


def run_level(work: Path, port: int, sessions: int, events: int, pace: Pace) -> Level:
    """Replay a synthetic tape against the null server and return what it came to."""
    name = f"{sessions}-{pace.kind}"
    tape = make_even_tape(work / f"{name}.tape", sessions, events, RATE)
    options = ReplayOptions(
        Target("null", "127.0.0.1", "127.0.0.1", port),
        work / f"{name}.run",
        pace=pace,
        canaries=8,
        connect_rate=5000,
        lead_ns=1_000_000_000,
        allow_writes=True,
        sample_ns=0,
    )
    with new_run(options.output) as folder:
        plan = make_plan(tape, options.rules(), folder.spill, folder.outcomes)
        info = first_info(plan, options, Facts("null"))
        folder.write(info)
        summary = Replay(plan, options, folder, info, Watcher()).run()
    books, used, late = (summary.info[key] for key in ("accounting", "generator", "lateness"))
    if books["executed"] != events:
        raise QuerytapeError(
            f"calibration: {books['executed']:,} of {events:,} events came through: {summary.info['partial']}"
        )
    return Level(
        sessions,
        pace.kind,
        events / (summary.info["elapsed_ns"] / 1e9),
        used["engine_cpu_ns"] / events,
        used["cpu_ns"] / events,
        late["tool_p50_ns"],
        late["tool_p99_ns"],
        late["canary_p50_ns"],
        late["canary_p99_ns"],
        used["rss_peak_bytes"],
    )


def calibrate(sessions: tuple[int, ...], tell: Callable[[Level], None]) -> dict[str, Any]:
    """Measure this machine against the null server, keep and return what was found; `tell` gets each level."""
    levels: list[Level] = []
    measure()  # raises the limit of open files
    with tempfile.TemporaryDirectory(prefix="querytape-") as folder, null_server() as port:
        for n in sessions:
            levels.append(run_level(Path(folder), port, n, min(200_000, 40_000 * n), Pace("none")))
            tell(levels[-1])
        levels.append(run_level(Path(folder), port, max(*sessions, 1000), RATE * 5, Pace()))
        tell(levels[-1])
    found = {
        "machine": socket.gethostname(),
        "created": datetime.now(UTC).isoformat(timespec="seconds"),
        "tool_version": __version__,
        "cores": len(os.sched_getaffinity(0)),
        "limits": asdict(measure()),
        "levels": [asdict(level) for level in levels],
    }
    cache_file().parent.mkdir(parents=True, exist_ok=True)
    write_json(cache_file(), found)
    return found
