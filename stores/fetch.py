# SPDX-License-Identifier: Apache-2.0
"""Copy a tape, a set or a run from an object store to a temporary folder of this machine.

A capture may still publish the tape. Its JSON is read first, and the list of objects second. If the list lacks a part
of the JSON, the capture has dropped the part meanwhile (--keep), and the copy starts again.
"""

import json
import os
import re
import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..common.errors import InputError, QuerytapeError
from ..common.staged import address_of, stage
from ..common.temporary import temporary_folder
from ..common.units import megabytes, parse_size
from .store import NotThereError, Store
from .threads import in_threads

LIMIT = "QUERYTAPE_STAGING_LIMIT"
RESERVE = 20  # one part of this many of the free disk space stays free
SET = "set.json"
MARKERS = ("tape.json", "run.json", SET, "plans.json")
CLAIM = "querytape.writing"  # the object of a process that is writing the folder
ATTEMPTS = 5
# The parts of a table. While a folder is written, a part gets such a name when it is complete.
PART = re.compile(r"(?:.+/)?[a-z_]+/part-[a-z0-9-]{1,40}\.parquet")
MAX_NAME, MAX_DEPTH = 1024, 16
MEGABYTE = 1_000_000


@contextmanager
def fetched(address: str, whole: bool = True, parent: Path | None = None) -> Iterator[Path]:
    """Yield the path of a local copy that is removed when the block ends.

    - `whole`: False copies only the JSON and the table of sessions of each tape of a set. See `fetch_tapes`.
    - `parent`: the folder for the copy. None means TMPDIR.

    Raises InputError if the store has no such folder or the copy would be too large, and StoreError. Errors of the
    block that name the copy name the address instead.
    """
    store = Store(address)
    with temporary_folder(parent) as room:
        path = stage(Path(room), store.address)
        with named(path, store.address):
            for attempt in range(1, ATTEMPTS + 1):
                try:
                    _fetch(store, path, attempt == ATTEMPTS, whole)
                    break
                except NotThereError:
                    shutil.rmtree(path, ignore_errors=True)
                    if attempt == ATTEMPTS:
                        raise
            yield path


@contextmanager
def named(path: Path, address: str) -> Iterator[None]:
    """Let the errors of the block name the address instead of the local path."""
    try:
        yield
    except QuerytapeError as error:
        error.args = (str(error).replace(str(path), address), *error.args[1:])
        raise


def fetch_tapes(path: Path, names: Collection[str]) -> None:
    """Copy the remaining files of some tapes of a set. `path`: a local copy of the set, made with `whole` = False.

    Raises InputError if the copy would be too large, and StoreError.
    """
    address = address_of(path)
    assert address is not None
    store = Store(address)
    with named(path, address):
        listed = store.sizes()
        check_names(address, listed)
        inside = {name: size for name, size in listed.items() if name.partition("/")[0] in names}
        wanted = {name: size for name, size in inside.items() if not is_small(name)}
        old: set[str] = set()
        for marker in filter(is_marker, inside):
            old |= unlisted_parts(files_in((path / marker).read_bytes(), marker), wanted)
        check_space(address, sum(wanted.values()), path)
        _get(store, path, [name for name in wanted if name not in old])


def is_small(name: str) -> bool:
    """Return whether a file of a set is copied before it is known which tapes are needed."""
    _, inside, file = name.partition("/")
    return not inside or is_marker(name) or file.startswith(("sessions/", "sessions."))


def _fetch(store: Store, path: Path, last: bool, whole: bool) -> None:
    """Copy all files. `last`: also copy a folder that lacks files. The command then reports the missing files."""
    first = store.sizes()
    if not first:
        raise InputError(f"{store.address}: the store has no such folder")
    check_names(store.address, first)
    markers = [name for name in first if is_marker(name)]
    whole = whole or SET not in first
    check_space(store.address, sum(n for name, n in first.items() if whole or is_small(name)), path.parent)
    path.mkdir(mode=0o700)
    _get(store, path, markers)
    listed = store.sizes()
    check_names(store.address, listed)
    old = {CLAIM}
    for marker in markers:
        content = (path / marker).read_bytes()
        files = files_in(content, marker)
        for name in files:
            if name not in listed and not last:
                raise NotThereError(f"{store.address}: {marker} lists {name}, but the store does not have this file")
        if is_finished(content):
            old |= unlisted_parts(files, listed)
    names = [name for name in listed if whole or is_small(name)]
    _get(store, path, [name for name in names if name not in markers and name not in old])


def unlisted_parts(files: Sequence[str], there: Collection[str]) -> set[str]:
    """Return the parts next to the listed parts of a finished folder that the JSON does not list.

    A store may refuse to delete parts that a capture has dropped (--keep).
    """
    folders = {name.rpartition("/")[0] for name in files if PART.fullmatch(name)}
    return {name for name in there if PART.fullmatch(name) and name.rpartition("/")[0] in folders} - {*files}


def files_in(content: bytes, marker: str) -> list[str]:
    """Return the names of the files that the JSON of a folder lists, relative to the address.

    `marker`: the name of the JSON. An unreadable JSON lists nothing. The command reports it later.
    """
    folder = marker[: len(marker) - len(marker.rpartition("/")[2])]
    try:
        info: Any = json.loads(content)
        entries = [each for value in info.values() if isinstance(value, list) for each in value]
    except (ValueError, AttributeError):
        return []
    files = [each.get("file") for each in entries if isinstance(each, dict)]
    return [f"{folder}{file}" for file in files if isinstance(file, str)]


def is_finished(content: bytes) -> bool:
    """Return whether a JSON says that its folder is finished. An unreadable JSON counts as finished."""
    try:
        return bool(json.loads(content).get("finished"))
    except (ValueError, AttributeError):
        return True


def _get(store: Store, path: Path, names: list[str]) -> None:
    for name in names:
        (path / name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    in_threads(lambda name: store.get(name, path / name), names)


def is_marker(name: str) -> bool:
    """Return whether a file is the JSON that makes a folder a tape, a run, a set or a folder of plans."""
    return name.rpartition("/")[2] in MARKERS


def check_names(address: str, names: dict[str, int]) -> None:
    """Raise InputError for a name that would leave the folder of the copy, or is no file name here."""
    for name in names:
        parts = name.split("/")
        bad = any(part in ("", ".", "..") or "\0" in part or len(part.encode()) > 255 for part in parts)
        if bad or len(name) > MAX_NAME or len(parts) > MAX_DEPTH:
            raise InputError(f"{address}: {name[:80]!r} is not a valid file name. Rename or remove this object")


def check_space(address: str, size: int, room: Path) -> None:
    """Raise InputError if a copy of `size` bytes exceeds the limit, or the disk space of the temporary folder."""
    if text := os.environ.get(LIMIT):
        try:
            limit = parse_size(text)
        except ValueError as error:
            raise InputError(f"{LIMIT}: {error}") from error
        if size > limit:
            sizes = f"the size of {_size(size)} exceeds {LIMIT} ({_size(limit)})"
            raise InputError(f"{address}: {sizes}. Raise the limit, or use a part of the tape")
    disk = shutil.disk_usage(room)
    if size > (free := disk.free - disk.free // RESERVE):
        raise InputError(
            f"{address}: a local copy needs {_size(size)}, but {room.parent} has only {_size(free)}: set TMPDIR, or"
            " --cluster-folder, to a folder on a larger disk"
        )


def _size(size: int) -> str:
    return megabytes(size) if size >= MEGABYTE else f"{size:,} bytes"
