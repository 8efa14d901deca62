# SPDX-License-Identifier: Apache-2.0
"""Clients that write their TLS secrets to a key log, and certificates for their servers."""

import ssl
import struct
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pymysql
import pytest
from pymysql.connections import Connection
from querytape.native.bindings.parsers import open_packets
from querytape.servers.programs import find_program, missing_sentence
from querytape.servers.sandbox import Server, start_server

from ..conftest import skip_loudly
from .binary_client import Prepared
from .reading import Read, read_all
from .relay import Relay

VERSIONS = {"1.0": "TLSv1", "1.1": "TLSv1_1", "1.2": "TLSv1_2", "1.3": "TLSv1_3"}
# Columns that differ between two recordings of the same workload.
OF_THE_RECORDING = ("thread_id", "start_ns", "duration_ns", "first_byte_ns", "request_ns", "offset", "precision_ns")


@contextmanager
def certificates() -> Iterator[dict[str, str]]:
    """Create a server certificate and yield the options that name its files. The files are removed at the end.

    The server's account can read the folder of the certificate. It cannot read the temporary folders of pytest.
    """
    with TemporaryDirectory(prefix="qt-certificates-") as name:
        paths = {"ssl-key": Path(name) / "s.key", "ssl-cert": Path(name) / "s.pem"}
        command = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "2", "-subj", "/CN=localhost"]
        command += ["-keyout", str(paths["ssl-key"]), "-out", str(paths["ssl-cert"])]
        subprocess.run(command, check=True, capture_output=True, timeout=60)
        Path(name).chmod(0o755)
        for path in paths.values():
            path.chmod(0o644)
        yield {name: str(path) for name, path in paths.items()}


@contextmanager
def encrypting(kind: str, request: pytest.FixtureRequest, config: Mapping[str, str] | None = None) -> Iterator[Server]:
    """Start a server with its own certificate. Skips the test with a message if this server kind is not installed."""
    if find_program(kind) is None:
        skip_loudly(request, missing_sentence(kind))
    with certificates() as given:
        server = start_server(kind, config={**given, **(config or {})})
        yield server
        server.remove()


def context(keys: Path, version: str, ciphers: str = "DEFAULT@SECLEVEL=0") -> "Resuming":
    """Return a client TLS context for one TLS version. The context appends its secrets to a key log."""
    made = Resuming(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.minimum_version = made.maximum_version = getattr(ssl.TLSVersion, VERSIONS[version])
    made.set_ciphers(ciphers)
    made.options |= 0x4  # OP_LEGACY_SERVER_CONNECT: old servers do not support safe renegotiation
    made.keylog_filename = str(keys)
    return made


def connect(port: int, tls: ssl.SSLContext | None) -> "Connection[Any]":
    """Open a connection. The connection is encrypted if a context is given."""
    given: Mapping[str, Any] = {"ssl": tls} if tls else {"ssl_disabled": True}
    return pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, charset="utf8mb4", **given)


def work(con: "Connection[Any]") -> None:
    """Run text queries and prepared statements, then disconnect.

    Some results span several TLS records, and one result is empty. One query fails.
    """
    with con.cursor() as cursor:
        for sql in (
            "SELECT 1",
            f"SELECT LENGTH('{'y' * 50_000}')",
            "DO 1",
            "SELECT REPEAT('x', 300000)",
            "SELECT nope",
        ):
            with suppress(pymysql.Error):
                cursor.execute(sql)
                cursor.fetchall()
    statement = Prepared(con, "SELECT ?, ?, LENGTH(?)")
    for value in (1, None, "a" * 200):
        statement.execute(value, "text", value)
    statement.close()
    con.close()


class Resuming(ssl.SSLContext):
    """A client TLS context that resumes an earlier TLS session."""

    earlier: ssl.SSLSession | None = None

    def wrap_socket(self, *arguments: Any, **options: Any) -> ssl.SSLSocket:
        """Wrap a socket, and resume the earlier TLS session if one exists."""
        return super().wrap_socket(*arguments, **{**options, "session": self.earlier})


def recorded(server: Server, path: Path, tls: ssl.SSLContext | None = None) -> Path:
    """Record the workload of `work` and return the capture file."""
    with Relay(server.port) as relay:
        work(connect(relay.port, tls))
    return relay.write(path)


def read(path: Path, keys: Path | None = None) -> Read:
    """Read a capture file with a key log."""
    return read_all(open_packets([path], keylog=str(keys) if keys else None))


def frames(path: Path) -> list[bytes]:
    """Return the records of a capture file. Each record is a header of 16 bytes followed by the packet."""
    data, found = path.read_bytes()[24:], []
    while data:
        size = 16 + struct.unpack("<I", data[8:12])[0]
        found.append(data[:size])
        data = data[size:]
    return found


def write_frames(path: Path, like: Path, kept: Sequence[bytes]) -> Path:
    """Write the given records to a capture file with the header of another capture file."""
    path.write_bytes(like.read_bytes()[:24] + b"".join(kept))
    return path


def preloaded(folder: Path) -> Path:
    """Build a library that makes OpenSSL clients write key logs and renegotiate keys. Return its path."""
    library = folder / "keylog.so"
    source = Path(__file__).with_name("keylog_preload.c")
    command = ["cc", "-D_GNU_SOURCE", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"]
    subprocess.run(command, check=True, timeout=60)
    return library


def pcapng(path: Path, like: Path, keys: Path, endian: str = "<", late: bool = False) -> Path:
    """Convert a capture file to pcapng with an embedded key log, as `editcap --inject-secrets` does.

    `late`: the key log follows the packets.
    """

    def block(kind: int, body: bytes) -> bytes:
        body += bytes(-len(body) % 4)
        return struct.pack(endian + "II", kind, 12 + len(body)) + body + struct.pack(endian + "I", 12 + len(body))

    secrets = keys.read_bytes()
    out = block(0x0A0D0D0A, struct.pack(endian + "IHHq", 0x1A2B3C4D, 1, 0, -1))
    out += block(1, struct.pack(endian + "HHI", 1, 0, 0)) + block(5, bytes(12))
    inside = block(10, struct.pack(endian + "II", 0x544C534B, len(secrets)) + secrets)
    out += b"" if late else inside
    for frame in frames(like):
        seconds, fraction, kept, sent = struct.unpack("<IIII", frame[:16])
        when = seconds * 1_000_000 + fraction
        out += block(6, struct.pack(endian + "IIIII", 0, when >> 32, when & 0xFFFFFFFF, kept, sent) + frame[16:])
    path.write_bytes(out + inside if late else out)
    return path


def comparable_events(found: Read) -> list[dict[str, Any]]:
    """Return the events without the columns that differ between recordings."""
    return [{key: value for key, value in event.items() if key not in OF_THE_RECORDING} for event in found.events]
