# SPDX-License-Identifier: Apache-2.0
"""Keeps the comparisons of many nights in one folder, each by its date; removes old ones, never because a night failed.

A night is good once its last file, `night.json`, is there: all its rounds ran and its report was written, whatever the
report says. A night that failed leaves its folder and removes nothing.
"""

import fcntl
import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from ..common.errors import InputError
from ..common.files import make_private, write_json
from .compare_plan import PLAN_FILE

NAME = re.compile(r"\d{4}-\d{2}-\d{2}T\d{4}(-\d+)?")
NIGHT_FILE, LOCK_FILE = "night.json", ".lock"


@contextmanager
def one_night(folder: Path, now: datetime | None = None) -> Iterator[Path]:
    """Yield the path of this night's comparison in `folder`, named by the UTC date and time; nobody else's meanwhile.

    Raises InputError where another night is still running there, or the folder can't be used.
    """
    try:
        if not folder.exists():
            make_private(folder)
        lock = os.open(folder / LOCK_FILE, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)
    except OSError as error:
        raise InputError(f"--nightly {folder}: {error.strerror}") from error
    try:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise InputError(
                f"--nightly {folder}: another nightly comparison is still running in this folder"
            ) from error
        yield _new_name(folder, now or datetime.now(UTC))
    finally:
        os.close(lock)


def _new_name(folder: Path, now: datetime) -> Path:
    """Return a name that is not taken: 2026-11-22T0200, then 2026-11-22T0200-2."""
    first = folder / f"{now:%Y-%m-%dT%H%M}"
    path, number = first, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = first.with_name(f"{first.name}-{number}")
    return path


def nights(folder: Path) -> list[Path]:
    """Return the nights of a folder, oldest first: folders of comparisons; links and all else are left alone."""
    found = [path for path in folder.iterdir() if NAME.fullmatch(path.name) and not path.is_symlink()]
    return sorted((path for path in found if (path / PLAN_FILE).is_file()), key=_order)


def _order(path: Path) -> tuple[str, int]:
    minute, _, number = path.name[:15], path.name[15:16], path.name[16:]
    return minute, int(number or 1)


def is_good(night: Path) -> bool:
    """Whether a night came to its end."""
    return (night / NIGHT_FILE).is_file()


def finish_night(night: Path, exit_code: int) -> None:
    """Say in the folder that the night is good, and what its gates said."""
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(night / NIGHT_FILE, {"finished": finished, "exit_code": exit_code})


def prune(folder: Path, keep: int) -> list[Path]:
    """Remove all but the newest `keep` good nights, and failed nights that are older than those; return what went.

    Nothing goes unless so many good nights stay.
    """
    all_of_them = nights(folder)
    good = [night for night in all_of_them if is_good(night)]
    if keep < 1 or len(good) < keep:
        return []
    oldest = _order(good[-keep])
    gone = [night for night in all_of_them if _order(night) < oldest]
    for night in gone:
        (night / NIGHT_FILE).unlink(missing_ok=True)  # cut off half-way it counts as no good night
        shutil.rmtree(night)
    return gone
