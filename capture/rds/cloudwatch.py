# SPDX-License-Identifier: Apache-2.0
"""Read an instance's slow log from CloudWatch Logs, where RDS exports it: one event of a stream is one entry."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field

from ...common.errors import RefusedError
from .cloud import Cloud, GoneError
from .instance import Instance

EXPORT = "slowquery"
MAX_EVENTS = 10_000
LATE_S = 20.0  # that much later events may come


@dataclass
class CloudWatchLog:
    """Reads the stream of an instance, from the moment of `begin` on; as LogFiles does its files.

    `waits_s`: how long it is read after its time, for events come late.
    """

    cloud: Cloud
    group: str
    stream: str
    waits_s: float
    holes: list[str] = field(default_factory=list)
    cuts: int = 0
    read: dict[str, int] = field(default_factory=dict)
    late: int = 0
    _since_ms: int = 0
    _token: str | None = None

    def begin(self) -> None:
        """Start with what is logged from now on."""
        self._since_ms = int(time.time() * 1000)

    def pull(self) -> Iterator[str]:
        """Yield the events since the last pull, each with its newline. Raises TargetError, RefusedError."""
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
            except GoneError:  # the stream begins with its first event
                return
            for event in answer.get("events") or ():
                text = str(event.get("message") or "").rstrip("\n") + "\n"
                self.read[self.group] = self.read.get(self.group, 0) + len(text.encode("utf-8", "surrogateescape"))
                yield text
            following = answer.get("nextForwardToken")
            if not following or following == self._token:
                return
            self._token = str(following)

    def rest(self) -> Iterator[str]:
        """Yield what was held back: nothing is."""
        yield from ()


def cloudwatch_log(cloud: Cloud, instance: Instance, waits_s: float) -> CloudWatchLog:
    """Return the reader of an instance's exported slow log. Raises RefusedError where it is not exported."""
    if EXPORT not in instance.exports:
        what = (
            f"cluster --db-cluster-identifier {instance.cluster}"
            if instance.cluster
            else (f"instance --db-instance-identifier {instance.name}")
        )
        raise RefusedError(
            f"--cloudwatch: {instance.name} does not export its slow log: aws rds modify-db-{what}"
            ' --cloudwatch-logs-export-configuration \'{"EnableLogTypes":["slowquery"]}\''
        )
    place = f"cluster/{instance.cluster}" if instance.cluster else f"instance/{instance.name}"
    return CloudWatchLog(cloud, f"/aws/rds/{place}/{EXPORT}", instance.name, waits_s)
