# SPDX-License-Identifier: Apache-2.0
"""Keeps the target's own slow log of a replay as `RUN/target.tape`, so that server times can be compared.

Joins two stages: the capture stage switches the log on, restores the settings and makes a tape of it at the end.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path

from ..capture import SOURCES, Settings, capture_source
from ..capture.server_log import (
    HandedBack,
    LoggingPlan,
    Recorded,
    RecordOptions,
    WatchOptions,
    plan_logging,
    record_log,
    settle_recorded,
)
from ..common.errors import QuerytapeError
from ..common.signals import wait_for
from ..common.temporary import temporary_folder
from ..servers.facts import gather
from ..servers.target import Target

MAX_S = 7 * 86_400.0
MAX_RATE = 1 << 40
BEGINS_WITHIN_S = 30.0
# A replay ends its sessions: what is left then are other clients of a target, whose own log was on.
AFTERWARDS = WatchOptions(watch_s=10.0, log_again=True)

Result = tuple[Recorded, HandedBack] | BaseException


@contextmanager
def target_slowlog(target: Target, run: Path, max_disk: int, say: Callable[[str], None]) -> Iterator[None]:
    """Log everything the target does during the block; afterwards it is a tape in the run's folder.

    Raises RefusedError where the server does not let the log be switched on. All settings are restored, whatever
    happens in the block.
    """
    options = RecordOptions(duration_s=MAX_S, max_disk=max_disk, max_rate=MAX_RATE)
    with closing(target.connect()) as con:
        plan = plan_logging(target, gather(con), options)
    with temporary_folder() as work:
        results: list[Result] = []
        thread = threading.Thread(target=_record, args=(target, plan, options, Path(work), results), name="slow log")
        thread.start()
        try:
            _await(options.begun, thread)
            _raise_error(results)
            yield
            options.enough.set()
            thread.join()
            _raise_error(results)
            _keep(results, run, say)
        finally:
            options.enough.set()
            thread.join()
            if plan.log_file is not None:
                plan.log_file.unlink(missing_ok=True)


def _keep(results: list[Result], run: Path, say: Callable[[str], None]) -> None:
    """Make the log a tape in the run, where there is a run."""
    for result in results:
        assert not isinstance(result, BaseException)
        recorded, back = result
        for text in back.lines:
            say(f"the target's slow log: {text}")
        if run.is_dir():
            capture_source(SOURCES[recorded.kind], [str(recorded.log)], run / "target.tape", Settings())


def _raise_error(results: list[Result]) -> None:
    for result in results:
        if isinstance(result, BaseException):
            raise result


def _record(target: Target, plan: LoggingPlan, options: RecordOptions, work: Path, results: list[Result]) -> None:
    """Append what was recorded, or the error: the body of the thread."""
    try:
        recorded = record_log(target, plan, options, work)
        results.append((recorded, settle_recorded(target, plan.restore_file, recorded, AFTERWARDS)))
    except BaseException as error:
        results.append(error)
    options.begun.set()


def _await(begun: threading.Event, thread: threading.Thread) -> None:
    if not wait_for(begun, BEGINS_WITHIN_S) and thread.is_alive():
        raise QuerytapeError("could not enable the target's slow log within 30 s")
