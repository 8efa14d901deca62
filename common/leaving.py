# SPDX-License-Identifier: Apache-2.0
"""Start and end a short program quickly: with fewer garbage collections, and without cleanup by Python.

The operating system frees the memory of an ended process anyway. Loading and unloading DuckDB and its Python modules
costs more than recording a small log.
"""

import atexit
import gc
import os
import sys
from collections.abc import Callable

# Number of allocated objects before Python first collects cyclic garbage. The libraries of querytape allocate fewer
# objects while they load.
OBJECTS_BEFORE_SEARCH = 50_000


def search_less() -> None:
    """Let Python collect garbage cycles less often. Objects outside cycles are still freed at once."""
    gc.set_threshold(OBJECTS_BEFORE_SEARCH, 20, 20)


def leave_at_once(program: Callable[[], None]) -> None:
    """Run `program`, which raises SystemExit, and end the process quickly.

    Threads are joined and atexit handlers run. Python's later cleanup of objects and libraries is skipped. The process
    ends normally if a debugger or profiler is attached, or if its output cannot be flushed.
    """
    status: list[int] = []

    def leave() -> None:
        if not status or sys.gettrace() is not None or sys.getprofile() is not None:
            return
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except (OSError, ValueError, AttributeError):
            return
        os._exit(status[0])

    atexit.register(leave)  # atexit calls the handler that was registered first last of all
    try:
        program()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            status.append((end.code or 0) & 0xFF)
        raise
