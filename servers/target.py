# SPDX-License-Identifier: Apache-2.0
"""Parse the address of a server: a URL `mysql://user@host:port/db?socket=/path` and an option file.

Passwords must not be in the URL. A Unix socket is used only if the URL or the option file contains one. `localhost` is
an ordinary host, although the mysql client would use its socket. An IPv6 address is written in brackets.
"""

import getpass
import os
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.connections import Connection

from ..common.errors import InputError, TargetError
from ..common.text import printable
from .control import ANSWER_S, ControlConnection, connect
from .option_files import read_options
from .tls import Tls, is_encrypted, is_this_machine, keys_of, read_public_key

DEFAULT_PORT = 3306
INSECURE_TRANSPORT = 3159  # the server's error for require_secure_transport, in MySQL and MariaDB
TLS_FAILED = 2026  # the client's error for TLS; also raised if the server has no TLS
MAX_FAULT = 1000  # maximum characters to show of a server's message
PASSWORD_VARIABLES = ("QUERYTAPE_PASSWORD", "MYSQL_PWD")
SHAPE = "mysql://user@host:3306/db, or mysql://user@/db?socket=/path"


@dataclass(frozen=True)
class Target:
    """A server and its login. The password is never shown. Exactly one of `address` and `socket` is set."""

    user: str
    host: str | None = None
    address: str | None = None
    port: int = DEFAULT_PORT
    socket: str | None = None
    db: str | None = None
    password: str | None = field(default=None, repr=False)
    tls: Tls = field(default_factory=Tls)
    compress: bool = False

    @property
    def name(self) -> str:
        """The server in its usual notation: `user@host:port/db`, without a password."""
        where = self.socket if self.socket else f"{self.host}:{self.port}"
        return f"{self.user}@{where}" + (f"/{self.db}" if self.db else "")

    @property
    def is_local(self) -> bool:
        """Whether the server runs on this machine, so that this machine's counters include the server."""
        return is_this_machine(self.address)

    @property
    def asks_for_key(self) -> bool:
        """Whether a server without TLS may send the key that encrypts the password; see tls.py."""
        tls = self.tls
        return tls.server_public_key is None and (tls.get_server_public_key or self.is_local)

    def connect(self, timeout_s: int = 10, streams: bool = False, answer_s: float = ANSWER_S) -> "ControlConnection":
        """Open a control connection. Raises TargetError with the message of the server or the network.

        `timeout_s`: time limit for the login. `answer_s`: time limit for each answer. `streams`: read results of any
        size row by row.
        """
        try:
            con = connect(
                host=self.address,
                port=self.port,
                unix_socket=self.socket,
                user=self.user,
                password=self.password or "",
                charset="utf8mb4",
                autocommit=True,
                timeout_s=timeout_s,
                answer_s=answer_s,
                streams=streams,
                cleartext=self.tls.cleartext_password,
                asks_for_key=self.asks_for_key,
                public_key=read_public_key(self.tls.server_public_key) if self.tls.server_public_key else None,
                tls=self.tls.context() if self.socket is None or self.tls.required else None,
                tls_required=self.tls.required,
            )
            if self.tls.required and not is_encrypted(con):
                con.close()
                raise TargetError(f"{self.name} does not support TLS, but --ssl-mode {self.tls.mode} requires it")
            return con
        except (pymysql.Error, OSError, RuntimeError) as error:
            said, hint = fault_text(error), self._hint(error)
            text = f"cannot connect to {self.name}: {said.rstrip('.') if hint else said}{hint}"
            raise TargetError(text) from error

    def login_fault(self, number: int, text: str) -> str:
        """Return the message for a failed login, with the error text and a remedy."""
        hint = self._hint(pymysql.OperationalError(number))
        said = printable(text, MAX_FAULT)
        return f"{self.name}: {number} {said.rstrip('.') if hint else said}{hint}"

    def _hint(self, error: BaseException) -> str:
        """Return a remedy for a failed connection."""
        number = error.args[0] if error.args else None
        clear = self.tls.mode == "DISABLED"
        if number in (1045, 1698):
            tls = ". An account with REQUIRE SSL needs --ssl-mode REQUIRED" if clear else ""
            return f". Set the password in {PASSWORD_VARIABLES[0]} or an option file, or use --ask-password{tls}"
        if number == INSECURE_TRANSPORT and clear:
            return ". Use --ssl-mode REQUIRED"
        if number == TLS_FAILED and self.tls.required:
            return f". --ssl-mode {self.tls.mode} requires TLS"
        if number in (2002, 2003):
            return ". Check that the server is running and listens on this address"
        return ""

    def settled(self, con: "Connection[Any]") -> "Target":
        """Return the target with PREFERRED replaced by the actual TLS mode of the control connection `con`.

        Raises TargetError if the server does not answer.
        """
        try:
            return replace(self, tls=self.tls.settled(is_encrypted(con)))
        except (pymysql.Error, OSError) as error:
            raise TargetError(f"{self.name}: no reply to SHOW STATUS: {fault_text(error)}") from error


