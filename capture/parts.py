# SPDX-License-Identifier: Apache-2.0
"""Write the parts of a tape as a reader produces them, and collect totals over all events.

reader.part() -> WatchedStream -> DuckDB -> events/part-00000.parquet and an entry in tape.json
"""

from collections.abc import Iterable
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import duckdb

from ..common.duck import sql_text, write_parquet
from ..common.files import file_entry
from ..native.bindings.part_facts import PartFacts, WatchedStream
from ..native.bindings.streams import Stream
from ..schemas import columns

# Light compression is enough for sequential reads. Version 2 of the Parquet format is smaller and faster.
PACKED = "COMPRESSION zstd, COMPRESSION_LEVEL 1, PARQUET_VERSION V2"


@dataclass
class Totals:
    """Totals of the events in all parts that the writer has seen."""

    events: int = 0
    first_ns: int = 1 << 63
    last_ns: int = -1 << 63
    precision_ns: int = 0
    known: set[int] = field(default_factory=set)

    def add(self, part: PartFacts) -> None:
        """Add a part to the totals."""
        self.events += part.rows
        self.first_ns = min(self.first_ns, part.first_ns)
        self.last_ns = max(self.last_ns, part.last_ns)
        self.precision_ns = max(self.precision_ns, part.precision_ns)
        self.known |= part.known

    def time_range(self) -> dict[str, Any]:
        """Return the first start, the last end, and the coarsest precision of the events, in nanoseconds."""
        return {"first_ns": self.first_ns, "last_ns": self.last_ns, "precision_ns": self.precision_ns}

    def known_columns(self) -> list[str]:
        """Return the columns of `events` that contain at least one value."""
        return [name for place, (name, _) in enumerate(columns("tape", "events")) if place in self.known]


class Parts:
    """Writes the parts of one tape. `not_threads`: connection ids on the server whose events are omitted."""

    def __init__(self, con: duckdb.DuckDBPyConnection, tape: Path, not_threads: Iterable[int] = ()) -> None:
        self._con = con
        self._tape = tape
        self._not_threads = tuple(not_threads)
        self._totals = Totals()
        # Use DuckDB's default limit, because a single row may be very large. Sorting happens later.
        con.execute("RESET memory_limit")

    @property
    def totals(self) -> Totals | None:
        """The totals of the events in all parts. It is None if the writer filters events.

        A writer that filters events does not count them.
        """
        return None if self._not_threads else self._totals

    def write_events(self, stream: Stream, final: Path) -> dict[str, Any] | None:
        """Write one part of sorted events and return its entry for tape.json. Return None if the part has no events."""
        if self._not_threads:
            left_out = ", ".join(map(str, self._not_threads))
            query = f"FROM incoming WHERE thread_id IS NULL OR thread_id NOT IN ({left_out})"
            return part_entry(self._con, self._tape, final) if self._write(stream, final, query)[0] else None
        rows, facts = self._write(stream, final)
        if not rows:
            return None
        self._totals.add(facts)
        return {**file_entry(self._tape, final, rows), "first_ns": facts.first_ns, "last_ns": facts.last_ns}

    def write_rows(self, stream: Stream, final: Path) -> int:
        """Write a stream of problems or session facts as one file and return the number of rows.

        Skip an empty stream.
        """
        return self._write(stream, final)[0]

    def _write(self, stream: Stream, final: Path, query: str = "FROM incoming") -> tuple[int, PartFacts]:
        """Write the rows that the query selects from a stream.

        Returns the number of written rows, and the properties of the whole stream.
        """
        with closing(WatchedStream(stream)) as watched:
            if watched.is_empty():
                return 0, watched.facts
            self._con.register("incoming", watched)
            try:
                return write_parquet(self._con, query, final, PACKED), watched.facts
            finally:
                self._con.unregister("incoming")


def part_entry(con: duckdb.DuckDBPyConnection, tape: Path, part: Path) -> dict[str, Any]:
    """Return the tape.json entry of a part: file, rows, bytes, SHA-256, first start and last end in nanoseconds."""
    rows, first, last = con.execute(
        f"SELECT count(*), min(start_ns), max(start_ns + coalesce(duration_ns, 0)) FROM read_parquet({sql_text(part)})"
    ).fetchall()[0]
    return {**file_entry(tape, part, rows), "first_ns": first, "last_ns": last}
