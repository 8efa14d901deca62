# SPDX-License-Identifier: Apache-2.0
"""A TLS conversation gives the same events as the same conversation without TLS. The conversations are made without a
server. The key log is a separate file or inside a pcapng file. Segments have different sizes. Missing keys are
reported.
"""

import os
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from querytape.native.bindings.parsers import open_packets

from tests.capture.sources.test_packets_golden import CAPS, everything
from tests.helpers.dialogue import CLIENT, SERVER, SSL, Dialogue, greeting, login, ok, packet, write_pcap
from tests.helpers.encrypted import certificates, comparable_events, context, pcapng
from tests.helpers.log_writers import fifo_with
from tests.helpers.reading import Read, read_quickly

LOGIN = 6  # number of segments before the first command
ONCE = ("bytes_received", "encrypted")
NO_MAC_LAST = 1 << 19  # OpenSSL's SSL_OP_NO_ENCRYPT_THEN_MAC
CIPHERS = {
    "1.2 CBC, MAC last": "AES128-SHA256:@SECLEVEL=0",
    "1.2 CBC, MAC first": "AES256-SHA:@SECLEVEL=0",
    "1.2 ChaCha20": "ECDHE-RSA-CHACHA20-POLY1305:@SECLEVEL=0",
}


@pytest.fixture(scope="module")
def certificate() -> Iterator[dict[str, str]]:
    """Yield a self-signed server certificate, created once."""
    with certificates() as options:
        yield options


class Line:
    """A TLS client and a TLS server that communicate in memory. Their data is added to a dialogue."""

    def __init__(self, dialogue: Dialogue, certificate: dict[str, str], keys: Path, version: str, mss: int) -> None:
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(certificate["ssl-cert"], certificate["ssl-key"])
        server.set_ciphers("ALL:@SECLEVEL=0")
        self.dialogue, self.mss = dialogue, mss
        self.bios = [(ssl.MemoryBIO(), ssl.MemoryBIO()) for _ in range(2)]
        client = context(keys, version.split()[0], CIPHERS.get(version, "DEFAULT@SECLEVEL=0"))
        if version.endswith("first"):
            client.options |= NO_MAC_LAST
        self.ends = [
            client.wrap_bio(self.bios[CLIENT][0], self.bios[CLIENT][1], server_hostname="db"),
            server.wrap_bio(self.bios[SERVER][0], self.bios[SERVER][1], server_side=True),
        ]
        done = [False, False]
        while not all(done):
            for way in (CLIENT, SERVER):
                try:
                    self.ends[way].do_handshake()
                    done[way] = True
                except ssl.SSLWantReadError:
                    pass
                self.carry(way)

    def carry(self, way: int) -> None:
        """Add the output of one side to the dialogue, and pass the output to the other side."""
        sent = self.bios[way][1].read()
        if sent:
            self.dialogue.say(way, sent, self.mss)
            self.bios[1 - way][0].write(sent)

    def say(self, way: int, payload: bytes) -> None:
        """Send bytes from one side, and read them at the other side."""
        self.ends[way].write(payload)
        self.carry(way)
        left = len(payload)
        while left > 0:
            left -= len(self.ends[1 - way].read(left))


def encrypted(caps: int, certificate: dict[str, str], keys: Path, version: str, mss: int = 1400) -> Dialogue:
    """Return the complete conversation, encrypted after the SSLRequest."""
    clear, talk = everything(caps), Dialogue().open()
    talk.say(SERVER, greeting(caps | SSL)).say(CLIENT, packet(1, login(caps | SSL)[4:36]))
    line = Line(talk, certificate, keys, version, mss)
    line.say(CLIENT, packet(2, login(caps | SSL)[4:]))
    line.say(SERVER, ok(3))
    for segment in clear.segments[LOGIN:-2]:
        line.say(segment.way, segment.payload)
    talk.raw(CLIENT, b"", 0x11)
    talk.raw(SERVER, b"", 0x11)
    return talk


def read(path: Path, keys: Path | None) -> Read:
    """Read a file with or without a key log."""
    return read_quickly(open_packets([path], (3306,), keylog=str(keys) if keys else None))


