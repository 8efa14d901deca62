# SPDX-License-Identifier: Apache-2.0
"""Clients whose TLS secrets go into a key log, and the certificates that their servers need."""

import ssl
import subprocess
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pymysql
from pymysql.connections import Connection
from querytape.native.bindings.parsers import open_packets
from querytape.servers.sandbox import Server

from .binary_client import Prepared
from .reading import Read, read_all
from .relay import Relay

VERSIONS = {"1.0": "TLSv1", "1.1": "TLSv1_1", "1.2": "TLSv1_2", "1.3": "TLSv1_3"}
# What differs from one recording of the same workload to the next.
OF_THE_RECORDING = ("thread_id", "start_ns", "duration_ns", "first_byte_ns", "request_ns", "offset", "precision_ns")


@contextmanager
def certificates() -> Iterator[dict[str, str]]:
    """Make a certificate of a server's own, and give the options that name it; it is gone afterwards.

    Its folder is one that the server's account can enter, which pytest's are not.
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


def context(keys: Path, version: str, ciphers: str = "DEFAULT@SECLEVEL=0") -> ssl.SSLContext:
    """Return a client's side of one version of TLS, which appends its secrets to a key log."""
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    made.check_hostname, made.verify_mode = False, ssl.CERT_NONE
    made.minimum_version = made.maximum_version = getattr(ssl.TLSVersion, VERSIONS[version])
    made.set_ciphers(ciphers)
    made.keylog_filename = str(keys)
    return made


def connect(port: int, tls: ssl.SSLContext | None) -> "Connection[Any]":
    """Open a connection, encrypted where a context is given."""
    given: Mapping[str, Any] = {"ssl": tls} if tls else {"ssl_disabled": True}
    return pymysql.connect(host="127.0.0.1", port=port, user="root", autocommit=True, charset="utf8mb4", **given)


def work(con: "Connection[Any]") -> None:
    """Texts and prepared statements, small and of several records, with errors and nothing in them; then quit."""
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


def recorded(server: Server, path: Path, tls: ssl.SSLContext | None = None) -> Path:
    """Record the workload above, and return the capture file."""
    with Relay(server.port) as relay:
        work(connect(relay.port, tls))
    return relay.write(path)


def read(path: Path, keys: Path | None = None) -> Read:
    """Read a capture file with a key log."""
    return read_all(open_packets([path], keylog=str(keys) if keys else None))


def told(found: Read) -> list[dict[str, Any]]:
    """Return the events without what differs from one recording to the next."""
    return [{key: value for key, value in event.items() if key not in OF_THE_RECORDING} for event in found.events]
