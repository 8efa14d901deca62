# SPDX-License-Identifier: Apache-2.0
"""Write a tape's parts natively as a reader gives them, and keep what is known of all events together.

reader.part() -> PartWriter -> events/part-00000.parquet, its entry of tape.json
"""

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..common.duck import sql_text, write_parquet
from ..common.files import file_entry, publish
from ..native.bindings.part_writer import Part, PartWriter
from ..native.bindings.streams import Stream
from ..schemas import columns, select_list
from .storage import open_storage


class _NoRowsError(Exception):
    """There is nothing to be published."""


@dataclass
class Totals:
    """What the parts hold together, as far as their writer saw it."""

    events: int = 0
    first_ns: int = 1 << 63
    last_ns: int = -1 << 63
    precision_ns: int = 0
    known: set[int] = field(default_factory=set)

    def add(self, part: Part) -> None:
        """Take another part in."""
        self.events += part.rows
        self.first_ns = min(self.first_ns, part.first_ns)
        self.last_ns = max(self.last_ns, part.last_ns)
        self.precision_ns = max(self.precision_ns, part.precision_ns)
        self.known |= part.known

    def time_range(self) -> dict[str, Any]:
        """Return the first start and last end of the events and their coarsest precision, in nanoseconds."""
        return {"first_ns": self.first_ns, "last_ns": self.last_ns, "precision_ns": self.precision_ns}

    def known_columns(self) -> list[str]:
        """Return the columns of events that hold any value."""
        return [name for place, (name, _) in enumerate(columns("tape", "events")) if place in self.known]


class Parts:
    """Writes the parts of one tape. `not_threads`: server's connections whose events are left out."""

    def __init__(self, tape: Path, not_threads: Iterable[int] = ()) -> None:
        self._tape = tape
        self._not_threads = tuple(not_threads)
        self._writer = PartWriter()
        self._totals = Totals()

    @property
    def totals(self) -> Totals | None:
        """What all parts hold; None where this did not see it."""
        return None if self._not_threads else self._totals

    def write_events(self, stream: Stream, final: Path) -> dict[str, Any] | None:
        """Write one part of events, which comes sorted; return its entry of tape.json. None: it has no event."""
        if self._not_threads:
            return self._write_some(stream, final)
        part = self._write(stream, final)
        if not part.rows:
            return None
        self._totals.add(part)
        times = {"first_ns": part.first_ns, "last_ns": part.last_ns}
        return {**file_entry(self._tape, final, part.rows), **times}

    def write_rows(self, stream: Stream, final: Path) -> int:
        """Write a stream of problems or session facts as one file, where it has any row; return how many."""
        return self._write(stream, final).rows

    def _write(self, stream: Stream, final: Path) -> Part:
        try:
            with suppress(_NoRowsError), publish(final) as temporary:
                part = self._writer.write(stream, temporary)
                if not part.rows:
                    raise _NoRowsError
        finally:
            stream.close()
        return part

    def _write_some(self, stream: Stream, final: Path) -> dict[str, Any] | None:
        """Write the events of the other connections."""
        left_out = ", ".join(map(str, self._not_threads))
        with open_storage(self._tape, threads=1) as con:
            # A part is written as it comes, and a row of any size must pass: DuckDB's own bound.
            con.execute("RESET memory_limit")
            con.register("incoming", stream)
            try:
                names = select_list("tape", "events", {name for name, _ in columns("tape", "events")})
                query = f"SELECT {names} FROM incoming WHERE thread_id IS NULL OR thread_id NOT IN ({left_out})"
                rows = write_parquet(con, query, final, "COMPRESSION zstd, COMPRESSION_LEVEL 1")
            finally:
                con.unregister("incoming")
                stream.close()
            return part_entry(con, self._tape, final) if rows else None


def part_entry(con: Any, tape: Path, part: Path) -> dict[str, Any]:
    """Return what tape.json says of a part: file, rows, bytes, SHA-256, first start and last end in ns."""
    rows, first, last = con.execute(
        f"SELECT count(*), min(start_ns), max(start_ns + coalesce(duration_ns, 0)) FROM read_parquet({sql_text(part)})"
    ).fetchall()[0]
    return {**file_entry(tape, part, rows), "first_ns": first, "last_ns": last}
