# SPDX-License-Identifier: Apache-2.0
"""A hostile server that sends the bytes that a test provides, regardless of the client."""

import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from .dialogue import packet as packet

CAPABILITIES = 0x000FA68D | 0x00080000  # protocol 4.1, secure connection, transactions, plugin auth


def greeting(version: bytes = b"8.0.36", plugin: bytes = b"mysql_native_password", more: int = 0) -> bytes:
    """Return the greeting of the server. `more`: additional capability flags."""
    low, high = (CAPABILITIES | more) & 0xFFFF, CAPABILITIES >> 16
    head = b"\x0a" + version + b"\0" + struct.pack("<I", 7) + b"A" * 8 + b"\0" + struct.pack("<H", low)
    return packet(0, head + b"\x21\x02\0" + struct.pack("<H", high) + b"\x15" + b"\0" * 10 + b"B" * 12 + b"\0"
                  + plugin + b"\0")  # fmt: skip


OK = b"\0\0\0\2\0\0\0"


class Client:
    """The client connection that a script controls. `heard` contains all bytes received from the client."""

    def __init__(self, connection: socket.socket, heard: list[bytes], ended: threading.Event) -> None:
        self._connection = connection
        self._heard = heard
        self.ended = ended

    def say(self, data: bytes) -> None:
        """Send bytes."""
        self._connection.sendall(data)

    def hear(self) -> bytes:
        """Return the next received bytes, or b"" at the end."""
        data = self._connection.recv(65536)
        self._heard.append(data)
        return data

    def hold(self) -> None:
        """Send nothing more and keep the connection open until the test ends."""
        self.ended.wait(120)

    def log_in(self) -> None:
        """Accept the login of the client with any password."""
        self.say(greeting())
        self.hear()
        self.say(packet(2, OK))
        self.hear()  # SET NAMES
        self.say(packet(1, OK))


class Hostile:
    """The port of the hostile server and the bytes that its clients sent."""

    def __init__(self, port: int) -> None:
        self.port = port
        self.heard: list[bytes] = []


@contextmanager
def hostile(script: Callable[[Client], None]) -> Iterator[Hostile]:
    """Run a server that runs `script` for each connection."""
    ended = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        server = Hostile(listener.getsockname()[1])

        def serve(connection: socket.socket) -> None:
            with connection, suppress(OSError):
                script(Client(connection, server.heard, ended))

        def accept() -> None:
            while not ended.is_set():
                with suppress(OSError):
                    threading.Thread(target=serve, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=accept, daemon=True).start()
        try:
            yield server
        finally:
            ended.set()
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)


def drip(client: Client, data: bytes, every_s: float) -> None:
    """Send bytes one at a time."""
    for byte in data:
        client.say(bytes([byte]))
        time.sleep(every_s)
