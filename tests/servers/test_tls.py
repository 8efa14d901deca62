# SPDX-License-Identifier: Apache-2.0
"""Tests of TLS settings, which have the names of the mysql client."""

import ssl
from dataclasses import replace
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec
from querytape.common.errors import InputError, TargetError
from querytape.native.bindings.engine import EngineOptions
from querytape.servers.sandbox import Server
from querytape.servers.target import Login, Target, parse_target
from querytape.servers.tls import MODES, Tls, is_encrypted, is_this_machine, keys_of, read_public_key

from tests.helpers.hostile import Client, greeting, hostile, packet
from tests.helpers.logins import SALT, Key, one_session, rsa_login_script
from tests.helpers.tiers import mostly_long

from ..conftest import ServerFactory

pytestmark = pytest.mark.slow

SECRET = "hunter2"
PLUGINS = (b"caching_sha2_password", b"sha256_password")
# The function is_this_machine treats this address as remote, although it reaches this machine. It represents a remote
# host.
ELSEWHERE = "0.0.0.0"


def test_tls_mode_follows_from_the_option_file() -> None:
    """If only files are given, the mode is PREFERRED, as in the mysql client. Without any option TLS is off. The mode
    may be in lower case.
    """
    assert Tls.of({}) == Tls("DISABLED")
    assert Tls.of({"ssl_cert": "c", "ssl_key": "k"}) == Tls("PREFERRED", None, "c", "k")
    assert Tls.of({"ssl_mode": "required"}) == Tls("REQUIRED")


@pytest.mark.parametrize("mode", MODES)
def test_preferred_tls_mode_becomes_the_actual_mode(mode: str) -> None:
    """All other TLS modes stay unchanged."""
    tls = Tls(mode, ca="ca.pem")
    assert tls.required == (mode not in ("DISABLED", "PREFERRED"))
    expected = ("REQUIRED", "DISABLED") if mode == "PREFERRED" else (mode, mode)
    assert (tls.settled(True).mode, tls.settled(False).mode) == expected


def test_invalid_tls_options_are_refused(tmp_path: Path) -> None:
    """The check refuses an unknown mode, a verifying mode without a certificate authority, and missing files."""
    with pytest.raises(InputError, match="--ssl-mode: expected one of DISABLED"):
        Tls("ON")
    with pytest.raises(InputError, match="--ssl-mode VERIFY_CA requires --ssl-ca"):
        Tls("VERIFY_CA")
    with pytest.raises(InputError, match="cannot be read"):
        Tls("VERIFY_CA", ca=str(tmp_path / "none.pem")).context()


def test_required_tls_mode_does_not_verify_the_certificate() -> None:
    assert Tls().context() is None
    required = Tls("REQUIRED").context()
    assert required is not None
    assert (required.verify_mode, required.check_hostname) == (ssl.CERT_NONE, False)


@pytest.mark.server
def test_connection_without_tls_is_recognized(mariadb: Server) -> None:
    with mariadb.connect() as con:
        assert not is_encrypted(con)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["mariadb-11.8", "mysql80"])
def test_login_without_required_tls_names_the_option(kind: str, server_factory: ServerFactory) -> None:
    """The server or the account requires TLS."""
    server = server_factory(kind)  # both servers create their own certificates
    server.execute("CREATE USER careful REQUIRE SSL")
    without = Target("careful", "127.0.0.1", "127.0.0.1", server.port)
    with pytest.raises(TargetError, match=r"1045.*REQUIRE SSL.* needs --ssl-mode REQUIRED"):
        without.connect()
    server.execute("CREATE USER careless")
    server.execute("SET GLOBAL require_secure_transport = ON")
    with pytest.raises(TargetError, match=r"insecure transport.*\. Use --ssl-mode REQUIRED"):
        replace(without, user="careless").connect()
    for user in ("careful", "careless"):
        with replace(without, user=user, tls=Tls("REQUIRED")).connect() as con:
            assert is_encrypted(con)


@pytest.fixture(scope="module")
def key() -> Key:
    """Return the key of the false server."""
    return Key()


@pytest.mark.parametrize(
    ("address", "local"),
    [
        (None, True),
        *((each, True) for each in ("127.0.0.1", "127.8.9.10", "127.255.255.255", "::1", "::ffff:127.0.0.1")),
        *((each, False) for each in ("126.255.255.255", "128.0.0.0", "0.0.0.0", "10.0.0.1", "::", "::2", "fe80::1%lo")),
        *(
            (each, False)
            for each in ("::ffff:10.0.0.1", "::ffff:0.0.0.0", "localhost", "127.0.0.1.example", "127.1", "")
        ),
        *((each, False) for each in ("169.254.1.1", "192.168.0.1", "255.255.255.255", "::127.0.0.1", "fd00::1")),
    ],
)
def test_only_loopback_addresses_are_local(address: str | None, local: bool) -> None:
    """A unix socket (None) is local. Host names, private addresses and link-local addresses are not local."""
    assert is_this_machine(address) == local


