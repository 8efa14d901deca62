# SPDX-License-Identifier: Apache-2.0
"""Read the slow log or audit log of an instance from CloudWatch Logs. One event of a log stream is one log entry.

Aurora writes its audit log to several streams, INSTANCE and INSTANCE.*. No stream is strictly ordered. The rows of the
streams are therefore sorted by time, as in `AuditLogFiles`.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...common.errors import RefusedError
from .aws import Cloud, GoneError, Instance
from .log_files import LATE_US, PulledLog

EXPORT, AUDIT_EXPORT = "slowquery", "audit"
MAX_EVENTS = 10_000
LATE_S = 20.0  # seconds by which events may arrive late


@dataclass
class CloudWatchLog(PulledLog):
    """Reads one log stream of an instance. Starts at the time when `begin` is called."""

    cloud: Cloud
    group: str
    stream: str
    _since_ms: int = 0
    _token: str | None = None

    def begin(self) -> None:
        """Skip everything that was logged before now."""
        self._since_ms = int(time.time() * 1000)

    def pull(self) -> Iterator[str]:
        """Yield the events since the last pull. Each event ends with a newline. Raises TargetError or RefusedError."""
        while True:
            token = {"nextToken": self._token} if self._token else {}
            try:
                answer = self.cloud.call(
                    "logs",
                    "get_log_events",
                    logGroupName=self.group,
                    logStreamName=self.stream,
                    startTime=self._since_ms,
                    startFromHead=True,
                    limit=MAX_EVENTS,
                    **token,
                )
            except GoneError:  # the stream is created with its first event
                return
            for event in answer.get("events") or ():
                text = str(event.get("message") or "").rstrip("\n") + "\n"
                self.read[self.group] = self.read.get(self.group, 0) + len(text.encode("utf-8", "surrogateescape"))
                yield text
            following = answer.get("nextForwardToken")
            if not following or following == self._token:
                return
            self._token = str(following)


@dataclass
class CloudWatchAudit(PulledLog):
    """Reads all audit log streams of an instance and yields their rows in time order."""

    cloud: Cloud
    group: str
    instance: str
    _streams: dict[str, CloudWatchLog] = field(default_factory=dict)
    _latest: dict[str, int] = field(default_factory=dict)
    _since_ms: int = 0

    def begin(self) -> None:
        """Skip everything that was logged before now."""
        self._since_ms = int(time.time() * 1000)

    def pull(self) -> Iterator[str]:
        """Yield the held rows in time order. Rows less than LATE_US older than the newest row stay held.

        Raises TargetError or RefusedError.
        """
        until = self._rows.newest - LATE_US
        for name in self._names():
            stream = self._streams.get(name)
            if stream is None:
                stream = CloudWatchLog(self.cloud, self.group, name, read=self.read, _since_ms=self._since_ms)
                self._streams[name] = stream
            for text in stream.pull():
                self._latest[name] = self._rows.hold(text, self._latest.get(name, 0))
        yield from self._rows.give(until)

    def _names(self) -> list[str]:
        """Return the streams of this instance. Names of other instances may start with the same letters."""
        names: list[str] = []
        token: dict[str, str] = {}
        while True:
            try:
                answer = self.cloud.call(
                    "logs",
                    "describe_log_streams",
                    logGroupName=self.group,
                    logStreamNamePrefix=self.instance,
                    **token,
                )
            except GoneError:  # the group is created with its first event
                return []
            names += [str(stream.get("logStreamName")) for stream in answer.get("logStreams") or ()]
            following = str(answer.get("nextToken") or "")
            if not following or token == {"nextToken": following}:
                return [name for name in names if name == self.instance or name.startswith(f"{self.instance}.")]
            token = {"nextToken": following}


def cloudwatch_log(
    cloud: Cloud, instance: Instance, waits_s: float, *, audit: bool = False
) -> CloudWatchLog | CloudWatchAudit:
    """Return a reader for an exported log of the instance.

    Raises RefusedError if the instance does not export the log.
    """
    export = AUDIT_EXPORT if audit else EXPORT
    if export not in instance.exports:
        what = (
            f"cluster --db-cluster-identifier {instance.cluster}"
            if instance.cluster
            else (f"instance --db-instance-identifier {instance.name}")
        )
        raise RefusedError(
            f"--cloudwatch: {instance.name} does not export its {'audit' if audit else 'slow'} log to CloudWatch Logs."
            f" Run: aws rds modify-db-{what}"
            f' --cloudwatch-logs-export-configuration \'{{"EnableLogTypes":["{export}"]}}\''
        )
    place = f"cluster/{instance.cluster}" if instance.cluster else f"instance/{instance.name}"
    group = f"/aws/rds/{place}/{export}"
    if audit and instance.is_aurora:
        return CloudWatchAudit(cloud, group, instance.name, waits_s=waits_s)
    return CloudWatchLog(cloud, group, instance.name, waits_s=waits_s)