def same(found: Read, clear: Read) -> None:
    """Check that two recordings give the same events, except for byte counts and places."""
    assert [event["command"] for event in found.events] == [event["command"] for event in clear.events]
    for a, b in zip(comparable_events(found), comparable_events(clear), strict=True):
        assert {k: v for k, v in a.items() if k not in ONCE} == {k: v for k, v in b.items() if k not in ONCE}
    assert found.kinds == clear.kinds


@pytest.mark.parametrize(("name", "version"), [*product(CAPS, ["1.2", "1.3"]), *product(["new"], CIPHERS)])
def test_decrypted_events_equal_unencrypted_events(
    name: str, version: str, certificate: dict[str, str], tmp_path: Path
) -> None:
    """Segments are large or small. The keys are in a separate file or inside the capture file. Without keys, the
    connection only counts as encrypted.
    """
    clear = read(write_pcap(tmp_path / "clear.pcap", [everything(CAPS[name])]), None)
    for mss in (1400, 33):
        keys = tmp_path / f"keys{mss}"
        path = write_pcap(tmp_path / f"tls{mss}.pcap", [encrypted(CAPS[name], certificate, keys, version, mss)])
        same(read(path, keys), clear)
    for endian in "<>":
        same(read(pcapng(tmp_path / "inside.pcapng", path, keys, endian), None), clear)
    (tmp_path / "none").write_bytes(b"")
    without = read(path, tmp_path / "none")
    assert without.events == []
    assert read(path, None).description["encrypted"] == 1
    other = keys.read_bytes().replace(b"\n", b"0\n")
    (tmp_path / "other").write_bytes(other)
    assert read(path, tmp_path / "other").events == []


@pytest.mark.parametrize("version", ["1.2", "1.3", *CIPHERS])
def test_damaged_tls_records_do_not_invent_events(version: str, certificate: dict[str, str], tmp_path: Path) -> None:
    """One TLS record after the login is lost, damaged or cut. The events contain only statements that were sent, in
    order. All statements before a cut are read.
    """
    keys = tmp_path / "keys"
    talk = encrypted(CAPS["new"], certificate, keys, version)
    whole = comparable_events(read(write_pcap(tmp_path / "a.pcap", [talk]), keys))
    texts = [event["statement"] for event in whole]
    for at in range(14, len(talk.segments) - 3, 5):
        one = talk.segments[at]
        broken = bytes([*one.payload[:-1], one.payload[-1] ^ 1]) if one.payload else b""
        ways: list[list[Any]] = [
            [*talk.segments[:at], *talk.segments[at + 1 :]],
            [*talk.segments[:at], replace(one, payload=broken), *talk.segments[at + 1 :]],
            talk.segments[:at],
        ]
        for segments in ways:
            found = comparable_events(
                read(write_pcap(tmp_path / "b.pcap", [(talk, segment) for segment in segments]), keys)
            )
            rest = iter(texts)
            assert all(text in rest for text in (event["statement"] for event in found) if text is not None)  # in order
            behind = len(found) - len(whole)
            assert segments is not ways[2] or [event["statement"] for event in found] == texts[: behind or None]


def test_tls_connections_are_counted_by_decryption_result(certificate: dict[str, str], tmp_path: Path) -> None:
    """The counters are decrypted connections, connections that were not decrypted (by reason), and entries of the key
    log.
    """
    keys = tmp_path / "keys"
    path = write_pcap(tmp_path / "a.pcap", [encrypted(CAPS["new"], certificate, keys, "1.3")])
    wrong = b"".join(line[:-4] + b"0000\n" for line in keys.read_bytes().splitlines() if not line.startswith(b"#"))
    (tmp_path / "wrong").write_bytes(wrong + b"no line of a key log\n")
    (tmp_path / "none").write_bytes(b"# nothing\n")
    of_tls = ("without_keys", "wrong_keys", "not_supported", "handshake_lost", "without_login", "renegotiated")
    of_log = ("forgotten", "connections", "bad_lines")
    names = ["decrypted", "decrypted_in_part", "decrypted_to_new_keys", "encrypted"]
    none = dict.fromkeys([*names, *(f"tls_{name}" for name in of_tls), *(f"keylog_{name}" for name in of_log)], 0)
    for file, told_of in (
        (keys, {"decrypted": 1, "keylog_connections": 1}),
        (tmp_path / "wrong", {"encrypted": 1, "tls_wrong_keys": 1, "keylog_connections": 1, "keylog_bad_lines": 1}),
        (tmp_path / "none", {"encrypted": 1, "tls_without_keys": 1}),
    ):
        said = read(path, file).description
        found = {key: said[key] for key in said if key.startswith(("tls_", "keylog_", "decrypted", "encrypted"))}
        assert found == none | told_of, file
        assert said["keylog"] == str(file)


