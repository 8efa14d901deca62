# SPDX-License-Identifier: Apache-2.0
"""Opening of tape and run folders. Invalid folders are refused with a message."""

import json
from pathlib import Path

import pytest
from querytape.common.errors import FolderError
from querytape.schemas import TABLES, columns, count_files, file_name, open_folder, tape_id
from querytape.schemas.folders import check_names
from querytape.schemas.tables import declared

from tests.helpers.duck import database
from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def test_missing_tables_are_empty(tmp_path: Path) -> None:
    """The tables of a tape are folders of parts or single files. A table may be missing, and is then empty."""
    path = make_tape(tmp_path / "it's.tape", [{"statement": f"SELECT {n}"} for n in range(4)], parts=2)
    tape = open_folder("tape", path)
    assert tape.finished
    with database() as con:
        tape.attach(con, "t")
        assert con.execute("SELECT count(*) FROM t_events").fetchall() == [(4,)]
        assert con.execute("SELECT count(*) FROM t_sessions").fetchall() == [(1,)]
        names = [row[0] for row in con.execute("DESCRIBE t_problems").fetchall()]
        assert names == [name for name, _ in columns("tape", "problems")]
        assert con.execute("SELECT count(*) FROM t_problems").fetchall() == [(0,)]


def test_tables_of_folders_are_defined_in_the_schema() -> None:
    """The SQL schema defines each table that a tape or run folder can have."""
    for kind, tables in TABLES.items():
        assert all(columns(kind, table) for table in tables)


def test_tape_id_depends_on_parts_and_files_only() -> None:
    """The tape id is computed from the lists of parts and files. Other keys of tape.json do not change the id."""
    info = {"parts": [{"file": "a", "rows": 1}], "files": [{"path": "x"}]}
    assert tape_id(info) == tape_id({**info, "warnings": ["y"]})
    assert tape_id(info) != tape_id({**info, "parts": []})


def changed(path: Path, **keys: object) -> Path:
    """Replace keys in a tape's JSON."""
    info = json.loads((path / "tape.json").read_text())
    (path / "tape.json").write_text(json.dumps(info | keys))
    return path


def test_tape_files_must_match_tape_json(tmp_path: Path) -> None:
    """The message names a part that is extra, is missing, or has a different number of bytes or rows. An unfinished
    tape may have any parts.
    """
    path = make_tape(tmp_path / "t.tape", [{"statement": f"SELECT {n}"} for n in range(4)], parts=2)
    first, second = sorted((path / "events").iterdir())
    parts = json.loads((path / "tape.json").read_text())["parts"]
    assert open_folder("tape", path).files("events") == (first, second)
    assert open_folder("tape", changed(path, parts=list(reversed(parts)))).files("events") == (first, second)
    copy = path / "events" / "part-00002.parquet"
    copy.write_bytes(second.read_bytes())
    with pytest.raises(FolderError, match=r"part-00002\.parquet: tape\.json does not list this file: remove the file"):
        open_folder("tape", path)
    assert open_folder("tape", changed(path, finished=False)).files("events") == (first, second, copy)
    changed(path, finished=True)
    copy.unlink()
    for what, entry in (("bytes", {"bytes": 7}), ("rows", {"rows": 7})):
        with pytest.raises(
            FolderError,
            match=rf"part-0000.\.parquet: found [\d,]+ {what[:-1]}s?, but tape\.json lists 7: the file is damaged",
        ):
            open_folder("tape", changed(path, parts=[parts[0], {**parts[1], **entry}]))
    changed(path, parts=parts)
    second.unlink()
    with pytest.raises(FolderError, match=r"part-00001\.parquet"):
        open_folder("tape", path)


def test_required_tables_must_exist(tmp_path: Path) -> None:
    """A finished tape that counts events or sessions needs the files of these two tables. Problems and digests are
    optional.
    """
    path = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    (path / "digests.parquet").unlink()
    assert open_folder("tape", path).files("digests") == ()
    (path / "sessions.parquet").unlink()
    with pytest.raises(FolderError, match="the files of table sessions are missing"):
        open_folder("tape", path)
    counts = json.loads((path / "tape.json").read_text())["counts"]
    open_folder("tape", changed(path, counts={**counts, "sessions": 0}))
    next((path / "events").iterdir()).unlink()
    with pytest.raises(FolderError, match="the files of table events are missing"):
        open_folder("tape", changed(path, parts=[], counts={**counts, "sessions": 0}))
    assert open_folder("tape", changed(path, finished=False)).files("events") == ()


