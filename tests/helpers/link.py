# SPDX-License-Identifier: Apache-2.0
"""A link between two programs on the loopback interface. Cutting the link stops all traffic without notifying either
side.
"""

import select
import socket
import threading
from contextlib import suppress
from types import TracebackType
from typing import Self


class Link:
    """Forwards the traffic that arrives at `port` until the link is cut. `to` is the destination port and may be set
    later.
    """

    def __init__(self, to: int = 0) -> None:
        self.to = to
        self.passed = bytearray()  # all bytes of both directions
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._cut = threading.Event()
        self._end = threading.Event()
        self._open: list[socket.socket] = [self._listener]
        self.port = int(self._listener.getsockname()[1])

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._end.set()
        for each in self._open:
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def cut(self) -> None:
        """Stop forwarding. Both sides keep their connections open."""
        self._cut.set()

    def _accept(self) -> None:
        while not self._end.is_set():
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self.to))
            except OSError:
                return
            self._open += [near, far]
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=self._pass, args=(one, other), daemon=True).start()

    def _pass(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError, ValueError):
            while not self._end.is_set():
                if self._cut.is_set():
                    self._end.wait()
                    return
                if not select.select([one], [], [], 0.05)[0]:
                    continue
                data = one.recv(1 << 16)
                if self._cut.is_set():
                    continue
                self.passed += data
                if not data:
                    other.shutdown(socket.SHUT_WR)
                    return
                other.sendall(data)
