# SPDX-License-Identifier: Apache-2.0
"""Export a tape to a file for other programs: slow log, JSON lines, CSV or SQL."""

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import duckdb

from ...common.duck import load_sql, write_table
from ...common.errors import OptionError
from ...schemas import Folder, open_folder
from ..storage import LARGE_EVENT, open_storage

# The SQL queries for these formats return complete entries as bytes. DuckDB itself writes the formats in TABLES.
ENTRIES = {"slowlog": "export_slowlog.sql", "sql": "export_sql.sql"}
TABLES = {"csv": "FORMAT csv, HEADER true", "jsonl": "FORMAT json"}
NEXT = {"csv": "FORMAT csv, HEADER false"}  # COPY options for each window except the first
FORMATS = (*ENTRIES, *TABLES)
AT_ONCE = 10_000
# Bytes to write at once for a tape with large events, in output order. A row is never split.
BYTES_AT_ONCE = 16 << 20
ORDER = {"slowlog": "start_ns + coalesce(duration_ns, 0)"}


def export(tape: Path, format_: str, out: BinaryIO, work: Path) -> int:
    """Write a tape in one of FORMATS and return the number of entries. `work`: folder for temporary files.

    Raises InputError if the format is unknown.
    """
    if format_ not in FORMATS:
        raise OptionError(f"--format: expected one of {', '.join(FORMATS)}, found {format_!r}")
    folder = open_folder("tape", tape)
    largest = int(folder.info.get("largest_event") or 0)
    with open_storage(work, largest=largest) as con:
        if largest < LARGE_EVENT:
            con.execute(f"CREATE VIEW events AS SELECT * FROM {folder.source('events')}")
            return _write(con, format_, out, work, TABLES.get(format_))
        count = 0
        for number, window in enumerate(_windows(con, folder, ORDER.get(format_, "start_ns"))):
            con.execute(f"CREATE OR REPLACE VIEW events AS {window}")
            options = TABLES.get(format_)
            count += _write(
                con, format_, out, work, options and (options if number == 0 else NEXT.get(format_, options))
            )
        return count


def _windows(con: duckdb.DuckDBPyConnection, folder: Folder, order: str) -> Iterator[str]:
    """Yield queries for consecutive windows of a tape. Each window has about BYTES_AT_ONCE bytes of text."""
    source = folder.source("events")
    size = "coalesce(octet_length(statement), 0) + coalesce(octet_length(params), 0) + 512"
    con.execute(
        "CREATE TABLE places AS SELECT session, seq, start_ns,"
        f" ((sum({size}) OVER (ORDER BY {order}, session, seq) - 1) // {BYTES_AT_ONCE})::BIGINT AS place FROM {source}"
    )
    spans = con.execute(
        "SELECT place, min(start_ns), max(start_ns) FROM places GROUP BY place ORDER BY place"
    ).fetchall()
    for place, first_ns, last_ns in spans:
        yield (
            f"SELECT e.* FROM {source} e SEMI JOIN (SELECT session, seq FROM places WHERE place = {place}) p"
            f" USING (session, seq) WHERE e.start_ns BETWEEN {first_ns} AND {last_ns}"
        )


def _write(con: duckdb.DuckDBPyConnection, format_: str, out: BinaryIO, work: Path, options: str | None) -> int:
    """Write the events of view `events` in output order and return their number.

    `options`: COPY options of a table format, or None for other formats.
    """
    if options is not None:
        table = work / f"events.{format_}"
        count = write_table(con, load_sql(__package__, "export_events.sql"), table, options)
        with table.open("rb") as written:
            shutil.copyfileobj(written, out)
        table.unlink()
        return count
    cursor = con.execute(load_sql(__package__, ENTRIES[format_]))
    count = 0
    while rows := cursor.fetchmany(AT_ONCE):
        out.writelines(entry for (entry,) in rows)
        count += len(rows)
    return count
