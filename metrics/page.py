# SPDX-License-Identifier: Apache-2.0
"""Serve the metrics over HTTP in daemon threads. No client can slow down a replay.

Each request has a time limit of a few seconds. Only a few requests run at once. Failed connections are dropped
silently.
"""

import io
import socket
import sys
import threading
from contextlib import suppress
from socketserver import TCPServer
from types import TracebackType
from typing import Any, Self, TextIO
from wsgiref.simple_server import WSGIRequestHandler

from prometheus_client import make_wsgi_app
from prometheus_client.exposition import ThreadingWSGIServer
from prometheus_client.registry import CollectorRegistry

from ..common.errors import InputError
from ..common.units import address_text

REQUEST_S = 5.0  # time limit for a request and for each part of the answer
AT_ONCE = 8
LOOK_S = 0.2  # longest delay in seconds when the page is closed


class _Handler(WSGIRequestHandler):
    """Handles one request without output on standard error."""

    timeout = REQUEST_S

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing, because invalid requests are not worth a message."""

    def get_stderr(self) -> TextIO:
        """Return a buffer that discards error output."""
        return io.StringIO()


class _Server(ThreadingWSGIServer):
    """A server that answers a few requests at once and closes further connections."""

    def __init__(self, family: socket.AddressFamily, address: tuple[Any, ...], registry: CollectorRegistry) -> None:
        self.address_family = family
        self._free = threading.Semaphore(AT_ONCE)
        super().__init__(address, _Handler)
        self.set_app(make_wsgi_app(registry))

    def server_bind(self) -> None:
        """Bind without a DNS lookup of the host name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a new thread. Close the connection if too many requests are already running."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # no thread was started
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer the request and free its slot for another request."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Ignore a broken connection. Print any other error, because it is a bug in querytape."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"metrics: a request failed: {error!r}", file=sys.stderr)


class Page:
    """An HTTP page that serves a registry. It runs from the constructor until its `with` block ends.

    `url` is the address of the page. Raises InputError if the page cannot listen on its address.
    """

    def __init__(self, host: str, port: int, registry: CollectorRegistry) -> None:
        where = address_text(host, port)
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
            family, _, _, _, address = found[0]
            self._server = _Server(family, address, registry)
        except (OSError, UnicodeError) as error:
            reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
            raise InputError(f"--metrics {where}: {reason}; use port 0 for a free port") from error
        self.port = self._server.server_port
        self.url = f"http://{address_text(host, self.port)}/metrics"
        self.is_local = str(address[0]).startswith("127.") or address[0] == "::1"
        self._thread = threading.Thread(target=self._serve, name="metrics", daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        with suppress(OSError, ValueError):  # the socket was closed
            self._server.serve_forever(LOOK_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
