# SPDX-License-Identifier: Apache-2.0
"""Begin and end a short program: fewer searches for garbage, and nothing is taken apart that the system frees.

Loading and taking apart DuckDB and its Python modules costs more than recording a small log.
"""

import atexit
import gc
import os
import sys
from collections.abc import Callable

# Objects that are made before garbage in cycles is looked for: more than loading our libraries makes a generation of.
OBJECTS_BEFORE_SEARCH = 50_000


def search_less() -> None:
    """Let Python look for garbage in cycles after so many objects; what is in no cycle is freed at once as before."""
    gc.set_threshold(OBJECTS_BEFORE_SEARCH, 20, 20)


def leave_at_once(program: Callable[[], None]) -> None:
    """Run `program`, which raises SystemExit; then end the process when threads are joined and atexit has run.

    What comes after that is left out: freeing each object and each library. Where a debugger or a profiler looks on,
    or what was printed cannot be written, the process ends in Python's own way.
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

    atexit.register(leave)  # the first one that is registered is the last one that is called
    try:
        program()
    except SystemExit as end:
        if end.code is None or isinstance(end.code, int):
            status.append((end.code or 0) & 0xFF)
        raise
