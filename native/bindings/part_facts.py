# SPDX-License-Identifier: Apache-2.0
"""Collect properties of a native event stream while DuckDB reads it, without a second read."""

from dataclasses import dataclass

from .._querytape import ffi, lib
from .errors import check
from .streams import Stream


@dataclass(frozen=True)
class PartFacts:
    """Properties of the rows that were read. `known`: indexes of the columns with at least one value.

    The other properties apply to events. `first_ns`: earliest start. `last_ns`: latest end. `precision_ns`: coarsest
    precision.
    """

    rows: int
    known: frozenset[int]
    first_ns: int
    last_ns: int
    precision_ns: int


class WatchedStream(Stream):
    """A stream with the rows of another stream. `facts` contains the properties of the rows read so far."""

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
        """Return the properties of the rows read so far. Invalid after `close`."""
        found = lib.qt_counted_stream_facts(self._watch)
        known = frozenset(place for place in range(64) if found.known >> place & 1)
        return PartFacts(found.rows, known, found.first_ns, found.last_ns, found.precision_ns)

    def is_empty(self) -> bool:
        """Return whether the stream has no rows. The call reads the first rows and keeps them for the consumer.

        Raises NativeFault.
        """
        error = ffi.new("struct qt_error *")
        check(lib.qt_counted_stream_read_ahead(self._watch, error), error)
        return not self.facts.rows

    def close(self) -> None:
        super().close()
        lib.qt_counted_stream_free(self._watch)
        self._watch = ffi.NULL
        self._inner.close()
