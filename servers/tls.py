# SPDX-License-Identifier: Apache-2.0
"""Set up TLS by the mysql client's names: DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY, and files."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pymysql.connections import Connection

from ..common.errors import InputError, OptionError
from .public_keys import read_public_key

MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")


@dataclass(frozen=True)
class Tls:
    """How a connection is encrypted. The default is not at all: encryption would be measured with the server.

    `cleartext_password`: a server that asks for the password itself gets it, where the connection is encrypted.
    Without TLS a password may be encrypted with the key in the file `server_public_key`, or, where there is none and
    with `get_server_public_key`, with the one that the server names.
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
            raise OptionError(f"--ssl-mode {self.mode}: expected --ssl-ca, the certificate authority to verify by")

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Tls":
        """Return what an option file says, by the client's names (with underscores)."""
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
        """Return the settings with PREFERRED decided."""
        return replace(self, mode="REQUIRED" if encrypted else "DISABLED") if self.mode == "PREFERRED" else self

    def context(self) -> ssl.SSLContext | None:
        """Return the context for PyMySQL, None = not encrypted. Raises InputError for files that cannot be read."""
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
    """Return whether a connection goes through TLS."""
    with con.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        row = cursor.fetchone()
    return bool(row and len(row) > 1 and row[1])
