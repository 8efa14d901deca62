# SPDX-License-Identifier: Apache-2.0
"""Copy a tape, a set or a run as it is."""

from pathlib import Path

import pytest
from querytape.capture.tools.copying import copy_folder
from querytape.capture.tools.deal import deal
from querytape.common.errors import FolderError, InputError
from querytape.common.files import hold
from querytape.schemas import open_folder

from ...helpers.runs import make_run
from ...helpers.tapes import make_tape, reads


def content(folder: Path) -> dict[str, bytes]:
    return {str(file.relative_to(folder)): file.read_bytes() for file in folder.rglob("*") if file.is_file()}


@pytest.mark.parametrize("kind", ["tape", "set", "run"])
def test_copy_has_the_same_files(kind: str, tmp_path: Path) -> None:
    folder = make_tape(tmp_path / "a.tape", reads(40), parts=2)
    if kind == "set":
        deal(folder, 2, tmp_path / "a.set")
        folder = tmp_path / "a.set"
    if kind == "run":
        folder = make_run(tmp_path / "a.run", folder)
    (folder / "left.tmp").write_bytes(b"left by a killed process")
    copied = copy_folder(folder, tmp_path / "copy")
    (folder / "left.tmp").unlink()
    assert content(tmp_path / "copy") == content(folder)
    assert copied == (len(content(folder)), sum(map(len, content(folder).values())), True)
    open_folder("run" if kind == "run" else "tape", tmp_path / "copy")


def test_existing_target_stays_unchanged(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "a.tape", reads(10))
    (tmp_path / "copy").mkdir()
    with pytest.raises(InputError, match="already exists"):
        copy_folder(tape, tmp_path / "copy")
    assert list((tmp_path / "copy").iterdir()) == []


def test_folder_that_is_being_written_is_refused(tmp_path: Path) -> None:
    tape = make_tape(tmp_path / "a.tape", reads(10))
    with hold(tape), pytest.raises(InputError, match="still writing"):
        copy_folder(tape, tmp_path / "copy")


def test_other_or_damaged_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FolderError, match="expected a tape"):
        copy_folder(tmp_path, tmp_path / "copy")
    tape = make_tape(tmp_path / "a.tape", reads(10))
    (tape / "digests.parquet").write_bytes(b"not Parquet")
    with pytest.raises(FolderError, match=r"digests\.parquet"):
        copy_folder(tape, tmp_path / "copy")
    assert not (tmp_path / "copy").exists()
