# SPDX-License-Identifier: Apache-2.0
"""Opening tapes and runs: what is one, and what is refused with which sentence."""

import json
from pathlib import Path

import duckdb
import pytest
from querytape.common.errors import FolderError
from querytape.schemas import TABLES, columns, open_folder, tape_id

from tests.helpers.tapes import make_tape


def test_tables_of_a_tape(tmp_path: Path) -> None:
    """Parts, single files and tables that are not there can all be read; the missing ones are empty."""
    path = make_tape(tmp_path / "it's.tape", [{"statement": f"SELECT {n}"} for n in range(4)], parts=2)
    tape = open_folder("tape", path)
    assert tape.finished
    with duckdb.connect() as con:
        tape.attach(con, "t")
        assert con.execute("SELECT count(*) FROM t_events").fetchall() == [(4,)]
        assert con.execute("SELECT count(*) FROM t_sessions").fetchall() == [(1,)]
        names = [row[0] for row in con.execute("DESCRIBE t_problems").fetchall()]
        assert names == [name for name, _ in columns("tape", "problems")]
        assert con.execute("SELECT count(*) FROM t_problems").fetchall() == [(0,)]


def test_every_table_has_columns() -> None:
    """The tables that folders name are those that the contract defines."""
    for kind, tables in TABLES.items():
        assert all(columns(kind, table) for table in tables)


def write(path: Path, kind: str, text: str) -> Path:
    """Return a folder with a JSON file."""
    path.mkdir()
    (path / f"{kind}.json").write_text(text)
    return path


def test_what_is_refused(tmp_path: Path) -> None:
    """A missing folder, one of another kind, one without JSON, damaged JSON, a newer version: each has its sentence."""
    with pytest.raises(FolderError, match="no such tape"):
        open_folder("tape", tmp_path / "none")
    run = write(tmp_path / "a", "run", json.dumps({"format_version": 1}))
    with pytest.raises(FolderError, match="is not a tape; it is a run"):
        open_folder("tape", run)
    with pytest.raises(FolderError, match=r"is not a tape: it has no tape\.json"):
        open_folder("tape", tmp_path)
    for name, text in (("b", "{"), ("c", "{}"), ("d", "[1]")):
        with pytest.raises(FolderError, match="expected a tape's JSON"):
            open_folder("tape", write(tmp_path / name, "tape", text))
    for name, version in (("e", 99), ("f", "1")):
        with pytest.raises(FolderError, match="install a newer querytape"):
            open_folder("tape", write(tmp_path / name, "tape", json.dumps({"format_version": version})))


def test_an_unfinished_tape_opens(tmp_path: Path) -> None:
    """What a kill left can be opened, and says that it is not finished."""
    path = write(tmp_path / "a", "tape", json.dumps({"format_version": 1, "finished": False}))
    assert not open_folder("tape", path).finished


def test_identity() -> None:
    """A tape is known by its parts and files, whatever else its JSON says."""
    info = {"parts": [{"file": "a", "rows": 1}], "files": [{"path": "x"}]}
    assert tape_id(info) == tape_id({**info, "warnings": ["y"]})
    assert tape_id(info) != tape_id({**info, "parts": []})
