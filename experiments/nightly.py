# SPDX-License-Identifier: Apache-2.0
"""Keeps nightly comparisons in one folder, each named by its date. Removes old comparisons only after a good night.

A night is good if its last file `night.json` exists. The file is written when all rounds ran and the report exists. The
verdicts do not matter. A failed night keeps its folder and removes nothing.
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
    """Yield the path of this night's comparison in `folder`, named by the UTC date and time.

    Locks `folder` during the block.

    Raises InputError if another night is still running in the folder, or the folder is not usable.
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
    """Return an unused name: 2026-11-22T0200, then 2026-11-22T0200-2."""
    first = folder / f"{now:%Y-%m-%dT%H%M}"
    path, number = first, 1
    while path.exists() or path.is_symlink():
        number += 1
        path = first.with_name(f"{first.name}-{number}")
    return path


def nights(folder: Path) -> list[Path]:
    """Return the folders of nightly comparisons, oldest first. Symbolic links and all other entries are ignored."""
    found = [path for path in folder.iterdir() if NAME.fullmatch(path.name) and not path.is_symlink()]
    return sorted((path for path in found if (path / PLAN_FILE).is_file()), key=_order)


def _order(path: Path) -> tuple[str, int]:
    minute, _, number = path.name[:15], path.name[15:16], path.name[16:]
    return minute, int(number or 1)


def is_good(night: Path) -> bool:
    """Whether a night is complete."""
    return (night / NIGHT_FILE).is_file()


def finish_night(night: Path, exit_code: int) -> None:
    """Mark the night as good in its folder, with the exit code of its gates."""
    finished = datetime.now(UTC).isoformat(timespec="seconds")
    write_json(night / NIGHT_FILE, {"finished": finished, "exit_code": exit_code})


def prune(folder: Path, keep: int) -> list[Path]:
    """Remove old nights and return them. Keeps the newest `keep` good nights and all later nights.

    Removes nothing if the folder has fewer than `keep` good nights.
    """
    all_of_them = nights(folder)
    good = [night for night in all_of_them if is_good(night)]
    if keep < 1 or len(good) < keep:
        return []
    oldest = _order(good[-keep])
    gone = [night for night in all_of_them if _order(night) < oldest]
    for night in gone:
        (night / NIGHT_FILE).unlink(missing_ok=True)  # if removal is interrupted, the rest is not a good night
        shutil.rmtree(night)
    return gone
