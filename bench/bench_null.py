# SPDX-License-Identifier: Apache-2.0
"""Measures the replayer against the null server, which runs on the same machine and answers at once.

The bench measures the throughput at --pace none. It also measures lateness, memory and start time of 100 to 10,000
sessions, next to threads that only sleep.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb

from ..replay.calibrate import make_even_tape, null_server
from .pairs import Figures, Pair, Side
from .replaying import lateness, replay_url

EVENTS = 300_000
CONNECTIONS = (1, 8, 64, 512)
SESSIONS = (100, 1_000, 10_000)
PER_SECOND = 10_000
SECONDS = 10
TIMER_PROBES = 32
FEW = 100  # number of sessions in the baseline run for memory


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield one measurement for each number of connections, then one for each number of sessions."""
    port = stack.enter_context(null_server())
    url = f"mysql://null@127.0.0.1:{port}"
    for n in CONNECTIONS:
        yield throughput(work, url, n)
    base = work / "base"
    make_even_tape(base, FEW, FEW * SECONDS, 100)
    few = replay_url(base, url, work / "x.run", "--connect-rate", "5000")["generator"]["rss_peak_bytes"]
    for n in SESSIONS:
        yield timing(work, url, n, few)


def throughput(work: Path, url: str, connections: int) -> Pair:
    """Measure the throughput of a replay at full speed with this number of connections."""
    tape = work / f"even{connections}"
    make_even_tape(tape, connections, EVENTS if connections > 1 else EVENTS // 4, 100_000)

    def run() -> Figures:
        info = replay_url(tape, url, work / "x.run", "--pace", "none", "--sample", "0s")
        executed = info["accounting"]["executed"]
        return {
            "queries/s": executed / (info["elapsed_ns"] / 1e9),
            "engine CPU us/query": info["generator"]["engine_cpu_ns"] / 1e3 / executed,
            "process CPU us/query": info["generator"]["cpu_ns"] / 1e3 / executed,
        }

    command = f"querytape replay {tape.name} --target {url} --pace none --sample 0s -o x.run"
    return Pair(f"The null server on {connections} connections over TCP", Side("querytape", command, run))


def timing(work: Path, url: str, sessions: int, few_bytes: int) -> Pair:
    """Measure lateness, memory and start time of a replay with this number of sessions.

    `few_bytes`: the memory of the process with FEW sessions.
    """
    tape, more = work / f"timed{sessions}", sessions - FEW
    make_even_tape(tape, sessions, PER_SECOND * SECONDS, PER_SECOND)
    options = ("--timer-probes", str(TIMER_PROBES), "--connect-rate", "5000", "--lead", "5s", "--sample", "0s")

    def run() -> Figures:
        info = replay_url(tape, url, work / "x.run", *options)
        late = info["lateness"]
        with duckdb.connect() as con:
            begun, ready = con.execute(
                f"SELECT min(connect_ns), max(connected_ns) FROM '{work / 'x.run'}/sessions.parquet'"
            ).fetchall()[0]
        return {
            **lateness(late),
            **({"KB a session": (info["generator"]["rss_peak_bytes"] - few_bytes) / more / 1e3} if more else {}),
            "s until all are open": (ready - begun) / 1e9,
        }

    command = f"querytape replay {tape.name} --target {url} {' '.join(options)} -o x.run"
    return Pair(
        f"{sessions:,} sessions, {PER_SECOND:,} events/s, against the null server",
        Side("querytape", command, run),
        note="Late: sent, less the latest of due, fed and free. Timer probes sleep only: that is the machine's share.",
    )
