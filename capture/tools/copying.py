# SPDX-License-Identifier: Apache-2.0
"""Copy a tape, a set or a run as it is."""

from pathlib import Path
from typing import NamedTuple

from ...common.errors import FolderError, InputError
from ...common.files import is_held, new_folder, refuse_existing, whole_or_removed
from ...common.staged import address_of
from ...schemas import open_folder
from ...schemas.tape_set import SET
from .snapshot import take

KINDS = {"tape.json": "tape", SET: "tape", "run.json": "run", "plans.json": "plans"}


class Copied(NamedTuple):
    """What was copied. `size`: bytes. `finished`: whether the writers of the folder had finished."""

    files: int
    size: int
    finished: bool


def copy_folder(source: Path, target: Path) -> Copied:
    """Copy a folder. If both folders are on one file system, the files are linked, because no file ever changes.

    Raises InputError if a process still writes the source or the target exists, and FolderError if the source is
    damaged.
    """
    folders = [source] if kind_of(source) else sorted(each for each in source.iterdir() if kind_of(each))
    if not folders:
        raise FolderError(f"{source}: expected a tape, a set, a run, a folder of runs or a folder of plans")
    finished = True
    for folder in folders:
        if is_held(folder):
            raise InputError(f"{folder}: a process is still writing this folder. Copy it after the process has ended")
        opened = open_folder(kind_of(folder), folder)
        if opened.kind == "tape" and not opened.finished and address_of(source) is None:
            raise InputError(f"{folder}: the capture was killed. Complete the tape first: querytape inspect {folder}")
        finished = opened.finished and finished
    refuse_existing(target, "TARGET")
    files = sorted(file for file in source.rglob("*") if file.is_file() and file.suffix != ".tmp")
    new_folder(target)
    with whole_or_removed(target):
        for file in files:
            copy = target / file.relative_to(source)
            copy.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            take(file, copy)
    return Copied(len(files), sum(file.stat().st_size for file in files), finished)


def kind_of(folder: Path) -> str:
    """Return the kind of a folder, or an empty text for a folder of another kind."""
    return next((kind for marker, kind in KINDS.items() if (folder / marker).exists()), "")
