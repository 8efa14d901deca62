# SPDX-License-Identifier: Apache-2.0
"""What a file is, by its first bytes."""

from collections.abc import Iterable

from ..errors import InputError
from ..native.errors import NativeFault
from ..native.inputs import head
from .kinds import SourceKind


def guess(name: str, kinds: Iterable[SourceKind]) -> SourceKind:
    """Return the kind that is seen first in the file. Raises InputError where none does, saying what it begins with."""
    try:
        begin = head(name)
    except NativeFault as fault:
        raise InputError(str(fault)) from fault
    if not begin:
        raise InputError(f"{name}: the file is empty: there is nothing to capture (no tape was written)")
    kinds = list(kinds)
    seen = [(at, n) for n, kind in enumerate(kinds) if (at := kind.knows(begin)) >= 0]
    if seen:
        return kinds[min(seen)[1]]
    first = begin.split(b"\n", 1)[0][:40]
    raise InputError(
        f"{name}: not known: it begins with {first!r}; say what it is: querytape capture KIND FILE"
        f" ({', '.join(kind.name for kind in kinds)})"
    )
