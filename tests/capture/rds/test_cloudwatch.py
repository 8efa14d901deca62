# SPDX-License-Identifier: Apache-2.0
"""The slow log in CloudWatch Logs: an event is an entry, each comes once."""

import time

import pytest
from querytape.capture.rds.cloud import Cloud
from querytape.capture.rds.cloudwatch import cloudwatch_log
from querytape.capture.rds.instance import look_at
from querytape.common.errors import RefusedError

from tests.helpers.rds import Aws, entries

GROUP = "/aws/rds/instance/shop-1/slowquery"


def test_events_come_once(aws: Aws) -> None:
    """Before the stream exists there is nothing; then each event once, with its newline, in their order."""
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


def test_not_exported(aws: Aws) -> None:
    """Without the export it is refused with the command that mends it."""
    aws.instance()
    with pytest.raises(RefusedError, match=r"aws rds modify-db-instance .*EnableLogTypes"):
        cloudwatch_log(Cloud(), look_at(Cloud(), "shop-1"), 0)
