# SPDX-License-Identifier: Apache-2.0
"""Detect the kind of a source file from its first bytes."""

from collections.abc import Iterable

from ..common.errors import InputError, NativeFault
from ..native.bindings.inputs import head
from .source import SourceKind
from .wrapped import unwrapping

MAX_SHOWN = 40  # bytes of an unknown file to show in the message


def detect_source(name: str, kinds: Iterable[SourceKind]) -> SourceKind:
    """Return the kind whose marks come first in the file.

    If marks are at the same position, the first kind in `kinds` wins. A Pipe (native/bindings/inputs.py) keeps the
    bytes that were inspected, so the reader receives them again.

    Raises InputError if the file is empty, unreadable, or of an unknown kind.
    """
    try:
        begin = head(name)
    except NativeFault as error:
        raise InputError(str(error)) from error
    if not begin:
        raise InputError(f"{name}: the file is empty (no tape was written)")
    kinds = list(kinds)
    seen = [(place, kind) for kind in kinds if (place := kind.sniff(begin)) >= 0]
    if text := unwrapping(name, begin, min((place for place, _ in seen), default=-1)):
        raise InputError(f"{name}: {text} (no tape was written)")
    if seen:
        return min(seen, key=lambda pair: pair[0])[1]
    first = begin.split(b"\n", 1)[0][:MAX_SHOWN]
    raise InputError(
        f"{name}: unknown kind of file. The file begins with {first!r}. Run querytape capture KIND FILE with one of"
        f" these kinds: {', '.join(kind.name for kind in kinds)}"
    )
