# SPDX-License-Identifier: Apache-2.0
"""Local copies of folders in an object store, which exist during a command, and how they are shown.

The folder /tmp/querytape-k3v0 has the local copy `shop.tape`, and the file `address` with the address of the folder and
the id of the process.
"""

import os
import re
from collections.abc import Callable
from pathlib import Path

from .errors import InputError
from .temporary import PREFIX

FILE = "address"
# Files that make a folder complete. A set is not complete: a user may add tapes and rebuild the set.
COMPLETE = {"tape.json": "a tape", "run.json": "a run", "plans.json": "a folder of plans"}
EXPECTED = "expected s3://BUCKET/PATH, gs://BUCKET/PATH or az://CONTAINER/PATH"
# The bucket, and parts of the path. Characters with a meaning in URLs are not allowed.
_ADDRESS = re.compile(r"(?:s3|gs|az)://[A-Za-z0-9][A-Za-z0-9._-]*(?:/[^/?#%\\\x00-\x1f\x7f]+)+")
_WRONG = re.compile(r"[?#%\\\x00-\x1f\x7f]")
_SCHEME = re.compile(r"(?:s3|s3a|gs|gcs|az|abfs|abfss):/", re.I)


def is_address(text: str) -> bool:
    """Return whether a text is meant as an address in an object store."""
    return _SCHEME.match(text) is not None


def parse_address(text: str) -> str:
    """Return an address without a slash at its end. Raises InputError for an invalid address."""
    address = text.removesuffix("/")
    parts = address.split("/")
    if wrong := sorted({*_WRONG.findall(address)}):
        raise InputError(f"{text}: the address has the invalid character {wrong[0]!r}")
    if not _ADDRESS.fullmatch(address) or any(part in (".", "..") for part in parts) or parts[-1] == FILE:
        raise InputError(f"{text}: {EXPECTED}")
    return address


def stage(room: Path, address: str) -> Path:
    """Return the path for the local copy of an address. `room`: a temporary folder of querytape."""
    (room / FILE).write_text(f"{address}\n{os.getpid()}\n", encoding="utf-8")
    path = room / address.rpartition("/")[2]
    if path.parent != room or path.name in ("", ".", "..", FILE):
        raise ValueError(address)
    return path


def address_of(path: Path) -> str | None:
    """Return the address of a local copy. Returns None for other folders, and for what a killed command has left."""
    if not path.parent.name.startswith(PREFIX):
        return None
    try:
        address, pid = (path.parent / FILE).read_text(encoding="utf-8").split("\n")[:2]
    except (OSError, ValueError):
        return None
    return address if address.rpartition("/")[2] == path.name and Path("/proc", pid).exists() else None


def shown_path(path: Path) -> str:
    """Return the name by which the user knows a folder, or a file in it: its address, or its path."""
    for folder in (path, *path.parents):
        if address := address_of(folder):
            inside = path.relative_to(folder)
            return address if inside == Path() else f"{address}/{inside}"
    return str(path)


def refuse_inside(new: str, folder: str, read: Callable[[str], bytes]) -> None:
    """Raise InputError if `folder`, in which `new` would be created, is complete.

    `read` returns the content of a file in the folder. Empty bytes mean that there is no such file.
    """
    for name, kind in COMPLETE.items():
        if b'"format_version"' in read(name):
            why = f"{folder} is {kind}, which is copied and removed as a whole"
            raise InputError(f"{new}: {why}. Choose a place outside")


def full_name(path: Path) -> str:
    """Return the address of a folder, or its absolute path."""
    return address_of(path) or str(path.absolute())
