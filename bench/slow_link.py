# SPDX-License-Identifier: Apache-2.0
"""A link with a delay: forwards TCP connections, and passes all bytes on after this time.

Usage: python -m querytape.bench.slow_link HOST:PORT SECONDS. The first line of the output is the address of the link.
"""

import queue
import socket
import sys
import threading
import time


def main() -> None:
    """Accept connections until the process is killed."""
    host, _, port = sys.argv[1].rpartition(":")
    delay_s = float(sys.argv[2])
    with socket.create_server(("127.0.0.1", 0)) as listener:
        print(f"127.0.0.1:{listener.getsockname()[1]}", flush=True)
        while True:
            near, _ = listener.accept()
            far = socket.create_connection((host, int(port)))
            for one, other in ((near, far), (far, near)):
                one.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                threading.Thread(target=forward, args=(one, other, delay_s), daemon=True).start()


def forward(one: socket.socket, other: socket.socket, delay_s: float) -> None:
    """Pass the bytes of one direction on."""
    waiting: queue.SimpleQueue[tuple[float, bytes]] = queue.SimpleQueue()
    threading.Thread(target=send, args=(waiting, other), daemon=True).start()
    while True:
        try:
            data = one.recv(1 << 16)
        except OSError:
            data = b""
        waiting.put((time.monotonic() + delay_s, data))
        if not data:
            return


def send(waiting: "queue.SimpleQueue[tuple[float, bytes]]", other: socket.socket) -> None:
    """Send each piece at its time. An empty piece ends the direction."""
    while True:
        at, data = waiting.get()
        time.sleep(max(0.0, at - time.monotonic()))
        try:
            if not data:
                other.shutdown(socket.SHUT_WR)
                return
            other.sendall(data)
        except OSError:
            return


if __name__ == "__main__":
    main()