BAD_NAMES = [
    "events", "events/", "events/x.parquet", "events/part-0.txt", "events/part-.parquet", "events/part-A.parquet",
    "../events/part-0.parquet", "events/../part-0.parquet", "other/part-0.parquet", "other.parquet", "",
    "events.parquet/part-0.parquet", "events/part-0/part-0.parquet", "/events/part-0.parquet",
    "events/part-" + "0" * 41 + ".parquet", "events/part-0.parquet\n",
]  # fmt: skip


@pytest.mark.parametrize("name", BAD_NAMES)
def test_invalid_file_names_are_refused(name: str) -> None:
    """Only the numbered parts of a table, or its single file, are valid names. No name may lead outside the folder."""
    for kind, key in (("tape", "parts"), ("tape", "tables")):
        with pytest.raises(FolderError, match=rf"^x: {key}: .* is not a valid file name for a tape"):
            check_names(kind, Path("x"), {key: [{"file": name}]})


def test_json_file_with_an_invalid_name_is_reported(tmp_path: Path) -> None:
    """The message names the JSON file in which the invalid file name is listed."""
    path = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    with pytest.raises(FolderError, match=r"t\.tape/tape\.json: parts: '\.\./x' is not a valid file name for a tape"):
        open_folder("tape", changed(path, parts=[{"file": "../x", "rows": 1, "bytes": 1}]))


def test_valid_file_names_are_accepted() -> None:
    """Valid names are numbered parts, named parts and single files. Each name may be in only one list, and only once."""
    for name in ("events/part-00000.parquet", "events/part-" + "0" * 40 + ".parquet", "sessions.parquet"):
        check_names("tape", Path("x"), {"parts": [{"file": name}], "tables": None})
        with pytest.raises(FolderError, match=f"x: parts: {name} is listed twice"):
            check_names("tape", Path("x"), {"parts": [{"file": name}, {"file": name}]})
        with pytest.raises(FolderError, match=f"x: tables: {name} is listed twice"):
            check_names("tape", Path("x"), {"parts": [{"file": name}], "tables": [{"file": name}]})
    check_names("run", Path("x"), {"files": [{"file": "outcomes/part-plan-00000.parquet"}, {"file": "ticks.parquet"}]})
    with pytest.raises(FolderError, match="is not a valid file name for a run"):
        check_names("run", Path("x"), {"files": [{"file": "events/part-0.parquet"}]})


def test_query_plans_may_be_added_later(tmp_path: Path) -> None:
    """Files of the table query_plans are accepted before run.json lists them. Unlisted files of other tables are
    refused.
    """
    run = make_run(tmp_path / "a.run", make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}]), [{}])
    info = json.loads((run / "run.json").read_text())
    outcomes = run / "outcomes" / "part-00000.parquet"
    info["files"] = [{"file": "outcomes/part-00000.parquet", "rows": 1, "bytes": outcomes.stat().st_size}]
    (run / "run.json").write_text(json.dumps(info))
    for table in ("query_plans", "texts"):
        with database() as con:
            names = ", ".join(
                f"CAST({'NULL' if not column.not_null else '1'} AS {column.type}) AS {column.name}"
                for column in declared("run", table)
            )
            con.execute(f"COPY (SELECT {names}) TO '{run / table}.parquet' (FORMAT parquet)")
        if table == "query_plans":
            assert open_folder("run", run).files("query_plans") == (run / "query_plans.parquet",)
        else:
            with pytest.raises(FolderError, match=r"texts\.parquet: run\.json does not list this file"):
                open_folder("run", run)


def test_tape_id_is_stable() -> None:
    """Runs of earlier versions refer to their tape by its id. The id is the hash of the lists of parts and files, in a
    fixed JSON format.
    """
    parts, files = [{"rows": 1, "file": "events/part-0.parquet"}], [{"file": "sessions.parquet"}]
    assert tape_id({"files": files, "parts": parts, "finished": True}) == (
        "480b7a641b9183a0381c83d2fa793fd5deb37d1aeec5bcc3edd362f4d69f23da"
    )
    assert len({tape_id({}), tape_id({"parts": parts}), tape_id({"files": files}), tape_id({"files": parts})}) == 4


def test_each_rotated_file_has_its_own_number() -> None:
    """A rotated log has one entry in tape.json, but each of its files has a number."""
    info = {"files": [{"path": "a"}, {"path": "b", "times": 3}, {"path": "c", "times": None}]}
    assert count_files(info) == 5
    assert [file_name(info, number) for number in range(-1, 6)] == ["file -1", "a", "b", "b", "b", "c", "file 5"]
