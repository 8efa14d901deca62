# SPDX-License-Identifier: Apache-2.0
"""TLS as the mysql client names it: DISABLED, PREFERRED, REQUIRED, VERIFY_CA, VERIFY_IDENTITY, and files."""

import ssl
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pymysql.connections import Connection

from ..errors import InputError

MODES = ("DISABLED", "PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY")
CODES = {"DISABLED": 0, "REQUIRED": 1, "VERIFY_CA": 2, "VERIFY_IDENTITY": 3}  # enum qt_tls


@dataclass(frozen=True)
class Tls:
    """How a connection is encrypted. By itself it is not: encryption would be measured with the server."""

    mode: str = "DISABLED"
    ca: str | None = None
    cert: str | None = None
    key: str | None = None

    def __post_init__(self) -> None:
        if self.mode not in MODES:
            raise InputError(f"--ssl-mode: expected one of {', '.join(MODES)}, found {self.mode!r}")
        if self.mode.startswith("VERIFY") and not self.ca:
            raise InputError(f"--ssl-mode {self.mode}: expected --ssl-ca, the certificate to verify by")

    @classmethod
    def of(cls, options: Mapping[str, str]) -> "Tls":
        """Return what an option file says, by the client's names (with underscores)."""
        files = {name: options.get(f"ssl_{name}") for name in ("ca", "cert", "key")}
        return cls(options.get("ssl_mode", "PREFERRED" if any(files.values()) else "DISABLED").upper(), **files)

    @property
    def required(self) -> bool:
        """Whether a connection without is an error."""
        return self.mode not in ("DISABLED", "PREFERRED")

    @property
    def code(self) -> int:
        """The engine's number of a mode that is settled."""
        return CODES[self.mode]

    def settled(self, encrypted: bool) -> "Tls":
        """Return it with PREFERRED decided."""
        return replace(self, mode="REQUIRED" if encrypted else "DISABLED") if self.mode == "PREFERRED" else self

    def context(self) -> ssl.SSLContext | None:
        """Return it for PyMySQL; None = not encrypted. Raises InputError for files that can't be read."""
        if self.mode == "DISABLED":
            return None
        found = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        found.check_hostname = self.mode == "VERIFY_IDENTITY"
        found.verify_mode = ssl.CERT_REQUIRED if self.mode.startswith("VERIFY") else ssl.CERT_NONE
        try:
            if self.ca:
                found.load_verify_locations(self.ca)
            if self.cert:
                found.load_cert_chain(self.cert, self.key)
        except (OSError, ssl.SSLError) as fault:
            raise InputError(f"--ssl-ca, --ssl-cert, --ssl-key: can't be read: {fault}") from fault
        return found


def is_encrypted(con: "Connection[Any]") -> bool:
    """Return whether a connection goes through TLS."""
    with con.cursor() as cursor:
        cursor.execute("SHOW STATUS LIKE 'Ssl_cipher'")
        row = cursor.fetchone()
    return bool(row and row[1])
