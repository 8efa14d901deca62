# SPDX-License-Identifier: Apache-2.0
"""Measures --order commit: its cost without conflicts, and its result on a TPC-C recording.

Without conflicts, eight sessions use one table each, and --order time is the peer. The TPC-C recording is tpcc8 of the
samples. This version and the previous version of querytape replay the recording. The previous version is a checkout
with its .venv. QT_BEFORE is the path of this checkout.
"""

import json
import lzma
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from ..servers.sandbox import Server, start_server
from .made_tapes import make_transactions
from .pairs import Figures, MissingError, Pair, Side, run_program
from .replaying import replay_url

CHECKOUT = Path(__file__).resolve().parent.parent
SESSIONS = 8
ROUNDS = 4_000  # transactions per session


def pairs(stack: ExitStack, work: Path) -> Iterator[Pair]:
    """Yield the pair without conflicts, then the pair of the TPC-C recording."""
    server = stack.enter_context(start_server("mariadb"))
    server.execute("CREATE DATABASE shop")
    for n in range(SESSIONS):
        server.execute(f"CREATE TABLE shop.own{n} (id INT PRIMARY KEY, v BIGINT)")
        server.execute(f"INSERT INTO shop.own{n} VALUES " + ", ".join(f"({k}, 0)" for k in range(100)))
    tape = work / "own.tape"
    make_transactions(tape, SESSIONS, ROUNDS, "'own' || (session - 1)", "(seq % 100)")
    yield Pair(
        f"--order commit, {SESSIONS} sessions with a table each, transactions of four statements",
        side("commit", tape, server, work),
        side("time", tape, server, work),
        "The peer is querytape itself with --order time.",
    )
    yield tpcc8(stack, work)


def side(order: str, tape: Path, server: Server, work: Path) -> Side:
    """Return the side that replays the tape with this --order."""
    options = ("--order", order, "--pace", "none", "--allow-writes", "--target-is-disposable", "--sample", "0s")

    def run() -> Figures:
        info = replay_url(tape, server.url("shop"), work / "x.run", *options)
        accounting = info["accounting"]
        if accounting["order_broken"]:
            raise RuntimeError(f"{accounting['order_broken']} waits were broken")
        return {
            "statements/s": accounting["executed"] / (info["elapsed_ns"] / 1e9),
            "engine CPU us/statement": info["generator"]["engine_cpu_ns"] / 1e3 / accounting["executed"],
        }

    command = f"querytape replay own.tape --target {server.url('shop')} {' '.join(options)} -o x.run"
    return Side(f"--order {order}", command, run)


def tpcc8(stack: ExitStack, work: Path) -> Pair:
    """Return the pair that replays the TPC-C recording with this version and with the previous version."""
    samples = Path(os.environ.get("QT_SAMPLES") or CHECKOUT.parent / "shared" / "samples") / "tpcc8"
    if not samples.is_dir():
        raise MissingError(f"the recording {samples} (QT_SAMPLES)")
    before = os.environ.get("QT_BEFORE")
    if before is None:
        raise MissingError("a checkout of the version before (QT_BEFORE)")
    for name in ("packets.pcap", "before.sql"):
        (work / name).write_bytes(lzma.decompress((samples / f"{name}.xz").read_bytes()))
    tape = work / "tpcc8.tape"
    capture = ("capture", "packets", str(work / "packets.pcap"), "--port", "25274", "-o", str(tape))
    run_program(sys.executable, "-m", "querytape", *capture)
    server = stack.enter_context(start_server("mariadb", config={"innodb-buffer-pool-size": "1G", "sql-mode": ""}))
    lines = (samples / "after.checksums").read_text(encoding="utf-8").splitlines()
    after = {table: int(checksum) for table, checksum in (line.split("\t") for line in lines)}
    ours = TpccSide((sys.executable, "-m", "querytape"), tape, server, after, work)
    peer = TpccSide((f"{before}/.venv/bin/querytape",), tape, server, after, work)
    title = "a foreign TPC-C, 8 clients on one warehouse, 15 s, --pace none"
    return Pair(title, ours.side("this version"), peer.side("the version before"))


class TpccSide:
    """Replays the TPC-C recording with one version of querytape."""

    def __init__(self, program: tuple[str, ...], tape: Path, server: Server, after: dict[str, int], work: Path) -> None:
        """Build the replay command. `after`: CHECKSUM TABLE of each table after the recorded workload."""
        self.after, self.server, self.work = after, server, work
        self.run_folder = work / "tpcc8.run"
        options = ("--order", "commit", "--pace", "none", "--now", "original", "--insert-id", "original")
        allowed = ("--allow-writes", "--target-is-disposable")
        self.command = (
            *(*program, "replay", str(tape), "--target", server.url(), "-o", str(self.run_folder)),
            *(*options, *allowed),
        )

    def side(self, name: str) -> Side:
        """Return this replay as one side of a pair."""
        return Side(name, " ".join(self.command), self.run)

    def run(self) -> Figures:
        """Restore the data, replay, and compare the tables.

        The exit code is ignored, because a replay with waits that were ended (timeout) exits with 4.
        """
        with (self.work / "before.sql").open("rb") as dump:
            subprocess.run(["mariadb", "-uroot", f"-S{self.server.socket}"], stdin=dump, check=True)
        shutil.rmtree(self.run_folder, ignore_errors=True)
        subprocess.run(self.command, check=False, capture_output=True)
        info = json.loads((self.run_folder / "run.json").read_text(encoding="utf-8"))
        rows = self.server.execute("CHECKSUM TABLE " + ", ".join(self.after))
        return {
            "seconds": info["elapsed_ns"] / 1e9,
            "waits": info["accounting"]["order_waits"],
            "broken waits": info["accounting"]["order_broken"],
            "events not sent": info["accounting"]["not_sent"],
            "tables that differ": sum(self.after[name] != checksum for name, checksum in rows),
        }
