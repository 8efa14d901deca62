# SPDX-License-Identifier: Apache-2.0
"""Capture files of one kind to a tape from a Python program. `querytape capture KIND` calls the same function."""

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
CaptureOptions = Settings  # public name in `import querytape`


def capture(
    files: AnyPath | Sequence[AnyPath],
    output: AnyPath,
    kind: str | None = None,
    options: CaptureOptions | None = None,
) -> Tape:
    """Record files into a new tape at `output` and return the tape.

    `kind` is a source name of `querytape capture`, such as "slowlog". None detects the kind from the first file. If no
    files are given, `options` must name a live source. Raises InputError if a file cannot be read, the input has no
    events, or `output` exists.
    """
    paths = [files] if isinstance(files, str | PathLike) else files
    names = [as_input(fspath(path)) for path in paths]
    if kind is None and not names:
        raise InputError("expected files to capture, or the kind of a live source")
    if kind is not None and kind not in SOURCES:
        raise InputError(f"unknown kind of source {kind!r}: expected one of {', '.join(SOURCES)}")
    source = SOURCES[kind] if kind is not None else detect_source(names[0], SOURCES.values())
    path = Path(output)
    # A new tape needs no check. The check would open each of its files.
    return Tape(Folder("tape", path, capture_source(source, names, path, options or Settings())))
