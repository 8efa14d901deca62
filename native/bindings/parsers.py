# SPDX-License-Identifier: Apache-2.0
"""Open the native parsers. Each function handles one kind of input and returns a Reader.

`paths` form one tape in the given order. "-" is standard input. `timezone_ns`: zone of local times in the log. None
means the zone that the log shows, else UTC. `max_event`: maximum bytes to keep of an event. 0 means 1100 MiB. The rest
of the event is cut off, and the event is marked.

Before the first part is requested, a function reads only the first bytes of a file. Every function raises NativeFault
if a file cannot be opened or is of another kind.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from ...common.zones import Zone
from .._querytape import ffi, lib
from .errors import check
from .inputs import CPaths, Paths, c_path
from .reader import Reader
from .streams import Stream, stream_pointer


@dataclass(frozen=True)
class Follow:
    """Options to follow the last path like `tail -F` until Reader.stop.

    After the stop, the rest of the file is still read. `part_s`: seconds after which a part is closed. `from_end`: skip
    the current content of the file.
    """

    part_s: float = 5.0
    from_end: bool = False


def open_slowlog(
    paths: Paths, timezone_ns: Zone | None = None, max_event: int = 0, follow: Follow | None = None
) -> Reader:
    """Return a reader of slow query logs."""
    return _open_log(lib.qt_slowlog_open, paths, timezone_ns, max_event=max_event, follow=follow)


def open_general(
    paths: Paths, timezone_ns: Zone | None = None, max_event: int = 0, follow: Follow | None = None
) -> Reader:
    """Return a reader of general query logs."""
    return _open_log(lib.qt_general_open, paths, timezone_ns, max_event=max_event, follow=follow)


def open_server_audit(
    paths: Paths,
    timezone_ns: Zone | None = None,
    limit: int = 1024,
    max_event: int = 0,
    follow: Follow | None = None,
) -> Reader:
    """Return a reader of MariaDB server_audit logs. `limit`: server_audit_query_log_limit of the server in bytes."""
    return _open_log(lib.qt_server_audit_open, paths, timezone_ns, limit, max_event=max_event, follow=follow)


def open_binlog(
    paths: Paths, timezone_ns: Zone | None = None, max_event: int = 0, follow: Follow | None = None
) -> Reader:
    """Return a reader of mysqlbinlog output. Most events need no time zone, because they have a SET TIMESTAMP."""
    return _open_log(lib.qt_binlog_open, paths, timezone_ns, max_event=max_event, follow=follow)


def open_proxysql(paths: Paths, max_event: int = 0, follow: Follow | None = None) -> Reader:
    """Return a reader of ProxySQL events logs in binary format (mysql-eventslog_format=1)."""
    return _open_log(lib.qt_proxysql_open, paths, None, max_event=max_event, follow=follow)


def open_packets(
    paths: Paths,
    ports: Sequence[int] = (3306,),
    interface: str | None = None,
    user: str | None = None,
    ring_bytes: int = 256 << 20,
    part_s: float = 5.0,
    keylog: str | None = None,
    keylog_grows: bool = False,
) -> Reader:
    """Return a reader of capture files (pcap, pcapng), or of a network interface if there are no paths.

    `ports`: server ports. `ring_bytes`: maximum bytes of packets that wait for the parser. `part_s`: seconds per part
    of a live capture. `user`: account that replaces root after the interface is open. `keylog`: file with TLS secrets.
    `keylog_grows`: secrets may arrive after the packets, so connections wait for their secrets.
    """
    options = ffi.new("struct qt_packets_options *")
    c_ports = ffi.new("int32_t[]", list(ports))
    texts = [ffi.NULL if text is None else ffi.new("char[]", os.fsencode(text)) for text in (interface, user, keylog)]
    options.ports, options.n_ports = c_ports, len(ports)
    options.interface, options.user, options.keylog = texts
    options.keylog_grows = keylog_grows
    options.ring_bytes, options.part_ns = ring_bytes, int(part_s * 1e9)
    names = CPaths(paths)
    options.opened = names.opened
    return Reader(lambda error: lib.qt_packets_open(names.array, names.count, options, error))


class LiveFilter(NamedTuple):
    """The libpcap filter of a live capture.

    `ports_only`: whether the filter passes neither packets in tunnels nor IP fragments.
    """

    text: str
    ports_only: bool


def live_filter(link: int, ports: Sequence[int]) -> LiveFilter:
    """Return the libpcap filter of a live capture. `link`: DLT_ number of the link layer."""
    size = 4096 + 512 * len(ports)
    out, ports_only, error = ffi.new("char[]", size), ffi.new("int32_t *"), ffi.new("struct qt_error *")
    c_ports = ffi.new("int32_t[]", list(ports))
    check(lib.qt_packets_filter(link, c_ports, len(ports), out, size, ports_only, error), error)
    text = ffi.string(out)
    assert isinstance(text, bytes)
    return LiveFilter(text.decode("ascii"), bool(ports_only[0]))


def open_rows(relation: Any, resources: ExitStack) -> Reader:
    """Return a reader of any object with `__arrow_c_stream__` and the columns of `qt_rows_source_open`.

    The reader takes ownership of `resources` (database connection, files) and closes them. After an error, the
    resources stay with the caller.
    """
    pointer, capsule = stream_pointer(relation)
    reader = Reader(lambda error: lib.qt_rows_source_open(pointer, error))
    reader.resources.push(resources.pop_all())
    reader.resources.callback(lambda *kept: None, relation, capsule)
    return reader


class Lines:
    """A table of the JSON objects in files, with columns `line`, `file` and `place` (line number in the file).

    Lines that are not JSON objects are also rows. An object may span several lines. Several objects in one line get
    separate places. Brackets and commas of an array around objects are skipped. Raises NativeFault if a file cannot be
    opened.
    """

    def __init__(self, paths: Paths) -> None:
        options = ffi.new("struct qt_log_options *")
        names = CPaths(paths)
        options.opened = names.opened
        error = ffi.new("struct qt_error *")
        self._lines = lib.qt_lines_open(names.array, names.count, options, error)
        if self._lines == ffi.NULL:
            check(error.code, error)
        self.stream = Stream(self._fill, self)

    def _fill(self, out: Any) -> None:
        error = ffi.new("struct qt_error *")
        check(lib.qt_lines_stream(self._lines, out, error), error)

    def close(self) -> None:
        """Free the lines and their Arrow stream."""
        self.stream.close()
        if self._lines != ffi.NULL:
            lib.qt_lines_close(self._lines)
            self._lines = ffi.NULL


def slowlog_first_time(path: str | Path) -> int:
    """Return the end time of the first event in a slow log, in nanoseconds since the epoch.

    Raises NativeFault if no event in the file has a time.
    """
    error = ffi.new("struct qt_error *")
    out = ffi.new("int64_t *")
    check(lib.qt_slowlog_first_time(c_path(path), out, error), error)
    return int(out[0])


def _open_log(
    open_: Callable[..., Any],
    paths: Paths,
    timezone_ns: Zone | None,
    *more: int,
    max_event: int = 0,
    follow: Follow | None = None,
) -> Reader:
    """Call a C function that takes paths and `struct qt_log_options *`."""
    options = ffi.new("struct qt_log_options *")
    options.has_timezone = timezone_ns is not None
    changes = timezone_ns if isinstance(timezone_ns, tuple) else ()
    columns = [ffi.new("int64_t[]", [change[place] for change in changes]) for place in (0, 1)]
    options.zone_from_ns, options.zone_offset_ns = columns
    options.n_zone = len(changes)
    options.timezone_ns = timezone_ns if isinstance(timezone_ns, int) else 0
    options.max_event = max_event
    if follow is not None:
        options.follow, options.from_end, options.part_ns = 1, follow.from_end, int(follow.part_s * 1e9)
    names = CPaths(paths)
    options.opened = names.opened
    return Reader(lambda error: open_(names.array, names.count, options, *more, error))
