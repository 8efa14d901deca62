# SPDX-License-Identifier: Apache-2.0
"""Find what each event waits for under the order of commits."""

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
) -> Stream:
    """Return session, seq, tape_ns and waits of each event that waits or is waited for; docs/order.md has the rules.

    `events` is anything with `__arrow_c_stream__`, sorted by lo_ns, session, seq, and is read once;
    native/sweep/stream.c has its columns. `uses`: digest, table, USE_* of schemas/names.py, by digest.
    Tables are 0 to `tables` - 1: 0 is all, 1 those that are unknown, 2 the user-level
    locks. `long_tables`: where a statement took too long to have waited for locks. `exclusive_tables`: which DDL or
    LOCK TABLES takes whole. `times`: one of TIMES, what is known of an event. `unknown`: an event is about table 1.
    Raises NativeFault.
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
    options.times, options.unknown = TIMES.index(times), int(unknown)

    def fill(out: Any) -> None:
        error = ffi.new("struct qt_error *")
        check(lib.qt_sweep_stream(pointer, options, out, error), error)

    return Stream(fill, (events, alive, listed, is_long, is_exclusive))
