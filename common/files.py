# SPDX-License-Identifier: Apache-2.0
"""Create private folders and write files atomically. A killed process leaves no incomplete file."""

import errno
import fcntl
import hashlib
import json
import os
import re
import shutil
import stat
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

from .errors import InputError, QuerytapeError
from .signals import held

FULL = (errno.ENOSPC, errno.EDQUOT)
REMOVALS, REMOVAL_PAUSE_S = 5, 0.05
# Python represents bytes of a file name that are not UTF-8 as lone surrogates.
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def is_utf8(name: str) -> bool:
    """Return whether a file name is UTF-8. Python represents invalid bytes of a name as lone surrogates."""
    return name.isascii() or not any("\ud800" <= character <= "\udfff" for character in name)


def make_private(path: Path) -> None:
    """Create a folder that only its owner can read (mode 0700). The parent must exist and the folder must not."""
    path.mkdir(mode=0o700)
    path.chmod(0o700)


def refuse_existing(path: Path, option: str = "-o") -> None:
    """Raise InputError if the path exists. The message names the command line option `option`."""
    if path.exists() or path.is_symlink():
        raise InputError(
            f"{path} already exists: choose another name with {option}, or remove the existing file or folder"
        )


def refuse_unreadable_name(path: Path, kind: type[QuerytapeError] = InputError) -> None:
    """Raise `kind` if the name is not UTF-8. Neither JSON nor a terminal can show such a name."""
    if not is_utf8(str(path.absolute())):
        shown = os.fsencode(path).decode("utf-8", "backslashreplace")
        raise kind(f"{shown}: the path is not valid UTF-8: rename the file or folder")


@contextmanager
def open_regular(path: Path, kind: type[QuerytapeError] = InputError) -> Iterator[BinaryIO]:
    """Yield a regular file opened for reading.

    Raises `kind` if the file is missing, unreadable, a link, a pipe or a folder. The call never blocks, because it
    opens a pipe without waiting for a writer.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        link = " (a symbolic link)" if path.is_symlink() else ""
        raise kind(f"{path}{link}: cannot be read: {error.strerror}") from error
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise kind(f"{path}: expected a file, found a folder, a pipe or a device")
    with os.fdopen(handle, "rb") as file:
        yield file


def sha256_of(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal. Raises OSError."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def size_now(path: Path) -> int:
    """Return the size of a file in bytes. Return 0 if the file does not exist.

    Another process may rename the file at any moment. Raises OSError for other errors.
    """
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def file_entry(folder: Path, file: Path, rows: int) -> dict[str, Any]:
    """Return the JSON entry of one file of a tape or run: relative path, rows, bytes and SHA-256."""
    return {
        "file": str(file.relative_to(folder)),
        "rows": rows,
        "bytes": file.stat().st_size,
        "sha256": sha256_of(file),
    }


def new_folder(path: Path, *inner: str) -> None:
    """Create an empty private folder with the private subfolders `inner`.

    Raises InputError if the folder exists or cannot be created.
    """
    refuse_existing(path)
    if not is_utf8(str(path.absolute())):
        raise InputError(f"{ascii(str(path))[1:-1]}: the path is not valid UTF-8: choose another path with -o")
    try:
        make_private(path)
        for name in inner:
            make_private(path / name)
    except OSError as error:
        raise InputError(f"{path}: the folder cannot be created: {error.strerror}") from error


def remove_folder(path: Path) -> None:
    """Remove a folder that querytape created, ignoring errors. Tries several times if a process still writes into the
    folder.
    """
    for _ in range(REMOVALS):
        shutil.rmtree(path, ignore_errors=True)
        if not path.exists():
            return
        time.sleep(REMOVAL_PAUSE_S)


@contextmanager
def whole_or_removed(path: Path) -> Iterator[None]:
    """Remove a folder that querytape created if the block fails."""
    try:
        yield
    except BaseException:
        with held():
            remove_folder(path)
        raise


def fault_of(error: OSError) -> str | None:
    """Return the file and the fault of an error that a user can correct. Return None for other errors.

    If a copy fills a disk, the file is the copy.
    """
    full = error.errno in FULL
    place = (full and error.filename2) or error.filename
    return f"{place}: {error.strerror}" if place else error.strerror if full else None


@contextmanager
def publish(final: Path) -> Iterator[Path]:
    """Yield a temporary path next to `final`. On success, set its mode to 0600, sync it and rename it to `final`.

    The temporary file already exists and is empty. If the block fails, the temporary file is removed and `final` stays
    unchanged. An OSError that names no file then names `final`.
    """
    temporary = final.with_name(final.name + ".tmp")
    temporary.unlink(missing_ok=True)
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600))
        yield temporary
        temporary.chmod(0o600)
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        temporary.replace(final)
    except BaseException as error:
        temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename is None:
            error.filename = str(final)
        raise
    folder = os.open(final.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _as_escape(found: re.Match[str]) -> str:
    r"""Return the JSON escape `\xNN` of a byte in a file name that is not UTF-8."""
    return f"\\\\x{ord(found[0]) & 0xFF:02x}"


def write_json(path: Path, value: dict[str, Any]) -> None:
    """Write a JSON file atomically. Only its owner can read the file."""
    write_text(path, json_text(value))


def json_text(value: dict[str, Any]) -> str:
    """Return a value as the text of a JSON file."""
    return LONE_SURROGATE.sub(_as_escape, json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically. Only its owner can read the file."""
    with publish(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


@contextmanager
def hold(folder: Path) -> Iterator[None]:
    """Lock a folder with flock while the block runs.

    The lock shows that a process is writing the folder. The lock ends with the process.
    """
    handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def is_held(folder: Path) -> bool:
    """Return whether a live process is writing a folder. Returns False if the lock cannot be checked."""
    try:
        handle = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(handle)
    return False


def cache_folder() -> Path:
    """Return querytape's cache folder of this user (XDG Base Directory Specification). The folder may be missing."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "querytape"
