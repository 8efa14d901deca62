# SPDX-License-Identifier: Apache-2.0
"""Measures packet decoding, with and without writing a tape, compared with tcpdump (which only copies) and tshark."""

import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..native.bindings.parsers import open_packets
from ..servers.sandbox import start_server
from .pairs import Figures, MissingError, Pair, Side, run_program
from .recording import sysbench

SECONDS = {"oltp_read_write": 8, "oltp_point_select": 8}
THREADS = 8
PART_ROWS, PART_BYTES = 200_000, 48 << 20


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the pairs of this bench."""
    for program in ("tcpdump", "tshark"):
        if shutil.which(program) is None:
            raise MissingError(f"{program} (package {program})")
    work.chmod(0o755)  # tcpdump drops root and must be able to read its own files
    server = stack.enter_context(start_server("mariadb", config={"innodb-buffer-pool-size": "512M"}))
    server.execute("CREATE DATABASE sbtest")
    run_program(*sysbench(server, "oltp_read_write", 1), "prepare")
    files = {test: work / f"{test}.pcap" for test in SECONDS}
    for test, path in files.items():
        record(sysbench(server, test, THREADS, f"--time={SECONDS[test]}"), server.port, path)
    port = server.port
    server.stop()
    for test, path in files.items():
        yield from of_file(test, path, port, work / "bench.tape")


def record(load: tuple[str, ...], port: int, path: Path) -> None:
    """Record the packets of sysbench on the loopback interface."""
    listen = ("tcpdump", "-i", "lo", "-s", "0", "-B", "65536", "-w", str(path), f"tcp port {port}")
    dump = subprocess.Popen(listen, stderr=subprocess.PIPE, text=True)
    time.sleep(1)
    run_program(*load, "run")
    time.sleep(1)
    dump.send_signal(signal.SIGINT)
    said = dump.communicate()[1]
    if dump.returncode or not path.exists():
        raise MissingError(f"tcpdump could not listen on lo: {said[-200:]}")
    path.chmod(0o644)


def of_file(test: str, path: Path, port: int, tape: Path) -> Iterator[Pair]:
    """Yield the pairs of one file of captured packets."""
    size = path.stat().st_size / 1e6
    counted = 0

    def decode() -> Figures:
        nonlocal counted
        reader = open_packets([path], [port])
        began = time.monotonic()
        while not reader.stats().finished:
            reader.drain_part(PART_ROWS, PART_BYTES)
        wall_s = time.monotonic() - began
        counted = reader.stats().events
        reader.close()
        return {"MB/s": size / wall_s, "queries/s": counted / wall_s, "s": wall_s}

    def capture() -> Figures:
        shutil.rmtree(tape, ignore_errors=True)
        command = ("capture", "packets", str(path), "--port", str(port), "-o", str(tape))
        ran = run_program(sys.executable, "-m", "querytape", *command)
        return {"MB/s": size / ran.wall_s, "queries/s": counted / ran.wall_s, "s": ran.wall_s}

    def copy() -> Figures:
        ran = run_program("tcpdump", "-r", str(path), "-w", "/dev/null")
        return {"MB/s": size / ran.wall_s, "queries/s": counted / ran.wall_s, "s": ran.wall_s}

    fields = ("-T", "fields", "-e", "frame.time_epoch", "-e", "mysql.query")
    tshark_command = ("tshark", "-r", str(path), "-d", f"tcp.port=={port},mysql", "-Y", "mysql.command", *fields)

    def tshark() -> Figures:
        ran = run_program(*tshark_command)
        queries = len(re.findall(r"^\d+\.\d+", ran.output, re.MULTILINE))
        return {"MB/s": size / ran.wall_s, "queries/s": queries / ran.wall_s, "s": ran.wall_s}

    title = f"sysbench {test}, {size:,.0f} MB of packets"
    alone = Side("decoder", "(in process, rows thrown away)", decode)
    shown = " ".join((*tshark_command[:2], path.name, *tshark_command[3:]))
    yield Pair(
        f"Decoding alone, and tcpdump: {title}", alone, Side("tcpdump", f"tcpdump -r {path.name} -w /dev/null", copy)
    )
    yield Pair(f"Decoding alone, and tshark: {title}", alone, Side("tshark", shown, tshark))
    ours = f"querytape capture packets {path.name} --port {port} -o bench.tape"
    yield Pair(
        f"To a finished tape, and tshark: {title}", Side("capture", ours, capture), Side("tshark", shown, tshark)
    )
