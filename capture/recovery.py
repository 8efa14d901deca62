# SPDX-License-Identifier: Apache-2.0
"""Complete a tape whose capture was killed, from the parts that were whole."""

from pathlib import Path
from typing import Any

from ..common.errors import FolderError, InputError
from ..common.files import is_held
from ..schemas import open_folder
from .finish import finish
from .parts import part_entry
from .publishing import dropped_warnings
from .storage import open_storage


def recover(path: Path) -> dict[str, Any]:
    """Complete the tape of a killed capture; return its JSON, which has a warning of what is lost.

    Raises FolderError where `path` is no tape, InputError where it has no event.
    """
    if is_held(path):
        raise InputError(f"{path}: its capture is under way: nothing has to be saved")
    tape = open_folder("tape", path)
    info = dict(tape.info)
    if missing := [key for key in ("source", "files") if not info.get(key)]:
        raise FolderError(f"{path / 'tape.json'}: {missing[0]}: missing: `querytape tape verify --salvage` may help")
    for half in (path / "events").glob("*.tmp"):
        half.unlink()
    info.pop("published", None)
    text = "the capture was killed: what it had not written yet is missing from the end of the tape"
    with open_storage(path) as con:
        info["parts"] = [part_entry(con, path, part) for part in tape.files("events")]
        warnings = [*info.get("warnings", []), *dropped_warnings(info), {"kind": "killed", "text": text}]
        return finish(con, path, info, warnings)
