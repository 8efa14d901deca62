# SPDX-License-Identifier: Apache-2.0
"""Messages between the lead process and a driver over a plain or TLS socket.

A message has a kind, JSON values and bytes. Format: u32 length of the JSON, u32 length of the bytes, JSON, bytes. Any
thread may send. Only one thread receives.
"""

import json
import select
import socket
import ssl
import struct
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from ...common.errors import QuerytapeError

HEAD = struct.Struct(">II")
MAX_JSON, MAX_BODY = 1 << 20, 16 << 20
SEND_S = 2.0  # longest time to send a message to a driver, in seconds
PIECE = 1 << 16


class ChannelClosed(QuerytapeError):
    """The connection has ended, or the received data is not a message."""


@dataclass(frozen=True)
class Message:
    """One message. `at_ns`: time of CLOCK_MONOTONIC at which the last byte of the message arrived."""

    kind: str
    values: dict[str, Any]
    body: bytes
    at_ns: int


class Channel:
    """One connection to the lead process or to a driver.

    Python's TLS sockets allow one thread at a time. Each call into them is therefore short and locked.
    `send_s`: longest time to send a message, in seconds. A slower peer is no longer reading.
    """

    def __init__(self, sock: socket.socket) -> None:
        self._sock = sock
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._buffer = bytearray()
        self.send_s = SEND_S
        self.closed = False
        with suppress(OSError):
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setblocking(False)

    def send(self, kind: str, body: bytes = b"", **values: Any) -> None:
        """Send a whole message. Raises ChannelClosed if this takes longer than send_s."""
        text = json.dumps({"kind": kind, **values}).encode()
        if len(text) > MAX_JSON or len(body) > MAX_BODY:
            raise ChannelClosed(
                f"a message between the lead process and a driver is too large: {len(text):,} bytes of JSON,"
                f" {len(body):,} bytes of data"
            )
        with self._sending:
            self._send(memoryview(HEAD.pack(len(text), len(body)) + text + body))

    def _send(self, data: memoryview) -> None:
        until = time.monotonic() + self.send_s
        while data:
            try:
                with self._lock:
                    sent = self._sock.send(data[:PIECE])
            except (BlockingIOError, ssl.SSLWantWriteError):
                self._wait(select.POLLOUT, until)
            except ssl.SSLWantReadError:
                self._wait(select.POLLIN, until)
            except (OSError, ValueError) as error:
                raise self._ended(f"the connection was lost: {error}") from error
            else:
                data = data[sent:]

    def _wait(self, events: int, until: float) -> None:
        if time.monotonic() >= until:
            raise self._ended(f"the other end of the connection accepted no data for {self.send_s:g} s")
        _poll(self._sock, events, 0.1)

    def receive(self, timeout_s: float | None = None, most: int = MAX_BODY) -> Message | None:
        """Return the next message, or None if no message arrives in time. Raises ChannelClosed.

        `most` is the maximum length of the message's body in bytes.
        """
        until = None if timeout_s is None else time.monotonic() + timeout_s
        while (message := self._take(most)) is None:
            try:
                with self._lock:
                    data = self._sock.recv(PIECE)
            except (BlockingIOError, ssl.SSLWantReadError, ssl.SSLWantWriteError):
                left = 1.0 if until is None else until - time.monotonic()
                if left <= 0:
                    return None
                _poll(self._sock, select.POLLIN, min(left, 1.0))
                continue
            except (OSError, ValueError) as error:
                raise self._ended(f"the connection was lost: {error}") from error
            if not data:
                raise self._ended("the connection was closed")
            self._buffer += data
        return message

    def _take(self, most: int) -> Message | None:
        if len(self._buffer) < HEAD.size:
            return None
        n, more = HEAD.unpack_from(self._buffer)
        if n > MAX_JSON or more > most:
            raise self._ended("received data that is not a message of a lead process or driver")
        end = HEAD.size + n + more
        if len(self._buffer) < end:
            return None
        text, body = self._buffer[HEAD.size : HEAD.size + n], bytes(self._buffer[HEAD.size + n : end])
        del self._buffer[:end]
        try:
            values = json.loads(text.decode())
            return Message(str(values.pop("kind")), values, body, time.monotonic_ns())
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise self._ended("received data that is not a message of a lead process or driver") from error

    def _ended(self, why: str) -> ChannelClosed:
        self.close()
        return ChannelClosed(why)

    def close(self) -> None:
        """Close the connection. A receiving thread gets ChannelClosed."""
        self.closed = True
        with suppress(OSError):
            self._sock.shutdown(socket.SHUT_RDWR)
        with self._lock, suppress(OSError):
            self._sock.close()


def _poll(sock: socket.socket, events: int, seconds: float) -> None:
    """Wait until a socket is ready or closed, or the time has passed."""
    if sock.fileno() < 0:
        return
    poll = select.poll()
    poll.register(sock.fileno(), events)
    poll.poll(seconds * 1000)
