# SPDX-License-Identifier: Apache-2.0
"""The native packet capture: files or an interface, to events."""

from collections.abc import Sequence
from pathlib import Path

from ._querytape import ffi, lib
from .reader import Reader, c_paths


def open_packets(
    paths: Sequence[str | Path],
    ports: Sequence[int] = (3306,),
    interface: str | None = None,
    user: str | None = None,
    ring_bytes: int = 256 << 20,
    part_s: float = 5.0,
) -> Reader:
    """Return a reader of capture files ("-" is standard input) or of an interface.

    `ring_bytes`: packets that wait for the parser at most; `part_s`: how long a live part gathers; `user`: whom root
    becomes once the interface is open. Raises NativeFault for what is no capture file or interface.
    """
    options = ffi.new("struct qt_packets_options *")
    c_ports = ffi.new("int32_t[]", list(ports))
    texts = [ffi.NULL if text is None else ffi.new("char[]", text.encode()) for text in (interface, user)]
    options.ports, options.n_ports = c_ports, len(ports)
    options.interface, options.user = texts
    options.ring_bytes, options.part_ns = ring_bytes, int(part_s * 1e9)
    names, n, alive = c_paths(paths)
    reader = Reader(lambda error: lib.qt_packets_open(names, n, options, error))
    del alive
    return reader
