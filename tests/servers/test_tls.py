# SPDX-License-Identifier: Apache-2.0
"""TLS settings by the mysql client's names."""

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
from tests.helpers.logins import SALT, Key, asks_for_rsa, one_session
from tests.helpers.tiers import mostly_long

from ..conftest import ServerFactory

pytestmark = pytest.mark.slow

SECRET = "hunter2"
PLUGINS = (b"caching_sha2_password", b"sha256_password")
# Not a loopback address for is_this_machine, and one that reaches this machine: what leads elsewhere, in a test.
ELSEWHERE = "0.0.0.0"


def test_option_file() -> None:
    """Files alone mean PREFERRED, as the client takes them; nothing means no TLS; the mode may be in small letters."""
    assert Tls.of({}) == Tls("DISABLED")
    assert Tls.of({"ssl_cert": "c", "ssl_key": "k"}) == Tls("PREFERRED", None, "c", "k")
    assert Tls.of({"ssl_mode": "required"}) == Tls("REQUIRED")


@pytest.mark.parametrize("mode", MODES)
def test_modes(mode: str) -> None:
    """PREFERRED becomes what the connection came to; every other mode stays."""
    tls = Tls(mode, ca="ca.pem")
    assert tls.required == (mode not in ("DISABLED", "PREFERRED"))
    expected = ("REQUIRED", "DISABLED") if mode == "PREFERRED" else (mode, mode)
    assert (tls.settled(True).mode, tls.settled(False).mode) == expected


def test_refused(tmp_path: Path) -> None:
    """An unknown mode, a mode that verifies without an authority, and files that are none."""
    with pytest.raises(InputError, match="--ssl-mode: expected one of DISABLED"):
        Tls("ON")
    with pytest.raises(InputError, match="--ssl-mode VERIFY_CA requires --ssl-ca"):
        Tls("VERIFY_CA")
    with pytest.raises(InputError, match="cannot be read"):
        Tls("VERIFY_CA", ca=str(tmp_path / "none.pem")).context()


def test_context() -> None:
    """Only the modes that verify look at the server's certificate, and only one at its name."""
    assert Tls().context() is None
    required = Tls("REQUIRED").context()
    assert required is not None
    assert (required.verify_mode, required.check_hostname) == (ssl.CERT_NONE, False)


@pytest.mark.server
def test_plain_connection(mariadb: Server) -> None:
    """A connection without TLS is seen as such."""
    with mariadb.connect() as con:
        assert not is_encrypted(con)


@pytest.mark.sampled
@pytest.mark.parametrize("kind", ["mariadb-11.8", "mysql80"])
def test_a_server_that_asks_for_tls(kind: str, server_factory: ServerFactory) -> None:
    """A login without it is refused, and the option is named; so is that of an account that asks for it."""
    server = server_factory(kind)  # both make certificates of their own
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
    """Return the false server's key."""
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
def test_addresses(address: str | None, local: bool) -> None:
    """Only loopback addresses and unix sockets are this machine's: no name, no private or link-local address."""
    assert is_this_machine(address) == local


def test_key_files(key: Key, tmp_path: Path) -> None:
    """A key is read when the options are, and what is none is refused with the file's name."""
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


def test_option_files(key: Key, tmp_path: Path) -> None:
    """The client's names in an option file mean the same as the options, which win, and hold beside options of TLS."""
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
    assert not local.asks_for_key  # a key that is given is the only one


def both(port: int, tls: Tls, address: str = ELSEWHERE) -> tuple[str, str | None]:
    """Log in with both clients; return what the control connection and the engine's session failed with."""
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
    """Return what a false server can read of a login."""
    assert not any(SECRET.encode() in data for data in heard)
    return key.reads(heard)


