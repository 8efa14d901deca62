# SPDX-License-Identifier: Apache-2.0
"""The native parsers of text logs other than the slow log."""

from collections.abc import Sequence
from pathlib import Path

from ._querytape import lib
from .reader import Reader, c_paths, log_options


def open_general(paths: Sequence[str | Path], timezone_ns: int | None = None) -> Reader:
    """Return a reader of general query logs ("-" is standard input) that form one tape, in the order given.

    Raises NativeFault where a file can't be opened. Local times without `timezone_ns` are taken as UTC.
    """
    names, n, alive = c_paths(paths)
    reader = Reader(lambda error: lib.qt_general_open(names, n, log_options(timezone_ns), error))
    del alive
    return reader


def open_server_audit(paths: Sequence[str | Path], timezone_ns: int | None = None, limit: int = 1024) -> Reader:
    """Return a reader of logs of MariaDB's server_audit plugin; `limit`: its server_audit_query_log_limit.

    Raises NativeFault where a file can't be opened. Local times without `timezone_ns` are taken as UTC.
    """
    names, n, alive = c_paths(paths)
    reader = Reader(lambda error: lib.qt_server_audit_open(names, n, log_options(timezone_ns), limit, error))
    del alive
    return reader


def open_binlog(paths: Sequence[str | Path], timezone_ns: int | None = None) -> Reader:
    """Return a reader of mysqlbinlog's output.

    Raises NativeFault where a file can't be opened. Local times without `timezone_ns` are taken as UTC;
    most events have a SET TIMESTAMP, which needs none.
    """
    names, n, alive = c_paths(paths)
    reader = Reader(lambda error: lib.qt_binlog_open(names, n, log_options(timezone_ns), error))
    del alive
    return reader


def open_proxysql(paths: Sequence[str | Path]) -> Reader:
    """Return a reader of ProxySQL's events logs in format 1. Raises NativeFault where a file can't be opened."""
    names, n, alive = c_paths(paths)
    reader = Reader(lambda error: lib.qt_proxysql_open(names, n, error))
    del alive
    return reader
