# SPDX-License-Identifier: Apache-2.0
"""Write the rows of a native stream as one Parquet file, without DuckDB."""

import os
from dataclasses import dataclass
from pathlib import Path

from .._querytape import ffi, lib
from .errors import check
from .streams import Stream


@dataclass(frozen=True)
class Part:
    """What was written. `known`: the places of the columns that hold any value.

    Of events alone: `first_ns`, `last_ns`, their earliest start and latest end, and their coarsest precision.
    """

    rows: int
    known: frozenset[int]
    first_ns: int
    last_ns: int
    precision_ns: int


class PartWriter:
    """Writes one file after the other and uses its memory again; one thread at a time."""

    def __init__(self) -> None:
        self._writer = ffi.gc(lib.qt_part_writer_new(), lib.qt_part_writer_free)
        if self._writer == ffi.NULL:
            raise MemoryError

    def write(self, stream: Stream, path: Path) -> Part:
        """Write a stream's rows; without a row the file is left as it was. Raises NativeFault."""
        part, error = ffi.new("struct qt_part *"), ffi.new("struct qt_error *")
        check(lib.qt_part_write(self._writer, stream.open(), os.fsencode(path), part, error), error)
        known = frozenset(place for place in range(64) if part.known >> place & 1)
        return Part(part.rows, known, part.first_ns, part.last_ns, part.precision_ns)
