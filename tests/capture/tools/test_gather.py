# SPDX-License-Identifier: Apache-2.0
"""`tape gather` makes a set from the tapes in a folder. It adds common totals and does not copy the tapes."""

import json
from pathlib import Path
from typing import Any

import pytest
from querytape.capture.tools.derive import derive
from querytape.capture.tools.gather import gather
from querytape.capture.tools.verify import verify
from querytape.common.duck import small_database
from querytape.common.errors import FolderError, InputError
from querytape.schemas import EventFilter, open_folder

from tests.helpers.mixed import mixed_tape
from tests.helpers.tapes import make_tape

pytestmark = pytest.mark.slow


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A fixture: a folder of three tapes."""
    found = tmp_path / "all"
    found.mkdir()
    for seed, name in enumerate(("web1.tape", "web2.tape", "batch.tape")):
        mixed_tape(found / name, 5 + seed, 200, seed)
    return found


def table(path: Path, name: str, columns: str) -> list[Any]:
    """Return columns of a table."""
    with small_database() as con:
        return con.execute(f"SELECT {columns} FROM {open_folder('tape', path).source(name)} ORDER BY ALL").fetchall()


def test_gathered_set_equals_the_merged_tape(folder: Path, tmp_path: Path) -> None:
    """The test compares events, sessions, digests and counts of the set and the merged tape. The tapes are merged in
    the order of their names.
    """
    tapes = sorted(folder.glob("*.tape"))
    before = {file: file.stat().st_mtime_ns for file in folder.rglob("*") if file.is_file()}
    said = gather(folder)
    merged = derive(tapes, tmp_path / "merged.tape", EventFilter())
    for key in (
        "counts",
        "first_ns",
        "last_ns",
        "precision_ns",
        "problems",
        "known_columns",
        "measuring_point",
        "source",
    ):
        assert said[key] == merged[key], key
    for name, columns in (
        ("events", "session, seq, start_ns, statement, file, \"offset\", digest"),
        ("sessions", "session, thread_id, \"user\", first_ns, last_ns, events"),
        ("digests", "digest, class, normalized, sample, events, duration_ns, first_ns, last_ns, pt_id, actions"),
        ("problems", "file, line, kind, detail"),
    ):  # fmt: skip
        assert table(folder, name, columns) == table(tmp_path / "merged.tape", name, columns)
    assert list(verify(folder, tmp_path)) == []
    assert {file: file.stat().st_mtime_ns for file in before} == before


def test_set_warnings_name_their_tape(folder: Path) -> None:
    """If one tape is partial, the set is partial. The warning names this tape."""
    info = json.loads((folder / "web2.tape" / "tape.json").read_text())
    info["warnings"] = [{"kind": "stopped", "text": "the capture was stopped"}]
    (folder / "web2.tape" / "tape.json").write_text(json.dumps(info))
    assert {"kind": "stopped", "text": "web2.tape: the capture was stopped"} in gather(folder)["warnings"]


def test_folder_that_cannot_be_a_set_is_refused(folder: Path, tmp_path: Path) -> None:
    """The folder has no tape, an existing set, an unfinished tape, or tapes whose times were measured at different
    points. No set.json is written.
    """
    (tmp_path / "none").mkdir()
    with pytest.raises(InputError, match="found no tape"):
        gather(tmp_path / "none")
    make_tape(folder / "wire.tape", [{"statement": "SELECT 1"}], measuring_point="wire")
    with pytest.raises(InputError, match="durations that were measured at different points"):
        gather(folder)
    make_tape(folder / "half.tape", [{"statement": "SELECT 1"}], finished=False)
    with pytest.raises(InputError, match="not finished"):
        gather(folder)
    assert not (folder / "set.json").exists()


def test_set_is_gathered_once(folder: Path) -> None:
    """If the folder is gathered again, the command is refused with a hint. A set with a tape that changed later is also
    refused.
    """
    gather(folder)
    with pytest.raises(InputError, match="is already a set"):
        gather(folder)
    derive([folder / "web1.tape"], folder / "new.tape", EventFilter(classes=("read",)))
    (folder / "web1.tape").rename(folder.parent / "old.tape")
    (folder / "new.tape").rename(folder / "web1.tape")
    with pytest.raises(FolderError, match=r"lists a different tape: remove set.json and run"):
        open_folder("tape", folder)
    (folder / "set.json").unlink()
    assert gather(folder)["counts"]["events"] < 600
