# SPDX-License-Identifier: Apache-2.0
"""A recorder that needs no privilege: it stands between clients and a server, and writes what passes as packets."""

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.helpers.dialogue import CLIENT, SERVER, Dialogue, Segment, write_pcap


class Relay:
    """Listens on `port` of the loopback and passes everything on to the server's port."""

    def __init__(self, server_port: int) -> None:
        self._to = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._segments: list[tuple[Dialogue, Segment]] = []
        self._stamps_us: list[int] = []
        self._threads: list[threading.Thread] = []
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(30)

    def write(self, path: Path) -> Path:
        """Write what passed, in its order."""
        return write_pcap(path, self._segments, stamps_us=self._stamps_us)

    @property
    def segments(self) -> list[tuple[Dialogue, Segment]]:
        """What passed until now, in its order."""
        with self._lock:
            return list(self._segments)

    def _start(self, run: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                client, (_, port) = self._listener.accept()
            except OSError:
                return
            server = socket.create_connection(("127.0.0.1", self._to))
            dialogue = Dialogue(client_port=port)
            with self._noting(dialogue):
                dialogue.open()
            self._start(self._pass_on, client, server, dialogue, CLIENT)
            self._start(self._pass_on, server, client, dialogue, SERVER)

    @contextmanager
    def _noting(self, dialogue: Dialogue) -> Iterator[None]:
        with self._lock:
            before = len(dialogue.segments)
            yield
            self._segments += [(dialogue, segment) for segment in dialogue.segments[before:]]
            self._stamps_us += [time.time_ns() // 1000] * (len(dialogue.segments) - before)

    def _pass_on(self, source: socket.socket, target: socket.socket, dialogue: Dialogue, way: int) -> None:
        while data := self._take(source):
            with self._noting(dialogue):
                dialogue.say(way, data, mss=32000)
            target.sendall(data)
        with self._noting(dialogue):
            dialogue.raw(way, b"", 0x11)
        with suppress(OSError):
            target.shutdown(socket.SHUT_WR)

    @staticmethod
    def _take(source: socket.socket) -> bytes:
        try:
            return source.recv(65536)
        except OSError:
            return b""
