# SPDX-License-Identifier: Apache-2.0
"""Updates the file list in tape.json after a bench has written the files of a tape itself."""

import json
from pathlib import Path

import duckdb

from ..common.duck import sql_text
from ..common.files import file_entry, write_json


def list_files(tape: Path) -> None:
    """Update sizes, row counts and checksums in tape.json for the tape's only part and its tables."""
    info = json.loads((tape / "tape.json").read_text(encoding="utf-8"))
    with duckdb.connect() as con:

        def rows(file: Path) -> int:
            return int(con.execute(f"SELECT count(*) FROM {sql_text(file)}").fetchall()[0][0])

        part = tape / "events" / "part-00000.parquet"
        info["parts"] = [{**info["parts"][0], **file_entry(tape, part, rows(part))}]
        tables = [file for name in ("sessions", "digests") if (file := tape / f"{name}.parquet").exists()]
        info["tables"] = [file_entry(tape, file, rows(file)) for file in tables]
        info["counts"] |= {file.stem: rows(file) for file in tables}
    write_json(tape / "tape.json", info)
