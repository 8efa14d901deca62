# SPDX-License-Identifier: Apache-2.0
"""Counts false verdicts on two equal, real servers while other programs on the machine start and stop.

`make neighbours comparisons=20 rounds=3` prints a line per comparison with the digests called slower or faster. Each of
these verdicts is false. The other programs are busy loops that run for 0.3 to 2 s each. Their number is between 0 and
twice the number of processors.
"""

import argparse
import os
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path

from ..analyze import Report, build
from ..capture import capture
from ..replay import ReplayOptions, parse_target, replay
from ..servers.sandbox import Server, start_server

ROWS = 30_000
SESSIONS = 6
PER_SECOND = 400
STATEMENTS = (
    "SELECT hash FROM t WHERE id = {id}",
    "SELECT COUNT(*), MAX(hash) FROM t WHERE customer = {customer}",
    "SELECT id, note FROM t WHERE id BETWEEN {id} AND {id} + 1500 ORDER BY hash LIMIT 700",
    "SELECT kind, MAX(hash) FROM t WHERE id < 40 GROUP BY kind",
    "INSERT INTO w (v) VALUES ({id})",
)
FILL = "INSERT INTO t SELECT seq, seq % 3000, seq % 7, SHA2(seq, 512), REPEAT(MD5(seq), 4) FROM seq_1_to_{rows}"


def prepare(server: Server) -> None:
    """Create the data, which is equal on every server."""
    server.execute("CREATE DATABASE shop")
    columns = "id INT PRIMARY KEY, customer INT, kind INT, hash VARCHAR(128), note VARCHAR(200), KEY (customer)"
    server.execute(f"CREATE TABLE shop.t ({columns})")
    server.execute(FILL.format(rows=ROWS), db="shop")
    server.execute("CREATE TABLE shop.w (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
    server.execute("ANALYZE TABLE shop.t", db="shop")


@contextmanager
def equal_servers() -> Iterator[list[Server]]:
    """Yield two MariaDB servers with the same configuration and data."""
    config = {"innodb-buffer-pool-size": "128M", "innodb-flush-log-at-trx-commit": "0", "sort-buffer-size": "2M"}
    with ExitStack() as stack:
        servers = [stack.enter_context(start_server("mariadb", config=config)) for _ in range(2)]
        for server in servers:
            prepare(server)
        yield servers


def write_tape(folder: Path, seconds: float) -> Path:
    """Write a slow log of this duration and capture the log into a tape."""
    log = folder / "slow.log"
    with log.open("w", encoding="ascii") as out:
        out.write("/usr/sbin/mysqld, Version: 8.0.31 (Community). started with:\n")
        for number in range(int(seconds * PER_SECOND)):
            at, place = number / PER_SECOND, number * 7919
            text = STATEMENTS[number % 5].format(id=10_000 + place % (ROWS - 12_000), customer=1000 + place % 2000)
            out.write(
                f"# Time: 2026-01-05T10:00:{at:09.6f}Z\n"
                f"# User@Host: app[app] @ web [10.0.0.7]  Id: {1 + number % SESSIONS}\n"
                "# Query_time: 0.000100  Lock_time: 0.000000 Rows_sent: 1  Rows_examined: 1\n"
                f"use shop;\nSET timestamp=1767607200;\n{text};\n"
            )
    capture([log], folder / "load.tape")
    return folder / "load.tape"


@contextmanager
def busy_loops(number: int) -> Iterator[None]:
    """Run this number of busy processes during the block."""
    loops = [subprocess.Popen([sys.executable, "-S", "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@contextmanager
def changing_load(seed: int) -> Iterator[None]:
    """Run busy loops during the block. The number of loops changes every 0.3 to 2 s and depends on the seed."""
    over = threading.Event()
    chance = random.Random(seed)

    def work() -> None:
        while not over.is_set():
            with busy_loops(chance.choice((0, 0, 1, 2, 4, 2 * (os.cpu_count() or 2)))):
                over.wait(chance.uniform(0.3, 2))

    thread = threading.Thread(target=work)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def run_once(tape: Path, server: Server, path: Path) -> Path:
    """Replay the tape once on a server and return the run."""
    target = parse_target(server.url("shop"), environ={})
    options = ReplayOptions(target, path, lead_ns=200_000_000)
    summary = replay(tape, replace(options, allow_writes=True, target_is_disposable=True))
    if not summary.complete:
        raise RuntimeError(f"{path}: the run is not complete")
    return summary.path


def called(report: Report) -> dict[str, str]:
    """Return {digest: verdict} of the digests that the report calls slower or faster."""
    return {e["digest"]: e["verdict"] for e in report.digests if e["verdict"] in ("slower", "faster")}


def undecided(report: Report) -> int:
    """Return the number of digests without a verdict."""
    return sum(e["verdict"] == "inconclusive" for e in report.digests)


def compare(tape: Path, servers: list[Server], folder: Path, rounds: int) -> Report:
    """Replay on both servers in alternating rounds (A, then B), and return the report that compares the runs."""
    runs: tuple[list[Path], list[Path]] = ([], [])
    for number in range(rounds):
        for side in (0, 1):
            runs[side].append(run_once(tape, servers[side], folder / f"{'ab'[side]}{number}.run"))
    return build(tape, *runs)


def main() -> int:
    """Print one line per comparison, and the totals."""
    parser = argparse.ArgumentParser(prog="make neighbours")
    parser.add_argument("--comparisons", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=4)
    given = parser.parse_args()
    false = same = unknown = 0
    with tempfile.TemporaryDirectory() as name, equal_servers() as servers:
        tape = write_tape(Path(name), given.seconds)
        for number in range(given.comparisons):
            folder = Path(name) / str(number)
            folder.mkdir()
            with changing_load(number):
                report = compare(tape, servers, folder, given.rounds)
            wrong, open_ = called(report), undecided(report)
            false, unknown, same = false + len(wrong), unknown + open_, same + len(report.digests) - len(wrong) - open_
            print(f"{number + 1:3}: called falsely {wrong or 'none'}, inconclusive {open_}", flush=True)
    print(
        f"{given.comparisons} comparisons of {given.rounds} rounds: {false} false, {unknown} inconclusive, {same} same"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main())
