# SPDX-License-Identifier: Apache-2.0
"""A connection between two hosts that know the key of --join-key: TLS 1.3, and an HMAC bound to the connection.

The lead process makes its certificate for the run. The certificate alone proves nothing. Each side proves the key by an
HMAC over both random numbers and the certificate. A machine in the middle shows a different certificate, so both proofs
fail. The key itself is never sent. It has at least 32 random bytes, so nobody can guess it offline.
"""

import base64
import hashlib
import hmac
import os
import secrets
import socket
import ssl
import stat
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from ...common.errors import InputError, QuerytapeError
from ...common.version import __version__
from .channel import Channel, ChannelClosed, Message

PROTOCOL = 1
VARIABLE = "QUERYTAPE_JOIN_KEY"
KEY_BYTES = 32
HANDSHAKE_S = 10.0
CLOSED = (
    "the connection was closed before the login. Too many connections may wait there, or another program may use the"
    " address. Check the address, and try again"
)
MOST_UNPROVED = 0  # longest message body from an unauthenticated peer, in bytes


def new_key() -> bytes:
    """Return a new random key."""
    return base64.urlsafe_b64encode(secrets.token_bytes(KEY_BYTES))


def make_key(path: Path) -> bytes:
    """Write a new key into a file that only its owner can read. Return the key. Raises InputError if writing fails."""
    text = new_key()
    try:
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(text + b"\n")
    except OSError as error:
        raise InputError(f"{path}: cannot write the key file: {error.strerror}") from error
    return text


def read_key(path: Path | None) -> bytes | None:
    """Return the key from a file or from QUERYTAPE_JOIN_KEY. Return None if neither exists. Raises InputError."""
    if path is None:
        text = os.environ.get(VARIABLE, "").strip().encode()
        return _checked(text, VARIABLE) if text else None
    try:
        mode = path.stat().st_mode
        text = path.read_bytes().strip()
    except FileNotFoundError:
        return None
    except OSError as error:
        raise InputError(f"{path}: cannot read the key file: {error.strerror}") from error
    if stat.S_IMODE(mode) & 0o077:
        raise InputError(f"{path}: other users can read this key file: chmod 600 {path}")
    return _checked(text, str(path))


def lead_key(path: Path | None, makes: bool = False) -> bytes:
    """Return the key of the lead process. Create the key file if it does not exist. Raises InputError.

    `makes`: without a file, make a key that only this process and its drivers know.
    """
    key = read_key(path)
    if key is not None:
        return key
    if path is not None:
        return make_key(path)
    if makes:
        return new_key()
    raise InputError(
        f"the lead process needs a key to authenticate its drivers: use --join-key FILE, or set {VARIABLE}"
    )


def _checked(text: bytes, where: str) -> bytes:
    if len(text) < KEY_BYTES:
        raise InputError(f"{where}: expected a key of at least {KEY_BYTES} random characters, found {len(text)}")
    if len(text.split()) > 1:
        raise InputError(f"{where}: expected a key without spaces and line breaks")
    return text


