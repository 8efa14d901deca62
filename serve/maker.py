# SPDX-License-Identifier: Apache-2.0
"""Makes one page in a process of its own: an order on standard input, a line of JSON and the page on standard output.

A damaged tape can't take the server along, a page that takes too long can be ended, and memory goes back to the system.
When standard input ends before the page is made, the server is gone: what was begun is removed, and so is the process.
"""

import json
import math
import os
import signal
import sys
import tempfile
import threading
from dataclasses import fields
from pathlib import Path
from typing import Any

from ..common.errors import FolderError, QuerytapeError
from ..common.files import remove_folder
from ..common.signals import ENDING
from ..common.temporary import temporary_folder
from .orders import Order
from .shelf import NIGHTS, SWEEP, TAPE, read_text

MAX_SWEEP = 1 << 20
MAX_LEVELS = 1000


def make(order: Order, memory: str) -> str:
    """Return the page; of nights what its page shows, as JSON.

    Raises QuerytapeError where what it is made of is not what it should be.
    """
    if order.kind == TAPE:
        from ..analyze import summarise_tape, tape_page

        return tape_page(summarise_tape(Path(order.tape), memory, pictures=True))
    if order.kind == SWEEP:
        return sweep(Path(order.tape))
    if order.kind == NIGHTS:
        from .history import history

        return json.dumps(history(Path(order.tape)))
    from ..analyze import Settings, as_html, build, join_plans

    settings = Settings(memory=memory, ddl=order.ddl)
    report = build(Path(order.tape), [*map(Path, order.a)], [*map(Path, order.b)], settings)
    if order.plans is not None:
        join_plans(report, Path(order.plans))
    return as_html(report)


def sweep(folder: Path) -> str:
    """Return the page of a sweep's levels. Raises FolderError where sweep.json has none."""
    from ..analyze import SweepLevel, sweep_page

    try:
        said = json.loads(read_text(folder / "sweep.json", MAX_SWEEP))
        names = [field.name for field in fields(SweepLevel)]
        levels = [SweepLevel(**{name: _number(level[name], name) for name in names}) for level in said["levels"]]
        if not 0 < len(levels) <= MAX_LEVELS:
            raise ValueError("no levels")
        title = f"{Path(str(said['tape'])).name} on {said['target']}"
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise FolderError(f"{folder.name}/sweep.json: not a valid file of a sweep") from error
    return sweep_page(title, levels)


def _number(value: Any, name: str) -> Any:
    if value is None and name.startswith("p"):
        return None
    if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < math.inf:
        raise ValueError(name)
    return value


def answer(order: Order, memory: str) -> tuple[str | None, str]:
    """Return (None, the page), or (a sentence, nothing)."""
    import duckdb

    from ..common.duck import plain_reason

    try:
        return None, make(order, memory)
    except QuerytapeError as error:
        return str(error), ""
    except duckdb.Error as error:
        return plain_reason(error), ""
    except MemoryError:
        return "not enough memory to build the page", ""


def leave_with_server(own: Path) -> None:
    """Remove the folder `own` and end this process when standard input ends: the server is gone, or wants no page.

    A query that runs hears no signal before its end: nothing is unwound, nothing but that folder was written.
    """

    def wait() -> None:
        while os.read(0, 1):
            pass
        remove_folder(own)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Read an order, make its page, write it."""
    line = b""
    while not line.endswith(b"\n"):
        piece = os.read(0, 1 << 16)
        if not piece:
            return
        line += piece
    given = json.loads(line)
    with temporary_folder() as own:
        tempfile.tempdir = own
        leave_with_server(Path(own))
        problem, page = answer(Order.from_json(given["order"]), given["memory"])
    out = sys.stdout.buffer
    out.write(json.dumps({"problem": problem}).encode() + b"\n" + page.encode("utf-8", "backslashreplace"))
    out.flush()
    os._exit(0)  # taking the libraries apart takes longer than it is worth


if __name__ == "__main__":
    for number in ENDING:  # they are for the server, which ends this process as it likes
        signal.signal(number, signal.SIG_IGN)
    main()
