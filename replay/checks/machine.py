# SPDX-License-Identifier: Apache-2.0
"""Measure the limits of the replaying machine: open files, threads, memory mappings and local ports. Linux only."""

import os
import resource
from dataclasses import dataclass
from pathlib import Path

from ...native.bindings.engine import EngineStats

# Files and threads that the process needs in addition to those of the sessions: DuckDB, files being written, libraries.
SPARE_FILES = 64
SPARE_THREADS = 32
MAPPINGS_A_THREAD = 2  # the stack and its guard page


@dataclass(frozen=True)
class Machine:
    """The limits of this process. None means no known limit. `ports` limits only TCP connections."""

    files: int | None
    threads: int | None
    thread_limit: str  # name of the limit in `threads`
    mappings: int | None
    ports: int | None

    def sessions(self) -> dict[str, int]:
        """Return how many sessions each known limit allows at the same time."""
        allowed = {
            "files": self.files and self.files - SPARE_FILES,
            "threads": self.threads and self.threads - SPARE_THREADS,
            "mappings": self.mappings and self.mappings * 9 // 10 // MAPPINGS_A_THREAD,
            "ports": self.ports,
        }
        return {name: limit for name, limit in allowed.items() if limit is not None}


def raise_file_limit() -> int | None:
    """Raise the limit of open files to this account's maximum. Return the limit, or None if the number is unlimited."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != hard:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return None if hard == resource.RLIM_INFINITY else hard


def measure() -> Machine:
    """Raise the limit of open files and return all limits."""
    threads, name = min(_thread_limits(), default=(None, ""))
    return Machine(
        files=raise_file_limit(),
        threads=threads,
        thread_limit=name,
        mappings=_number(Path("/proc/sys/vm/max_map_count")),
        ports=_ports(),
    )


def _thread_limits() -> list[tuple[int, str]]:
    limits = []
    nproc = resource.getrlimit(resource.RLIMIT_NPROC)[0]
    if os.geteuid() != 0 and nproc != resource.RLIM_INFINITY:
        limits.append((nproc, "ulimit -u"))
    for name in ("kernel.threads-max", "kernel.pid_max"):  # every thread has a process id
        system = _number(Path("/proc/sys") / name.replace(".", "/"))
        if system is not None:
            limits.append((system, name))
    pids = _cgroup_pids()
    if pids is not None:
        limits.append((pids, "the cgroup's pids.max"))
    return limits


def _cgroup_pids() -> int | None:
    """Return the number of further processes that the cgroup (version 2) and its parent cgroups allow."""
    try:
        lines = Path("/proc/self/cgroup").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    inner = next((line[3:] for line in lines if line.startswith("0::")), None)
    if inner is None:
        return None
    root = Path("/sys/fs/cgroup")
    folders = [root / inner.lstrip("/"), *(root / inner.lstrip("/")).parents]
    left = []
    for folder in folders[: folders.index(root) + 1 if root in folders else 1]:
        limit = _number(folder / "pids.max")
        if limit is not None:
            left.append(limit - (_number(folder / "pids.current") or 0))
    return min(left, default=None)


def _ports() -> int | None:
    try:
        low, high = Path("/proc/sys/net/ipv4/ip_local_port_range").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    return int(high) - int(low) + 1


def _number(path: Path) -> int | None:
    try:
        text = path.read_text(encoding="ascii").strip()
    except OSError:
        return None
    return int(text) if text.isdigit() else None


def generator(stats: EngineStats, threads_peak: int, cpu_ns: int) -> dict[str, int]:
    """Return `generator` of run.json: the cost of the replay on this machine.

    `cpu_ns` is the CPU time of the process.
    """
    return {
        "cpu_ns": cpu_ns,
        "engine_cpu_ns": stats.engine_cpu_ns,
        "threads_peak": threads_peak,
        "cores": len(os.sched_getaffinity(0)),
        "rss_peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }
