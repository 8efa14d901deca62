# SPDX-License-Identifier: Apache-2.0
"""TLS secrets that arrive late or change. They arrive after the packets or after the connection's end. They change by a
renegotiation, or by a key update in a lost segment.
"""

import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from querytape.capture import SOURCES
from querytape.native.bindings.parsers import open_packets
from querytape.servers.sandbox import Server

from tests.helpers.tiers import mostly_long

from ..helpers.dialogue import CLIENT
from ..helpers.encrypted import (
    comparable_events,
    connect,
    context,
    encrypting,
    frames,
    pcapng,
    preloaded,
    read,
    recorded,
    work,
    write_frames,
)
from ..helpers.reading import Read, read_all
from ..helpers.relay import Relay


@pytest.fixture(scope="module")
def mysql(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Start MySQL 8.0 with an OpenSSL version that lets clients renegotiate."""
    with encrypting("mysql-8.0", request) as server:
        yield server


@pytest.fixture(scope="module")
def plain(mysql: Server, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Return the events of the unencrypted workload."""
    return read(recorded(mysql, tmp_path_factory.mktemp("plain") / "plain.pcap"))


@pytest.mark.parametrize("version", mostly_long(["1.2", "1.3"], "1.3"))
@pytest.mark.parametrize("where", ["same file", "next file", "pipe"])
def test_keys_after_the_packets_are_used(mysql: Server, plain: Read, tmp_path: Path, version: str, where: str) -> None:
    """A Decryption Secrets Block may come after the end of its connection: in the same file, in the next file or in a
    pipe.
    """
    keys, empty = tmp_path / "keys", tmp_path / "empty"
    path = recorded(mysql, tmp_path / "tls.pcap", context(keys, version))
    files = [str(pcapng(tmp_path / "1.pcapng", path, keys, late=True))]
    if where == "next file":
        empty.write_text("# none\n")
        none = write_frames(tmp_path / "none.pcap", path, [])
        files = [str(pcapng(tmp_path / "0.pcapng", path, empty)), str(pcapng(tmp_path / "1.pcapng", none, keys))]
    if where == "pipe":
        command = subprocess.Popen(["cat", files[0]], stdout=subprocess.PIPE)
        assert command.stdout is not None
        files = [f"/dev/fd/{command.stdout.fileno()}"]
    found = read_all(open_packets(files))
    assert comparable_events(found) == comparable_events(plain)
    assert (found.problems, found.description["decrypted"]) == ([], 1)
    assert found.description["keylog_bad_lines"] == 0


def fed(path: Path, whole: bytes, between: Callable[[], object]) -> threading.Thread:
    """Write a capture file into a FIFO. Call `between` before the end of the stream."""

    def run() -> None:
        with path.open("wb") as out:
            out.write(whole)
            out.flush()
            time.sleep(1.5)  # time for the reader to reach the end of the connection
            between()
            time.sleep(1.5)

    os.mkfifo(path)
    thread = threading.Thread(target=run)
    thread.start()
    return thread


@pytest.mark.sampled
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_key_log_lines_written_after_a_connection_are_used(
    mysql: Server, plain: Read, tmp_path: Path, version: str
) -> None:
    """In a live capture, the packets of an ended connection are kept until the key log has the secrets of the
    connection.
    """
    keys, live = tmp_path / "keys", tmp_path / "live"
    live.write_text("# none yet\n")
    tls = context(keys, version)
    with Relay(mysql.port) as relay:
        for _ in range(3):
            work(connect(relay.port, tls))
    whole = relay.write(tmp_path / "tls.pcap").read_bytes()
    fifo = tmp_path / "fifo"
    thread = fed(fifo, whole, lambda: live.write_bytes(keys.read_bytes()))
    found = read_all(open_packets([str(fifo)], keylog=str(live), keylog_grows=True))
    thread.join()
    assert (found.description["decrypted"], found.description["encrypted"]) == (3, 0)
    assert found.problems == []
    for session in (1, 2, 3):
        mine = [event for event in found.events if event["session"] == session]
        assert [event["checksum"] for event in mine] == [event["checksum"] for event in plain.events]


def run_client(server: Server, folder: Path, version: str, at: int, **more: str) -> tuple[Path, Path]:
    """Record the traffic of the mariadb program, which renegotiates before its write number `at`. Return the capture
    file and the key log.
    """
    keys = folder / "keys"
    statements = "; ".join(f"SELECT {n}" for n in range(20))
    with Relay(server.port) as relay:
        command = ["mariadb", "--no-defaults", "--protocol=tcp", "-h127.0.0.1", f"-P{relay.port}", "-uroot", "-N"]
        environment = {"LD_PRELOAD": str(preloaded(folder)), "SSLKEYLOGFILE": str(keys), "QT_NEW_KEYS_AT": str(at)}
        subprocess.run(
            [*command, "--ssl", f"--tls-version=TLSv{version}", "-e", statements],
            env={**os.environ, **environment, **more},
            check=True,
            capture_output=True,
            timeout=60,
        )
    return relay.write(folder / "tls.pcap"), keys


def numbers(found: Read) -> list[int]:
    """Return n for each complete statement `SELECT n`."""
    texts = [event["statement"] for event in found.events if event["statement"] and not event["flags"] & 1]
    return [int(text[7:]) for text in texts if text[:7] == b"SELECT " and text[7:].isdigit()]


def test_renegotiated_keys_are_used(mysql: Server, tmp_path: Path) -> None:
    """TLS up to version 1.2 has renegotiation. The key log contains the secrets of both handshakes."""
    path, keys = run_client(mysql, tmp_path, "1.2", 8)
    assert keys.read_text().count("CLIENT_RANDOM") == 2
    found = read(path, keys)
    assert numbers(found) == list(range(20))
    assert {event["errno"] for event in found.events if event["command"] == "query"} == {0}
    assert (found.problems, found.description["decrypted_in_part"]) == ([], 0)


def test_session_ends_at_a_renegotiation_without_keys(mysql: Server, tmp_path: Path) -> None:
    """Statements before the renegotiation are on the tape. The reason for the end is reported and counted."""
    path, keys = run_client(mysql, tmp_path, "1.2", 8, QT_NEW_KEYS_SECRET="1")
    found = read(path, keys)
    assert 0 < len(numbers(found)) < 20
    assert found.kinds == ["tls_renegotiated"]
    counts = found.description
    assert (counts["decrypted"], counts["decrypted_in_part"], counts["decrypted_to_new_keys"]) == (1, 1, 1)
    (warning,) = SOURCES["packets"].warnings(counts)
    assert "missing keys of a renegotiation: 1" in warning["text"]


def test_lost_key_update_affects_only_its_command(mysql: Server, tmp_path: Path) -> None:
    """The test removes one client packet at a time. One of these packets contains the key update."""
    path, keys = run_client(mysql, tmp_path, "1.3", 12)
    assert numbers(read(path, keys)) == list(range(20))
    packets = frames(path)
    place = slice(16 + 36, 16 + 38)  # bytes with the server's port
    mine = [at for at, one in enumerate(packets) if one[place] == b"\x0c\xea" and len(one) > 16 + 54]
    assert CLIENT == 0
    for lost in mine[4:-2]:
        found = read(write_frames(tmp_path / "gap.pcap", path, packets[:lost] + packets[lost + 1 :]), keys)
        assert found.description["decrypted_in_part"] == 0
        assert len(numbers(found)) >= 18
        assert numbers(found)[-1] == 19
