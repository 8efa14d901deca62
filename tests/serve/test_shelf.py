# SPDX-License-Identifier: Apache-2.0
"""The entries of a folder, and protection of files outside the folder."""

import json
import os
from pathlib import Path

import pytest
from querytape.common.errors import FolderError
from querytape.common.files import hold
from querytape.schemas import tape_id
from querytape.serve import shelf as shelf_module
from querytape.serve.shelf import NotThere, Shelf, kind_of, read_text, refuse_links, section, stamp_of

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape

PLAN = 'tape = "/t.tape"\n[target]\na = "x"\nb = "y"\n'


def comparison(folder: Path) -> Path:
    """Create the folder of a comparison."""
    folder.mkdir(parents=True)
    (folder / "plan.toml").write_text(PLAN)
    return folder


def test_every_kind_of_entry_is_found(tmp_path: Path) -> None:
    """Tapes and runs are found anywhere. Comparisons and sweeps are found with their contents. Nightly folders are also
    found. Nothing else is found.
    """
    tape = make_tape(tmp_path / "a" / "shop.tape", [{"statement": "SELECT 1"}])
    make_run(comparison(tmp_path / "u.compare") / "a1.run", tape)
    (tmp_path / "s.sweep").mkdir()
    (tmp_path / "s.sweep" / "sweep.json").write_text("{}")
    make_run(tmp_path / "s.sweep" / "4.run", tape)
    comparison(tmp_path / "nights" / "2026-11-22T0200")
    (tmp_path / "other").mkdir()
    make_tape(tmp_path / ".hidden" / "b.tape", [{"statement": "SELECT 1"}])
    found = Shelf(tmp_path).find()
    assert [(entry.kind, entry.name) for entry in found.entries] == [
        ("tape", "a/shop.tape"),
        ("nights", "nights"),
        ("comparison", "nights/2026-11-22T0200"),
        ("sweep", "s.sweep"),
        ("run", "s.sweep/4.run"),
        ("comparison", "u.compare"),
        ("run", "u.compare/a1.run"),
    ]
    assert not found.more
    assert [entry.name for entry in Shelf(tmp_path / "nights").find().entries] == [".", "2026-11-22T0200"]
    assert Shelf(tmp_path).entry("a/shop.tape").path == tape


@pytest.mark.parametrize(
    "name",
    [
        *("", "/", "..", "a/..", "a/../a", "../x", "a//b", "a/./b", "./a", "a/", "/etc", "//etc", ".hidden", "a/.x"),
        *("a\0b", "a\\..\\b", "\udcff", "x" * 5000, "a/" * 3000, "file", "missing"),
    ],
)
def test_names_cannot_leave_the_folder(tmp_path: Path, name: str) -> None:
    root = tmp_path / "root"
    for folder in (root / "a", root / ".hidden", root / "a" / ".x", tmp_path / "x"):
        folder.mkdir(parents=True)
        (folder / "tape.json").write_text("{}")
    (root / "file").write_text("")
    with pytest.raises(NotThere):
        Shelf(root).inside(name)


def test_links_are_neither_found_nor_followed(tmp_path: Path) -> None:
    """A link to an outside tape, folder, path component or marker gives no entry. If such a link is requested directly,
    the answer is an error message.
    """
    outside = make_tape(tmp_path / "outside" / "a.tape", [{"statement": "SELECT 1"}])
    root = tmp_path / "root"
    (root / "b.tape").mkdir(parents=True)
    (root / "a.tape").symlink_to(outside)
    (root / "way").symlink_to(tmp_path / "outside")
    (root / "b.tape" / "tape.json").symlink_to(outside / "tape.json")
    shelf = Shelf(root)
    assert shelf.find().entries == []
    for name in ("a.tape", "way/a.tape"):
        with pytest.raises(FolderError, match="symbolic link"):
            shelf.entry(name)
    with pytest.raises(NotThere):
        shelf.entry("b.tape")


