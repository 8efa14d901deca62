# SPDX-License-Identifier: Apache-2.0
"""The target's own slow log beside a replay: `RUN/target.tape`, so that server time can be compared with server time.

The face joins two stages here: the capture switches the log on, keeps how it was, and makes a tape of it at the end.
"""

import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from .capture import SOURCES, Settings, capture
from .capture.server import RecordOptions, make_plan, record
from .capture.server.recording import Plan, Recorded
from .errors import QuerytapeError
from .servers.facts import gather
from .servers.target import Target

MOST_S = 7 * 86_400.0
MOST_RATE = 1 << 40
BEGINS_WITHIN_S = 30.0


@contextmanager
def slow_log_beside(target: Target, run: Path, max_disk: int, say: Callable[[str], None]) -> Iterator[None]:
    """Log everything the target does during the block; afterwards it is a tape in the run's folder.

    Raises RefusedError where the server does not let the log be switched on. All settings are taken back, whatever
    happens in the block.
    """
    options = RecordOptions(duration_s=MOST_S, max_disk=max_disk, max_rate=MOST_RATE)
    with closing(target.connect()) as con:
        plan = make_plan(target, gather(con), options)
    with tempfile.TemporaryDirectory(prefix="querytape-") as work:
        found: list[Recorded | BaseException] = []
        thread = threading.Thread(target=_record, args=(target, plan, options, Path(work), found), name="slow log")
        thread.start()
        try:
            _await(options.begun, thread)
            _raise_fault(found)
            yield
            options.enough.set()
            thread.join()
            _raise_fault(found)
            _keep(found, run, say)
        finally:
            options.enough.set()
            thread.join()
            if plan.log_file is not None:
                plan.log_file.unlink(missing_ok=True)


def _keep(found: list[Recorded | BaseException], run: Path, say: Callable[[str], None]) -> None:
    """Make the log a tape in the run, where there is a run."""
    for recorded in found:
        assert isinstance(recorded, Recorded)
        for text in recorded.warnings:
            say(f"the target's slow log: {text}")
        if run.is_dir():
            capture(SOURCES[recorded.kind], [str(recorded.log)], run / "target.tape", Settings())


def _raise_fault(found: list[Recorded | BaseException]) -> None:
    for fault in found:
        if isinstance(fault, BaseException):
            raise fault


def _record(
    target: Target, plan: Plan, options: RecordOptions, work: Path, found: list[Recorded | BaseException]
) -> None:
    try:
        found.append(record(target, plan, options, work))
    except BaseException as fault:
        found.append(fault)
    options.begun.set()


def _await(begun: threading.Event, thread: threading.Thread) -> None:
    if not begun.wait(BEGINS_WITHIN_S) and thread.is_alive():
        raise QuerytapeError("the target's slow log could not be switched on within 30 s")
