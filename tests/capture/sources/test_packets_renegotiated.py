# SPDX-License-Identifier: Apache-2.0
"""TLS 1.2 connections that renegotiate keys. The records are handmade, because current TLS libraries do not
renegotiate. Old clients and servers do.
"""

import hashlib
import hmac
import struct
from pathlib import Path

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from tests.capture.sources.test_packets_encrypted import LOGIN, read, same
from tests.capture.sources.test_packets_golden import CAPS, everything
from tests.helpers.dialogue import CLIENT, SERVER, SSL, Dialogue, greeting, login, ok, packet, write_pcap
from tests.helpers.reading import Read

GCM = b"\xc0\x2f"  # cipher suite ECDHE-RSA-AES128-GCM-SHA256
CCS, HANDSHAKE, DATA = 20, 22, 23
MASTERS = (b"m" * 48, b"n" * 48)
RANDOMS = ((b"A" * 32, b"B" * 32), (b"C" * 32, b"D" * 32))  # client random and server random of each handshake


def key_block(master: bytes, client: bytes, server: bytes) -> bytes:
    """Return the first 40 bytes of the key block of RFC 5246: two keys of 16 bytes and two implicit nonces of 4 bytes."""
    seed, out, a = b"key expansion" + server + client, b"", b"key expansion" + server + client
    while len(out) < 40:
        a = hmac.digest(master, a, hashlib.sha256)
        out += hmac.digest(master, a + seed, hashlib.sha256)
    return out[:40]


class Secure:
    """A TLS 1.2 connection. A direction is encrypted after its change_cipher_spec, and its record numbers then begin at
    0.
    """

    def __init__(self, dialogue: Dialogue, suite: bytes = GCM) -> None:
        self.dialogue, self.suite = dialogue, suite
        self.keys: list[tuple[AESGCM, bytes] | None] = [None, None]
        self.seq = [0, 0]
        self.hello(0)
        for way in (CLIENT, SERVER):
            self.change(way, 0)

    def record(self, way: int, kind: int, content: bytes) -> None:
        """Send one record. The record is encrypted if its direction has keys."""
        keys = self.keys[way]
        if keys is not None:
            number = struct.pack(">Q", self.seq[way])
            self.seq[way] += 1
            head = number + bytes([kind, 3, 3]) + struct.pack(">H", len(content))
            content = number + keys[0].encrypt(keys[1] + number, content, head)
        self.dialogue.say(way, bytes([kind, 3, 3]) + struct.pack(">H", len(content)) + content)

    def hello(self, turn: int, ways: tuple[int, ...] = (CLIENT, SERVER)) -> None:
        """Send a hello message from each side in `ways`, with the side's random and the cipher suite."""
        for way in ways:
            suites = b"\0\2" + self.suite + b"\1\0" if way == CLIENT else self.suite + b"\0"
            body = b"\3\3" + RANDOMS[turn][way] + b"\0" + suites
            self.record(way, HANDSHAKE, bytes([1 + way]) + struct.pack(">I", len(body))[1:] + body)

    def change(self, way: int, turn: int) -> None:
        """Start to encrypt one direction with the negotiated keys."""
        self.record(way, CCS, b"\1")
        block = key_block(MASTERS[turn], *RANDOMS[turn])
        self.keys[way] = (AESGCM(block[16 * way :][:16]), block[32 + 4 * way :][:4])
        self.seq[way] = 0
        self.record(way, HANDSHAKE, b"\x14\0\0\x0c" + b"f" * 12)

    def renew(self) -> None:
        """Renegotiate the keys."""
        self.record(SERVER, HANDSHAKE, b"\0\0\0\0")  # HelloRequest
        self.hello(1)
        for way in (CLIENT, SERVER):
            self.change(way, 1)


def key_log(tmp_path: Path, turns: int) -> Path:
    """Return a key log for this number of handshakes."""
    path = tmp_path / f"keys{turns}"
    path.write_text("".join(f"CLIENT_RANDOM {RANDOMS[turn][0].hex()} {MASTERS[turn].hex()}\n" for turn in range(turns)))
    return path