def fault_text(error: BaseException) -> str:
    """Return a driver's error as one line such as `1045 Access denied ...`."""
    if error.args == (0, ""):  # PyMySQL's error for a closed connection
        return "the connection is closed"
    return printable(" ".join(str(part) for part in error.args) or type(error).__name__, MAX_FAULT)


@dataclass(frozen=True)
class Login:
    """Settings for a login to a server, in addition to its URL.

    If `tls` is None, the option file determines the TLS settings.
    """

    defaults_file: Path | None = None
    defaults_group: str | None = None
    ask_password: bool = False
    tls: Tls | None = None
    compress: bool = False
    cleartext_password: bool = False
    get_server_public_key: bool = False
    server_public_key: Path | str | None = None


def parse_target(
    url: str, login: Login | None = None, environ: Mapping[str, str] = os.environ, what: str = "--target"
) -> Target:
    """Return the target of a URL. Parts that are missing in the URL come from the option file.

    The password comes from the environment, or else from the option file. `what`: the option that contains the URL.
    Raises InputError for an invalid URL or file, and TargetError for a host without an address.
    """
    login = login or Login()
    options = read_options(login.defaults_file, login.defaults_group) if login.defaults_file else {}
    parts = {**options, **_url_parts(url, what)}
    asks, key = keys_of(options)
    path = parts.get("socket")
    host = None if path else parts.get("host")
    if not host and not path:
        raise InputError(f"{what}: expected a host or a socket, as in {SHAPE}, found {url!r}")
    port = _port(parts.get("port"))
    user = parts.get("user") or getpass.getuser()
    password = next((environ[name] for name in PASSWORD_VARIABLES if name in environ), parts.get("password"))
    if login.ask_password:
        password = getpass.getpass(f"Password of {user} on {path or host}: ")
    return Target(
        user=user,
        host=host,
        address=resolve(host, port) if host else None,
        port=port,
        socket=path,
        db=parts.get("database") or None,
        password=password,
        tls=replace(
            login.tls or Tls.of(options),
            cleartext_password=login.cleartext_password,
            get_server_public_key=login.get_server_public_key or asks,
            server_public_key=str(login.server_public_key or "") or key,
        ),
        compress=login.compress or "compress" in options,
    )


def _url_parts(url: str, what: str) -> dict[str, str]:
    """Return the parts of a URL by the names used in option files. Raises InputError."""
    try:
        parts = urlsplit(url)
    except ValueError:
        raise InputError(f"{what}: expected {SHAPE}, found {url!r}") from None
    if parts.scheme not in ("mysql", "mariadb"):
        raise InputError(f"{what}: expected {SHAPE}, found {url!r}")
    if parts.password is not None:
        raise InputError(
            f"{what}: every user of this machine can see a password on the command line."
            f" Set {PASSWORD_VARIABLES[0]}, or use --defaults-file or --ask-password"
        )
    query = dict(parse_qsl(parts.query))
    unknown = sorted(query.keys() - {"socket"})
    if unknown or parts.fragment:
        raise InputError(f"{what}: expected only ?socket=/path after the schema, found {unknown or [parts.fragment]}")
    try:
        port = parts.port
    except ValueError:
        raise InputError(f"{what}: expected a port from 1 to 65535 in {url!r}") from None
    values = {
        "user": unquote(parts.username or ""),
        "host": unquote(parts.hostname or ""),
        "port": str(port or ""),
        "database": unquote(parts.path.removeprefix("/")),
        "socket": query.get("socket", ""),
    }
    return {name: value for name, value in values.items() if value}


def _port(text: str | None) -> int:
    if not text:
        return DEFAULT_PORT
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise InputError(f"port: expected a number from 1 to 65535, found {text!r}")
    return int(text)


def resolve(host: str, port: int) -> str:
    """Return the first address of a host. All connections use this address.

    Sessions then need no name lookup. Raises TargetError.
    """
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as error:
        raise TargetError(f"cannot resolve the host {host!r}: {error.strerror}") from error
    return cast(str, addresses[0][4][0])
