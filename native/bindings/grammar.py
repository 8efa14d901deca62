# SPDX-License-Identifier: Apache-2.0
"""Parse statements into their tables, their columns by role, and their joins."""

from typing import Any, Literal, get_args

from .._querytape import ffi, lib
from .errors import check
from .streams import Stream, stream_pointer

Wanted = Literal["parts", "keys", "rows"]
WANTED: tuple[Wanted, ...] = get_args(Wanted)


def parse_statements(source: Any, wanted: Wanted = "parts") -> Stream:
    """Return the parts of statements as rows. The input columns are id BIGINT, statement BLOB and digest VARCHAR.

    native/grammar/stream.c lists the output columns. Each statement is parsed with the SQL mode of its session. The
    digest of the statement shows this mode.

    - `wanted` = "parts": all parts
    - `wanted` = "keys": values that identify the rows that a statement writes or locks
    - `wanted` = "rows": values that identify the rows that a statement on one table can read or write, and its LIMIT

    The modes keys and rows read a fourth input column, params BLOB. `source` is any object with `__arrow_c_stream__`
    and 64-bit offsets. The source is read once. Raises NativeFault.
    """
    pointer, alive = stream_pointer(source)

    def fill(out: Any) -> None:
        error = ffi.new("struct qt_error *")
        check(lib.qt_parse_stream(pointer, WANTED.index(wanted), out, error), error)

    return Stream(fill, (source, alive))
