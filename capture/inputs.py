# SPDX-License-Identifier: Apache-2.0
"""The files of a capture, before anything is read of them: there, not empty, in the order of time."""

from collections.abc import Callable, Sequence
from pathlib import Path

from ..errors import InputError
from ..native.errors import NativeFault


def order_by_time(names: Sequence[str], first_time: Callable[[str], int]) -> list[str]:
    """Return the files in the order of their first events; those that tell no time keep their place at the end.

    Rotated logs come from a shell's `*` newest first or by name; standard input can't be looked at and stays.
    """
    if "-" in names or len(names) < 2:
        return list(names)

    def key(name: str) -> tuple[int, int]:
        try:
            return (0, first_time(name))
        except NativeFault:
            return (1, 0)

    return sorted(names, key=key)


def check_files(names: Sequence[str]) -> None:
    """Raise InputError unless every name is a readable, non-empty file (or one single "-")."""
    if len(set(names)) != len(names):
        raise InputError("the same file is named twice: its events would be on the tape twice")
    for name in names:
        path = Path(name)
        if name == "-":
            continue
        if not path.exists():
            raise InputError(f"{name}: no such file")
        if path.is_file() and path.stat().st_size == 0:
            raise InputError(f"{name}: the file is empty: there is nothing to capture (no tape was written)")


def total_bytes(names: Sequence[str]) -> int | None:
    """Return how many bytes there are to read, None where a pipe is among them."""
    if any(name == "-" or not Path(name).is_file() for name in names):
        return None
    return sum(Path(name).stat().st_size for name in names)
