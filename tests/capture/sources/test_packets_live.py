# SPDX-License-Identifier: Apache-2.0
"""Live packets from the loopback interface, on real servers: what was sent is on the tape, from a real program's run."""

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import NativeFault
from querytape.native.bindings.parsers import open_packets
from querytape.servers.sandbox import Server

from tests.helpers.duck import database
from tests.helpers.tiers import mostly_long

from ...helpers.live import may_capture, wait_until_it_listens

STATEMENTS = 29


@pytest.fixture(name="may_capture")
def _may_capture(request: pytest.FixtureRequest) -> None:
    """Skips where this user may not listen on an interface."""
    may_capture(request)


def drive(server: Server) -> None:
    """Send a known number of statements over TCP, two of them failing."""
    con: Any = server.connect(autocommit=True, ssl_disabled=True)
    with con.cursor() as cursor:
        for n in range(STATEMENTS):
            try:
                cursor.execute(f"SELECT /* live */ {n}" if n % 10 else f"SELECT /* live */ nothing_{n}")
                cursor.fetchall()
            except Exception:
                continue
    con.close()


@pytest.mark.parametrize("server", mostly_long(["mariadb", "mysql80"], "mysql80"), indirect=True)
@pytest.mark.usefixtures("may_capture")
def test_what_is_sent_is_on_the_tape(server: Server, tmp_path: Path) -> None:
    """Each statement once, in its order, though the loopback shows packets twice; stopped by its duration."""
    tape = tmp_path / "live.tape"
    command = [sys.executable, "-m", "querytape", "capture", "packets", "--interface", "lo", "--port", str(server.port)]
    process = subprocess.Popen([*command, "--duration", "8s", "-o", str(tape)], stderr=subprocess.PIPE, text=True)
    wait_until_it_listens(process)
    drive(server)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    with database() as con:
        found = con.execute(
            f"SELECT session, statement::VARCHAR, errno, rows_sent FROM '{tape}/events/*.parquet'"
            " WHERE contains(statement::VARCHAR, 'live') ORDER BY session, seq"
        ).fetchall()
    assert [row[1] for row in found] == [
        f"SELECT /* live */ {n}" if n % 10 else f"SELECT /* live */ nothing_{n}" for n in range(STATEMENTS)
    ]
    assert {row[0] for row in found} == {found[0][0]}
    assert [row[2] for row in found] == [0 if n % 10 else 1054 for n in range(STATEMENTS)]


@pytest.mark.sampled
@pytest.mark.usefixtures("may_capture")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_stopped_by_hand_it_has_all_that_came(mariadb: Server, tmp_path: Path, number: signal.Signals) -> None:
    """Ctrl-C right behind the last answer: the tape is whole, with what the kernel still held."""
    tape = tmp_path / "live.tape"
    command = [sys.executable, "-m", "querytape", "capture", "packets", "--interface", "lo"]
    process = subprocess.Popen(
        [*command, "--port", str(mariadb.port), "-o", str(tape)], stderr=subprocess.PIPE, text=True
    )
    wait_until_it_listens(process)
    for _ in range(5):
        drive(mariadb)
    process.send_signal(number)
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 0, said
    with database() as con:
        found = con.execute(
            f"SELECT count(*) FROM '{tape}/events/*.parquet' WHERE contains(statement::VARCHAR, 'live')"
        ).fetchall()
    assert found == [(5 * STATEMENTS,)]
    assert json.loads((tape / "tape.json").read_text())["finished"]


@pytest.mark.long
@pytest.mark.usefixtures("may_capture")
def test_encrypted_connections_are_named(mysql80: Server, tmp_path: Path) -> None:
    """Nothing can be read of a TLS connection: no tape, and a sentence that says why."""
    command = [sys.executable, "-m", "querytape", "capture", "packets", "--interface", "lo"]
    options = ["--port", str(mysql80.port), "--duration", "6s", "-o", str(tmp_path / "x.tape")]
    process = subprocess.Popen([*command, *options], stderr=subprocess.PIPE, text=True)
    wait_until_it_listens(process)
    mysql80.connect().close()
    said = process.communicate(timeout=60)[1]
    assert process.returncode == 1
    assert "1 of 1 connections are encrypted" in said


def test_an_interface_that_is_not_there_is_named() -> None:
    """A clear sentence, no capture."""
    with pytest.raises(NativeFault, match="nosuch0"):
        open_packets([], interface="nosuch0")
