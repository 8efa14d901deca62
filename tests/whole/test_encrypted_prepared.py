# SPDX-License-Identifier: Apache-2.0
"""A client that uses every kind of prepared statement. Unencrypted, compressed and encrypted traffic gives the same
tape. The test also splits and joins the client's packets, so that TLS records cross packet boundaries.
"""

import os
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from querytape.servers.sandbox import Server

from tests.helpers.tiers import mostly_long

from ..helpers.dialogue import Dialogue, Segment, write_pcap
from ..helpers.encrypted import comparable_events, encrypting, preloaded, read
from ..helpers.reading import Read
from ..helpers.relay import Relay
from .test_prepared import FILE, compiled, fresh_schema

# The tested settings of the client: TLS version, cipher suite and compression.
WAYS = {
    "1.3 AES-128": {"QT_TLS": "TLSv1.3", "QT_SUITES": "TLS_AES_128_GCM_SHA256"},
    "1.3 AES-256": {"QT_TLS": "TLSv1.3", "QT_SUITES": "TLS_AES_256_GCM_SHA384"},
    "1.3 ChaCha20": {"QT_TLS": "TLSv1.3", "QT_SUITES": "TLS_CHACHA20_POLY1305_SHA256"},
    "1.3 compressed": {"QT_TLS": "TLSv1.3", "QT_COMPRESS": "1"},
    "1.2": {"QT_TLS": "TLSv1.2"},
    "1.2 compressed": {"QT_TLS": "TLSv1.2", "QT_COMPRESS": "1"},
    "1.2 CBC compressed": {"QT_TLS": "TLSv1.2", "QT_CIPHER": "ECDHE-RSA-AES256-SHA384", "QT_COMPRESS": "1"},
    "1.2 ChaCha20": {"QT_TLS": "TLSv1.2", "QT_CIPHER": "ECDHE-RSA-CHACHA20-POLY1305"},
    "compressed": {"QT_COMPRESS": "1"},
}
SUITE_NUMBERS = {"1.3 AES-128": b"\x13\x01", "1.3 AES-256": b"\x13\x02", "1.3 ChaCha20": b"\x13\x03"}


class Recorder:
    """Runs the client through a relay, each time with a new schema."""

    def __init__(self, server: Server, client: Path, folder: Path) -> None:
        self._server, self._client, self._folder = server, client, folder
        self.kind = server.kind
        self._preload = preloaded(folder)
        self.keys = folder / "keys"
        self._rows = folder / "rows.csv"
        self._rows.write_bytes(FILE)
        server.execute("SET GLOBAL local_infile = ON")

    def record(self, way: dict[str, str]) -> list[tuple[Dialogue, Segment]]:
        """Run the client, and return the TCP segments of its connection."""
        fresh_schema(self._server)
        with Relay(self._server.port) as relay:
            command = [str(self._client), "127.0.0.1", str(relay.port), "root", "", "shop", str(self._rows)]
            command += ["mariadb"] if self._server.kind == "mariadb" else []
            given = {**os.environ, "LD_PRELOAD": str(self._preload), "SSLKEYLOGFILE": str(self.keys), **way}
            subprocess.run(command, check=True, timeout=60, env=given)
            self.path = relay.write(self._folder / "last.pcap")
            return relay.segments


@pytest.fixture(
    scope="module", params=mostly_long(["mariadb", "mysql-8.0", "mysql-9", "mariadb-11.8"], "mariadb", "mysql-8.0")
)
def recorder(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Recorder]:
    """Prepare the client, and a server that accepts all cipher suites of its TLS library."""
    folder = tmp_path_factory.mktemp("prepared")
    ciphers = {} if request.param == "mysql-9" else {"ssl-cipher": "ALL:@SECLEVEL=0"}
    with encrypting(request.param, request, ciphers) as server:
        yield Recorder(server, compiled(request, folder), folder)


@pytest.fixture(scope="module")
def plain(recorder: Recorder) -> Read:
    """Return the events of the client without encryption."""
    recorder.record({})
    found = read(recorder.path)
    assert {event["command"] for event in found.events} >= {"prepare", "execute", "fetch", "query"}
    return found


def write_in_other_packets(
    path: Path, segments: list[tuple[Dialogue, Segment]], chance: random.Random, sizes: list[int]
) -> Path:
    """Write the recorded bytes into packets of other sizes, regardless of TLS record boundaries."""
    made: dict[int, Dialogue] = {}
    pairs: list[tuple[Dialogue, Segment]] = []

    def say(way: int, data: bytes, dialogue: Dialogue) -> None:
        while data:
            size = chance.choice(sizes)
            dialogue.raw(way, data[:size])
            data = data[size:]

    waiting: tuple[int, bytes, Dialogue] | None = None
    for old, segment in segments:
        dialogue = made.setdefault(old.client_port, Dialogue(client_port=old.client_port))
        before = len(dialogue.segments)
        if waiting is not None and (waiting[0] != segment.way or not segment.payload):
            say(*waiting)
            waiting = None
        if segment.payload:
            waiting = (segment.way, (waiting[1] if waiting else b"") + segment.payload, dialogue)
        else:
            dialogue.raw(segment.way, b"", segment.flags)
        pairs += [(dialogue, one) for one in dialogue.segments[before:]]
    return write_pcap(path, pairs)


def checked_events(found: Read) -> list[dict[str, Any]]:
    """Return the events without the fields that differ from run to run."""
    assert found.problems == []
    return comparable_events(found)


@pytest.mark.long
@pytest.mark.parametrize("way", mostly_long(WAYS, "1.3 AES-128", "1.2 compressed"))
def test_prepared_statements_give_the_same_tape_with_every_transport(
    recorder: Recorder, plain: Read, way: str, tmp_path: Path
) -> None:
    """The client uses every parameter type, long data, cursors, bulk execution and a local file."""
    if "CBC" in way and recorder.kind == "mysql-9":
        return  # the server does not support this cipher suite
    segments = recorder.record(WAYS[way])
    encrypted = "QT_TLS" in WAYS[way]
    keys = recorder.keys if encrypted else None
    if way in SUITE_NUMBERS:
        hello = next(segment.payload for _, segment in segments if segment.payload[:1] == b"\x16" and segment.way)
        assert SUITE_NUMBERS[way] in hello[:120]
    found = read(recorder.path, keys)
    assert (found.description.get("decrypted", 0), found.description["encrypted"]) == (int(encrypted), 0)
    assert checked_events(found) == checked_events(plain)
    for number, sizes in enumerate(([1, 4, 5, 6, 40, 700, 16_389], [60_000])):
        path = write_in_other_packets(tmp_path / f"{number}.pcap", segments, random.Random(way), sizes)
        again = read(path, keys)
        assert checked_events(again) == checked_events(plain), sizes
