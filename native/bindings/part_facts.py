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
        self._facts = ffi.new("struct qt_part_facts *")
        lib.qt_part_facts_reset(self._facts)

        def fill(stream: object) -> None:
            error = ffi.new("struct qt_error *")
            inner.fill(stream)
            check(lib.qt_watch_events(stream, self._facts, error), error)

        super().__init__(fill, (inner, self._facts))

    @property
    def facts(self) -> PartFacts:
        """What was read."""
        found = self._facts
        known = frozenset(place for place in range(64) if found.known >> place & 1)
        return PartFacts(found.rows, known, found.first_ns, found.last_ns, found.precision_ns)
