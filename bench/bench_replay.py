# SPDX-License-Identifier: Apache-2.0
"""How fast `--pace none` goes, and what a query costs it, beside sysbench sending the same queries over TCP."""

import re
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from ..replay.sandbox import Server, start_server
from .pairs import Figures, Pair, Side, run_program
from .recording import sysbench
from .replaying import capture, replay

QUERIES = 200_000
CONNECTIONS = (1, 8, 64, 512)


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield one pair for each number of connections."""
    server = stack.enter_context(
        start_server("mariadb", config={"innodb-buffer-pool-size": "256M", "max-connections": "600"})
    )
    server.execute("CREATE DATABASE sbtest")
    run_program(*_sysbench(server, 1), "prepare")
    for connections in CONNECTIONS:
        tape = work / f"point{connections}.tape"
        _record(server, connections, tape)
        yield Pair(
            f"Point selects on {connections} connections over TCP",
            Side(
                "querytape",
                f"querytape replay point{connections}.tape --target {server.url('sbtest')} --pace none --sample 0s"
                " -o x.run",
                _our_side(tape, server, work / "x.run"),
            ),
            Side(
                "sysbench",
                " ".join((*_sysbench(server, connections), "run")),
                _peer_side(server, connections),
            ),
            "CPU us a query: sysbench's whole process; ours the engine's threads. The whole process is below it.",
        )


def _sysbench(server: Server, connections: int) -> tuple[str, ...]:
    return sysbench(server, "oltp_point_select", connections, f"--events={QUERIES}", "--time=0")


def _record(server: Server, connections: int, tape: Path) -> None:
    """Record a run of sysbench's as a slow log and make a tape of it."""
    server.slow_log.unlink(missing_ok=True)
    server.execute("SET GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON")
    server.execute("FLUSH SLOW LOGS")
    run_program(*_sysbench(server, connections), "run")
    server.execute("SET GLOBAL slow_query_log = OFF")
    capture(server.slow_log, tape)


def _our_side(tape: Path, server: Server, run: Path) -> Callable[[], Figures]:
    return lambda: _our_figures(tape, server, run)


def _our_figures(tape: Path, server: Server, run: Path) -> Figures:
    info = replay(tape, server, "sbtest", run, "--pace", "none", "--sample", "0s")
    executed = info["accounting"]["executed"]
    return {
        "queries/s": executed / (info["elapsed_ns"] / 1e9),
        "CPU us/query": info["generator"]["engine_cpu_ns"] / 1e3 / executed,
        "process CPU us/query": info["generator"]["cpu_ns"] / 1e3 / executed,
    }


def _peer_side(server: Server, connections: int) -> Callable[[], Figures]:
    return lambda: _peer_figures(server, connections)


def _peer_figures(server: Server, connections: int) -> Figures:
    ran = run_program(*_sysbench(server, connections), "run")
    found = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec", ran.output)
    if found is None:
        raise RuntimeError(f"sysbench printed no 'queries:' line: {ran.output[-500:]}")
    return {"queries/s": float(found[2]), "CPU us/query": ran.cpu_s * 1e6 / int(found[1])}