@pytest.mark.parametrize("unasked", [False, True])
@pytest.mark.parametrize("switches", [False, True])
@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_false_server_reads_nothing(plugin: bytes, switches: bool, unasked: bool, key: Key) -> None:
    """Neither client asks a server elsewhere for its key, nor takes one that came unasked; both say the ways out."""
    with hostile(asks_for_rsa(plugin, key, switches, unasked)) as server:
        said = both(server.port, Tls())
    assert read(key, server.heard) == set()
    assert "2061" in said[0]
    for text in said:
        assert text is not None
        assert all(way in text for way in ("--ssl-mode", "--server-public-key-path", "--get-server-public-key")), text


@pytest.mark.long
@pytest.mark.parametrize("switches", mostly_long([False, True], True))
@pytest.mark.parametrize("plugin", mostly_long(PLUGINS, PLUGINS[0]))
def test_what_is_asked_for_can_be_read(plugin: bytes, switches: bool, key: Key) -> None:
    """The tests' own eyes: on loopback and with --get-server-public-key each client tells such a server its password."""
    for tls, address in ((Tls(), "127.0.0.1"), (Tls(get_server_public_key=True), ELSEWHERE)):
        with hostile(asks_for_rsa(plugin, key, switches, unasked=False)) as server:
            both(server.port, tls, address)
        connections = [data for data in server.heard if key.reads([data])]
        assert len(connections) == 2
        assert key.reads(server.heard) == {SECRET.encode()}


@pytest.mark.parametrize("unasked", [False, True])
@pytest.mark.parametrize("switches", mostly_long([False, True], True))
@pytest.mark.parametrize("plugin", mostly_long(PLUGINS, PLUGINS[0]))
def test_a_key_that_is_given_is_the_only_one(
    plugin: bytes, switches: bool, unasked: bool, key: Key, tmp_path: Path
) -> None:
    """With the key's file the password is for that key alone, whatever the server names, on loopback too."""
    real = Key()
    file = tmp_path / "public_key.pem"
    file.write_bytes(real.pem)
    for address in (ELSEWHERE, "127.0.0.1"):
        with hostile(asks_for_rsa(plugin, key, switches, unasked)) as server:
            both(server.port, Tls(server_public_key=str(file)), address)
        assert read(key, server.heard) == set()
        assert real.reads(server.heard) == {SECRET.encode()}


@pytest.mark.parametrize("plugin", PLUGINS)
def test_a_file_that_is_gone(plugin: bytes, key: Key, tmp_path: Path) -> None:
    """The library asks the server where the key's file cannot be read: the engine refuses all the same."""
    with hostile(asks_for_rsa(plugin, key, True, False)) as server:
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
def test_tls_that_is_taken_away(plugin: bytes, key: Key) -> None:
    """A server, or who is in between, that has no TLS gets no password of a client that is to use it.

    Connector/C goes on without, and takes the connection for encrypted.
    """
    with hostile(asks_for_rsa(plugin, key, True, False)) as server:
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


def test_a_session_without_the_tls_that_was_asked_for() -> None:
    """A login that sends a hash alone ends, too, where the connection is not encrypted."""

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


def test_a_refusal_of_any_bytes() -> None:
    """A server's refusal that is not UTF-8 is kept, readable: the run's sessions are written all the same."""

    def script(client: Client) -> None:
        client.say(greeting())
        client.hear()
        client.say(packet(2, b"\xff\x15\x04#28000No\xff\xfe entry"))
        client.hold()

    with hostile(script) as server:
        failed = one_session(EngineOptions(host="127.0.0.1", port=server.port, user="app", connect_timeout_s=2))
    assert failed == "[('No?? entry',)]"


def test_disabled_means_without() -> None:
    """--ssl-mode DISABLED does not take the TLS that a server offers: any certificate would do."""

    def script(client: Client) -> None:
        client.say(greeting(more=0x800))
        client.hear()
        client.hold()

    with hostile(script) as server, pytest.raises(TargetError):
        Target("app", "x", ELSEWHERE, server.port, password=SECRET).connect(1)
    assert not int.from_bytes(server.heard[0][4:8], "little") & 0x800


def test_the_same_salt() -> None:
    """The greeting's salt is that which the tests read passwords with."""
    assert SALT[:8] in greeting()
    assert SALT[8:] in greeting()
