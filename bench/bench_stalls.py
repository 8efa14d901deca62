# SPDX-License-Identifier: Apache-2.0
"""Measures stalls in a replay of 1,000 sessions at 10,000 events per second.

The peer is a bare loop with the same threads and the same load.
"""

import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb

from ..replay.calibrate import make_even_tape, null_server
from .pairs import Figures, MissingError, Pair, Side, run_program
from .replaying import replay_url

SESSIONS = 1_000
PER_SECOND = 10_000
SECONDS = 10
STALL_NS = 30_000_000
SOURCE = Path(__file__).resolve().parent / "native" / "bare_loop.c"
NAMES = ("p50", "p99", "p99.9")
LATE = f"""
SELECT quantile_disc(late, [0.5, 0.99, 0.999]), max(late), count(*) FILTER (late >= {STALL_NS})
FROM (SELECT sent_ns - greatest(due_ns, queued_ns, free_ns) AS late FROM '{{}}' WHERE status = 'executed')
"""


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the only measurement of this bench."""
    loop, port = build(work), stack.enter_context(null_server())
    tape, url = work / "even.tape", f"mysql://null@127.0.0.1:{port}"
    make_even_tape(tape, SESSIONS, PER_SECOND * SECONDS, PER_SECOND)
    options = ("--connect-rate", "5000", "--lead", "5s", "--sample", "0s")
    bare = (str(loop), str(port), str(SESSIONS), str(PER_SECOND * SECONDS), str(PER_SECOND), "recv")

    def run() -> Figures:
        info = replay_url(tape, url, work / "x.run", *options)
        return {"CPU us/event": info["generator"]["engine_cpu_ns"] / 1e3 / info["accounting"]["executed"]} | late(work)

    def run_bare() -> Figures:
        figures: Figures = json.loads(run_program(*bare).output)
        del figures["events/s"]
        return figures

    shown = f"querytape replay even.tape --target {url} {' '.join(options)} -o x.run"
    yield Pair(
        f"{SESSIONS:,} sessions, {PER_SECOND:,} events/s, against the null server: how late, and how often by 30 ms",
        Side("querytape", shown, run),
        Side("bare loop", " ".join(("bare_loop", *bare[1:])), run_bare),
        "Late: sent, less the latest of due, fed and free. The bare loop sleeps, sends and receives: bare_loop.c.",
    )


def build(work: Path) -> Path:
    """Compile the bare loop. Raises MissingError if the compiler or the headers of Connector/C are missing."""
    for program in ("cc", "mariadb_config"):
        if shutil.which(program) is None:
            raise MissingError(program)
    flags = subprocess.run(["mariadb_config", "--include", "--libs"], check=True, capture_output=True, text=True)
    loop = work / "bare_loop"
    run_program("cc", "-O2", str(SOURCE), *flags.stdout.split(), "-pthread", "-o", str(loop))
    return loop


def late(work: Path) -> Figures:
    """Return the lateness of the run's events. The names are the names that the bare loop prints."""
    with duckdb.connect() as con:
        shares, most, stalls = con.execute(LATE.format(work / "x.run" / "outcomes" / "*.parquet")).fetchall()[0]
    figures = {f"late {name} us": ns / 1e3 for name, ns in zip(NAMES, shares, strict=True)}
    return figures | {"late max us": most / 1e3, "late by 30 ms": stalls}
