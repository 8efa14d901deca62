# SPDX-License-Identifier: Apache-2.0
"""Parse statements: the tables that they name, columns by role, joins."""

from typing import Any, Literal, get_args

from .._querytape import ffi, lib
from .errors import check
from .streams import Stream, stream_pointer

Wanted = Literal["parts", "keys", "rows"]
WANTED: tuple[Wanted, ...] = get_args(Wanted)


def parse_statements(source: Any, wanted: Wanted = "parts") -> Stream:
    """Return the parts of statements (id BIGINT, statement BLOB, digest VARCHAR) as rows.

    native/grammar/stream.c has the columns. Each is read with the SQL mode of its session, which its digest shows.
    `wanted`: all parts; or the values that show which rows are written or locked (keys); or those that show which rows
    a statement about one table can read or write, and its LIMIT (rows). The last two read a fourth column, params BLOB.
    `source` is anything with `__arrow_c_stream__`, with 64-bit offsets, and is read once. Raises NativeFault.
    """
    pointer, alive = stream_pointer(source)

    def fill(out: Any) -> None:
        error = ffi.new("struct qt_error *")
        check(lib.qt_parse_stream(pointer, WANTED.index(wanted), out, error), error)

    return Stream(fill, (source, alive))
