# SPDX-License-Identifier: Apache-2.0
"""Capture each of many files into a tape of its own, and make a set of the tapes. Any process may capture a file.

A step reads one file and writes one tape. A step that is repeated after a failure gives the same tape, because the tape
gets its name when it is complete.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...common.errors import InputError, QuerytapeError
from ...common.files import new_folder, remove_folder
from ...common.zones import Zone
from ..library import capture
from ..record_source import check_files
from ..source import Settings
from .gather import gather

REASON = ".reason"
STOPPED = "stopped"

Step = Callable[[], Path]
Runner = Callable[[Sequence[Step]], list[Path]]


@dataclass(frozen=True)
class Many:
    """A set that was captured.

    - `info`: its combined JSON.
    - `without`: why some files have no tape.
    - `empty`: the files without any byte.
    """

    info: dict[str, Any]
    without: list[str]
    empty: list[str]


@dataclass(frozen=True)
class FileStep:
    """The capture of one file into the new folder `tape`. `timezone_ns`, `extra`: see `Settings`."""

    kind: str
    file: str
    tape: Path
    timezone_ns: Zone | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self) -> Path:
        """Return the folder of the tape, or a file with the reason if there is none.

        Raises QuerytapeError if this process was stopped.
        """
        reason = self.tape.with_suffix(REASON)
        for path in (self.tape, reason):
            if path.exists():
                return path
        made = self.tape.with_name(f"{self.tape.name}.{os.getpid()}.{os.urandom(4).hex()}.tmp")
        try:
            tape = capture([self.file], made, self.kind, Settings(timezone_ns=self.timezone_ns, extra=self.extra))
            if any(warning["kind"] == STOPPED for warning in tape.info["warnings"]):
                raise QuerytapeError(f"{self.file}: the capture was stopped")
            made.rename(self.tape)
        except InputError as error:
            remove_folder(made)
            made.write_text(str(error), encoding="utf-8")
            made.rename(reason)
            return reason
        except OSError:
            if not self.tape.exists():  # another attempt of the same step was faster
                raise
        finally:
            remove_folder(made)
        return self.tape


def capture_many(kind: str, files: Sequence[str], out: Path, settings: Settings, run: Runner | None = None) -> Many:
    """Capture files of one kind into the set `out`. If it fails, nothing remains.

    - `settings`: only `timezone_ns` and `extra` are used.
    - `run`: runs all steps and returns their results in order. None runs them in this process.

    Raises InputError if a file cannot be opened, `out` exists, or no file gives a tape. Raises QuerytapeError if a step
    fails.
    """
    check_files(files, follow=True)
    empty = [file for file in files if Path(file).stat().st_size == 0]
    new_folder(out)
    try:
        width = max(2, len(str(len(files))))
        given = settings.timezone_ns, settings.extra
        steps = [
            FileStep(kind, str(Path(file).absolute()), out.absolute() / f"{number:0{width}d}.tape", *given)
            for number, file in enumerate((file for file in files if file not in empty), 1)
        ]
        found = [step() for step in steps] if run is None else run(steps)
        without = [path.read_text(encoding="utf-8") for path in found if path.suffix == REASON]
        if len(without) + len(empty) == len(files):
            raise InputError(without[0] if without else f"{empty[0]}: the file is empty (no set was written)")
        for path in out.iterdir():
            if path.suffix == ".tmp":  # left by a killed process
                remove_folder(path)
            elif path.suffix == REASON:
                path.unlink()
        return Many(gather(out), without, empty)
    except BaseException:
        remove_folder(out)
        raise
