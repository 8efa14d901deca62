# SPDX-License-Identifier: Apache-2.0
"""TLS connections on the loopback interface. The key log grows during the live capture. Messages about missing keys are
checked.
"""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.servers.sandbox import Server

from ..helpers.encrypted import connect, context, frames, recorded, write_frames
from ..helpers.live import may_capture, wait_until_it_listens

MARKED = "SELECT /* live */ {}"


@pytest.fixture(name="may_capture")
def _may_capture(request: pytest.FixtureRequest) -> None:
    """Skip the test if this user cannot capture on a network interface."""
    may_capture(request)


def capture(*words: object) -> "subprocess.Popen[str]":
    """Start `querytape capture packets`."""
    command = [sys.executable, "-m", "querytape", "capture", "packets", *map(str, words)]
    return subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def statements(tape: Path) -> list[str]:
    """Return the statements of a tape that contain the marker of the test."""
    with duckdb.connect() as con:
        rows = con.execute(
            f"SELECT statement::VARCHAR FROM '{tape}/events/*.parquet' WHERE contains(statement::VARCHAR, 'live')"
            " ORDER BY session, seq"
        ).fetchall()
    return [str(row[0]) for row in rows]


@pytest.mark.sampled
@pytest.mark.usefixtures("may_capture")
@pytest.mark.parametrize("late", [False, True])
def test_growing_key_log_decrypts_a_live_capture(mysql80: Server, tmp_path: Path, late: bool) -> None:
    """The secrets are written when a connection opens. With `late`, they are written just before it ends."""
    keys, written, tape = tmp_path / "keys", tmp_path / "written", tmp_path / "live.tape"
    keys.touch()
    process = capture("--interface", "lo", "--port", mysql80.port, "--keylog", keys, "-o", tape)
    try:
        wait_until_it_listens(process)
        connections: list[Any] = []
        for number, version in enumerate(("1.2", "1.3")):
            connections.append(connect(mysql80.port, context(written if late else keys, version)))
            with connections[-1].cursor() as cursor:
                cursor.execute(MARKED.format(number))
        if late:
            with keys.open("ab") as file:
                file.write(written.read_bytes())
        for con in connections:
            con.close()
    finally:
        process.send_signal(signal.SIGINT)
        out, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    assert sorted(statements(tape)) == [MARKED.format(0), MARKED.format(1)]
    assert f"decrypted 2 connections with the keys of {keys}" in out
    info = json.loads((tape / "tape.json").read_text())
    assert info["warnings"] == []
    with duckdb.connect() as con:
        assert con.execute(f"SELECT DISTINCT encrypted FROM '{tape}/sessions.parquet'").fetchall() == [(True,)]


@pytest.fixture(name="conversation")
def _conversation(mysql80: Server, tmp_path: Path) -> tuple[Path, Path]:
    """Record a TLS 1.3 connection. Return the capture file and the key log."""
    keys = tmp_path / "keys"
    return recorded(mysql80, tmp_path / "tls.pcap", context(keys, "1.3")), keys


def test_secrets_are_never_written_or_printed(conversation: tuple[Path, Path], tmp_path: Path) -> None:
    """The test searches the output and all files of the tape for each secret of the key log, as text and as bytes."""
    path, keys = conversation
    process = capture(path, "--keylog", keys, "-o", tmp_path / "t.tape", "--problems")
    said = "".join(process.communicate(timeout=60))
    assert process.returncode == 0, said
    assert "decrypted 1 connection" in said
    secrets = [line.split()[2] for line in keys.read_text().splitlines() if not line.startswith("#")]
    assert len(secrets) >= 4
    everything = said.encode() + b"".join(one.read_bytes() for one in (tmp_path / "t.tape").rglob("*") if one.is_file())
    for secret in secrets:
        assert secret.encode() not in everything
        assert bytes.fromhex(secret) not in everything


def test_message_without_keys_names_the_ports(conversation: tuple[Path, Path], tmp_path: Path) -> None:
    """The message also contains the number of connections without keys."""
    path, _ = conversation
    (tmp_path / "other").write_text(f"CLIENT_RANDOM {'a' * 64} {'b' * 96}\n")
    for words in ([], ["--keylog", tmp_path / "other"]):
        process = capture(path, "--port", 3307, "--port", 3306, *words, "-o", tmp_path / "t.tape")
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 1
        assert "connections that are not on the tape: 1 of 1 (--port 3307 --port 3306" in said
        assert ("no keys: 1" in said) == bool(words)


def test_error_about_an_invalid_key_log_names_the_file(conversation: tuple[Path, Path], tmp_path: Path) -> None:
    path, _ = conversation
    os.mkfifo(tmp_path / "fifo")
    (tmp_path / "binary").write_bytes(bytes(range(256)) * 5000)
    for name in (tmp_path, tmp_path / "fifo", Path("/dev/zero"), tmp_path / "binary", tmp_path / "nowhere"):
        process = capture(path, "--keylog", name, "-o", tmp_path / "t.tape")
        said = process.communicate(timeout=60)[1]
        assert process.returncode == 1, said
        assert f"--keylog {name}: " in said
        assert not (tmp_path / "t.tape").exists()


def test_tls_connection_without_handshake_counts_as_encrypted(conversation: tuple[Path, Path], tmp_path: Path) -> None:
    """If a capture starts in the middle of a TLS connection, the connection gives no events."""
    path, keys = conversation
    packets = frames(path)
    small = [one for one in packets if one[16 + 36 : 16 + 38] == b"\x0c\xea" and len(one) < 16 + 54 + 300]
    process = capture(
        write_frames(tmp_path / "late.pcap", path, small[-4:]), "--keylog", keys, "-o", tmp_path / "t.tape"
    )
    said = process.communicate(timeout=60)[1]
    assert "connections that are not on the tape: 1 of 1" in said
    assert process.returncode == 1
