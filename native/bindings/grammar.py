# SPDX-License-Identifier: Apache-2.0
"""Parse statements: the tables that they name, columns by role, joins."""

from typing import Any

from .._querytape import ffi, lib
from .errors import check
from .streams import Stream, stream_pointer


def parse_statements(source: Any, *, only_values: bool = False) -> Stream:
    """Return the parts of statements (id BIGINT, statement BLOB, digest VARCHAR) as rows.

    native/grammar/stream.c has the columns. Each is read as its session read it, which the digest tells. `only_values`:
    only the values that tell which rows are written or locked; params BLOB, the fourth column then, has those that are
    bound. `source` is anything with `__arrow_c_stream__`, with 64-bit offsets, and is read once. Raises NativeFault.
    """
    pointer, alive = stream_pointer(source)

    def fill(out: Any) -> None:
        error = ffi.new("struct qt_error *")
        check(lib.qt_parse_stream(pointer, int(only_values), out, error), error)

    return Stream(fill, (source, alive))
