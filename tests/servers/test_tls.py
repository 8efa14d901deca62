# SPDX-License-Identifier: Apache-2.0
"""TLS settings by the mysql client's names."""

import ssl
from dataclasses import replace
from pathlib import Path

import pytest
from querytape.common.errors import InputError, TargetError
from querytape.servers.sandbox import Server
from querytape.servers.target import Target
from querytape.servers.tls import MODES, Tls, is_encrypted

from ..conftest import ServerFactory


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
    with pytest.raises(InputError, match="--ssl-mode VERIFY_CA: expected --ssl-ca"):
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
    with pytest.raises(TargetError, match=r"insecure transport.*: use --ssl-mode REQUIRED"):
        replace(without, user="careless").connect()
    for user in ("careful", "careless"):
        with replace(without, user=user, tls=Tls("REQUIRED")).connect() as con:
            assert is_encrypted(con)
