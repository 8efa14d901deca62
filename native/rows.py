# SPDX-License-Identifier: Apache-2.0
"""Events from rows that DuckDB reads."""

from typing import Any

from ._querytape import lib
from .reader import Reader
from .streams import stream_pointer


def open_rows(relation: Any, owner: object) -> Reader:
    """Return a reader of anything with `__arrow_c_stream__` that has the columns of `qt_rows_source_open`.

    `owner` (the connection) is kept alive as long as the reader.
    """
    pointer, alive = stream_pointer(relation)
    reader = Reader(lambda error: lib.qt_rows_source_open(pointer, error))
    reader.keep = (relation, owner, alive)
    return reader
