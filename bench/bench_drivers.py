# SPDX-License-Identifier: Apache-2.0
"""Measures what several drivers cost: CPU per event of three drivers and of one replay, and CPU of the lead process.

The null server answers at once. The last pair measures how long a statement waits for a commit of another driver. All
processes are on this machine.
"""

import json
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import duckdb

from ..capture.tools.deal import deal
from ..common.duck import sql_files
from ..replay.calibrate import make_even_tape, null_server
from ..schemas import open_folder
from ..servers.sandbox import start_server
from .made_tapes import STATEMENTS, make_transactions
from .pairs import Figures, Pair, Side
from .replaying import replay_url

SESSIONS, DRIVERS = 48, 3
PER_SECOND, SECONDS = 10_000, 20
FROM, UNTIL = "0:03 ", "0:18 "  # the seconds of the run between which the CPU of the processes is compared
APART_NS = 15 * 10**9
TRANSACTIONS = 700  # of each session that changes the hot row
DELAY_S = 0.0005


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the cost of drivers at full speed, then that of their connections at a usual pace."""
    url = f"mysql://null@127.0.0.1:{stack.enter_context(null_server())}"
    yield cost(work, url, "at full speed", "fast", ("--pace", "none"))
    yield cost(work, url, f"at {PER_SECOND:,} events/s", "even", ())
    yield channel(work, url)
    yield waits(stack, work)


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


def waits(stack: ExitStack, work: Path) -> Pair:
    """Measure the wait for a commit of another driver, on a link with a delay. The peer is one replay."""
    server = stack.enter_context(start_server("mariadb"))
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.hot (id INT PRIMARY KEY, v BIGINT)")
    server.execute("INSERT INTO shop.hot VALUES (1, 0)")
    make_transactions(work / "hot.tape", DRIVERS, TRANSACTIONS, "'hot'", "1", in_turn=True)
    tapes = work / "hot.set"
    deal(work / "hot.tape", DRIVERS, tapes)
    options = (*("--order", "commit", "--pace", "none", "--sample", "0s"), "--allow-writes", "--target-is-disposable")

    def several() -> Figures:
        with joined(work, tapes, "--target", server.url("shop"), *options, delay_s=DELAY_S):
            pass
        return waited(work / "x.run")

    def alone() -> Figures:
        replay_url(tapes, server.url("shop"), work / "x.run", *options)
        return waited(work / "x.run")

    command = f"querytape replay hot.set --target {server.url('shop')} {' '.join(options)} -o x.run"
    return Pair(
        f"{DRIVERS} sessions that change one row in turn, on {DRIVERS} drivers and in one replay",
        Side(f"{DRIVERS} drivers", f"{command} --drivers join:{DRIVERS} --listen 127.0.0.1:PORT", several),
        Side("one replay", command, alone),
        note=f"The drivers reach the lead process over a link that delays each direction by {DELAY_S * 1e3:g} ms.",
    )


def waited(run: Path) -> Figures:
    """Return the time from each COMMIT to the UPDATE that waits for it, and the shortest round trip to the lead."""
    info = json.loads((run / "run.json").read_text(encoding="utf-8"))
    if info["accounting"]["order_broken"]:
        raise RuntimeError("waits were broken")
    outcomes = sql_files(open_folder("run", run).files("outcomes"))
    number = f"(seq - 1) // {STATEMENTS} * {DRIVERS} + session - 1"
    query = f"""
        WITH o AS (SELECT *, {number} AS number, (seq - 1) % {STATEMENTS} AS step FROM read_parquet({outcomes}))
        SELECT median(u.sent_ns - c.done_ns), quantile_cont(u.sent_ns - c.done_ns, 0.95)
        FROM o AS u
        JOIN o AS c ON u.step = 1 AND c.step = {STATEMENTS - 1} AND c.number = u.number - 1"""
    with duckdb.connect() as con:
        ((half, most),) = con.execute(query).fetchall()
    figures = {"wait p50 us": half / 1e3, "wait p95 us": most / 1e3}
    if info.get("drivers"):
        trip = max(2 * driver["bound_ns"] for driver in info["drivers"])
        figures |= {"round trip us": trip / 1e3, "wait p50 / round trip": half / trip}
    return figures


def share(work: Path, tapes: Path, url: str) -> Figures:
    """Run a lead process and its drivers, and return the CPU of the lead process in the middle of the run."""
    seen: dict[str, dict[str, int]] = {}
    with joined(work, tapes, "--target", url, "--sample", "0s") as lead:
        assert lead.stderr is not None
        for line in lead.stderr:
            for moment in (FROM, UNTIL):
                if line.lstrip().startswith(moment):
                    seen[moment] = thread_cpu_ns(lead.pid)
    used = {thread: at - seen[FROM].get(thread, 0) for thread, at in seen[UNTIL].items()}
    main = used.pop(str(lead.pid))
    return {
        "connections, % of a core": sum(used.values()) / APART_NS * 100,
        "live line, % of a core": main / APART_NS * 100,
    }


@contextmanager
def joined(work: Path, tapes: Path, *options: str, delay_s: float | None = None) -> Iterator[subprocess.Popen[str]]:
    """Start a lead process and DRIVERS drivers that join it. The run is x.run. Raises RuntimeError if a process fails.

    `delay_s`: the drivers reach the lead process over a link with this delay in each direction.
    """
    shutil.rmtree(work / "x.run", ignore_errors=True)
    with socket.create_server(("127.0.0.1", 0)) as free:
        address = f"127.0.0.1:{free.getsockname()[1]}"
    program, common = [sys.executable, "-m", "querytape"], [*options, "--join-key", str(work / "join.key")]
    how = ["--drivers", f"join:{DRIVERS}", "--listen", address, "-o", str(work / "x.run")]
    quiet = subprocess.DEVNULL
    processes = [
        subprocess.Popen(
            [*program, "replay", str(tapes), *how, *common], stdout=quiet, stderr=subprocess.PIPE, text=True
        )
    ]
    link = None
    try:
        assert processes[0].stderr is not None
        for line in processes[0].stderr:
            if "waiting for" in line:
                break
        if delay_s is not None:
            link = subprocess.Popen(
                [sys.executable, "-m", "querytape.bench.slow_link", address, str(delay_s)], stdout=-1, text=True
            )
            assert link.stdout is not None
            address = link.stdout.readline().strip()
        for number in range(DRIVERS):
            words = ["driver", str(tapes), "--join", address, "-o", str(work / f"part{number}.run"), *common]
            processes.append(subprocess.Popen([*program, *words], stdout=quiet, stderr=quiet, text=True))
        yield processes[0]
        processes[0].stderr.read()
        if any(process.wait(60) for process in processes):
            raise RuntimeError("the replay with drivers failed")
    finally:
        for process in (*processes, *([link] if link else [])):
            process.kill()


def thread_cpu_ns(pid: int) -> dict[str, int]:
    """Return the CPU time of each thread of a process, by its id."""
    threads = Path(f"/proc/{pid}/task").iterdir()
    return {thread.name: int((thread / "schedstat").read_text().split()[0]) for thread in threads}
