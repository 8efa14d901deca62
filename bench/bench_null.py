# SPDX-License-Identifier: Apache-2.0
"""Measures the replayer alone, against the null server, which answers anything at once on the same machine.

Throughput at --pace none, and timing, memory and start of 1,000 and 10,000 sessions next to threads that only sleep.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb

from ..replay.calibrate import null_server
from ..replay.synthetic_tape import make_even_tape
from .pairs import Figures, Pair, Side
from .replaying import replay_url

EVENTS = 300_000
CONNECTIONS = (1, 8, 64, 512)
SESSIONS = (1_000, 10_000)
PER_SECOND = 10_000
SECONDS = 10
TIMER_PROBES = 32


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield one measurement for each number of connections, and of sessions."""
    port = stack.enter_context(null_server())
    url = f"mysql://null@127.0.0.1:{port}"
    for n in CONNECTIONS:
        yield throughput(work, url, n)
    base = work / "base"
    make_even_tape(base, 100, 100 * SECONDS, 100)
    few = replay_url(base, url, work / "x.run", "--connect-rate", "5000")["generator"]["rss_peak_bytes"]
    for n in SESSIONS:
        yield timing(work, url, n, few)


def throughput(work: Path, url: str, connections: int) -> Pair:
    """As fast as so many sessions go."""
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
    """How late, how large and how soon so many sessions are; `few_bytes`: the process with 100 of them."""
    tape = work / f"timed{sessions}"
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
            "late p50 us": late["tool_p50_ns"] / 1e3,
            "late p99 us": late["tool_p99_ns"] / 1e3,
            "late p50 / timer_probe p50": late["tool_p50_ns"] / late["probe_p50_ns"],
            "late p99 / timer_probe p99": late["tool_p99_ns"] / late["probe_p99_ns"],
            "timer_probe p99 us": late["probe_p99_ns"] / 1e3,
            "KB a session": (info["generator"]["rss_peak_bytes"] - few_bytes) / (sessions - 100) / 1e3,
            "s until all are open": (ready - begun) / 1e9,
        }

    command = f"querytape replay {tape.name} --target {url} {' '.join(options)} -o x.run"
    return Pair(
        f"{sessions:,} sessions, {PER_SECOND:,} events/s, against the null server",
        Side("querytape", command, run),
        note="Late: sent, less the latest of due, fed and free. Timer probes sleep only: that is the machine's share.",
    )
