# SPDX-License-Identifier: Apache-2.0
"""Captures for Python programs: files of one kind to a tape. `querytape capture KIND` calls the same function."""

from collections.abc import Sequence
from os import PathLike, fspath
from pathlib import Path

from ..common.errors import InputError
from ..native.bindings.inputs import as_input
from ..schemas import Folder
from ..schemas.opened import Tape
from .detect import detect_source
from .record_source import capture_source
from .source import Settings
from .source_table import SOURCES

AnyPath = str | PathLike[str]
CaptureOptions = Settings  # as `import querytape` has it


def capture(
    files: AnyPath | Sequence[AnyPath],
    output: AnyPath,
    kind: str | None = None,
    options: CaptureOptions | None = None,
) -> Tape:
    """Record files into a new tape at `output` and return it.

    `kind` is a name that `querytape capture` knows, such as "slowlog"; None = it is detected from the first file. No
    files: a live source, which `options` name. Raises InputError where a file cannot be read or has no event, or
    `output` exists.
    """
    paths = [files] if isinstance(files, str | PathLike) else files
    names = [as_input(fspath(path)) for path in paths]
    if kind is None and not names:
        raise InputError("expected files to capture, or the kind of a live source")
    if kind is not None and kind not in SOURCES:
        raise InputError(f"unknown kind of source {kind!r}: expected one of {', '.join(SOURCES)}")
    source = SOURCES[kind] if kind is not None else detect_source(names[0], SOURCES.values())
    path = Path(output)
    # Nothing of what was written just now has to be checked again: that would open each of its files.
    return Tape(Folder("tape", path, capture_source(source, names, path, options or Settings())))
