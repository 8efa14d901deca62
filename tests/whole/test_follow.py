# SPDX-License-Identifier: Apache-2.0
"""Tests of `capture --follow` with the slow log of a real server. During log rotation, all statements reach the tape. A
finished part of the tape can be cut out.
"""

import gzip
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest
from querytape.replay import replay
from querytape.schemas import open_folder
from querytape.servers.sandbox import Server

from tests.helpers.command_line import run_here
from tests.helpers.growing_log import wait_until
from tests.helpers.processes import start
from tests.helpers.tiers import mostly_long
from tests.helpers.whole import accounting, options

from ..conftest import ServerFactory

CLIENTS, EACH = 4, 25


class Work:
    """Clients that send numbered statements."""

    def __init__(self, server: Server) -> None:
        self._clients = [server.connect("shop", autocommit=True) for _ in range(CLIENTS)]
        self.done = 0

    def go_on(self) -> None:
        """Send the next numbered statements."""
        for _ in range(EACH):
            for client in self._clients:
                with client.cursor() as cursor:
                    cursor.execute(f"INSERT INTO t (n) VALUES ({self.done})")
                self.done += 1

    def close(self) -> None:
        for client in self._clients:
            client.close()


def turn_over(server: Server, log: Path, way: str) -> None:
    """Rotate the log in one of the usual ways."""
    old = log.with_name(f"{log.name}.{way}")
    if way == "rename":
        log.rename(old)
    elif way == "remove":
        log.unlink()
    else:
        shutil.copyfile(log, old)
        os.truncate(log, 0)
    if way == "truncate":
        return
    server.execute("FLUSH SLOW LOGS")
    if way == "rename":
        old.with_name(old.name + ".gz").write_bytes(gzip.compress(old.read_bytes()))
        old.unlink()


def numbers(tape: Path) -> list[int]:
    """Return the numbers in the INSERTs of a tape's published parts."""
    parts = [str(tape / part["file"]) for part in json.loads((tape / "tape.json").read_text())["parts"]]
    if not parts:
        return []
    with duckdb.connect() as con:
        rows = con.execute(
            "SELECT CAST(regexp_extract(decode(statement), 'VALUES .(\\d+)', 1) AS INT)"
            " FROM read_parquet(?) WHERE starts_with(decode(statement), 'INSERT') ORDER BY 1",
            [parts],
        ).fetchall()
    return [row[0] for row in rows]


@pytest.mark.long
@pytest.mark.parametrize("kind", mostly_long(["mariadb", "mysql80"], "mysql80"))
def test_rotated_log_is_followed_without_loss(
    kind: str, mariadb_factory: ServerFactory, mysql80_factory: ServerFactory, tmp_path: Path
) -> None:
    """The log is renamed and compressed, copied and truncated, or removed. The tape is cut while the capture is still
    running.
    """
    factory = mariadb_factory if kind == "mariadb" else mysql80_factory
    server = factory({"slow_query_log": "1", "long_query_time": "0"})
    log, tape = server.slow_log, tmp_path / "live.tape"
    server.execute("CREATE DATABASE shop")
    server.execute("CREATE TABLE shop.t (n INT PRIMARY KEY)")
    command = [sys.executable, "-m", "querytape", "capture", "slowlog", str(log), "--follow", "--from-end"]
    child = start([*command, "--part-every", "100ms", "-o", str(tape)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: (tape / "tape.json").exists() or child.poll() is not None, "the capture begins")
    assert child.poll() is None, child.communicate()
    work = Work(server)
    for way in ("rename", "truncate", "remove"):
        work.go_on()
        # The capture must start to read a log file before the next rotation.
        wait_until(lambda: len(numbers(tape)) >= work.done - CLIENTS * EACH + 1, "it keeps up")
        turn_over(server, log, way)
    work.go_on()
    wait_until(lambda: len(numbers(tape)) >= work.done - CLIENTS, "the last statements are published")
    cut = run_here("tape", "cut", str(tape), "--last", "1h", "-o", str(tmp_path / "cut.tape"))
    assert cut.code == 0, cut.err
    found = numbers(tmp_path / "cut.tape")
    missing = set(range(work.done)) - set(found)
    assert len(found) == len(set(found))
    assert len(missing) <= CLIENTS, missing
    assert min(missing, default=work.done) >= work.done - 2 * CLIENTS, (
        missing
    )  # each of the parallel clients may have the last entry of the log
    work.close()
    child.send_signal(signal.SIGTERM)
    out, err = child.communicate()
    assert child.returncode == 0, f"{out}{err}"
    info = open_folder("tape", tape).info
    assert numbers(tape) == list(range(work.done))
    assert (info["input"]["rotations"], info["input"]["truncations"]) == (2, 1)
    server.execute("TRUNCATE TABLE shop.t")
    summary = replay(tmp_path / "cut.tape", options(server, tmp_path / "cut.run", partial_ok=True, speed=20))
    assert accounting(summary)[0] >= work.done - CLIENTS
    assert server.execute("SELECT count(*) FROM shop.t")[0][0] >= work.done - CLIENTS
