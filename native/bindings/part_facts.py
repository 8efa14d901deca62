# SPDX-License-Identifier: Apache-2.0
"""Watch a native stream of events while DuckDB reads it: what it holds, without reading it again."""

from dataclasses import dataclass

from .._querytape import ffi, lib
from .errors import check
from .streams import Stream


@dataclass(frozen=True)
class PartFacts:
    """What was read from a stream. `known`: the places of the columns that hold any value.

    Of events alone: `first_ns`, `last_ns`, their earliest start and latest end, and their coarsest precision.
    """

    rows: int
    known: frozenset[int]
    first_ns: int
    last_ns: int
    precision_ns: int


class WatchedStream(Stream):
    """The same rows as another stream gives; `facts` tells what was read so far."""

    def __init__(self, inner: Stream) -> None:
        error, memory = ffi.new("struct qt_error *"), ffi.new("char[]", lib.qt_stream_size())
        stream = ffi.cast("struct ArrowArrayStream *", memory)
        inner.fill(stream)
        self._inner = inner
        self._watch = lib.qt_counted_stream_new(stream, error)
        if self._watch == ffi.NULL:
            lib.qt_stream_release(stream)
            check(error.code, error)
        super().__init__(lambda out: lib.qt_counted_stream_open(self._watch, out), inner)

    @property
    def facts(self) -> PartFacts:
        """What was read; not after `close`."""
        found = lib.qt_counted_stream_facts(self._watch)
        known = frozenset(place for place in range(64) if found.known >> place & 1)
        return PartFacts(found.rows, known, found.first_ns, found.last_ns, found.precision_ns)

    def is_empty(self) -> bool:
        """Return whether there is no row; the first rows are read for it, and stay to be read. Raises NativeFault."""
        error = ffi.new("struct qt_error *")
        check(lib.qt_counted_stream_read_ahead(self._watch, error), error)
        return not self.facts.rows

    def close(self) -> None:
        """Release the stream."""
        super().close()
        lib.qt_counted_stream_free(self._watch)
        self._watch = ffi.NULL
        self._inner.close()
