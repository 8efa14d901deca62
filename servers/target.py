# SPDX-License-Identifier: Apache-2.0
"""Where a replay goes: `mysql://user@host:port/db?socket=/path`, option files, and passwords that are in neither.

The unix socket is used only where one is given, in the URL or the option file: `localhost` is a host like any other
here (the mysql client would take its socket). An IPv6 address stands in brackets, as in every URL.
"""

import configparser
import getpass
import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast
from urllib.parse import parse_qsl, unquote, urlsplit

import pymysql
from pymysql.connections import Connection

from ..errors import InputError, TargetError
from .tls import Tls, is_encrypted

DEFAULT_PORT = 3306
PASSWORD_VARIABLES = ("QUERYTAPE_PASSWORD", "MYSQL_PWD")
SHAPE = "mysql://user@host:3306/db, or mysql://user@/db?socket=/path"
ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "r": "\r", "s": " ", "\\": "\\", '"': '"', "'": "'"}


@dataclass(frozen=True)
class Target:
    """A server to replay against; the password is never shown. Exactly one of `address` and `socket` is set."""

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
        """Return it as people write it, without a password."""
        where = self.socket if self.socket else f"{self.host}:{self.port}"
        return f"{self.user}@{where}" + (f"/{self.db}" if self.db else "")

    def connect(self, timeout_s: int = 10) -> "Connection[Any]":
        """Open a control connection. Raises TargetError with what the server or the network said."""
        try:
            con = pymysql.connect(
                host=self.address,
                port=self.port,
                unix_socket=self.socket,
                user=self.user,
                password=self.password or "",
                charset="utf8mb4",
                autocommit=True,
                connect_timeout=timeout_s,
                ssl=self.tls.context() if self.socket is None or self.tls.required else None,
            )
            if self.tls.required and not is_encrypted(con):
                con.close()
                raise TargetError(f"{self.name} has no TLS, and --ssl-mode {self.tls.mode} asks for it")
            return con
        except (pymysql.Error, OSError, RuntimeError) as fault:
            raise TargetError(f"can't connect to {self.name}: {fault_text(fault)}{_hint(fault)}") from fault

    def settled(self, con: "Connection[Any]") -> "Target":
        """Return it with a TLS mode that is on or off: PREFERRED is what the control connection came to."""
        return replace(self, tls=self.tls.settled(is_encrypted(con)))


def fault_text(fault: BaseException) -> str:
    """Return a driver's error as one line: `1045 Access denied ...`."""
    return " ".join(str(part) for part in fault.args) or type(fault).__name__


def _hint(fault: BaseException) -> str:
    number = fault.args[0] if fault.args else None
    if number in (1045, 1698):
        return f": give the password in {PASSWORD_VARIABLES[0]}, an option file or with --ask-password"
    if number in (2002, 2003):
        return ": is it running, and does it listen there?"
    return ""


def parse_target(
    url: str,
    defaults_file: Path | None = None,
    defaults_group: str | None = None,
    ask_password: bool = False,
    environ: Mapping[str, str] = os.environ,
    tls: Tls | None = None,
    compress: bool = False,
) -> Target:
    """Return the target of a URL; what it leaves open comes from the option file, then the environment.

    Raises InputError for a URL or file that can't be understood, TargetError for a host that has no address.
    """
    options = read_options(defaults_file, defaults_group) if defaults_file else {}
    given = {**options, **_url_parts(url)}
    path = given.get("socket")
    host = None if path else given.get("host")
    if not host and not path:
        raise InputError(f"--target: expected a host or a socket, as in {SHAPE}; found {url!r}")
    port = _port(given.get("port"))
    user = given.get("user") or getpass.getuser()
    password = next((environ[name] for name in PASSWORD_VARIABLES if name in environ), given.get("password"))
    if ask_password:
        password = getpass.getpass(f"Password of {user} on {path or host}: ")
    return Target(
        user=user,
        host=host,
        address=resolve(host, port) if host else None,
        port=port,
        socket=path,
        db=given.get("database") or None,
        password=password,
        tls=tls or Tls.of(options),
        compress=compress or "compress" in options,
    )


def _url_parts(url: str) -> dict[str, str]:
    """Return what a URL says, by the names that option files use."""
    parts = urlsplit(url)
    if parts.scheme not in ("mysql", "mariadb"):
        raise InputError(f"--target: expected {SHAPE}; found {url!r}")
    if parts.password is not None:
        raise InputError(
            "--target: a password does not belong on the command line, where every user of this machine can read it:"
            f" set {PASSWORD_VARIABLES[0]}, or use --defaults-file or --ask-password"
        )
    query = dict(parse_qsl(parts.query))
    unknown = sorted(query.keys() - {"socket"})
    if unknown or parts.fragment:
        raise InputError(
            f"--target: expected nothing but ?socket=/path behind the schema; found {unknown or [parts.fragment]}"
        )
    try:
        port = parts.port
    except ValueError:
        raise InputError(f"--target: expected a port from 1 to 65535 in {url!r}") from None
    found = {
        "user": unquote(parts.username or ""),
        "host": unquote(parts.hostname or ""),
        "port": str(port or ""),
        "database": unquote(parts.path.removeprefix("/")),
        "socket": query.get("socket", ""),
    }
    return {name: value for name, value in found.items() if value}


def _port(text: str | None) -> int:
    if not text:
        return DEFAULT_PORT
    if not text.isdigit() or not 0 < int(text) < 65536:
        raise InputError(f"port: expected a number from 1 to 65535, found {text!r}")
    return int(text)


def resolve(host: str, port: int) -> str:
    """Return the first address of a host: once for all connections, so that no session waits for a name."""
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as fault:
        raise TargetError(f"the host {host!r} has no address: {fault.strerror}") from fault
    return cast(str, found[0][4][0])


def read_options(path: Path, group: str | None = None) -> dict[str, str]:
    """Return the options of a MySQL option file: its [client], then the group asked for.

    `!include` lines are not followed. Raises InputError where the file or the group is missing.
    """
    parser = configparser.ConfigParser(
        allow_no_value=True, strict=False, interpolation=None, delimiters=("=",), empty_lines_in_values=False
    )
    parser.optionxform = lambda name: name.strip().replace("-", "_").lower()  # type: ignore[assignment,method-assign]
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
        parser.read_string("\n".join(line.strip() for line in lines if not line.lstrip().startswith("!")), str(path))
    except (OSError, UnicodeDecodeError, configparser.Error) as fault:
        reason = str(fault).replace("\n", " ")
        raise InputError(f"--defaults-file {path}: can't be read as an option file: {reason}") from fault
    if group is not None and not parser.has_section(group):
        raise InputError(f"--defaults-group {group}: {path} has no group [{group}]")
    found: dict[str, str] = {}
    for section in ("client", group):
        if section and parser.has_section(section):
            found.update({name: option_value(value or "") for name, value in parser.items(section)})
    return found


def option_value(text: str) -> str:
    """Return an option's value as MySQL reads it: quotes taken off, a comment behind it cut, escapes resolved."""
    text = text.strip()
    quoted = re.match(r"""(["'])(.*)\1\s*(#.*)?$""", text)
    bare = quoted[2] if quoted else text.split("#", 1)[0].rstrip()
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m[1], m[0]), bare)
