# SPDX-License-Identifier: Apache-2.0
"""Live capture of packets on the loopback interface, with real servers and the querytape command."""

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

from tests.helpers.duck import query
from tests.helpers.tiers import mostly_long

from ...helpers.live import may_capture, wait_until_it_listens

STATEMENTS = 29


@pytest.fixture(name="may_capture")
def _may_capture(request: pytest.FixtureRequest) -> None:
    """Skip the test if this user cannot capture on an interface."""
    may_capture(request)


def drive(server: Server) -> None:
    """Send a known number of statements over TCP. Two of them fail."""
    con: Any = server.connect(autocommit=True, ssl_disabled=True)
    with con.cursor() as cursor:
        for n in range(STATEMENTS):
            try:
                cursor.execute(f"SELECT /* live */ {n}" if n % 10 else f"SELECT /* live */ nothing_{n}")
                cursor.fetchall()
            except Exception:
                continue
    con.close()


def begin(port: int, tape: Path, *options: str) -> "subprocess.Popen[str]":
    """Start a capture of a loopback port. Wait until the capture listens."""
    command = [sys.executable, "-m", "querytape", "capture", "packets", "--interface", "lo", "--port", str(port)]
    process = subprocess.Popen([*command, *options, "-o", str(tape)], stderr=subprocess.PIPE, text=True)
    wait_until_it_listens(process)
    return process


def wait_for_end(process: "subprocess.Popen[str]", code: int = 0) -> str:
    """Wait until a capture ends, and return its messages."""
    said = process.communicate(timeout=60)[1]
    assert process.returncode == code, said
    return said


def live(tape: Path, columns: str) -> list[tuple[Any, ...]]:
    """Return columns of the captured statements that `drive` sent."""
    events = f"SELECT * FROM '{tape}/events/*.parquet' WHERE contains(statement::VARCHAR, 'live') ORDER BY session, seq"
    return query(f"SELECT {columns} FROM ({events})")


@pytest.mark.parametrize("server", mostly_long(["mariadb", "mysql80"], "mysql80"), indirect=True)
@pytest.mark.usefixtures("may_capture")
def test_live_capture_has_each_statement_once(server: Server, tmp_path: Path) -> None:
    """The loopback interface delivers each packet twice. `--duration` ends the capture."""
    process = begin(server.port, tmp_path / "live.tape", "--duration", "8s")
    drive(server)
    wait_for_end(process)
    found = live(tmp_path / "live.tape", "statement::VARCHAR, errno, session")
    assert [row[:2] for row in found] == [
        (f"SELECT /* live */ {n}", 0) if n % 10 else (f"SELECT /* live */ nothing_{n}", 1054) for n in range(STATEMENTS)
    ]
    assert len({row[2] for row in found}) == 1


@pytest.mark.sampled
@pytest.mark.usefixtures("may_capture")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_after_the_last_response_loses_nothing(mariadb: Server, tmp_path: Path, number: signal.Signals) -> None:
    """The tape includes packets that the kernel still held when the signal arrived."""
    tape = tmp_path / "live.tape"
    process = begin(mariadb.port, tape)
    for _ in range(5):
        drive(mariadb)
    process.send_signal(number)
    wait_for_end(process)
    assert live(tape, "count(*)") == [(5 * STATEMENTS,)]
    assert json.loads((tape / "tape.json").read_text())["finished"]


@pytest.mark.long
@pytest.mark.usefixtures("may_capture")
def test_encrypted_live_connections_are_reported(mysql80: Server, tmp_path: Path) -> None:
    """The statements of TLS connections cannot be read without keys. The capture writes no tape, and the message gives
    the reason.
    """
    process = begin(mysql80.port, tmp_path / "x.tape", "--duration", "6s")
    mysql80.connect(ssl_disabled=False).close()
    assert "connections that are not on the tape: 1 of 1" in wait_for_end(process, 1)


def test_missing_interface_is_reported() -> None:
    with pytest.raises(NativeFault, match="nosuch0"):
        open_packets([], interface="nosuch0")
