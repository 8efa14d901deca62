# SPDX-License-Identifier: Apache-2.0
"""Says which RSA key a password may be encrypted with, where a connection has no TLS.

sha256_password, and caching_sha2_password while the server has not cached the password, then send it encrypted with the
server's RSA key. A client that asks the server for the key encrypts it for whoever answers. So a key is asked for only
on this machine, where nobody is in between, or where the user says so.
"""

import ipaddress
from collections.abc import Mapping
from pathlib import Path

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key

from ..common.errors import InputError

KEY_REFUSED = (
    "the account's login needs the server's RSA key, and the key that the server itself names is not used without TLS,"
    " because whoever stands in the server's place could read the password: use TLS (--ssl-mode VERIFY_CA or"
    " VERIFY_IDENTITY, with --ssl-ca), give the server's public_key.pem (--server-public-key-path FILE), or let the key"
    " be asked for (--get-server-public-key)"
)
PEM = b"-----BEGIN PUBLIC KEY-----"
NO = frozenset({"0", "off", "false", "no"})


def is_this_machine(address: str | None) -> bool:
    """Whether what is sent to an address never leaves this machine: None = a unix socket, else a loopback address.

    A name is none, `localhost` too: it is resolved first.
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
    """Return a server's RSA key as it is in its public_key.pem. Raises InputError for a file that holds no such key."""
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
    """Return whether an option file lets the key be asked for, and the key's file; names have underscores."""
    asks = options.get("get_server_public_key")
    return asks is not None and asks.lower() not in NO, options.get("server_public_key_path") or None
