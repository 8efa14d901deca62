# SPDX-License-Identifier: Apache-2.0
"""Open tapes, sets of tapes and runs, and check them as far as possible without reading them completely."""

from pathlib import Path
from typing import Any

from ..common.errors import FolderError
from ..common.files import refuse_unreadable_name
from ..common.text import printable
from .folders import TABLES, Folder, check_names
from .json_shapes import check_shape, read_json
from .tables import FORMAT_VERSION
from .tape_set import DIGESTS, OF_SETS, SET, open_members

MAX_LISTED = 6


def open_folder(kind: str, path: Path, has_parts: bool = True) -> Folder:
    """Open a tape or a run. A set of tapes opens as a tape.

    `has_parts`: False means that tapes may still lack files. Check each of them later with `Folder.check`. The tapes of
    a set then need only their JSON and their table of sessions.

    Raises FolderError if the folder is missing, damaged, of another kind, or has a newer format version. The message
    contains the file, and the JSON key or the column.
    """
    refuse_unreadable_name(path, FolderError)
    marker = path / f"{kind}.json"
    try:
        path.stat()
    except FileNotFoundError:
        raise FolderError(f"{path}: no such {kind}") from None
    except OSError as error:
        raise FolderError(f"{path}: cannot be opened: {error.strerror}") from error
    if not marker.exists() and not marker.is_symlink():
        if (path / SET).exists() and kind == "tape":
            return _open_set(path, has_parts)
        other = next((each for each in (*TABLES, "set") if each != kind and (path / f"{each}.json").exists()), None)
        hint = f": the folder is a {other}" if other else f": {kind}.json is missing{_those_inside(path)}"
        raise FolderError(f"{path} is not a {kind}{hint}")
    info = _read(kind, marker)
    check_names(kind, marker, info)
    folder = Folder(kind, path, {key: value for key, value in info.items() if key not in OF_SETS})
    if has_parts:
        folder.check()
    return folder


def _open_set(path: Path, has_parts: bool) -> Folder:
    marker = path / SET
    info = _read("set", marker)
    if not info.get("finished"):
        raise FolderError(f"{marker}: the set is not finished: create the set again")
    check_shape("tape", marker, {**info["tape"], "finished": True})
    if [entry["file"] for entry in info["digests"]] != [DIGESTS]:
        raise FolderError(f"{marker}: digests: expected one file, {DIGESTS}")
    names = [entry["folder"] for entry in info["tapes"]]
    if not names:
        raise FolderError(f"{marker}: tapes: expected one or more")
    for name in names:
        if name in ("", ".", "..") or "/" in name or "\0" in name:
            raise FolderError(f"{marker}: tapes: {name[:80]!r} is not a valid folder name")
    opened = open_members(path, info, [_open_tape(path / name, has_parts) for name in names])
    opened.check()
    return opened


def _open_tape(path: Path, has_parts: bool) -> Folder:
    tape = open_folder("tape", path, has_parts)
    if not tape.finished:
        raise FolderError(
            f"{path}: the tape is not finished: run `querytape inspect {path}` first to complete the tape"
        )
    if (path / SET).exists():
        raise FolderError(f"{path}: expected a tape, found a set inside a set")
    return tape


def _read(kind: str, marker: Path) -> dict[str, Any]:
    """Return the JSON of a folder. Raises FolderError if its version or structure is unsupported."""
    info = read_json(kind, marker)
    version = info["format_version"]
    if not isinstance(version, int) or isinstance(version, bool) or not 1 <= version <= FORMAT_VERSION:
        raise FolderError(
            f"{marker.parent} has {kind} format {version}, but this querytape reads only up to format {FORMAT_VERSION}:"
            " install a newer querytape"
        )
    check_shape(kind, marker, info)
    return info


def _those_inside(path: Path) -> str:
    """Return a hint that lists the tapes and runs inside a folder, such as a comparison or a demo."""
    try:
        names = sorted(
            each.name for each in path.iterdir() if any((each / f"{kind}.json").is_file() for kind in TABLES)
        )
    except OSError:
        return ""
    listed = ", ".join(printable(name, 80) for name in names[:MAX_LISTED])
    return f"; the folder contains {listed}{', ...' if len(names) > MAX_LISTED else ''}" if names else ""