def test_key_file_is_read_with_the_options(key: Key, tmp_path: Path) -> None:
    """An invalid key is refused with the name of the file."""
    good = tmp_path / "public_key.pem"
    good.write_bytes(key.pem)
    assert read_public_key(good) == key.pem
    assert Tls(server_public_key=str(good)).server_public_key == str(good)
    other = ec.generate_private_key(ec.SECP256R1()).public_key()
    elliptic = other.public_bytes(serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo)
    for text in (b"", b"no key", key.pem[:-40], elliptic, key.pem.replace(b"PUBLIC", b"PRIVATE")):
        (tmp_path / "bad.pem").write_bytes(text)
        with pytest.raises(InputError, match=r"--server-public-key-path .*bad\.pem: expected an RSA public key"):
            Tls(server_public_key=str(tmp_path / "bad.pem"))
    with pytest.raises(InputError, match="cannot be read"):
        read_public_key(tmp_path / "none.pem")


def test_key_options_of_an_option_file(key: Key, tmp_path: Path) -> None:
    """The option file uses the option names of the mysql client. Key options on the command line override the file. TLS
    options on the command line leave the key options of the file unchanged.
    """
    assert keys_of({}) == (False, None)
    assert [keys_of({"get_server_public_key": text})[0] for text in ("", "1", "ON", "0", "off", "FALSE")] == (
        [True] * 3 + [False] * 3
    )
    pem, file = tmp_path / "k.pem", tmp_path / "my.cnf"
    pem.write_bytes(key.pem)
    file.write_text(f"[client]\nget-server-public-key\n[pinned]\nserver-public-key-path = {pem}\n")
    url = "mysql://app@192.0.2.1/"
    assert parse_target(url, environ={}).asks_for_key is False
    assert parse_target(url, Login(get_server_public_key=True), environ={}).asks_for_key
    assert parse_target(url, Login(file, tls=Tls("PREFERRED")), environ={}).asks_for_key
    pinned = parse_target(url, Login(file, "pinned"), environ={})
    assert (pinned.tls.server_public_key, pinned.asks_for_key) == (str(pem), False)
    assert parse_target("mysql://app@127.0.0.1/", environ={}).asks_for_key
    assert parse_target("mysql://app@/?socket=/s", environ={}).asks_for_key
    local = parse_target("mysql://app@127.0.0.1/", Login(server_public_key=pem), environ={})
    assert not local.asks_for_key  # a key from a file is the only valid key


def both(port: int, tls: Tls, address: str = ELSEWHERE) -> tuple[str, str | None]:
    """Log in with both clients. Return the errors of the control connection and of the engine."""
    target = Target("app", address, address, port, password=SECRET, tls=tls)
    with pytest.raises(TargetError) as failed:
        target.connect(2)
    options = EngineOptions(
        host=address,
        port=port,
        user="app",
        password=SECRET,
        connect_timeout_s=2,
        public_key=tls.server_public_key,
        asks_for_key=target.asks_for_key,
    )
    return str(failed.value), one_session(options)


def read(key: Key, heard: list[bytes]) -> set[bytes]:
    """Return the secrets of a login that a false server can read."""
    assert not any(SECRET.encode() in data for data in heard)
    return key.reads(heard)


@pytest.mark.parametrize("unasked", [False, True])
@pytest.mark.parametrize("switches", [False, True])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_false_server_gets_no_readable_password(plugin: bytes, switches: bool, unasked: bool, key: Key) -> None:
    """The clients do not request the key of a remote server and do not accept an unrequested key. The errors of both
    clients name the options that help.
    """
    with hostile(rsa_login_script(plugin, key, switches, unasked)) as server:
        said = both(server.port, Tls())
    assert read(key, server.heard) == set()
    assert "2061" in said[0]
    for text in said:
        assert text is not None
        assert all(way in text for way in ("--ssl-mode", "--server-public-key-path", "--get-server-public-key")), text


