# SPDX-License-Identifier: Apache-2.0
"""Tests of control connections to hostile servers.

The servers send no answer, send endless answers, or request the password.
"""

import random
import time
from contextlib import suppress
from typing import Any

import pytest
from querytape.common.errors import TargetError
from querytape.native.bindings.engine import EngineOptions
from querytape.servers import control
from querytape.servers.facts import gather
from querytape.servers.queries import query_or_none
from querytape.servers.target import Target
from querytape.servers.tls import Tls

from tests.helpers.hostile import Client, drip, greeting, hostile, packet
from tests.helpers.logins import one_session

pytestmark = pytest.mark.slow

SECRET = "hunter2"
SOON_S = 40  # less than a hostile server would block, but more than a busy machine needs


def target(port: int, **more: Any) -> Target:
    """Return a target on this machine."""
    return Target("app", "localhost", "127.0.0.1", port, password=SECRET, **more)


def connect(port: int, **more: Any) -> Any:
    """Open a control connection with short time-outs."""
    options = {"timeout_s": 20, "answer_s": 20, "charset": "utf8mb4", "autocommit": None, **more}
    return control.connect(host="127.0.0.1", port=port, user="app", password=SECRET, **options)


def test_connect_to_a_silent_server_times_out() -> None:
    """The server sends nothing or sends its greeting very slowly, byte by byte."""
    for script in (Client.hold, lambda client: drip(client, greeting() * 9, 0.05)):
        began = time.monotonic()
        with hostile(script) as server, pytest.raises(TargetError, match="no reply in time"):
            target(server.port).connect(1)
        assert time.monotonic() - began < SOON_S


def test_query_without_an_answer_times_out() -> None:
    """The answer never begins or never ends. The connection is closed after the time-out."""

    def silent(client: Client) -> None:
        client.log_in()
        client.hear()
        client.hold()

    def dripping(client: Client) -> None:
        client.log_in()
        client.hear()
        drip(client, packet(1, b"\1" * 200), 0.02)

    for script in (silent, dripping):
        with hostile(script) as server:
            con = connect(server.port)
            con.answer_within(0.5)
            began = time.monotonic()
            with pytest.raises(TargetError, match="no reply in time"):
                query_or_none(con, "SELECT 1")
            assert time.monotonic() - began < SOON_S


def test_endless_answer_is_stopped_at_the_size_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(control, "MAX_ANSWER_BYTES", 1 << 20)

    def script(client: Client) -> None:
        client.log_in()
        client.hear()
        for _ in range(64):
            client.say(packet(1, b"\xff" * 0xFFFFFF)[: 1 << 20])
        client.hold()

    with hostile(script) as server:
        con = connect(server.port, answer_s=20)
        with pytest.raises(TargetError, match="larger than 1 MiB"):
            query_or_none(con, "SELECT 1")


def column(name: bytes) -> bytes:
    """Return the definition of a VARCHAR column."""
    texts = b"".join(bytes([len(part)]) + part for part in (b"def", b"", b"", b"", name, name))
    return texts + b"\x0c\x21\0\xff\0\0\0\xfd\0\0\0\0\0"


def result(rows: list[list[bytes]], columns: int) -> bytes:
    """Return the packets of a result."""
    payloads = [bytes([columns]), *(column(b"c") for _ in range(columns)), b"\xfe\0\0\2\0"]
    payloads += [b"".join(bytes([len(value)]) + value for value in row) for row in rows]
    payloads.append(b"\xfe\0\0\2\0")
    return b"".join(packet(number % 256, payload) for number, payload in enumerate(payloads, 1))


ANSWERS = [
    result([[b"x"]], 1),
    result([[b"x", b"y"]], 2),
    result([[b"", b"", b"", b"", b"", b"", b"", b""]], 8),
    result([[b"-1", b"99999999999999999999999999"]], 2),
    packet(1, b""),
    packet(1, b"\xfc"),
    packet(1, b"\xfb/etc/passwd"),
    packet(1, b"\xff"),
    packet(1, b"\5"),
    packet(9, b"\0"),
    packet(1, b"\1") + packet(2, b"\3def"),
    packet(1, b"\0\xfe\xff"),
]


@pytest.mark.parametrize("answer", ANSWERS)
def test_invalid_answer_is_an_error_or_unknown(answer: bytes) -> None:
    """An invalid answer gives a TargetError or an unknown value, but never a traceback."""
    _ask_all(answer)


@pytest.mark.long
def test_random_answer_is_an_error_or_unknown() -> None:
    """The test sends 60 random answers from a fixed seed. Some answers have no valid packet header."""
    chance = random.Random(7)
    for _ in range(60):
        noise = chance.randbytes(chance.randrange(1, 60))
        _ask_all(packet(1, noise) if chance.random() < 0.7 else noise)


def _ask_all(answer: bytes) -> None:
    def script(client: Client) -> None:
        client.log_in()
        while client.hear():
            client.say(answer)

    with hostile(script) as server, suppress(TargetError):
        gather(connect(server.port))


@pytest.mark.parametrize("plugin", [b"mysql_clear_password", b"dialog", b"mysql_old_password"])
def test_password_is_never_sent_unencrypted(plugin: bytes) -> None:
    """The server requests the unencrypted password. Both clients refuse even if `cleartext` is allowed, because TLS is
    missing.
    """

    def script(client: Client) -> None:
        client.say(greeting())
        client.hear()
        client.say(packet(2, b"\xfe" + plugin + b"\0" + (b"\4Password: " if plugin == b"dialog" else b"")))
        client.hear()
        client.hold()

    for allowed in (False, True):
        with hostile(script) as server:
            with pytest.raises(TargetError, match="This login requires"):
                target(server.port, tls=Tls(cleartext_password=allowed)).connect(20)
            options = EngineOptions(
                host="127.0.0.1", port=server.port, user="app", password=SECRET, cleartext=allowed, connect_timeout_s=2
            )
            failed = one_session(options)
            assert failed is not None
            assert not any(SECRET.encode() in data for data in server.heard)