def test_tls_connections_from_a_pipe_are_counted_like_a_file(certificate: dict[str, str], tmp_path: Path) -> None:
    """At the end of the pipe, some ended connections still wait for their keys."""
    talks = []
    for n in range(3):
        keys = tmp_path / f"keys{n}"
        talk = encrypted(CAPS["new"], certificate, keys, ("1.2", "1.3")[n % 2])
        talk.client_port = 40000 + n
        talks.append(talk)
    data = write_pcap(tmp_path / "a.pcap", talks).read_bytes()
    (tmp_path / "none").write_bytes(b"")
    for file in (tmp_path / "none", tmp_path / "keys1"):
        wanted = read(tmp_path / "a.pcap", file)
        with fifo_with(tmp_path / "fifo", data, 7000) as path:
            found = read(path, file)
        assert comparable_events(found) == comparable_events(wanted)
        said = [
            {k: v for k, v in one.description.items() if k.startswith(("tls_", "decrypted", "enc"))}
            for one in (found, wanted)
        ]
        assert said[0] == said[1]
        assert said[0]["tls_without_keys"] == (3 if file.name == "none" else 2)


@pytest.mark.parametrize("late", ["never", "after the end", "other"])
@pytest.mark.parametrize("version", ["1.2", "1.3"])
def test_late_keys_decrypt_finished_connections(
    version: str, late: str, certificate: dict[str, str], tmp_path: Path
) -> None:
    """A finished connection waits for its keys. Its decrypted events equal those of an unencrypted connection. A
    connection without keys is counted once.
    """
    keys, grows = tmp_path / "keys", tmp_path / "grows"
    secret = [encrypted(CAPS["new"], certificate, keys, version) for _ in range(2)]
    secret[1].client_port = 40001
    clear = Dialogue(40002).logged_in().ask(b"SELECT 'clear'", ok(1)).close()
    data = write_pcap(tmp_path / "a.pcap", [*secret, clear]).read_bytes()
    grows.write_bytes(b"")
    if late == "never":
        keys.write_bytes(b"")
    elif late == "other":
        keys.write_bytes(keys.read_bytes().replace(b"\n", b"0\n"))
    with open_fifo(tmp_path / "fifo", data) as (path, go_on):
        reader = open_packets([path], (3306,), keylog=str(grows), keylog_grows=True)

        def let_keys_come() -> None:
            while reader.stats().events < 3:
                time.sleep(0.01)
            grows.write_bytes(keys.read_bytes())
            go_on.set()

        helper = threading.Thread(target=let_keys_come, daemon=True)
        helper.start()
        found = read_quickly(reader)
        helper.join()
    texts = [event["statement"] for event in found.events if event["command"] == "query"]
    wanted = [event["statement"] for event in read(tmp_path / "a.pcap", keys).events if event["command"] == "query"]
    assert sorted(texts, key=repr) == sorted(wanted, key=repr)
    assert (len(texts) > 3) is (late == "after the end")
    told_of = (found.description["decrypted"], found.description["tls_without_keys"])
    assert told_of == ((2, 0) if late == "after the end" else (0, 2))


@contextmanager
def open_fifo(path: Path, data: bytes) -> Iterator[tuple[Path, threading.Event]]:
    """Yield a FIFO that delivers some bytes, and the event that closes the FIFO."""
    os.mkfifo(path)
    go_on = threading.Event()

    def write() -> None:
        with path.open("wb", buffering=0) as out:
            left = memoryview(data)
            while left:
                left = left[out.write(left) or 0 :]
            go_on.wait(60)

    writer = threading.Thread(target=write, daemon=True)
    writer.start()
    yield path, go_on
    writer.join(10)