@pytest.mark.long
@pytest.mark.parametrize("switches", mostly_long([False, True], True))
@pytest.mark.parametrize("plugin", mostly_long(PLUGINS, PLUGINS[0]))
def test_password_is_readable_if_the_key_is_requested(plugin: bytes, switches: bool, key: Key) -> None:
    """This test checks the false server of the tests. With `--get-server-public-key` on loopback, each client sends its
    password to the false server.
    """
    for tls, address in ((Tls(), "127.0.0.1"), (Tls(get_server_public_key=True), ELSEWHERE)):
        with hostile(rsa_login_script(plugin, key, switches, unasked=False)) as server:
            both(server.port, tls, address)
        connections = [data for data in server.heard if key.reads([data])]
        assert len(connections) == 2
        assert key.reads(server.heard) == {SECRET.encode()}


@pytest.mark.parametrize("unasked", [False, True])
@pytest.mark.parametrize("switches", mostly_long([False, True], True))
@pytest.mark.parametrize("plugin", mostly_long(PLUGINS, PLUGINS[0]))
def test_key_from_the_file_is_the_only_valid_key(
    plugin: bytes, switches: bool, unasked: bool, key: Key, tmp_path: Path
) -> None:
    """The password is encrypted with the key of the file, whichever key the server sends. This also applies on
    loopback.
    """
    real = Key()
    file = tmp_path / "public_key.pem"
    file.write_bytes(real.pem)
    for address in (ELSEWHERE, "127.0.0.1"):
        with hostile(rsa_login_script(plugin, key, switches, unasked)) as server:
            both(server.port, Tls(server_public_key=str(file)), address)
        assert read(key, server.heard) == set()
        assert real.reads(server.heard) == {SECRET.encode()}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_unreadable_key_file_refuses_the_login(plugin: bytes, key: Key, tmp_path: Path) -> None:
    """The client library would request the key from the server, so the engine itself must refuse the login."""
    with hostile(rsa_login_script(plugin, key, True, False)) as server:
        failed = one_session(
            EngineOptions(
                host="127.0.0.1", port=server.port, user="app", password=SECRET, connect_timeout_s=2,
                public_key=str(tmp_path / "gone.pem"), asks_for_key=True,
            )
        )  # fmt: skip
    assert failed is not None
    assert "--server-public-key-path" in failed
    assert read(key, server.heard) == set()


@pytest.mark.parametrize("plugin", [*PLUGINS, b"mysql_clear_password", b"dialog"])
def test_required_tls_cannot_be_removed(plugin: bytes, key: Key) -> None:
    """A server or interceptor without TLS gets no password. Connector/C itself would continue without TLS and treat the
    connection as encrypted.
    """
    with hostile(rsa_login_script(plugin, key, True, False)) as server:
        failed = one_session(
            EngineOptions(
                host="127.0.0.1", port=server.port, user="app", password=SECRET, connect_timeout_s=2, tls="required",
                cleartext=True,
            )
        )  # fmt: skip
        with pytest.raises(TargetError, match="doesn't support"):
            Target("app", "x", "127.0.0.1", server.port, password=SECRET, tls=Tls("REQUIRED")).connect(2)
    assert failed is not None
    assert read(key, server.heard) == set()


def test_unencrypted_session_with_required_tls_is_refused() -> None:
    """The engine also refuses a login that sends only a hash."""

    def script(client: Client) -> None:
        client.say(greeting())
        client.hear()
        client.say(packet(2, b"\0\0\0\2\0\0\0"))
        client.hold()

    with hostile(script) as server:
        failed = one_session(
            EngineOptions(
                host="127.0.0.1", port=server.port, user="app", password=SECRET, connect_timeout_s=2, tls="required"
            )
        )
    assert failed is not None
    assert "not encrypted" in failed


def test_refusal_with_invalid_utf8_is_kept() -> None:
    """The text of the refusal becomes valid UTF-8, so the sessions of the run can be written."""

    def script(client: Client) -> None:
        client.say(greeting())
        client.hear()
        client.say(packet(2, b"\xff\x15\x04#28000No\xff\xfe entry"))
        client.hold()

    with hostile(script) as server:
        failed = one_session(EngineOptions(host="127.0.0.1", port=server.port, user="app", connect_timeout_s=2))
    assert failed == "[('No?? entry',)]"


def test_disabled_tls_mode_ignores_offered_tls() -> None:
    """Without verification any certificate would be accepted."""

    def script(client: Client) -> None:
        client.say(greeting(more=0x800))
        client.hear()
        client.hold()

    with hostile(script) as server, pytest.raises(TargetError):
        Target("app", "x", ELSEWHERE, server.port, password=SECRET).connect(1)
    assert not int.from_bytes(server.heard[0][4:8], "little") & 0x800


def test_greeting_of_the_server_contains_the_salt_of_the_tests() -> None:
    """The tests decrypt passwords with the salt of the greeting."""
    assert SALT[:8] in greeting()
    assert SALT[8:] in greeting()