def conversation(after: int, of_second: bytes = GCM, hellos: tuple[int, ...] | None = None) -> Dialogue:
    """Return the complete conversation, with a renegotiation after the first `after` segments. `of_second` is the
    cipher suite of the second handshake. `hellos` lists the sides that send a hello. If `hellos` is given, the keys do
    not change.
    """
    caps = CAPS["new"]
    talk = Dialogue().open()
    talk.say(SERVER, greeting(caps | SSL)).say(CLIENT, packet(1, login(caps | SSL)[4:36]))
    line = Secure(talk)
    line.record(CLIENT, DATA, packet(2, login(caps | SSL)[4:]))
    line.record(SERVER, DATA, ok(3))
    for number, segment in enumerate(everything(caps).segments[LOGIN:-2]):
        if number == after:
            line.suite = of_second
            if hellos is None:
                line.renew()
            else:
                line.hello(1, hellos)
                line.record(CLIENT, CCS, b"\1")
        line.record(segment.way, DATA, segment.payload)
    talk.raw(CLIENT, b"", 0x11)
    talk.raw(SERVER, b"", 0x11)
    return talk


@pytest.fixture(scope="module")
def clear(tmp_path_factory: pytest.TempPathFactory) -> Read:
    """Return the events of the same conversation without TLS."""
    path = tmp_path_factory.mktemp("clear") / "clear.pcap"
    return read(write_pcap(path, [everything(CAPS["new"])]), None)


def found_in(tmp_path: Path, talk: Dialogue, turns: int) -> Read:
    """Return the events of a conversation. The key log has the secrets of the given number of handshakes."""
    return read(write_pcap(tmp_path / "tls.pcap", [talk]), key_log(tmp_path, turns))


def counts(found: Read) -> tuple[int, ...]:
    """Return the numbers of connections that were decrypted, partly decrypted, and decrypted up to a renegotiation."""
    names = ("decrypted", "decrypted_in_part", "decrypted_to_new_keys")
    assert not any(n for name, n in found.description.items() if name.startswith("tls_"))
    return tuple(found.description[name] for name in names)


@pytest.mark.parametrize("after", [0, 1, 2, 7, 20])
def test_renegotiated_keys_in_the_key_log_are_used(after: int, tmp_path: Path, clear: Read) -> None:
    """The TLS keys are renegotiated after any segment. All events equal those of the conversation without TLS."""
    found = found_in(tmp_path, conversation(after), 2)
    same(found, clear)
    assert counts(found) == (1, 0, 0)


@pytest.mark.parametrize("after", [1, 7, 20])
def test_missing_renegotiated_keys_are_a_loss(after: int, tmp_path: Path, clear: Read) -> None:
    """Events before the renegotiation are read. The loss of later events is reported for one connection, with its
    reason.
    """
    found = found_in(tmp_path, conversation(after), 1)
    assert 0 < len(found.events) < len(clear.events)
    assert [event["command"] for event in found.events[:-1]] == [
        event["command"] for event in clear.events[: len(found.events) - 1]
    ]
    assert found.kinds == [*clear.kinds[: len(found.kinds) - 1], "tls_renegotiated"]
    assert counts(found) == (1, 1, 1)


def test_unreadable_renegotiation_is_reported_with_its_reason(tmp_path: Path, clear: Read) -> None:
    """The cases are an unsupported cipher suite, a TLS 1.3 cipher suite, and a key change without a hello of each side."""
    for suite, hellos, reason in (
        (b"\x00\x01", None, "tls_not_supported"),
        (b"\x13\x01", None, "tls_not_supported"),
        (GCM, (CLIENT,), "tls_lost"),
        (GCM, (SERVER,), "tls_lost"),
        (GCM, (), "tls_lost"),
    ):
        found = found_in(tmp_path, conversation(7, suite, hellos), 2)
        assert 0 < len(found.events) < len(clear.events)
        assert found.kinds[-1] == reason, suite
        assert counts(found) == (1, 1, 0)
