# SPDX-License-Identifier: Apache-2.0
"""Serves the metrics over HTTP, in threads that nobody waits for: whoever asks, and however, a run does not notice.

A request has to come within seconds, few are answered at once, and what goes wrong with one is forgotten.
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

REQUEST_S = 5.0  # for a request to come, and for each piece of the answer to go
AT_ONCE = 8
LOOK_S = 0.2  # how long the end of a page takes at most


class _Handler(WSGIRequestHandler):
    """One request; says nothing on standard error."""

    timeout = REQUEST_S

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing: garbage is no news."""

    def get_stderr(self) -> TextIO:
        """Return where what went wrong is written to."""
        return io.StringIO()


class _Server(ThreadingWSGIServer):
    """Few requests at once; those beyond are closed."""

    def __init__(self, family: socket.AddressFamily, address: tuple[Any, ...], registry: CollectorRegistry) -> None:
        self.address_family = family
        self._free = threading.Semaphore(AT_ONCE)
        super().__init__(address, _Handler)
        self.set_app(make_wsgi_app(registry))

    def server_bind(self) -> None:
        """Bind without asking a name server for a name."""
        TCPServer.server_bind(self)
        self.server_name, self.server_port = str(self.server_address[0]), int(self.server_address[1])
        self.setup_environ()

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread, or close what is too much."""
        if not self._free.acquire(blocking=False):
            self.shutdown_request(request)
            return
        try:
            super().process_request(request, client_address)
        except BaseException:  # there is no thread for it
            self._free.release()
            raise

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer, and make room."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Forget a connection that broke; what is our own fault is told."""
        error = sys.exc_info()[1]
        if not isinstance(error, OSError):
            print(f"metrics: a request failed: {error!r}", file=sys.stderr)


class Page:
    """The page of a registry at an address, from the constructor to the end of the block. `url`: where it is.

    Raises InputError where nothing can be served there.
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
        with suppress(OSError, ValueError):  # its socket was closed
            self._server.serve_forever(LOOK_S)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
