# SPDX-License-Identifier: Apache-2.0
"""Folders that other engines read, and the numbers that the engines must find in them."""

from pathlib import Path

import duckdb
import pytest
from querytape.analyze import Settings, build
from querytape.analyze import summary as kept
from querytape.capture.tools.gather import gather
from querytape.schemas import Folder, open_folder
from querytape.schemas.engine_views import define_views
from querytape.schemas.folders import TABLES

from ..helpers.runs import make_run
from ..helpers.tapes import make_tape, reads


def make_folders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Folder]:
    """Return a tape, a set with renumbered sessions, and a run with a kept summary. Their names need quoting."""
    monkeypatch.setattr(kept, "KEPT_EVENTS", 0)
    captures = tmp_path / "it's `all`"
    captures.mkdir()
    tape = make_tape(captures / "a.tape", reads(40), parts=2)
    make_tape(captures / "b.tape", reads(30))
    runs = [make_run(tmp_path / f"{name}.run", tape, [{"rows_sent": n} for n in range(40)]) for name in "ab"]
    build(tape, [runs[0]], [runs[1]], Settings())
    single = open_folder("tape", make_tape(tmp_path / "single.tape", reads(9)))
    gather(captures)
    return [single, open_folder("tape", captures), open_folder("run", runs[1])]


def queries(folder: Folder) -> list[str]:
    """Return queries of the tables that have rows: the number of rows, and the sum of the sessions."""
    found = []
    for table in TABLES[folder.kind]:
        if folder.files(table):
            summed = "sum(session)" if table in ("events", "sessions", "outcomes") else "0"
            found.append(f"SELECT count(*), {summed} FROM {folder.kind}_{table}")
    if (folder.path / "summary").exists():
        found.append("SELECT count(*), sum(executed) FROM summary_shape_counts")
    return found


def expected(folder: Folder) -> list[list[int]]:
    with duckdb.connect() as con:
        folder.attach(con, folder.kind)
        if (folder.path / "summary").exists():
            con.execute(f"CREATE VIEW summary_shape_counts AS FROM '{folder.path}/summary/shape_counts.parquet'")
        return [[int(n) for n in con.execute(query).fetchall()[0]] for query in queries(folder)]


def statements(folder: Folder, engine: str) -> list[str]:
    return [text for text in define_views(folder, engine) if not text.startswith("--")]
