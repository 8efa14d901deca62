# SPDX-License-Identifier: Apache-2.0
"""Tests of the join key: only programs that know the key can be lead or driver. The key itself is never sent."""

import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from querytape.common.errors import InputError, QuerytapeError
from querytape.common.version import __version__
from querytape.replay.drivers import secured
from querytape.replay.drivers.channel import Channel
from querytape.replay.drivers.secured import admit, client_context, join, lead_key, make_key, read_key, server_context

from tests.helpers.link import Link

KEY = b"0123456789abcdef0123456789abcdef"


class Side:
    """A thread that runs an action on the first connection to its port and keeps the result."""

    def __init__(self, act: Callable[[socket.socket], Any]) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.result: Any = None
        self.error: QuerytapeError | None = None
        self._act = act
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        sock, _ = self._listener.accept()
        try:
            self.result = self._act(sock)
        except QuerytapeError as error:
            self.error = error

    def end(self) -> None:
        self._thread.join(30)
        self._listener.close()


def lead(key: bytes = KEY) -> Side:
    context, certificate = server_context()
    return Side(lambda sock: admit(sock, context, certificate, key))


def test_equal_keys_give_an_encrypted_channel() -> None:
    """The network traffic contains no readable text."""
    there = lead()
    with Link(there.port) as link:
        mine = join(("127.0.0.1", link.port), KEY, host="here", pid=1)
        there.end()
        channel, hello = there.result
        assert hello == {"host": "here", "pid": 1}
        channel.send("a", b"SELECT 1", n=1)
        message = mine.receive(10)
        assert message is not None
        assert (message.kind, message.body) == ("a", b"SELECT 1")
        for text in (KEY, b"SELECT", b"here", b"proof"):
            assert text not in link.passed
        mine.close()


def test_different_keys_are_refused_on_both_sides() -> None:
    there = lead()
    with pytest.raises(QuerytapeError, match="the --join-key of the lead process differs from this driver's key"):
        join(("127.0.0.1", there.port), b"x" * 32)
    there.end()
    assert "refused a driver whose key differs from the key of the lead process" in str(there.error)


def test_different_versions_are_refused_on_both_sides(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both error messages name the version."""
    context, certificate = server_context()

    def of_old(sock: socket.socket) -> None:
        channel = Channel(context.wrap_socket(sock, server_side=True))
        channel.send("lead", protocol=secured.PROTOCOL, version="0.0.1", nonce="n")
        channel.receive(10)

    there = Side(of_old)
    with pytest.raises(
        QuerytapeError, match=r"the lead process runs querytape 0\.0\.1, but this driver runs .* Install the same"
    ):
        join(("127.0.0.1", there.port), KEY)
    there.end()
    there = Side(lambda sock: admit(sock, context, certificate, KEY))
    channel = Channel(client_context().wrap_socket(socket.create_connection(("127.0.0.1", there.port))))
    channel.send("driver", protocol=secured.PROTOCOL + 1, version="9.9.9", nonce="", proof="")
    there.end()
    assert "refused a driver with querytape 9.9.9" in str(there.error)


@pytest.mark.parametrize("after", [0, 1, 100])
def test_connection_that_the_lead_closes_at_once_is_explained(after: int) -> None:
    """The lead has read no byte, a part or the whole first message of the driver."""

    def close(sock: socket.socket) -> None:
        if after:
            sock.recv(after)
        sock.close()

    there = Side(close)
    with pytest.raises(QuerytapeError, match="Too many connections may wait there"):
        join(("127.0.0.1", there.port), KEY)
    there.end()


def test_false_lead_is_refused() -> None:
    """A driver sends nothing to a lead without a valid proof, even if that lead accepts every driver."""
    context, _ = server_context()

    def pretend(sock: socket.socket) -> Any:
        channel = Channel(context.wrap_socket(sock, server_side=True))
        channel.send("lead", protocol=secured.PROTOCOL, version=__version__, nonce="n")
        channel.receive(10)
        channel.send("admitted", proof="0" * 64)
        try:
            return channel.receive(10)
        except QuerytapeError:
            return None

    there = Side(pretend)
    with pytest.raises(QuerytapeError, match="does not have the key of --join-key, so it is not the lead process"):
        join(("127.0.0.1", there.port), KEY)
    there.end()
    assert there.result is None


def test_intercepted_connection_is_refused() -> None:
    """The interceptor ends TLS on both sides and forwards every message. Each proof covers the TLS certificate, so the
    proofs fail.
    """
    there = lead()
    context, _ = server_context()

    def between(sock: socket.socket) -> None:
        near = Channel(context.wrap_socket(sock, server_side=True))
        far = Channel(client_context().wrap_socket(socket.create_connection(("127.0.0.1", there.port))))
        for one, other in ((far, near), (near, far), (far, near)):
            message = one.receive(10)
            assert message is not None
            other.send(message.kind, message.body, **message.values)

    middle = Side(between)
    with pytest.raises(QuerytapeError, match="differs from this driver's key, or the connection was intercepted"):
        join(("127.0.0.1", middle.port), KEY)
    there.end()
    assert "whose key differs from the key of the lead process" in str(there.error)


def test_old_tls_and_plain_data_are_refused() -> None:
    """Only TLS 1.3 is accepted. The error names the address of the client."""
    import ssl

    there = lead()
    old = client_context()
    old.minimum_version, old.maximum_version = ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_2
    with pytest.raises((ssl.SSLError, OSError)):
        old.wrap_socket(socket.create_connection(("127.0.0.1", there.port)))
    there.end()
    assert "127.0.0.1: the TLS handshake failed" in str(there.error)
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    with pytest.raises(QuerytapeError, match=f"127.0.0.1:{port}: cannot connect to the lead process"):
        join(("127.0.0.1", port), KEY)


def test_key_file_is_private(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A key is created once and is readable only by its owner. Short keys and keys that others can read are refused."""
    monkeypatch.delenv(secured.VARIABLE, raising=False)
    path = tmp_path / "k"
    assert read_key(path) is None
    made = lead_key(path)
    assert len(made) >= 32
    assert path.stat().st_mode & 0o777 == 0o600
    assert read_key(path) == made == lead_key(path)
    with pytest.raises(InputError, match="cannot write"):
        make_key(path)
    path.chmod(0o640)
    with pytest.raises(InputError, match=f"chmod 600 {path}"):
        read_key(path)
    path.chmod(0o600)
    path.write_text("short\n")
    with pytest.raises(InputError, match="at least 32 random characters, found 5"):
        read_key(path)
    assert read_key(None) is None
    with pytest.raises(InputError, match="QUERYTAPE_JOIN_KEY"):
        lead_key(None)
    monkeypatch.setenv(secured.VARIABLE, KEY.decode())
    assert read_key(None) == lead_key(None) == KEY
