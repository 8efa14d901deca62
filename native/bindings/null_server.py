# SPDX-License-Identifier: Apache-2.0
"""Start and stop the native null server, which answers every command immediately. It serves to measure the replayer."""

from pathlib import Path
from types import TracebackType
from typing import Self

from .._querytape import ffi, lib
from .errors import check


class NullServer:
    """A server on a free local `port` or on a unix socket. `delay_ns`: wait before each answer."""

    def __init__(self, socket: Path | None = None, threads: int = 1, delay_ns: int = 0) -> None:
        error = ffi.new("struct qt_error *")
        path = ffi.NULL if socket is None else ffi.new("char[]", str(socket).encode())
        self._server = lib.qt_null_start(path, threads, delay_ns, error)
        if self._server == ffi.NULL:
            check(error.code, error)
        self.port = int(lib.qt_null_port(self._server))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @property
    def answers(self) -> int:
        """Number of answers that the server has sent so far."""
        return 0 if self._server == ffi.NULL else int(lib.qt_null_answers(self._server))

    def close(self) -> None:
        """End all connections and threads of the server."""
        lib.qt_null_stop(self._server)
        self._server = ffi.NULL