@pytest.mark.parametrize("place", ["events/part-9.parquet", "events", "deep/er/x"])
def test_link_anywhere_in_a_tape_is_refused(tmp_path: Path, place: str) -> None:
    tape = make_tape(tmp_path / "a.tape", [{"statement": "SELECT 1"}])
    refuse_links(tape)
    link = tape / place
    link.parent.mkdir(parents=True, exist_ok=True)
    if link.is_dir():
        link.rename(tmp_path / "events")
    link.symlink_to(tmp_path / "events")
    with pytest.raises(FolderError, match="symbolic link"):
        refuse_links(tape)


def test_search_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Depth, number of folders and number of entries are limited, and a reached limit is reported. Files in a tape and
    JSON sizes are also limited.
    """
    deep = tmp_path / "1" / "2" / "3"
    for folder in (tmp_path / "a.tape", tmp_path / "b.tape", deep / "c.tape"):
        make_tape(folder, [{"statement": "SELECT 1"}])
    shelf = Shelf(tmp_path)
    assert len(shelf.find().entries) == 3
    for name, most in (("MAX_DEPTH", 1), ("MAX_FOLDERS", 2), ("MAX_ENTRIES", 1)):
        with monkeypatch.context() as changed:
            changed.setattr(shelf_module, name, most)
            found = shelf.find()
            assert found.more, name
            assert len(found.entries) < 3, name
    with monkeypatch.context() as changed:
        changed.setattr(shelf_module, "MAX_FILES", 2)
        with pytest.raises(FolderError, match="more than 2 files"):
            refuse_links(tmp_path / "a.tape")
    monkeypatch.setattr(shelf_module, "MAX_MARKER", 10)
    with pytest.raises(FolderError, match="too large"):
        shelf.info(shelf.entry("a.tape"))


def test_json_is_read_again_after_a_change(tmp_path: Path) -> None:
    """The contents of a JSON file are cached until the file changes."""
    tape = make_tape(tmp_path / "a.tape", [{"statement": "SELECT 1"}])
    shelf = Shelf(tmp_path)
    entry = shelf.entry("a.tape")
    assert shelf.info(entry) is shelf.info(entry)
    info = json.loads((tape / "tape.json").read_text())
    (tape / "tape.json").write_text(json.dumps({**info, "source": "another one"}))
    assert shelf.info(entry)["source"] == "another one"
    with hold(tape):
        assert entry.under_way
    assert not entry.under_way


def test_tape_is_found_by_path_or_id(tmp_path: Path) -> None:
    """If the tape's path in the run is inside the folder, the tape at this path is used. If not, a tape with the same
    id is used. A tape outside the folder is not read.
    """
    root = tmp_path / "root"
    tape = make_tape(root / "a.tape", [{"statement": "SELECT 1"}])
    other = make_tape(tmp_path / "b.tape", [{"statement": "SELECT 2"}])
    shelf = Shelf(root)
    wanted = tape_id(json.loads((tape / "tape.json").read_text()))
    assert shelf.tape_of(str(tape), None) == tape
    assert shelf.tape_of("/elsewhere/a.tape", wanted) == tape
    for path in (str(other), "../b.tape", f"{root}/../b.tape", "", "\0"):
        with pytest.raises(FolderError, match="is not in the served folder"):
            shelf.tape_of(path, "00")


@pytest.mark.parametrize("kind", ["missing", "file"])
def test_missing_folder_or_file_is_refused(tmp_path: Path, kind: str) -> None:
    path = tmp_path / kind
    if kind == "file":
        path.write_text("")
    with pytest.raises(FolderError, match=str(path)):
        Shelf(path)


def test_texts_stamps_and_json_objects_are_read(tmp_path: Path) -> None:
    """A text file is read completely, as UTF-8, from a regular file. A stamp changes with its file. A JSON file
    contains an object.
    """
    file = tmp_path / "x"
    before = stamp_of(file)
    file.write_bytes(b"abc")
    assert read_text(file, 3) == "abc"
    assert stamp_of(file) != before
    with pytest.raises(FolderError, match="more than"):
        read_text(file, 2)
    file.write_bytes(b"\xff")
    with pytest.raises(FolderError, match="UTF-8"):
        read_text(file, 3)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FolderError):
        read_text(tmp_path / "pipe", 3)
    assert kind_of(tmp_path) == (None, tmp_path)
    assert (section({"a": {"b": 1}}, "a"), section({"a": [1]}, "a"), section({}, "a")) == ({"b": 1}, {}, {})