def server_context() -> tuple[ssl.SSLContext, bytes]:
    """Return a TLS context for the lead process and its new certificate (DER)."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    private = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "querytape")])
    now = datetime.now(UTC)
    builder = x509.CertificateBuilder(name, name, private.public_key(), x509.random_serial_number())
    builder = builder.not_valid_before(now - timedelta(days=1)).not_valid_after(now + timedelta(days=365))
    certificate = builder.sign(private, hashes.SHA256())
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    coding, der = serialization.Encoding.PEM, certificate.public_bytes(serialization.Encoding.DER)
    kept = private.private_bytes(coding, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    with tempfile.NamedTemporaryFile(prefix="querytape-") as file:  # mode 0600, removed at once
        file.write(kept + certificate.public_bytes(coding))
        file.flush()
        context.load_cert_chain(file.name)
    return context, der


def client_context() -> ssl.SSLContext:
    """Return a TLS context for a driver.

    The HMAC proof of the lead process replaces the verification of the certificate.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def proof(key: bytes, role: str, mine: str, other: str, certificate: bytes) -> str:
    """Return the proof that a side knows the key. The proof is valid only for this connection and this role."""
    text = "\0".join(["querytape", str(PROTOCOL), role, mine, other, hashlib.sha256(certificate).hexdigest()])
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def admit(
    sock: socket.socket, context: ssl.SSLContext, certificate: bytes, key: bytes
) -> tuple[Channel, dict[str, Any]]:
    """Return the channel to a driver that has proved the key, and the values of its hello message.

    Otherwise closes the connection and raises QuerytapeError with the refused host and the reason.
    """
    sock.settimeout(HANDSHAKE_S)
    who = sock.getpeername()[0]
    try:
        channel = Channel(context.wrap_socket(sock, server_side=True))
    except (OSError, ssl.SSLError) as error:
        sock.close()
        raise QuerytapeError(f"{who}: the TLS handshake failed: {getattr(error, 'reason', None) or error}") from error
    try:
        nonce = secrets.token_hex(16)
        channel.send("lead", protocol=PROTOCOL, version=__version__, nonce=nonce)
        hello = _next(channel, "driver")
        version, other = str(hello.values.get("version"))[:40], str(hello.values.get("nonce"))[:80]
        if hello.values.get("protocol") != PROTOCOL or version != __version__:
            channel.send("refused", reason="version")
            raise QuerytapeError(
                f"{who}: refused a driver with querytape {version}, because the lead process runs {__version__}"
            )
        said = str(hello.values.get("proof"))
        if not hmac.compare_digest(said.encode(), proof(key, "driver", other, nonce, certificate).encode()):
            channel.send("refused", reason="key")
            raise QuerytapeError(
                f"{who}: refused a driver whose key differs from the key of the lead process (--join-key)"
            )
        channel.send("admitted", proof=proof(key, "lead", nonce, other, certificate))
        return channel, dict(_next(channel, "hello").values)
    except QuerytapeError as error:
        channel.close()
        raise error if not isinstance(error, ChannelClosed) else QuerytapeError(f"{who}: {error}") from error


def join(address: tuple[str, int], key: bytes, **hello: Any) -> Channel:
    """Return the channel to the lead process.

    Raises QuerytapeError if the lead process is unreachable or does not prove the key.
    """
    where = f"{address[0]}:{address[1]}"
    try:
        sock = client_context().wrap_socket(socket.create_connection(address, HANDSHAKE_S))
    except OSError as error:
        closed = isinstance(error, (ssl.SSLEOFError, ConnectionResetError, BrokenPipeError))
        reason = CLOSED if closed else getattr(error, "reason", None) or error.strerror or error
        raise QuerytapeError(f"{where}: cannot connect to the lead process: {reason}") from error
    certificate = sock.getpeercert(binary_form=True) or b""
    channel = Channel(sock)
    try:
        lead = _next(channel, "lead")
        if lead.values.get("protocol") != PROTOCOL or lead.values.get("version") != __version__:
            channel.send("driver", protocol=PROTOCOL, version=__version__, nonce="", proof="")
            raise QuerytapeError(
                f"{where}: the lead process runs querytape {str(lead.values.get('version'))[:40]}, but this driver runs"
                f" {__version__}. Install the same version on all hosts"
            )
        nonce, other = secrets.token_hex(16), str(lead.values.get("nonce"))[:80]
        mine = proof(key, "driver", nonce, other, certificate)
        channel.send("driver", protocol=PROTOCOL, version=__version__, nonce=nonce, proof=mine)
        said = str(_next(channel, "admitted").values.get("proof"))
        if not hmac.compare_digest(said.encode(), proof(key, "lead", other, nonce, certificate).encode()):
            raise QuerytapeError(
                f"{where}: the server at this address does not have the key of --join-key, so it is not the lead"
                " process"
            )
        channel.send("hello", **hello)
    except QuerytapeError as error:
        channel.close()
        raise error if not isinstance(error, ChannelClosed) else QuerytapeError(f"{where}: {error}") from error
    return channel


def _next(channel: Channel, kind: str) -> Message:
    """Return the next message of the handshake. Raises QuerytapeError."""
    message = channel.receive(HANDSHAKE_S, MOST_UNPROVED)
    if message is None:
        raise ChannelClosed(f"received no message for {HANDSHAKE_S:g} s")
    if message.kind == "refused" and message.values.get("reason") == "key":
        raise ChannelClosed(
            "the --join-key of the lead process differs from this driver's key, or the connection was intercepted"
        )
    if message.kind != kind:
        raise ChannelClosed(f"expected {kind}, found {message.kind[:40]}")
    return message
