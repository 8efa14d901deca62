# SPDX-License-Identifier: Apache-2.0
"""Measures --pace none: speed and CPU cost of a query, compared with sysbench and mysqlslap on the same statements."""

import re
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from ..servers.sandbox import Server, start_server
from .pairs import Figures, MissingError, Pair, Ran, Side, run_program
from .recording import sysbench
from .replaying import capture, replay_url

QUERIES = 200_000  # queries with many connections; one connection sends a quarter of them
TRANSACTIONS = 6_000  # transactions of oltp_read_write, 20 queries each; one connection runs a quarter of them
SLAP_QUERIES = 5_000  # queries per client
POINT, WRITE = "oltp_point_select", "oltp_read_write"
CPU_NOTE = "CPU us a query: the peer's whole process; ours the engine's threads. The whole process is below it."


@dataclass(frozen=True)
class Case:
    """A sysbench script with a number of connections, over loopback TCP or the unix socket."""

    script: str
    connections: int
    by_socket: bool = False

    @property
    def name(self) -> str:
        """Name of the case's files."""
        return f"{self.script}{self.connections}{'s' if self.by_socket else ''}"

    @property
    def title(self) -> str:
        """Title of the case in the output."""
        what = "Point selects" if self.script == POINT else "Read-write transactions"
        return f"{what} on {self.connections} connections {'through the unix socket' if self.by_socket else 'over TCP'}"

    def peer(self, server: Server) -> tuple[str, ...]:
        """Return sysbench's command line without its last word (the sysbench command)."""
        events = (QUERIES if self.script == POINT else TRANSACTIONS) // (4 if self.connections == 1 else 1)
        base = sysbench(server, self.script, self.connections, f"--events={events}", "--time=0")
        if self.script == WRITE:
            base += ("--tables=8", "--mysql-ignore-errors=1213,1020,1205,1062")
        return (*base, f"--mysql-socket={server.socket}", "--mysql-host=localhost") if self.by_socket else base


CASES = (
    *(Case(POINT, n) for n in (1, 8, 64, 512)),
    *(Case(POINT, n, by_socket=True) for n in (1, 8, 64, 512)),
    *(Case(WRITE, n) for n in (1, 8, 64, 512)),
    *(Case(WRITE, n, by_socket=True) for n in (1, 8, 64, 512)),
)


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield one pair for each case of sysbench, then the pairs of mysqlslap."""
    config = {"innodb-buffer-pool-size": "512M", "max-connections": "600", "innodb-flush-log-at-trx-commit": "0"}
    server = stack.enter_context(start_server("mariadb", config=config))
    server.execute("CREATE DATABASE sbtest")
    run_program(*Case(WRITE, 1).peer(server), "prepare")
    for case in CASES:
        command = (*case.peer(server), "run")
        title, base = case.title, work / case.name
        yield _pair(title, server, base, by_socket=case.by_socket, peer="sysbench", command=command, read=_of_sysbench)
    if shutil.which("mysqlslap") is None:
        raise MissingError("no mysqlslap: it is in mariadb-client")
    statements = work / "slap.sql"
    statements.write_text(
        "".join(f"SELECT c FROM sbtest1 WHERE id={1 + n * 7919 % 10_000};\n" for n in range(SLAP_QUERIES))
    )
    for n in (1, 8, 64):
        title = f"Point selects on {n} connections over TCP, as mysqlslap sends them"
        command = ("mysqlslap", "--host=127.0.0.1", f"--port={server.port}", "--user=root", "--create-schema=sbtest")
        command += ("--no-drop", "--delimiter=;", f"--query={statements}", f"--concurrency={n}")
        read = _of_slap(n * SLAP_QUERIES)
        yield _pair(title, server, work / f"slap{n}", peer="mysqlslap", command=command, read=read)


def _pair(
    title: str,
    server: Server,
    base: Path,
    *,
    by_socket: bool = False,
    peer: str,
    command: tuple[str, ...],
    read: Callable[[Ran], Figures],
) -> Pair:
    """Record the run of the peer, and return the pair of its replay and the peer."""
    tape = base.with_suffix(".tape")
    _record(server, command, tape)
    url = f"mysql://root@/sbtest?socket={server.socket}" if by_socket else server.url("sbtest")
    options = ("--pace", "none", "--sample", "0s", "--allow-writes", "--target-is-disposable", "--partial-ok")

    def ours() -> Figures:
        info = replay_url(tape, url, base.with_suffix(".run"), *options)
        executed = info["accounting"]["executed"]
        return {
            "queries/s": executed / (info["elapsed_ns"] / 1e9),
            "CPU us/query": info["generator"]["engine_cpu_ns"] / 1e3 / executed,
            "process CPU us/query": info["generator"]["cpu_ns"] / 1e3 / executed,
        }

    shown = f"querytape replay {tape.name} --target {url} {' '.join(options)} -o x.run"
    theirs = Side(peer, " ".join(command), lambda: read(run_program(*command)))
    return Pair(title, Side("querytape", shown, ours), theirs, CPU_NOTE)


def _record(server: Server, command: tuple[str, ...], tape: Path) -> None:
    """Record a run of the peer as a slow log and capture a tape from the log."""
    server.slow_log.unlink(missing_ok=True)
    server.execute("SET GLOBAL long_query_time = 0, GLOBAL slow_query_log = ON")
    server.execute("FLUSH SLOW LOGS")
    run_program(*command)
    server.execute("SET GLOBAL slow_query_log = OFF")
    time.sleep(0.2)
    capture(server.slow_log, tape)


def _of_sysbench(ran: Ran) -> Figures:
    match = re.search(r"queries:\s+(\d+)\s+\(([\d.]+) per sec", ran.output)
    if match is None:
        raise RuntimeError(f"sysbench printed no 'queries:' line: {ran.output[-500:]}")
    return {"queries/s": float(match[2]), "CPU us/query": ran.cpu_s * 1e6 / int(match[1])}


def _of_slap(queries: int) -> Callable[[Ran], Figures]:
    def figures(ran: Ran) -> Figures:
        match = re.search(r"Average number of seconds to run all queries:\s+([\d.]+)", ran.output)
        if match is None:
            raise RuntimeError(f"mysqlslap printed no average: {ran.output[-500:]}")
        return {"queries/s": queries / float(match[1]), "CPU us/query": ran.cpu_s * 1e6 / queries}

    return figures
