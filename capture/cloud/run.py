# SPDX-License-Identifier: Apache-2.0
"""Capture the log of a managed server: change the parameter group, pull the log, revert the parameter group.

restore file -> parameters -> in sync -> puller thread -> pipe -> log reader -> tape -> parameters reverted
"""

import os
import select
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb

from ...common.errors import QuerytapeError
from ...common.signals import stop_on_signals
from ...common.units import plural
from ...native.bindings.parsers import open_server_audit
from ...native.bindings.reader import Reader
from ..record_source import capture_source
from ..server_log.restore import RDS, RestoreFile, write_restore_file
from ..server_log.settings import Left
from ..source import Settings, TapeWarning
from ..source_table import SOURCES
from .aws import Cloud
from .cloudwatch import LATE_S, cloudwatch_log
from .log_files import AUDIT_LOG, LATE_US, SLOW_LOG, WAIT_S, AuditLogFiles, LogFiles, PulledLog
from .parameters import RdsOptions, RdsPlan, apply, take_back, wait_in_sync

PIPE_BYTES = 4096  # a pipe accepts this many bytes when select() reports it as writable
JOIN_S = 30.0


@dataclass(frozen=True)
class RdsRecorded:
    """The result of a capture: the JSON of the tape and the parameters that were not reverted."""

    info: dict[str, Any]
    left: Left


@dataclass(eq=False)
class Puller(threading.Thread):
    """Thread that writes a log into a pipe for a limited time. `failed`: the reason for an early end.

    `enough` ends the thread after the thread wrote the pulled text. `unread` ends the thread immediately, because
    nobody reads the pipe.
    """

    log: PulledLog
    out: int
    seconds: float
    poll_s: float
    enough: threading.Event = field(default_factory=threading.Event)
    unread: threading.Event = field(default_factory=threading.Event)
    failed: str = ""

    def __post_init__(self) -> None:
        super().__init__(name="pull", daemon=True)

    def run(self) -> None:
        """Pull until the time is over, pull once more, then close the pipe."""
        until = time.monotonic() + self.seconds + self.log.waits_s
        try:
            while not self.enough.wait(max(0.0, min(self.poll_s, until - time.monotonic()))):
                last = time.monotonic() >= until
                for text in self.log.pull():
                    self._write(text)
                    if self.enough.is_set():
                        break
                if last:
                    break
            self._write_rest()
        except QuerytapeError as error:
            self.failed = str(error)
            with suppress(OSError):
                self._write_rest()
        except OSError:  # the reader has closed its end of the pipe
            return
        finally:
            os.close(self.out)

    def _write_rest(self) -> None:
        for text in self.log.rest():
            self._write(text)

    def _write(self, text: str) -> None:
        """Write all bytes into the pipe. Stop if the reader has ended, even if the reader still holds the pipe open."""
        view = memoryview(text.encode("utf-8", "surrogateescape"))
        while view and not self.unread.is_set():
            if select.select([], [self.out], [], 0.2)[1]:
                view = view[os.write(self.out, view[:PIPE_BYTES]) :]


def record_rds(cloud: Cloud, plan: RdsPlan, options: RdsOptions, output: Path, settings: Settings) -> RdsRecorded:
    """Capture the log and return the JSON of the tape. The parameter group is reverted on success and on every error.

    `settings` must not contain the values that `plan` and `options` determine. Raises RefusedError if AWS refuses a
    change, TargetError if AWS does not apply a change, and InputError if the log has no events.
    """
    log = choose_log(cloud, plan, options)
    log.begin()
    changed = tuple(change.name for change in plan.changes)
    extra = {"max_disk": options.max_disk, "query_limit": options.query_limit, "changed": changed}
    left: list[Left] = []
    with _changed(cloud, plan, options.say, left):
        if plan.changes:
            wait_in_sync(cloud, plan.instance, plan.group, options.sync_s, options.say)
        info = pull_onto_tape(log, plan, options, output, replace(settings, extra=extra))
    return RdsRecorded(info, left[0] if left else Left())


