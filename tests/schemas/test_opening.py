# SPDX-License-Identifier: Apache-2.0
"""Folders are opened, or refused with a sentence."""

import json
from pathlib import Path

import pytest
from querytape.common.errors import FolderError
from querytape.schemas import open_folder, tape_id

from tests.helpers.runs import make_run
from tests.helpers.tapes import make_tape


def write(path: Path, kind: str, text: str) -> Path:
    """Return a folder with a JSON file."""
    path.mkdir()
    (path / f"{kind}.json").write_text(text)
    return path


def test_what_is_refused(tmp_path: Path) -> None:
    """A missing folder, one of another kind, one without JSON, damaged JSON, a newer version: each has its sentence."""
    with pytest.raises(FolderError, match="no such tape"):
        open_folder("tape", tmp_path / "none")
    with pytest.raises(FolderError, match="cannot be opened: File name too long"):
        open_folder("tape", tmp_path / ("x" * 300))
    run = write(tmp_path / "a", "run", json.dumps({"format_version": 1}))
    with pytest.raises(FolderError, match="is not a tape: the folder is a run"):
        open_folder("tape", run)
    with pytest.raises(FolderError, match=r"is not a tape: tape\.json is missing"):
        open_folder("tape", tmp_path)
    for name, text in (("b", "{"), ("c", "{}"), ("d", "[1]")):
        with pytest.raises(FolderError, match="invalid JSON for a tape"):
            open_folder("tape", write(tmp_path / name, "tape", text))
    for name, version in (("e", 99), ("f", "1")):
        with pytest.raises(FolderError, match="install a newer querytape"):
            open_folder("tape", write(tmp_path / name, "tape", json.dumps({"format_version": version})))


def test_an_unfinished_tape_opens(tmp_path: Path) -> None:
    """What a kill left can be opened, and says that it is not finished."""
    path = write(tmp_path / "a", "tape", json.dumps({"format_version": 1, "finished": False}))
    assert not open_folder("tape", path).finished


def test_versions_that_are_read(tmp_path: Path) -> None:
    """Whole numbers from 1 to ours."""
    for version, good in ((1, True), (0, False), (-1, False), (2, False), (True, False), (1.0, False), (None, False)):
        path = write(tmp_path / f"{version}", "tape", json.dumps({"format_version": version}))
        if good:
            assert open_folder("tape", path).info == {"format_version": 1}
        else:
            with pytest.raises(
                FolderError, match=f"has tape format {version}, but this querytape reads only up to format 1: install"
            ):
                open_folder("tape", path)


def test_what_is_inside_of_another_folder(tmp_path: Path) -> None:
    """A comparison's folder is no tape: its runs are named, printable, the first few of many."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    many = tmp_path / "night"
    for number in range(8):
        make_run(many / f"a{number}\x1b.run", tape, [{}])
    with pytest.raises(FolderError) as told:
        open_folder("tape", many)
    assert str(told.value).endswith("the folder contains " + ", ".join(f"a{n} .run" for n in range(6)) + ", ...")


def test_a_tape_does_not_say_which_tape_it_is(tmp_path: Path) -> None:
    """What tells it from others follows from its files, whatever its JSON says of a set."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    before = tape_id(open_folder("tape", tape).info)
    info = json.loads((tape / "tape.json").read_text())
    (tape / "tape.json").write_text(json.dumps(info | {"set_of": "another", "tapes": ["a"]}))
    assert tape_id(open_folder("tape", tape).info) == before
    assert "tapes" not in open_folder("tape", tape).info
