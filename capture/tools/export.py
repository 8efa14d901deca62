# SPDX-License-Identifier: Apache-2.0
"""Write a tape as a file that other programs read: a slow log, JSON lines, CSV, SQL."""

import shutil
from pathlib import Path
from typing import BinaryIO

from ...common.duck import load_sql, write_table
from ...common.errors import OptionError
from ...schemas import open_folder
from ..storage import open_storage

# The SQL of these formats gives whole entries as bytes; those of TABLES are written by DuckDB.
ENTRIES = {"slowlog": "export_slowlog.sql", "sql": "export_sql.sql"}
TABLES = {"csv": "FORMAT csv, HEADER true", "jsonl": "FORMAT json"}
FORMATS = (*ENTRIES, *TABLES)
AT_ONCE = 10_000


def export(tape: Path, format_: str, out: BinaryIO, work: Path) -> int:
    """Write a tape in one of FORMATS; return how many entries. `work` is a folder for what does not fit into memory.

    Raises InputError for another format.
    """
    if format_ not in FORMATS:
        raise OptionError(f"--format: expected one of {', '.join(FORMATS)}, found {format_!r}")
    folder = open_folder("tape", tape)
    with open_storage(work) as con:
        con.execute(f"CREATE VIEW events AS SELECT * FROM {folder.source('events')}")
        if format_ in TABLES:
            table = work / f"events.{format_}"
            count = write_table(con, load_sql(__package__, "export_events.sql"), table, TABLES[format_])
            with table.open("rb") as written:
                shutil.copyfileobj(written, out)
            return count
        cursor = con.execute(load_sql(__package__, ENTRIES[format_]))
        count = 0
        while rows := cursor.fetchmany(AT_ONCE):
            out.writelines(entry for (entry,) in rows)
            count += len(rows)
        return count