def choose_log(cloud: Cloud, plan: RdsPlan, options: RdsOptions) -> PulledLog:
    """Return a reader for the requested log. Raises RefusedError if the instance does not export the log."""
    name = plan.instance.name
    if options.cloudwatch:
        return cloudwatch_log(cloud, plan.instance, min(LATE_S, options.duration_s), audit=options.audit)
    if options.audit and plan.instance.is_aurora:
        return AuditLogFiles(cloud, name, waits_s=min(WAIT_S, options.duration_s))
    return LogFiles(cloud, name, AUDIT_LOG if options.audit else SLOW_LOG)


@contextmanager
def _changed(cloud: Cloud, plan: RdsPlan, say: Callable[[str], None], left: list[Left]) -> Iterator[None]:
    """Keep the parameter group changed inside the `with` block. The restore file lists the changes to revert."""
    if not plan.changes:
        yield
        return
    at = datetime.now(UTC).isoformat(timespec="seconds")
    saved = RestoreFile(
        server=plan.instance.name,
        identity=plan.group.arn,
        at=at,
        changes=plan.changes,
        log_file=None,
        method=RDS,
        group=plan.group.name,
    )
    write_restore_file(plan.restore_file, saved)
    try:
        apply(cloud, plan.group, plan.changes)
        yield
    finally:
        with stop_on_signals(lambda: None):  # ignores signals, because a partial revert is worse than a wait
            left.append(take_back(cloud, plan.group, plan.changes))
            for line in left[0].changed:
                say(line)
            if left[0].refused:
                again = (
                    f"Run `querytape capture rds {plan.instance.name} --restore` (restore file: {plan.restore_file})"
                )
                say(f"NOT RESTORED: {'; '.join(left[0].refused)}. {again}")
            else:
                plan.restore_file.unlink(missing_ok=True)
                say(f"restored the {plan.group}")


def pull_onto_tape(
    log: PulledLog, plan: RdsPlan, options: RdsOptions, output: Path, settings: Settings
) -> dict[str, Any]:
    """Pull the log through a pipe into the reader of the log, and return the JSON of the tape."""
    source, sink = os.pipe()
    puller = Puller(log, sink, options.duration_s, options.poll_s)

    def open_pulled(names: Sequence[str], settings: Settings) -> Reader:
        if options.audit:  # audit rows are already in time order
            reader = open_server_audit(names, settings.timezone_ns, options.query_limit)
        else:
            reader = SOURCES["slowlog"].open(names, settings)
        reader.at_stop = puller.enough.set
        reader.ends_by_itself = True
        return reader

    def judge(con: duckdb.DuckDBPyConnection) -> tuple[dict[str, Any], list[TapeWarning]]:
        puller.enough.set()
        puller.unread.set()
        puller.join(JOIN_S)
        return describe(log, plan, puller.failed)

    kind = replace(SOURCES["audit" if options.audit else "slowlog"], live=lambda settings: True, open=open_pulled)
    puller.start()
    try:
        return capture_source(kind, [f"/dev/fd/{source}"], output, replace(settings, judge=judge))
    finally:
        puller.enough.set()
        puller.unread.set()
        os.close(source)


def describe(log: PulledLog, plan: RdsPlan, failed: str) -> tuple[dict[str, Any], list[TapeWarning]]:
    """Return the description of the pulled log for tape.json, and warnings about missing data."""
    lost = list(log.holes)
    if log.cuts:
        lost.append(f"RDS truncated {plural(log.cuts, 'line')} at 1 MB. The truncated statements are not on the tape")
    if failed:
        lost.append(f"querytape could not read the log to its end: {failed}")
    name = plan.instance.name
    files = [{"path": f"rds:{name}/{file}", "bytes": size, "sha256": None} for file, size in log.read.items()]
    about = {"instance": name, "engine": plan.instance.engine, "version": plan.instance.version}
    warnings = [{"kind": "rds_lost", "text": text} for text in lost]
    if log.late:
        text = (
            f"{plural(log.late, 'row')} arrived more than {LATE_US // 1_000_000} s after later rows of other files."
            " Events of a session may be out of order"
        )
        warnings.append({"kind": "rds_late", "text": text})
    return {"files": files, "rds": about, "lost": lost}, warnings
