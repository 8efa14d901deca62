# SPDX-License-Identifier: Apache-2.0
"""Connect to a server that may be hostile.

Every wait and every answer is limited. No password is sent in clear text. A malformed answer raises
pymysql.err.OperationalError and closes the connection.
"""

import ssl
import struct
import time
from typing import TYPE_CHECKING, Any

import pymysql
from pymysql.connections import Connection
from pymysql.err import OperationalError

from .tls import KEY_REFUSED

MALFORMED, LOST = 2027, 2013  # values of CR_MALFORMED_PACKET and CR_SERVER_LOST
MAX_ANSWER_BYTES = 64 << 20
ANSWER_S = 60.0
AUTHENTICATION = 2061  # value of CR_AUTH_PLUGIN_ERR
# Plugins that send the password itself or send a hash from before MySQL 4.1, which is easily reversed.
CLEAR_PLUGINS = frozenset({b"mysql_clear_password", b"dialog", b"mysql_old_password"})
# Exceptions of the driver for bytes that do not follow the protocol.
CONFUSED = (
    LookupError,
    ValueError,
    TypeError,
    AttributeError,
    AssertionError,
    OverflowError,
    struct.error,
    MemoryError,
    RuntimeError,
)


if TYPE_CHECKING:
    Base = Connection[Any]
else:
    Base = Connection


class ControlConnection(Base):
    """A connection with limits: `timeout_s` for the login, `answer_s` and MAX_ANSWER_BYTES for each answer.

    - `streams`: results may have any size and duration, as long as each packet arrives in time.
    - `cleartext`: a clear text password may be sent over an encrypted connection.
    - `public_key`: the key that encrypts the password on an unencrypted connection.
    - `asks_for_key`: the server may send this key if `public_key` is missing. Otherwise no password is sent.
    - `tls`: None disables TLS. Without `tls_required`, TLS is used only if the server supports it.
    """

    def __init__(
        self,
        timeout_s: float,
        answer_s: float,
        *,
        streams: bool = False,
        cleartext: bool = False,
        asks_for_key: bool = False,
        public_key: bytes | None = None,
        tls: ssl.SSLContext | None = None,
        tls_required: bool = True,
        **options: Any,
    ) -> None:
        self._patience_s = answer_s
        self._streams = streams
        self._cleartext = cleartext
        self._asks_for_key = asks_for_key
        self._pinned = self._public_key = public_key
        self._tls = tls
        self._until = time.monotonic() + timeout_s
        self._room = MAX_ANSWER_BYTES
        super().__init__(
            **options,
            # Without a context, PyMySQL uses TLS if the server supports it and `ssl_disabled` is not set.
            ssl=tls if tls_required else None,
            ssl_disabled=tls is None,
            connect_timeout=max(timeout_s, 1),
            read_timeout=answer_s,
            write_timeout=answer_s,
        )

    @property
    def server_public_key(self) -> bytes | None:
        """The key that encrypts the password. If it is None, PyMySQL requests the key from the server.

        PyMySQL then stores the key in this property.
        """
        if self._pinned is None and not self._asks_for_key and self.password:
            raise OperationalError(AUTHENTICATION, KEY_REFUSED)
        return self._public_key

    @server_public_key.setter
    def server_public_key(self, key: bytes | None) -> None:
        if self._pinned is None:
            self._public_key = key

    def answer_within(self, answer_s: float) -> None:
        """Set the time limit of later answers."""
        self._patience_s = answer_s

    def abandon(self) -> None:
        """Close the connection at once, without reading the rest of an answer."""
        if (answer := self._result) is not None:  # type: ignore[attr-defined]
            answer.unbuffered_active = False
        self._force_close()  # type: ignore[attr-defined]

    def connect(self, sock: Any = None) -> None:
        """Log in. Raises pymysql.Error and closes the connection on failure."""
        try:
            super().connect(sock)
        except CONFUSED as error:
            raise self._malformed(error) from error

    def _create_ssl_ctx(self, sslp: Any) -> ssl.SSLContext:
        """Return querytape's own TLS context. PyMySQL would otherwise create a context if the server supports TLS."""
        assert self._tls is not None
        return self._tls

    def _execute_command(self, command: int, sql: Any) -> None:
        self._renew()
        super()._execute_command(command, sql)  # type: ignore[misc]

    def _read_query_result(self, unbuffered: bool = False) -> int:
        try:
            return int(super()._read_query_result(unbuffered=unbuffered))  # type: ignore[misc]
        except CONFUSED as error:
            raise self._malformed(error) from error

    def _read_bytes(self, n: int) -> bytes:
        """Read bytes as the driver does, but in pieces. The time limit is checked before each piece."""
        if self._streams:
            self._renew()
        self._room -= n
        if self._room < 0:
            raise self._lost(f"the reply is larger than {MAX_ANSWER_BYTES >> 20} MiB")
        pieces = []
        while n > 0:
            left_s = self._until - time.monotonic()
            if left_s <= 0:
                raise self._lost("no reply in time")
            try:
                self._sock.settimeout(left_s)  # type: ignore[attr-defined]
                piece = self._rfile.read1(n)  # type: ignore[attr-defined]
            except TimeoutError as error:
                raise self._lost("no reply in time") from error
            except OSError as error:
                raise self._lost(str(error)) from error
            if not piece:
                raise self._lost("the server closed the connection")
            pieces.append(piece)
            n -= len(piece)
        return b"".join(pieces)

    def _process_auth(self, plugin_name: bytes, *rest: Any) -> Any:
        if bytes(plugin_name) in CLEAR_PLUGINS and not (self._cleartext and self._secure):  # type: ignore[attr-defined]
            name = bytes(plugin_name).decode()
            how = "--ssl-mode REQUIRED or better" if self._cleartext else "--allow-cleartext-password and TLS"
            raise OperationalError(
                2059, (f"the server requests the password in clear text ({name}). This login requires {how}")
            )
        return super()._process_auth(plugin_name, *rest)  # type: ignore[misc]

    def _renew(self) -> None:
        self._until = time.monotonic() + self._patience_s
        self._room = MAX_ANSWER_BYTES

    def _lost(self, why: str) -> OperationalError:
        self._force_close()  # type: ignore[attr-defined]
        return OperationalError(LOST, f"Lost connection to the server: {why}")

    def _malformed(self, error: BaseException) -> OperationalError:
        self._force_close()  # type: ignore[attr-defined]
        return OperationalError(MALFORMED, f"the reply does not follow the MySQL protocol ({type(error).__name__})")


def connect(*, timeout_s: float, answer_s: float = ANSWER_S, **options: Any) -> ControlConnection:
    """Open a connection. `options` are arguments of ControlConnection. Raises pymysql.Error, OSError, RuntimeError."""
    try:
        return ControlConnection(timeout_s, answer_s, **options)
    except CONFUSED as error:
        raise pymysql.err.OperationalError(
            MALFORMED, (f"the reply does not follow the MySQL protocol ({error})")
        ) from error
