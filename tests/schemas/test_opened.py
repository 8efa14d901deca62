# SPDX-License-Identifier: Apache-2.0
"""Opened tapes and runs, which provide their tables as DuckDB relations."""

from pathlib import Path

import pytest
from querytape.common.errors import FolderError
from querytape.schemas import TABLES, columns
from querytape.schemas.opened import open_run, open_tape

from tests.helpers.reports import small_runs

pytestmark = pytest.mark.slow


def test_every_table_is_a_relation(tmp_path: Path) -> None:
    """A relation has the columns of the SQL schema, even if it is empty. Each table has a method of the same name."""
    tape_path, run_path, _ = small_runs(tmp_path)
    for opened in (open_tape(tape_path), open_run(run_path)):
        for name in TABLES[opened.folder.kind]:
            assert getattr(opened, name)().columns == opened.table(name).columns
            assert set(opened.table(name).columns) <= {column for column, _ in columns(opened.folder.kind, name)}
    assert open_run(run_path).sql("SELECT count(*) > 0 FROM outcomes").fetchall() == [(True,)]


def test_relation_keeps_its_database_alive(tmp_path: Path) -> None:
    """The relation can be read after all other objects are deleted."""
    relation = open_tape(small_runs(tmp_path)[0]).events()
    assert relation.aggregate("count(*)").fetchall()[0][0] > 0


def test_wrong_folder_or_table_is_refused(tmp_path: Path) -> None:
    """A run is not a tape, and a tape has no table `outcomes`."""
    tape_path, run_path, _ = small_runs(tmp_path)
    with pytest.raises(FolderError, match="the folder is a run"):
        open_tape(run_path)
    with pytest.raises(KeyError, match="a tape has no table 'outcomes'"):
        open_tape(tape_path).table("outcomes")
