# SPDX-License-Identifier: Apache-2.0
"""Makes one page in a separate process. Reads an order from standard input. Writes a line of JSON, then the page.

A damaged tape cannot crash the server, a slow page can be stopped, and all memory returns to the system. If standard
input ends before the page is finished, the server has stopped. Then the process removes its temporary files and exits.
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
    """Return the page of an order. For nights, return the data of the page as JSON.

    Raises QuerytapeError if the inputs of the page are invalid.
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

    settings = Settings(memory=memory, ddl=order.ddl, keep_summary=False)
    report = build(Path(order.tape), [*map(Path, order.a)], [*map(Path, order.b)], settings)
    if order.plans is not None:
        join_plans(report, Path(order.plans))
    return as_html(report)


def sweep(folder: Path) -> str:
    """Return the page of a sweep's levels. Raises FolderError if sweep.json has no levels."""
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
    """Return (None, page), or (error message, empty text)."""
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
    """Remove the folder `own` and exit when standard input ends: the server has stopped, or no longer needs the page.

    A running query does not react to signals before its end. The exit is therefore immediate, without cleanup. The
    process has written only to this folder.
    """

    def wait() -> None:
        while os.read(0, 1):
            pass
        remove_folder(own)
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def main() -> None:
    """Read an order, make its page, and write the page."""
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
    os._exit(0)  # skips the slow unloading of the libraries


if __name__ == "__main__":
    for number in ENDING:  # signals are meant for the server, which ends this process itself
        signal.signal(number, signal.SIG_IGN)
    main()
