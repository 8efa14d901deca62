# SPDX-License-Identifier: Apache-2.0
"""Opening of folders. Invalid folders are refused with a message."""

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


def test_invalid_folders_have_different_messages(tmp_path: Path) -> None:
    """The cases are a missing folder, a folder of another kind, a folder without JSON, damaged JSON and a newer
    version.
    """
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


def test_unfinished_tape_can_be_opened(tmp_path: Path) -> None:
    """The tape of a killed capture can be opened. It is marked as unfinished."""
    path = write(tmp_path / "a", "tape", json.dumps({"format_version": 1, "finished": False}))
    assert not open_folder("tape", path).finished


def test_supported_versions_are_accepted(tmp_path: Path) -> None:
    """Format versions are whole numbers from 1 to the current version."""
    for version, good in ((1, True), (0, False), (-1, False), (2, False), (True, False), (1.0, False), (None, False)):
        path = write(tmp_path / f"{version}", "tape", json.dumps({"format_version": version}))
        if good:
            assert open_folder("tape", path).info == {"format_version": 1}
        else:
            with pytest.raises(
                FolderError, match=f"has tape format {version}, but this querytape reads only up to format 1: install"
            ):
                open_folder("tape", path)


def test_message_lists_tapes_and_runs_inside_the_folder(tmp_path: Path) -> None:
    """The folder of a comparison is not a tape. The message lists its first runs, with control characters replaced."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    many = tmp_path / "night"
    for number in range(8):
        make_run(many / f"a{number}\x1b.run", tape, [{}])
    with pytest.raises(FolderError) as told:
        open_folder("tape", many)
    assert str(told.value).endswith("the folder contains " + ", ".join(f"a{n} .run" for n in range(6)) + ", ...")


def test_tape_id_ignores_the_json(tmp_path: Path) -> None:
    """The id is computed from the tape's files. Keys about a set do not change the id."""
    tape = make_tape(tmp_path / "t.tape", [{"statement": "SELECT 1"}])
    before = tape_id(open_folder("tape", tape).info)
    info = json.loads((tape / "tape.json").read_text())
    (tape / "tape.json").write_text(json.dumps(info | {"set_of": "another", "tapes": ["a"]}))
    assert tape_id(open_folder("tape", tape).info) == before
    assert "tapes" not in open_folder("tape", tape).info
