# SPDX-License-Identifier: Apache-2.0
"""Finds the tapes, runs, comparisons, sweeps and nightly folders in a folder.

Follows no symbolic link, writes nothing.
"""

import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..common.errors import FolderError
from ..common.files import is_held, is_utf8, open_regular
from ..experiments.compare_plan import PLAN_FILE
from ..experiments.nightly import NAME as NIGHT_NAME
from ..schemas import read_json, tape_id

TAPE, RUN, COMPARISON, SWEEP, NIGHTS = "tape", "run", "comparison", "sweep", "nights"
SET = "set.json"
MARKERS = {"tape.json": TAPE, SET: TAPE, "run.json": RUN, PLAN_FILE: COMPARISON, "sweep.json": SWEEP}
INSIDE = (COMPARISON, SWEEP)  # kinds that contain runs and tapes
MAX_DEPTH, MAX_FOLDERS, MAX_ENTRIES = 6, 20_000, 2_000
MAX_FILES = 200_000  # maximum number of files of a tape or run that are checked for links
MAX_MARKER = 8 << 20  # maximum bytes of a JSON file that is read for the list


class NotThere(FolderError):
    """No entry has this name."""


@dataclass(frozen=True)
class Entry:
    """An entry of the folder. `name` is its relative path. `marker` is the file that identifies its kind."""

    kind: str
    name: str
    path: Path
    marker: Path

    @property
    def under_way(self) -> bool:
        """Whether a process is writing the entry now."""
        return is_held(self.path)


@dataclass
class Found:
    """The results of a search.

    `more`: the search stopped at its limit. `unreadable`: number of names that are not UTF-8.
    """

    entries: list[Entry] = field(default_factory=list)
    more: bool = False
    unreadable: int = 0
    folders: int = 0


class Shelf:
    """A folder whose contents are served."""

    def __init__(self, root: Path) -> None:
        """Raises FolderError if `root` is not a folder."""
        try:
            self.root = root.resolve(strict=True)
            if not self.root.is_dir():
                raise FolderError(f"{root}: expected a folder")
            next(self.root.iterdir(), None)
        except (OSError, RuntimeError) as error:
            raise FolderError(f"{root}: {getattr(error, 'strerror', None) or error}") from error
        self._infos: dict[Path, tuple[tuple[int, ...], dict[str, Any]]] = {}

    def find(self) -> Found:
        """Return all entries of the folder, ordered by name."""
        found = Found()
        kind, _ = kind_of(self.root)
        if kind == NIGHTS:
            found.entries.append(Entry(NIGHTS, ".", self.root, self.root))
        self._walk(self.root, "", 0, found)
        found.entries.sort(key=lambda entry: entry.name)
        return found

    def entry(self, name: str) -> Entry:
        """Return the entry with this relative path. Raises NotThere for a missing entry, and FolderError for a link."""
        path = self.inside(name)
        kind, marker = kind_of(path)
        if kind is None:
            raise NotThere(f"{name}: not a tape, run, comparison, sweep or nightly folder")
        return Entry(kind, name, path, marker)

    def inside(self, name: str) -> Path:
        """Return the folder with this relative path.

        Raises NotThere if the folder is missing, and FolderError if a link is on the path.
        """
        if name == ".":
            return self.root
        path = self.root
        for part in name.split("/"):
            if not part or part.startswith(".") or "\0" in part or not is_utf8(part):
                raise NotThere(f"{name}: not found")
            path = path / part
            try:
                mode = path.lstat().st_mode
            except OSError as error:
                raise NotThere(f"{name}: not found") from error
            if stat.S_ISLNK(mode):
                raise FolderError(f"{name}: a symbolic link (querytape serve does not follow links)")
            if not stat.S_ISDIR(mode):
                raise NotThere(f"{name}: not found")
        return path

    def info(self, entry: Entry) -> dict[str, Any]:
        """Return the JSON of a tape, set or run. Raises FolderError if the JSON is unreadable."""
        stamp = stamp_of(entry.marker)
        kept = self._infos.get(entry.path)
        if kept is not None and kept[0] == stamp:
            return kept[1]
        if stamp and stamp[1] > MAX_MARKER:
            raise FolderError(f"{entry.marker.name} is too large for this list")
        info = read_json(entry.marker.stem, entry.marker)
        if len(self._infos) >= MAX_ENTRIES:
            self._infos.clear()
        self._infos[entry.path] = stamp, info
        return info

    def tape_of(self, path: str, wanted: str | None) -> Path:
        """Return the tape of a run or plan: by its path, or by its id if the tape was moved.

        Raises FolderError if the tape is not in the served folder, because files outside are never read.
        """
        try:
            return self.inside(str(Path(path).relative_to(self.root)))
        except (ValueError, FolderError):
            pass
        if wanted is not None:
            for entry in self.find().entries:
                if entry.kind == TAPE and self._id(entry) == wanted:
                    return entry.path
        raise FolderError(
            f"the tape {Path(path).name or path} is not in the served folder: move or copy the tape into this folder"
        )

    def _id(self, entry: Entry) -> str | None:
        try:
            return None if entry.marker.name == SET else tape_id(self.info(entry))
        except FolderError:
            return None

    def _walk(self, folder: Path, prefix: str, depth: int, found: Found) -> None:
        for each in _folders(folder):
            found.folders += 1
            if found.folders > MAX_FOLDERS or len(found.entries) >= MAX_ENTRIES:
                found.more = True
                return
            if not is_utf8(each.name):
                found.unreadable += 1
                continue
            kind, marker = kind_of(each)
            name = prefix + each.name
            if kind is not None:
                found.entries.append(Entry(kind, name, each, marker))
            if kind in (None, NIGHTS, *INSIDE):
                if depth < MAX_DEPTH:
                    self._walk(each, f"{name}/", depth + 1, found)
                else:
                    found.more = True


