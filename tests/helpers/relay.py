# SPDX-License-Identifier: Apache-2.0
"""A recorder that needs no privileges.

The recorder is a proxy between clients and a server. It writes their traffic as packets.
"""

import select
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.helpers.dialogue import CLIENT, SERVER, Dialogue, Segment, write_pcap
from tests.helpers.processes import run_command

PATIENCE_S = 30


class Relay:
    """Listens on `port` of the loopback interface and forwards all traffic to the server port."""

    def __init__(self, server_port: int) -> None:
        self._to = server_port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._segments: list[tuple[Dialogue, Segment]] = []
        self._stamps_us: list[int] = []
        self._threads: list[threading.Thread] = []
        self._sources: set[socket.socket] = {self._listener}
        self._in_hand = 0  # data received from a source and not yet forwarded
        self.port = self._listener.getsockname()[1]
        self._start(self._accept)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._sources.discard(self._listener)
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()
        for thread in self._threads:
            thread.join(30)

    def write(self, path: Path) -> Path:
        """Wait until all sent data was forwarded, then write the traffic in order to a capture file."""
        self._settle()
        return write_pcap(path, self._segments, stamps_us=self._stamps_us)

    def capture(self, tape: Path, *more: object) -> Path:
        """Write the forwarded traffic to a file next to the tape and capture it. Return the tape."""
        run_command("capture", "packets", self.write(tape.with_suffix(".pcap")), "--port", 3306, *more, "-o", tape)
        return tape

    @property
    def segments(self) -> list[tuple[Dialogue, Segment]]:
        """Wait until all sent data was forwarded, then return the traffic in order."""
        self._settle()
        with self._lock:
            return list(self._segments)

    def _settle(self) -> None:
        """Wait until all data sent by clients and servers was forwarded."""
        until = time.monotonic() + PATIENCE_S
        while time.monotonic() < until:
            with self._lock:
                if self._in_hand == 0 and not select.select([*self._sources], [], [], 0)[0]:
                    return
            time.sleep(0.005)

    @contextmanager
    def _taking(self, source: socket.socket) -> Iterator[None]:
        """Wait until a source has data. The source counts as busy until the block has forwarded the data."""
        select.select([source], [], [])
        with self._lock:
            self._in_hand += 1
        try:
            yield
        finally:
            with self._lock:
                self._in_hand -= 1

    def _start(self, run: Callable[..., None], *args: object) -> None:
        thread = threading.Thread(target=run, args=args, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _accept(self) -> None:
        while True:
            try:
                with self._taking(self._listener):
                    client, (_, port) = self._listener.accept()
                    self._connect(client, port)
            except (OSError, ValueError):  # the socket was closed
                return

    def _connect(self, client: socket.socket, port: int) -> None:
        server = socket.create_connection(("127.0.0.1", self._to))
        dialogue = Dialogue(client_port=port)
        with self._noting(dialogue):
            dialogue.open()
        with self._lock:
            self._sources |= {client, server}
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
        data = b"-"
        while data:
            with self._taking(source):
                data = self._take(source)
                with self._noting(dialogue):
                    dialogue.say(way, data, mss=32000) if data else dialogue.raw(way, b"", 0x11)
                with suppress(OSError):
                    target.sendall(data) if data else target.shutdown(socket.SHUT_WR)
                if not data:
                    with self._lock:
                        self._sources.discard(source)

    @staticmethod
    def _take(source: socket.socket) -> bytes:
        try:
            return source.recv(65536)
        except OSError:
            return b""
