# SPDX-License-Identifier: Apache-2.0
"""Read a tape while its capture writes the tape. The snapshot is a tape of hard links to published parts.

The snapshot has its own tables. The capture is not affected: its files are not changed, and a dropped part stays on
disk while a link exists.
"""

import contextlib
import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ...common.errors import InputError
from ...common.files import hold, is_held, make_private, remove_folder, write_json
from ...common.units import utc_time
from ...schemas.folders import check_names
from ...schemas.json_shapes import check_shape, read_json
from ..finish import finish
from ..publishing import dropped_warnings
from ..storage import open_storage
from ..tape_writer import new_tape

ROOM = "snapshots"  # folder inside the tape, because hard links need the same file system
TRIES = 20
YOUNG_S = 60  # age in seconds at which an unlocked snapshot counts as abandoned


def snapshot(tape: Path, out: Path) -> dict[str, Any]:
    """Write a tape with the parts that a running capture has published so far, and return its JSON.

    Raises InputError if no part was published, or if parts are dropped before they can be linked.
    """
    for _ in range(TRIES):
        new_tape(out)
        info = published(tape)
        try:
            if not info["parts"]:
                raise InputError(f"{tape}: the capture is still running and has not yet published any events")
            _link(tape, out, info)
            break
        except FileNotFoundError:  # a part was dropped after tape.json was read
            shutil.rmtree(out)
        except BaseException:
            shutil.rmtree(out)
            raise
    else:
        raise InputError(f"{tape}: the capture drops parts (--keep) faster than querytape can read them")
    until = max(part["last_ns"] for part in info["parts"])
    text = f"the capture was still running. Events after {utc_time(until)} UTC are missing"
    info.pop("published", None)
    info.pop("ended")
    info["snapshot_of"] = str(tape.absolute())
    write_json(out / "tape.json", info)
    with open_storage(out, largest=int(info.get("largest_event") or 0)) as con:
        return finish(con, out, info, [{"kind": "snapshot", "text": text}, *dropped_warnings(info)])


@contextmanager
def snapshot_of(tape: Path) -> Iterator[Path]:
    """Yield the path of a snapshot that is removed after the `with` block. Raises the errors of `snapshot`."""
    room = tape / ROOM
    with contextlib.suppress(FileExistsError):
        make_private(room)
    _clear(room)
    own = Path(tempfile.mkdtemp(dir=room))
    try:
        with hold(own):
            snapshot(tape, own / tape.name)
            yield own / tape.name
    finally:
        remove_folder(own)
        with contextlib.suppress(OSError):
            room.rmdir()


def published(tape: Path) -> dict[str, Any]:
    """Return the current content of tape.json for readers of an unfinished tape.

    `finished` is set to false. The added field `ended` shows whether the tape is finished. Raises FolderError if the
    file is not a valid tape.json.
    """
    marker = tape / "tape.json"
    info = read_json("tape", marker)
    check_shape("tape", marker, info)
    check_names("tape", marker, info)
    return {**info, "finished": False, "ended": info["finished"]}


def _link(tape: Path, out: Path, info: dict[str, Any]) -> None:
    """Link the published parts with their problems and session properties."""
    names = {Path(part["file"]).name for part in info["parts"]}
    for part in info["parts"]:
        take(tape / part["file"], out / part["file"])
    last = max(names)
    for folder in ("problems", "facts"):
        for file in sorted((tape / folder).glob("part-*.parquet")):
            if file.name <= last and (folder == "facts" or file.name in names):
                take(file, out / folder / file.name)


def take(old: Path, new: Path) -> None:
    """Link a file, or copy it if links are impossible. Raises FileNotFoundError if the file was dropped."""
    try:
        os.link(old, new)
    except FileNotFoundError:
        raise
    except OSError:  # hard links unsupported, or a different file system
        shutil.copyfile(old, new)


def _clear(room: Path) -> None:
    """Remove the snapshots of killed readers."""
    for one in room.iterdir():
        with contextlib.suppress(FileNotFoundError):
            if time.time() - one.stat().st_mtime > YOUNG_S and not is_held(one):
                remove_folder(one)
