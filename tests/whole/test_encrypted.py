# SPDX-License-Identifier: Apache-2.0
"""TLS traffic of real servers and clients, decrypted with the key logs of the clients. The events equal those of
unencrypted traffic.
"""

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest
from querytape.capture import SOURCES, Settings, capture_source
from querytape.servers.sandbox import Server

from ..helpers.dialogue import CLIENT, SERVER, SSL
from ..helpers.encrypted import (
    certificates,
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
from ..helpers.reading import Read
from ..helpers.relay import Relay

# The tested cipher suites of TLS 1.2. A Python client cannot choose a suite of TLS 1.3, so the server offers only one
# suite for TLS 1.3.
SUITES_12 = (
    "ECDHE-RSA-AES128-GCM-SHA256",
    "ECDHE-RSA-AES256-GCM-SHA384",
    "DHE-RSA-AES128-GCM-SHA256",
    "AES256-GCM-SHA384",
    "ECDHE-RSA-CHACHA20-POLY1305",
    "AES128-SHA",
    "ECDHE-RSA-AES256-SHA",
    "DHE-RSA-AES256-SHA",
    "ECDHE-RSA-AES128-SHA256",
    "AES256-SHA256",
    "ECDHE-RSA-AES256-SHA384",
)


@pytest.fixture(scope="module", params=["mariadb", "mysql-8.0"])
def tls_server(request: pytest.FixtureRequest) -> Iterator[Server]:
    """Start a server that accepts every cipher suite."""
    with encrypting(request.param, request, {"ssl-cipher": "ALL:@SECLEVEL=0"}) as server:
        yield server


@pytest.fixture(scope="module")
def plain(tls_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Return the events of the unencrypted workload."""
    found = read(recorded(tls_server, tmp_path_factory.mktemp("plain") / "plain.pcap"))
    assert [event["command"] for event in found.events][-1] == "quit"
    return found


def assert_same(found: Read, plain: Read) -> None:
    """Check that all fields of the events are equal, and that no data is reported as missing."""
    assert comparable_events(found) == comparable_events(plain)
    assert found.problems == []
    assert (found.description["decrypted"], found.description["encrypted"]) == (1, 0)


@pytest.mark.long
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_tls_gives_the_same_events_as_plain_text(tls_server: Server, plain: Read, tmp_path: Path, version: str) -> None:
    """The events include statements, prepared statements, errors and result checksums."""
    keys = tmp_path / "keys"
    path = recorded(tls_server, tmp_path / "tls.pcap", context(keys, version))
    assert_same(read(path, keys), plain)


def test_tapes_of_tls_and_unencrypted_traffic_are_equal(tls_server: Server, tmp_path: Path) -> None:
    """Sessions and digests are also equal. Only ports, times and TLS fields differ."""
    keys = tmp_path / "keys"
    for name, tls in (("plain", None), ("tls", context(keys, "1.3"))):
        path = recorded(tls_server, tmp_path / f"{name}.pcap", tls)
        extra = {"keylog": str(keys)} if tls else {}
        info = capture_source(SOURCES["packets"], [str(path)], tmp_path / name, Settings(extra=extra))
        assert info["warnings"] == []
    found = []
    with duckdb.connect() as con:
        for name in ("plain", "tls"):
            sessions = con.execute(
                "SELECT * EXCLUDE (thread_id, port, connect_ns, first_ns, last_ns, encrypted, attributes)"
                f" REPLACE (client_flags & ~{SSL} AS client_flags) FROM '{tmp_path / name}/sessions.parquet'"
            ).fetchall()
            digests = con.execute(
                f"SELECT digest, class, events FROM '{tmp_path / name}/digests.parquet' ORDER BY digest"
            ).fetchall()
            found.append((sessions, digests))
    assert found[0] == found[1]
    assert len(found[0][0]) == 1


@pytest.mark.parametrize("suite", SUITES_12)
def test_every_cipher_suite_of_tls_12_is_decrypted(tls_server: Server, plain: Read, tmp_path: Path, suite: str) -> None:
    """The suites cover every key exchange. They use GCM, ChaCha20-Poly1305, or CBC with each HMAC. CBC is tested with
    MAC-then-encrypt and with encrypt-then-MAC.
    """
    keys = tmp_path / "keys"
    tls = context(keys, "1.2", f"{suite}:@SECLEVEL=0")
    with Relay(tls_server.port) as relay:
        con: Any = connect(relay.port, tls)
        assert con._sock.cipher()[0] == suite
        work(con)
    assert_same(read(relay.write(tmp_path / "tls.pcap"), keys), plain)


@pytest.mark.parametrize("suite", ["AES128-SHA", "ECDHE-RSA-AES128-SHA256", "ECDHE-RSA-AES256-SHA384"])
def test_cbc_with_mac_then_encrypt_is_decrypted(tls_server: Server, plain: Read, tmp_path: Path, suite: str) -> None:
    keys = tmp_path / "keys"
    tls = context(keys, "1.2", f"{suite}:@SECLEVEL=0")
    tls.options |= 0x80000  # OP_NO_ENCRYPT_THEN_MAC
    assert_same(read(recorded(tls_server, tmp_path / "tls.pcap", tls), keys), plain)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_resumed_tls_sessions_are_decrypted(tls_server: Server, plain: Read, tmp_path: Path, version: str) -> None:
    """The second connection resumes the TLS session of the first. The key log has separate lines for each connection."""
    keys = tmp_path / "keys"
    tls = context(keys, version)
    with Relay(tls_server.port) as relay:
        first: Any = connect(relay.port, tls)
        with first.cursor() as cursor:
            cursor.execute("DO 0")
        tls.earlier = first._sock.session
        second: Any = connect(relay.port, tls)
        assert second._sock.session_reused
        work(second)
        first.close()
    found = read(relay.write(tmp_path / "tls.pcap"), keys)
    assert found.problems == []
    assert found.description["decrypted"] == 2
    last = max(event["session"] for event in found.events)
    assert [e["checksum"] for e in found.events if e["session"] == last] == [e["checksum"] for e in plain.events]


@pytest.mark.parametrize("endian", ["<", ">"])
def test_keys_inside_a_pcapng_file_are_used(tls_server: Server, plain: Read, tmp_path: Path, endian: str) -> None:
    """A Decryption Secrets Block, of either byte order, holds the keys in place of a key log."""
    keys = tmp_path / "keys"
    path = recorded(tls_server, tmp_path / "tls.pcap", context(keys, "1.3"))
    assert_same(read(pcapng(tmp_path / "tls.pcapng", path, keys, endian)), plain)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
@pytest.mark.parametrize("way", [CLIENT, SERVER])
def test_missing_segment_affects_only_its_command(tls_server: Server, tmp_path: Path, version: str, way: int) -> None:
    """The missing segment belongs to a long statement or a long result. The loss is reported, and all later commands
    are complete.
    """
    keys = tmp_path / "keys"
    with Relay(tls_server.port) as relay:
        con = connect(relay.port, context(keys, version))
        with con.cursor() as cursor:
            cursor.execute(f"SELECT '{'y' * 200_000}'")
            for n in range(150):
                cursor.execute(f"SELECT {n}")
        con.close()
    path = relay.write(tmp_path / "tls.pcap")
    packets = frames(path)
    places = slice(16 + 36, 16 + 38) if way == CLIENT else slice(16 + 34, 16 + 36)  # bytes with the server's port
    long = [at for at, one in enumerate(packets) if one[places] == b"\x0c\xea" and len(one) > 10_000]
    lost = long[len(long) // 2]
    found = read(write_frames(tmp_path / "gap.pcap", path, packets[:lost] + packets[lost + 1 :]), keys)
    counts = found.description
    assert "lost_packets" in found.kinds
    assert (counts["gaps"], counts["decrypted"], counts["decrypted_in_part"]) == (1, 1, 0)
    asked = {event["statement"]: event for event in found.events if event["command"] == "query"}
    late = [asked[f"SELECT {n}".encode()] for n in range(80, 150)]
    if way == SERVER:  # before a missing client segment, an answer may lack its command
        assert {(event["errno"], event["rows_sent"]) for event in late} == {(0, 1)}
    assert found.events[-1]["command"] == "quit"


def test_connection_without_keys_is_counted_by_reason(tls_server: Server, tmp_path: Path) -> None:
    keys, others = tmp_path / "keys", tmp_path / "others"
    others.write_text(f"CLIENT_RANDOM {'a' * 64} {'b' * 96}\n")
    path = recorded(tls_server, tmp_path / "tls.pcap", context(keys, "1.3"))
    found = read(path, others)
    assert found.events == []
    assert (found.description["encrypted"], found.description["tls_without_keys"]) == (1, 1)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_wrong_keys_are_reported_and_give_no_events(tls_server: Server, tmp_path: Path, version: str) -> None:
    """The key log has lines for the right connection, but with wrong secrets."""
    keys = tmp_path / "keys"
    path = recorded(tls_server, tmp_path / "tls.pcap", context(keys, version))
    lines = [line.split() for line in keys.read_text().splitlines() if not line.startswith("#")]
    keys.write_text("".join(f"{label} {random} {'5' * len(secret)}\n" for label, random, secret in lines))
    found = read(path, keys)
    assert found.events == []
    assert found.kinds == ["wrong_keys"]
    assert (found.description["encrypted"], found.description["tls_wrong_keys"]) == (1, 1)
    assert "5555" not in str(found)


@pytest.mark.long
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_mysql_9_tls_is_decrypted(server_factory: Any, tmp_path: Path, version: str) -> None:
    """If the client does not offer the key exchange that MySQL 9 prefers, MySQL 9 requests a second ClientHello."""
    server, keys = server_factory("mysql-9"), tmp_path / "keys"
    plain = read(recorded(server, tmp_path / "plain.pcap"))
    assert_same(read(recorded(server, tmp_path / "tls.pcap", context(keys, version)), keys), plain)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_tls_10_and_11_are_decrypted(server_factory: Any, tmp_path: Path) -> None:
    """The server is MySQL 5.7. In TLS 1.0, decryption of a record depends on the previous record."""
    with certificates() as config:
        rsa = Path(config["ssl-key"]).with_name("rsa.key")
        command = ["openssl", "rsa", "-traditional", "-in", config["ssl-key"], "-out", str(rsa)]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        rsa.chmod(0o644)
        server = server_factory("mysql-5.7", {**config, "ssl-key": str(rsa), "ssl-ca": config["ssl-cert"]})
        plain = read(recorded(server, tmp_path / "plain.pcap"))
        for version in ("1.0", "1.1"):
            for suite in ("AES128-SHA", "DHE-RSA-AES256-SHA"):
                keys = tmp_path / f"keys-{version}-{suite}"
                path = recorded(server, tmp_path / "tls.pcap", context(keys, version, f"{suite}:@SECLEVEL=0"))
                assert_same(read(path, keys), plain)


def test_compression_inside_tls_gives_the_same_events(tls_server: Server, tmp_path: Path) -> None:
    """The client is the mariadb program with --compress."""
    preload = preloaded(tmp_path)
    statements = "SELECT 1; SELECT REPEAT('x', 100000); DO 1; SELECT 'two';"
    keys = tmp_path / "keys"
    found = []
    for tls in ("--skip-ssl", "--ssl"):
        with Relay(tls_server.port) as relay:
            command = ["mariadb", "--no-defaults", "--protocol=tcp", "-h127.0.0.1", f"-P{relay.port}", "-uroot", "-N"]
            given = {**os.environ, "LD_PRELOAD": str(preload), "SSLKEYLOGFILE": str(keys)}
            subprocess.run(
                [*command, "--compress", tls, "-e", statements], env=given, check=True, capture_output=True, timeout=60
            )
        found.append(read(relay.write(tmp_path / f"{tls}.pcap"), keys if tls == "--ssl" else None))
    assert len(found[0].events) > 5
    assert_same(found[1], found[0])
