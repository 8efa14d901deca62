# SPDX-License-Identifier: Apache-2.0
"""Slow and audit logs in CloudWatch Logs. Each log event is one log entry and is returned once."""

import random
import time

import pytest
from querytape.capture.cloud.aws import Cloud, look_at
from querytape.capture.cloud.cloudwatch import CloudWatchAudit, cloudwatch_log
from querytape.common.errors import RefusedError

from tests.helpers.rds import Aws, audit_row, entries

pytestmark = pytest.mark.slow

GROUP = "/aws/rds/instance/shop-1/slowquery"


def test_each_log_event_is_returned_once(aws: Aws) -> None:
    """A missing log stream gives no entries. After the stream is created, each log event is returned once, in order and
    with a newline.
    """
    aws.instance(EnableCloudwatchLogsExports=["slowquery"])
    log = cloudwatch_log(Cloud(), look_at(Cloud(), "shop-1"), 0)
    log.begin()
    assert list(log.pull()) == []
    logs = aws.client("logs")
    logs.create_log_group(logGroupName=GROUP)
    logs.create_log_stream(logGroupName=GROUP, logStreamName="shop-1")
    pulled = ""
    for first in (0, 50):
        now = int(time.time() * 1000) + 10
        events = [{"timestamp": now + n, "message": entries(n, 1).rstrip()} for n in range(first, first + 50)]
        logs.put_log_events(logGroupName=GROUP, logStreamName="shop-1", logEvents=events)
        pulled += "".join(log.pull())
    assert pulled == entries(0, 100)
    assert log.read == {GROUP: len(pulled)}


def test_log_that_is_not_exported_is_refused(aws: Aws) -> None:
    """The message contains the command that enables the log export."""
    aws.instance()
    with pytest.raises(RefusedError, match=r"aws rds modify-db-instance .*EnableLogTypes"):
        cloudwatch_log(Cloud(), look_at(Cloud(), "shop-1"), 0)
    with pytest.raises(RefusedError, match=r"its audit log .*EnableLogTypes.*audit"):
        cloudwatch_log(Cloud(), look_at(Cloud(), "shop-1"), 0, audit=True)


@pytest.mark.long
def test_audit_streams_are_merged_by_time(aws: Aws) -> None:
    """Each row of Aurora's log streams is returned once. Streams of another instance, whose name begins with the same
    letters, are skipped.
    """
    place = "/aws/rds/cluster/au/audit"
    log = CloudWatchAudit(Cloud(), place, "au-1")
    log.begin()
    assert list(log.pull()) == []
    logs = aws.client("logs")
    logs.create_log_group(logGroupName=place)
    streams = ["au-1", *(f"au-1.audit.log.{n}.2026-11-22-07-00.0" for n in range(60)), "au-10", "au-12.audit.log.0.x.0"]
    for stream in streams:
        logs.create_log_stream(logGroupName=place, logStreamName=stream)
    chance, at, pulled, written = random.Random(5), 1_795_000_000_000_000, "", []
    for turn in range(4):
        events: dict[str, list[dict[str, object]]] = {}
        for n in range(100):
            at += chance.randrange(400_000)
            stream = chance.choice(streams)
            row = audit_row(at - chance.randrange(900_000), turn * 100 + n)
            events.setdefault(stream, []).append({"timestamp": int(time.time() * 1000) + 10, "message": row.rstrip()})
            if stream[4:5] in ("", "."):
                written.append(row)
        for stream, several in events.items():
            logs.put_log_events(logGroupName=place, logStreamName=stream, logEvents=several)
        pulled += "".join(log.pull())
    pulled += "".join(log.pull()) + "".join(log.rest())
    lines = pulled.splitlines(keepends=True)
    assert sorted(lines) == sorted(written)
    assert [line[:16] for line in lines] == sorted(line[:16] for line in lines)
    assert (log.late, log.read) == (0, {place: len(pulled)})
