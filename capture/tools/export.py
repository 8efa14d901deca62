# SPDX-License-Identifier: Apache-2.0
"""A tape as files that other programs read: a slow log, JSON lines, CSV, SQL."""

from importlib.resources import files
from pathlib import Path
from typing import BinaryIO

from ...errors import InputError
from ...schemas import open_folder, sql_text
from ..recorder import open_storage

# Formats of bytes come as whole entries from the SQL; tables are written by DuckDB.
ENTRIES = {"slowlog": "export_slowlog.sql", "sql": "export_sql.sql"}
TABLES = {"csv": "FORMAT csv, HEADER true", "jsonl": "FORMAT json"}
FORMATS = (*ENTRIES, *TABLES)
AT_ONCE = 10_000


def question(name: str) -> str:
    """Return the SQL of one file of this folder."""
    return (files(__package__) / name).read_text(encoding="utf-8")


def export(tape: Path, format_: str, out: BinaryIO, work: Path) -> int:
    """Write a tape in a format; return how many entries. `work` is a folder for what does not fit into memory.

    Raises InputError for a format there is not.
    """
    if format_ not in FORMATS:
        raise InputError(f"--format: expected one of {', '.join(FORMATS)}, found {format_!r}")
    folder = open_folder("tape", tape)
    with open_storage(work) as con:
        con.execute(f"CREATE VIEW events AS SELECT * FROM {folder.source('events')}")
        if format_ in TABLES:
            table = work / f"events.{format_}"
            select = question("export_events.sql")
            con.execute(f"COPY ({select}) TO {sql_text(table)} ({TABLES[format_]})")
            with table.open("rb") as written:
                while piece := written.read(1 << 20):
                    out.write(piece)
            return int(con.execute("SELECT count(*) FROM events").fetchall()[0][0])
        cursor = con.execute(question(ENTRIES[format_]))
        count = 0
        while rows := cursor.fetchmany(AT_ONCE):
            out.writelines(entry for (entry,) in rows)
            count += len(rows)
        return count
