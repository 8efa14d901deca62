# SPDX-License-Identifier: Apache-2.0
"""Find the commits that each event must wait for when a replay keeps the order of commits."""

from collections.abc import Collection, Sequence
from typing import Any

from .._querytape import ffi, lib
from .errors import check
from .streams import Stream, stream_pointer

PLACES: int = lib.QT_PLACES
TIMES = ("both", "ends", "arrivals")


def sweep_commits(
    events: Any,
    uses: Sequence[tuple[int, int, int]],
    tables: int,
    *,
    long_tables: Collection[int] = (),
    exclusive_tables: Collection[int] = (),
    times: str = "both",
    unknown: bool = False,
    overlap_ns: int = 0,
) -> Stream:
    """Return session, seq, tape_ns and waits of each event that waits or that another event waits for.

    docs/order.md explains the rules. `events` is any object with `__arrow_c_stream__`, sorted by lo_ns, session, seq.
    The object is read once. native/sweep/stream.c lists its columns. `uses`: tuples (digest, table, USE_* of
    schemas/names.py), sorted by digest. Table numbers range from 0 to `tables` - 1. Table 0 means all tables, 1 means
    unknown tables, and 2 means user-level locks.

    `long_tables`: tables with a statement whose duration is too long for lock waits to explain it. `exclusive_tables`:
    tables that DDL or LOCK TABLES locks completely. `times`: one of TIMES, the known times of an event. `unknown`:
    whether any event uses table 1. `overlap_ns`: a longer statement did not spend all its time on lock waits. Raises
    NativeFault.
    """
    pointer, alive = stream_pointer(events)
    options = ffi.new("struct qt_sweep_options *")
    listed = ffi.new("struct qt_sweep_use[]", list(uses))
    is_long = ffi.new("uint8_t[]", bytes(table in long_tables for table in range(tables)))
    options.uses, options.n_uses = listed, len(uses)
    options.n_digests = uses[-1][0] + 1 if uses else 0
    options.n_tables, options.is_long = tables, is_long
    is_exclusive = ffi.new("uint8_t[]", bytes(table in exclusive_tables for table in range(tables)))
    options.is_exclusive = is_exclusive
    options.times, options.unknown, options.overlap_ns = TIMES.index(times), int(unknown), overlap_ns

    def fill(out: Any) -> None:
        error = ffi.new("struct qt_error *")
        check(lib.qt_sweep_stream(pointer, options, out, error), error)

    return Stream(fill, (events, alive, listed, is_long, is_exclusive))
