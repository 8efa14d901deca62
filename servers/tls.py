# SPDX-License-Identifier: Apache-2.0
"""Set up TLS by the mysql client's modes (DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY), and RSA keys.

Without TLS, sha256_password encrypts the password with the server's RSA key. caching_sha2_password does the same while
the server has not cached the password. If a client requests the key from the server, any machine that answers can
decrypt the password. The key is therefore requested only on this machine or with the user's permission.
"""

import ipaddress
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from pymysql.connections import Connection

from ..common.errors import InputError, OptionError

MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
KEY_REFUSED = (
    "the login needs the server's RSA key, but a key that arrives without TLS is not trusted. Use --ssl-mode VERIFY_CA"
    " with --ssl-ca, --server-public-key-path FILE (public_key.pem), or --get-server-public-key"
)
PEM = b"-----BEGIN PUBLIC KEY-----"
NO = frozenset({"0", "off", "false", "no"})


@dataclass(frozen=True)
class Tls:
    """How a connection is encrypted. The default is no encryption, because encryption would add to the measured times.

    - `cleartext_password`: send the clear text password if the server requests it and the connection is encrypted.
    - `server_public_key`: a file with the key that encrypts a password without TLS.
    - `get_server_public_key`: request this key from the server if there is no file.
    """

    mode: str = "DISABLED"
    ca: str | None = None
    cert: str | None = None
    key: str | None = None
    cleartext_password: bool = False
    get_server_public_key: bool = False
    server_public_key: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise OptionError(f"--ssl-mode: expected one of {', '.join(MODES)}, found {self.mode!r}")
        if self.server_public_key is not None:
            read_public_key(self.server_public_key)
        if self.mode.startswith("VERIFY") and not self.ca:
            raise OptionError(f"--ssl-mode {self.mode} requires --ssl-ca, the certificate authority of the server")

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Tls":
        """Return the settings of an option file. The names are those of the mysql client, with underscores."""
        files = {name: options.get(f"ssl_{name}") for name in ("ca", "cert", "key")}
        return cls(
            options.get("ssl_mode", "PREFERRED" if any(files.values()) else "DISABLED").upper(),
            files["ca"],
            files["cert"],
            files["key"],
        )

    @property
    def required(self) -> bool:
        """Whether a connection without TLS is an error."""
        return self.mode not in ("DISABLED", "PREFERRED")

    def settled(self, encrypted: bool) -> "Tls":
        """Return the settings with PREFERRED replaced by REQUIRED or DISABLED."""
        return replace(self, mode="REQUIRED" if encrypted else "DISABLED") if self.mode == "PREFERRED" else self

    def context(self) -> ssl.SSLContext | None:
        """Return the TLS context for PyMySQL. None means no encryption. Raises InputError if a file cannot be read."""
        if self.mode == "DISABLED":
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = self.mode == "VERIFY_IDENTITY"
        context.verify_mode = ssl.CERT_REQUIRED if self.mode.startswith("VERIFY") else ssl.CERT_NONE
        try:
            if self.ca:
                context.load_verify_locations(self.ca)
            if self.cert:
                context.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as error:
            raise InputError(f"--ssl-ca, --ssl-cert, --ssl-key: cannot be read: {error}") from error
        return context


def is_encrypted(con: "Connection[Any]") -> bool:
    """Return whether a connection uses TLS."""
    with con.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        row = cursor.fetchone()
    return bool(row and len(row) > 1 and row[1])


def is_this_machine(address: str | None) -> bool:
    """Whether data sent to an address stay on this machine.

    This is true for loopback addresses, and for None (a Unix socket). A name must be resolved first, even `localhost`.
    """
    if address is None:
        return True
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = found.ipv4_mapped if isinstance(found, ipaddress.IPv6Address) else None
    return (mapped or found).is_loopback


def read_public_key(path: str | Path) -> bytes:
    """Return the RSA key in a server's public_key.pem. Raises InputError if the file contains no such key."""
    what = f"--server-public-key-path {path}"
    try:
        text = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{what}: cannot be read: {error.strerror}") from error
    try:
        key = load_pem_public_key(text)
    except (ValueError, UnsupportedAlgorithm) as error:
        raise InputError(f"{what}: expected an RSA public key in PEM, as in a server's public_key.pem") from error
    if not isinstance(key, RSAPublicKey) or not text.lstrip().startswith(PEM):
        raise InputError(f"{what}: expected an RSA public key that begins with {PEM.decode()}")
    return text


def keys_of(options: Mapping[str, str]) -> tuple[bool, str | None]:
    """Return whether an option file allows querytape to request the key, and the path of the key file.

    Names have underscores.
    """
    asks = options.get("get_server_public_key")
    return asks is not None and asks.lower() not in NO, options.get("server_public_key_path") or None