def kind_of(path: Path) -> tuple[str | None, Path]:
    """Return the kind of a folder and its marker. The marker of a nightly folder is the folder itself."""
    for name, kind in MARKERS.items():
        if _is(path / name, stat.S_ISREG):
            return kind, path / name
    nights = any(NIGHT_NAME.fullmatch(each.name) and _is(each / PLAN_FILE, stat.S_ISREG) for each in _folders(path))
    return (NIGHTS if nights else None), path


def section(info: dict[str, Any], key: str) -> dict[str, Any]:
    """Return an object inside JSON, or an empty object if it is missing."""
    value = info.get(key)
    return value if isinstance(value, dict) else {}


def stamp_of(*files: Path) -> tuple[int, ...]:
    """Return a stamp that changes with any of these files: times, sizes, inodes. A missing file counts as zeros."""
    stamp: list[int] = []
    for file in files:
        try:
            found = file.lstat()
            stamp += [found.st_mtime_ns, found.st_size, found.st_ino]
        except OSError:
            stamp += [0, 0, 0]
    return tuple(stamp)


def refuse_links(folder: Path) -> None:
    """Raise FolderError if a tape or run contains a symbolic link, which could lead out of the folder."""
    seen = 0
    for path, folders, files in os.walk(folder):
        for name in (*folders, *files):
            seen += 1
            if seen > MAX_FILES:
                raise FolderError(f"{folder.name}: the folder has more than {MAX_FILES:,} files")
            if (Path(path) / name).is_symlink():
                raise FolderError(
                    f"{folder.name}: {name[:80]} is a symbolic link (querytape serve does not follow links)"
                )


def read_text(path: Path, most: int) -> str:
    """Return the text of a file.

    Raises FolderError if the file is a link, is missing, is not UTF-8, or has more than `most` bytes.
    """
    with open_regular(path, FolderError) as file:
        raw = file.read(most + 1)
    if len(raw) > most:
        raise FolderError(f"{path.name}: more than {most >> 20} MiB")
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise FolderError(f"{path.name}: not UTF-8") from error


def _folders(folder: Path) -> Iterator[Path]:
    """Yield the subfolders of a folder by name, without links and hidden folders.

    Yields none if the folder is unreadable.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(each.name for each in entries if each.is_dir(follow_symlinks=False))
    except OSError:
        return
    yield from (folder / name for name in names if not name.startswith("."))


def _is(path: Path, what: Any) -> bool:
    try:
        return bool(what(path.lstat().st_mode))
    except (OSError, ValueError):
        return False
