# SPDX-License-Identifier: Apache-2.0
"""Measures a live capture under the full load of sysbench: lost queries and CPU time, compared with tcpdump."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import duckdb

from ..native.bindings.parsers import open_packets
from ..servers.sandbox import Server, start_server
from .pairs import Figures, MissingError, Pair, Side, run_program
from .recording import sysbench

SECONDS = 20
THREADS = 8
PART_ROWS, PART_BYTES = 200_000, 48 << 20


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the only pair of this bench."""
    if shutil.which("tcpdump") is None:
        raise MissingError("tcpdump (package tcpdump)")
    work.chmod(0o755)
    server = stack.enter_context(start_server("mariadb", config={"innodb-buffer-pool-size": "512M"}))
    server.execute("CREATE DATABASE sbtest")
    run_program(*sysbench(server, "oltp_read_write", 1), "prepare")
    pcap, tape = work / "live.pcap", work / "live.tape"
    copy = ("tcpdump", "-i", "lo", "-s", "0", "-B", "262144", "-w", str(pcap), f"tcp port {server.port}")
    ours = ("querytape", "capture", "packets", "--interface", "lo", "--port", str(server.port), "-o", str(tape))

    def capture() -> Figures:
        shutil.rmtree(tape, ignore_errors=True)
        sent, cpu_s = watched(server, (sys.executable, "-m", *ours))
        with duckdb.connect() as con:
            ((captured,),) = con.execute(
                f"SELECT count(*) FROM '{tape}/events/*.parquet' WHERE command = 'query'"
            ).fetchall()
        return figures(sent, captured, cpu_s)

    def dump() -> Figures:
        sent, cpu_s = watched(server, copy)
        reader = open_packets([pcap], [server.port])
        decoded = 0
        while not reader.stats().finished:
            decoded += reader.drain_part(PART_ROWS, PART_BYTES)
        reader.close()
        pcap.unlink()
        return figures(sent, decoded - 2 * THREADS, cpu_s)

    shown = tuple(word.replace(str(work) + "/", "") for word in copy)
    yield Pair(
        f"Live on lo, sysbench oltp_point_select, {THREADS} connections, {SECONDS} s at full speed",
        Side("capture", " ".join((*ours[:-1], tape.name)), capture),
        Side("tcpdump", " ".join(shown), dump),
        note="Lost: queries that sysbench counts and the tape, or tcpdump's file as we decode it, lacks.",
    )


def watched(server: Server, command: tuple[str, ...]) -> tuple[int, float]:
    """Run the load while `command` captures. Return the number of queries sent and the CPU seconds of `command`."""
    listener = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    time.sleep(2.5)
    if listener.poll() is not None:
        raise MissingError(f"no permission to listen on lo: {' '.join(command)}")
    ran = run_program(*sysbench(server, "oltp_point_select", THREADS, f"--time={SECONDS}"), "run")
    time.sleep(2)
    listener.send_signal(signal.SIGINT)
    _, status, used = os.wait4(listener.pid, 0)
    listener.returncode = os.waitstatus_to_exitcode(status)
    if listener.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {listener.returncode}")
    match = re.search(r"^ *total: +(\d+)$", ran.output, re.MULTILINE)
    if match is None:
        raise RuntimeError(f"sysbench did not say how many queries it sent: {ran.output[-500:]}")
    return int(match[1]), used.ru_utime + used.ru_stime


def figures(sent: int, seen: int, cpu_s: float) -> Figures:
    """Return the figures of one side: queries per second, lost queries, and CPU time per query."""
    return {"queries/s": sent / SECONDS, "lost": max(sent - seen, 0), "CPU us/query": cpu_s / sent * 1e6}
