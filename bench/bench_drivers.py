# SPDX-License-Identifier: Apache-2.0
"""Measures what several drivers cost: CPU per event of three drivers and of one replay, and CPU of the lead process.

The null server answers at once. All processes are on this machine.
"""

import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..capture.tools.deal import deal
from ..replay.calibrate import make_even_tape, null_server
from .pairs import Figures, Pair, Side
from .replaying import replay_url

SESSIONS, DRIVERS = 48, 3
PER_SECOND, SECONDS = 10_000, 20
FROM, UNTIL = "0:03 ", "0:18 "  # the seconds of the run between which the CPU of the processes is compared
APART_NS = 15 * 10**9


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the cost of drivers at full speed, then that of their connections at a usual pace."""
    url = f"mysql://null@127.0.0.1:{stack.enter_context(null_server())}"
    yield cost(work, url, "at full speed", "fast", ("--pace", "none"))
    yield cost(work, url, f"at {PER_SECOND:,} events/s", "even", ())
    yield channel(work, url)


def dealt(work: Path, name: str) -> Path:
    """Return a set of DRIVERS tapes with evenly spaced events."""
    make_even_tape(work / f"{name}.tape", SESSIONS, PER_SECOND * SECONDS, PER_SECOND)
    deal(work / f"{name}.tape", DRIVERS, work / f"{name}.set")
    return work / f"{name}.set"


def cost(work: Path, url: str, how: str, name: str, pace: tuple[str, ...]) -> Pair:
    """Compare three drivers with one replay of the same set."""
    tapes = dealt(work, name)
    options, several = (*pace, "--sample", "0s"), ("--drivers", f"local:{DRIVERS}")

    def run(*more: str) -> Figures:
        info = replay_url(tapes, url, work / "x.run", *options, *more)
        used, executed = info["generator"], info["accounting"]["executed"]
        return {
            "queries/s": executed / (info["elapsed_ns"] / 1e9),
            "engine CPU us/query": used["engine_cpu_ns"] / 1e3 / executed,
            "process CPU us/query": used["cpu_ns"] / 1e3 / executed,
        }

    command = f"querytape replay {name}.set --target {url} {' '.join(options)} -o x.run"
    return Pair(
        f"{DRIVERS} drivers and one replay, {SESSIONS} sessions {how}, against the null server",
        Side(f"{DRIVERS} drivers", f"{command} {' '.join(several)}", lambda: run(*several)),
        Side("one replay", command, run),
        note="The CPU of the drivers includes the lead process and its merging of their files.",
    )


def channel(work: Path, url: str) -> Pair:
    """Measure the CPU of the lead process during a run, when it only exchanges messages with its drivers."""
    tapes = work / "even.set"
    command = f"querytape replay even.set --drivers join:{DRIVERS} --listen 127.0.0.1:PORT --target {url} -o x.run"
    return Pair(
        f"The connections of {DRIVERS} drivers, {PER_SECOND:,} events/s",
        Side("querytape", command, lambda: share(work, tapes, url)),
        note="CPU of the lead process: the threads of the connections, and the main thread, which adds up and prints.",
    )


def share(work: Path, tapes: Path, url: str) -> Figures:
    """Run a lead process and its drivers, and return the CPU of the lead process in the middle of the run."""
    shutil.rmtree(work / "x.run", ignore_errors=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    program, common = [sys.executable, "-m", "querytape"], ["--target", url, "--sample", "0s", "--join-key"]
    key = [*common, str(work / "join.key")]
    how = ["--drivers", f"join:{DRIVERS}", "--listen", address, "-o", str(work / "x.run")]
    quiet = subprocess.DEVNULL
    lead = subprocess.Popen(
        [*program, "replay", str(tapes), *how, *key], stdout=quiet, stderr=subprocess.PIPE, text=True
    )
    drivers: list[subprocess.Popen[str]] = []
    seen: dict[str, dict[str, int]] = {}
    try:
        assert lead.stderr is not None
        for line in lead.stderr:
            if "waiting for" in line:
                for number in range(DRIVERS):
                    words = ["driver", str(tapes), "--join", address, "-o", str(work / f"part{number}.run"), *key]
                    drivers.append(subprocess.Popen([*program, *words], stdout=quiet, stderr=quiet, text=True))
            for moment in (FROM, UNTIL):
                if line.lstrip().startswith(moment):
                    seen[moment] = thread_cpu_ns(lead.pid)
        if lead.wait(60) or any(driver.wait(60) for driver in drivers) or len(seen) < 2:
            raise RuntimeError("the replay with drivers failed")
    finally:
        for process in (lead, *drivers):
            process.kill()
    used = {thread: at - seen[FROM].get(thread, 0) for thread, at in seen[UNTIL].items()}
    main = used.pop(str(lead.pid))
    return {
        "connections, % of a core": sum(used.values()) / APART_NS * 100,
        "live line, % of a core": main / APART_NS * 100,
    }


def thread_cpu_ns(pid: int) -> dict[str, int]:
    """Return the CPU time of each thread of a process, by its id."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return {thread.name: int((thread / "schedstat").read_text().split()[0]) for thread in threads}
