# SPDX-License-Identifier: Apache-2.0
"""Measures the cost of each capture method for a server: throughput, p99 at a steady rate, and CPU time."""

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ..servers.sandbox import Server, start_server
from .pairs import Figures, MissingError, Pair, Side, run_program
from .recording import sysbench

SECONDS = 4  # seconds of each run: full speed, then steady rate
THREADS = 8
START_S, SETTLE_S = 15, 2.5  # START_S: longest wait for the capture to start; SETTLE_S: shortest wait
STEADY = 0.4  # steady rate as a fraction of the full throughput without a capture
SERVERS = ("mariadb", "mysql-8.0")
WORKLOADS = {"oltp_point_select": "point selects", "oltp_read_write": "read-write transactions"}
CONFIG = {"innodb-buffer-pool-size": "512M", "innodb-flush-log-at-trx-commit": "0", "performance-schema": "ON"}
AUDIT = "server_audit.so"  # from Debian's mariadb-server; QT_PLUGIN_DIR names another folder of the plugin
PLUGIN_DIRS = ("/usr/lib/mysql/plugin", "/usr/lib64/mysql/plugin")
NOTE = (
    "Ours is the server while it is captured, the peer the same server without. CPU: server and capture together. "
    f"Load, server and capture share the machine; p99 at {STEADY:.0%} of the full speed, the same for both."
)


@dataclass(frozen=True)
class Way:
    """A capture method: its command as shown, and a context manager that runs it and yields the capturing process."""

    name: str
    command: str
    on: AbstractContextManager[subprocess.Popen[bytes] | None]


@dataclass(frozen=True)
class Load:
    """The sysbench load of a server: a sysbench script, and its steady rate in sysbench events per second."""

    server: Server
    script: str
    rate: int = 0

    def command(self, *options: str) -> tuple[str, ...]:
        """Return the sysbench command line of one run."""
        ignored = "--mysql-ignore-errors=1213,1020,1205,1062"
        return (*sysbench(self.server, self.script, THREADS, f"--time={SECONDS}", ignored, *options), "run")

    def run(self, way: Way) -> Figures:
        """Run the load at full speed, then at the steady rate, while the capture is active. Return the figures."""
        with way.on as capture:
            processes = [self.server.pid, *([capture.pid] if capture else [])]
            before = sum(map(cpu_s, processes))
            fast = run_program(*self.command()).output
            used = sum(map(cpu_s, processes)) - before
            steady = run_program(*self.command(f"--rate={self.rate}", "--percentile=99")).output
        queries = number(r"^ *total: +(\d+)$", fast)
        return {
            "queries/s": queries / SECONDS,
            "p99 ms": number(r"^ *99th percentile: +([\d.]+)$", steady),
            "CPU us/query": used / queries * 1e6,
        }


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield one pair for each server, workload and capture method.

    A pair compares the load with and without the capture.
    """
    work.chmod(0o755)
    for kind in SERVERS:
        plugins = audit_folder() if kind == "mariadb" else None
        extra = {"plugin-dir": str(plugins)} if plugins else {}
        with start_server(kind, config={**CONFIG, **extra}) as server:
            server.execute("CREATE DATABASE sbtest")
            run_program(*sysbench(server, "oltp_read_write", 1), "prepare")
            for script, title in WORKLOADS.items():
                load = steady_load(server, script)
                nothing = Side("nothing", " ".join(load.command()), lambda load=load: load.run(NOTHING))  # type: ignore[misc]
                for way in ways(server, work, plugins is not None):
                    yield Pair(
                        f"{way.name}: {title} on {kind} {server.version}, {THREADS} connections",
                        Side("captured", way.command, lambda load=load, way=way: load.run(way)),  # type: ignore[misc]
                        nothing,
                        NOTE,
                    )


def steady_load(server: Server, script: str) -> Load:
    """Measure the full speed of a script once. Return a load at the fraction STEADY of this speed."""
    load = Load(server, script)
    run_program(*load.command())  # this run fills the buffer pool
    events = number(r"^ *total number of events: +(\d+)$", run_program(*load.command()).output)
    return Load(server, script, max(1, int(STEADY * events / SECONDS)))


NOTHING = Way("nothing", "", nullcontext())


def ways(server: Server, work: Path, audit: bool) -> Iterator[Way]:
    """Yield the capture methods that work on this machine and server. Print the methods that do not work."""
    for switch in ("slow_query_log", "general_log"):
        settings = [f"SET GLOBAL {switch} = ON"] + (
            ["SET GLOBAL long_query_time = 0"] if switch == "slow_query_log" else []
        )
        shown = switch.removesuffix("_query_log").removesuffix("_log") + " log"
        yield Way(shown, "; ".join(settings), ServerLog(server, settings, [f"SET GLOBAL {switch} = OFF"]))
    if audit:
        settings = [f"INSTALL SONAME '{AUDIT}'", "SET GLOBAL server_audit_logging = ON"]
        yield Way("audit plugin", "; ".join(settings), ServerLog(server, settings, [f"UNINSTALL SONAME '{AUDIT}'"]))
    elif server.program.family == "mariadb":
        print(f"!!! audit plugin: not measured: no {AUDIT}; name its folder by QT_PLUGIN_DIR\n", flush=True)
    tape, pcap = work / "live.tape", work / "live.pcap"
    ours = (sys.executable, "-m", "querytape", "capture")
    packets = ("packets", "--interface", "lo", "--port", str(server.port), "-o", str(tape))
    yield Way("packets", f"querytape capture {' '.join(packets)}", Running((*ours, *packets), tape))
    if shutil.which("tcpdump"):
        copy = ("tcpdump", "-i", "lo", "-s", "0", "-B", "262144", "-w", str(pcap), f"tcp port {server.port}")
        yield Way("tcpdump alone", " ".join(copy), Running(copy, pcap))
    else:
        print("!!! tcpdump: not measured: it is in the package tcpdump\n", flush=True)
    live = ("server", server.url(), "--partial-ok", "--watch", "0s", "-o", str(tape))
    yield Way("capture server", f"querytape capture {' '.join(live)}", Running((*ours, *live), tape))


class ServerLog(AbstractContextManager[None]):
    """Enables the server's own log in a block, and empties the log file afterwards."""

    def __init__(self, server: Server, on: list[str], off: list[str]) -> None:
        self._server, self._on, self._off = server, on, off

    def __enter__(self) -> None:
        for sql in self._on:
            self._server.execute(sql)

    def __exit__(self, *_: object) -> None:
        for sql in self._off:
            self._server.execute(sql)
        for log in self._server.datadir.glob("*.log"):
            os.truncate(log, 0)
        if self._server.slow_log.exists():
            os.truncate(self._server.slow_log, 0)


class Running(AbstractContextManager["subprocess.Popen[bytes]"]):
    """Runs a capturing program in a block, and removes its output afterwards."""

    def __init__(self, command: tuple[str, ...], output: Path) -> None:
        self._command, self._output = command, output

    def __enter__(self) -> "subprocess.Popen[bytes]":
        self._remove()
        said = subprocess.DEVNULL
        self._process = subprocess.Popen(self._command, stdin=said, stdout=said, stderr=said)
        begun = time.monotonic()
        while not self._output.exists() and time.monotonic() < begun + START_S and self._process.poll() is None:
            time.sleep(0.1)
        time.sleep(max(0.5, begun + SETTLE_S - time.monotonic()))
        if self._process.poll() is not None:
            raise MissingError(f"it ended at once (permission to listen on lo?): {' '.join(self._command)}")
        return self._process

    def __exit__(self, *_: object) -> None:
        self._process.send_signal(signal.SIGINT)
        status = self._process.wait()
        self._remove()
        if status != 0:
            raise RuntimeError(f"{' '.join(self._command)} ended with {status}")

    def _remove(self) -> None:
        if self._output.is_dir():
            shutil.rmtree(self._output)
        else:
            self._output.unlink(missing_ok=True)


def audit_folder() -> Path | None:
    """Return the folder of MariaDB's audit plugin, or None."""
    folders = [os.environ["QT_PLUGIN_DIR"]] if "QT_PLUGIN_DIR" in os.environ else PLUGIN_DIRS
    return next((Path(folder) for folder in folders if (Path(folder) / AUDIT).exists()), None)


def cpu_s(pid: int) -> float:
    """Return the user and system CPU time of a process in seconds (proc_pid_stat(5))."""
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def number(pattern: str, output: str) -> float:
    """Return a number from the sysbench output. Raises RuntimeError if the output does not contain the number."""
    match = re.search(pattern, output, re.MULTILINE)
    if match is None:
        raise RuntimeError(f"sysbench did not print {pattern!r}: {output[-500:]}")
    return float(match[1])
