# SPDX-License-Identifier: Apache-2.0
"""Captures the target's slow log during a replay as `RUN/target.tape`, to compare server times.

Joins two stages, capture and replay. The capture stage enables the log, restores the settings, and captures the log at
the end.
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
# A replay ends its own sessions. The remaining sessions belong to other clients of the target server. Its log was
# enabled during the replay.
AFTERWARDS = WatchOptions(watch_s=10.0, log_again=True)

Result = tuple[Recorded, HandedBack] | BaseException


@contextmanager
def target_slowlog(target: Target, run: Path, max_disk: int, say: Callable[[str], None]) -> Iterator[None]:
    """Log all statements of the target during the block. Afterwards the log becomes a tape in the run's folder.

    Raises RefusedError if the server does not permit enabling the log. All settings are restored, also after an error
    in the block.
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
    """Capture the log into a tape in the run's folder, if the folder exists."""
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
    """Record the log and append the result or the error to `results`. This is the body of the thread."""
    try:
        recorded = record_log(target, plan, options, work)
        results.append((recorded, settle_recorded(target, plan.restore_file, recorded, AFTERWARDS)))
    except BaseException as error:
        results.append(error)
    options.begun.set()


def _await(begun: threading.Event, thread: threading.Thread) -> None:
    if not wait_for(begun, BEGINS_WITHIN_S) and thread.is_alive():
        raise QuerytapeError("could not enable the target's slow log within 30 s")
