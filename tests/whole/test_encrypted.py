# SPDX-License-Identifier: Apache-2.0
"""TLS that real servers and clients speak, read with the clients' key logs: the same as what is said in plain."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from querytape.servers.programs import find_program, missing_sentence
from querytape.servers.sandbox import Server, start_server

from ..conftest import skip_loudly
from ..helpers.encrypted import certificates, connect, context, read, recorded, told, work
from ..helpers.reading import Read
from ..helpers.relay import Relay

# TLS 1.3 is not a client's choice in Python: the server offers one suite alone there.
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
    """A server that takes every cipher suite."""
    if find_program(request.param) is None:
        skip_loudly(request, missing_sentence(request.param))
    with certificates() as config:
        server = start_server(request.param, config={**config, "ssl-cipher": "ALL:@SECLEVEL=0"})
        yield server
        server.remove()


@pytest.fixture(scope="module")
def plain(tls_server: Server, tmp_path_factory: pytest.TempPathFactory) -> Read:
    """What the workload is when it is not encrypted."""
    found = read(recorded(tls_server, tmp_path_factory.mktemp("plain") / "plain.pcap"))
    assert [event["command"] for event in found.events][-1] == "quit"
    return found


def assert_same(found: Read, plain: Read) -> None:
    """Everything that a tape has of the events is equal, and nothing is said to be missing."""
    assert told(found) == told(plain)
    assert found.problems == []
    assert (found.description["decrypted"], found.description["encrypted"]) == (1, 0)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_the_same_as_in_plain(tls_server: Server, plain: Read, tmp_path: Path, version: str) -> None:
    """Texts, prepared statements, errors, checksums: whatever the version, the events are those of plain text."""
    keys = tmp_path / "keys"
    path = recorded(tls_server, tmp_path / "tls.pcap", context(keys, version))
    assert_same(read(path, keys), plain)


@pytest.mark.parametrize("suite", SUITES_12)
def test_every_cipher_suite_of_tls_12(tls_server: Server, plain: Read, tmp_path: Path, suite: str) -> None:
    """GCM, ChaCha20-Poly1305 and CBC with each HMAC, MAC last or first, whatever the keys were agreed with."""
    keys = tmp_path / "keys"
    tls = context(keys, "1.2", f"{suite}:@SECLEVEL=0")
    with Relay(tls_server.port) as relay:
        con: Any = connect(relay.port, tls)
        assert con._sock.cipher()[0] == suite
        work(con)
    assert_same(read(relay.write(tmp_path / "tls.pcap"), keys), plain)


def test_without_keys_it_is_counted(tls_server: Server, tmp_path: Path) -> None:
    """A connection whose secrets are not in the key log is counted, and why."""
    keys, others = tmp_path / "keys", tmp_path / "others"
    others.write_text(f"CLIENT_RANDOM {'a' * 64} {'b' * 96}\n")
    path = recorded(tls_server, tmp_path / "tls.pcap", context(keys, "1.3"))
    found = read(path, others)
    assert found.events == []
    assert (found.description["encrypted"], found.description["tls_without_keys"]) == (1, 1)


@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_wrong_keys_are_named(tls_server: Server, tmp_path: Path, version: str) -> None:
    """Secrets of the right connection that are not its own: nothing is made up, and the reason is said."""
    keys = tmp_path / "keys"
    path = recorded(tls_server, tmp_path / "tls.pcap", context(keys, version))
    lines = [line.split() for line in keys.read_text().splitlines() if not line.startswith("#")]
    keys.write_text("".join(f"{label} {random} {'5' * len(secret)}\n" for label, random, secret in lines))
    found = read(path, keys)
    assert found.events == []
    assert found.kinds == ["wrong_keys"]
    assert (found.description["encrypted"], found.description["tls_wrong_keys"]) == (1, 1)
    assert "5555" not in str(found)
