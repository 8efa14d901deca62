# SPDX-License-Identifier: Apache-2.0
"""Errors of AWS and of boto3 become sentences that say what to do."""

import pytest
from querytape.capture.rds.cloud import Cloud, GoneError
from querytape.common.errors import RefusedError, TargetError

from tests.helpers.rds import Aws

pytestmark = pytest.mark.slow


@pytest.mark.long
def test_errors_are_sentences(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is not there, what is not allowed, no credentials, and nobody who answers."""
    with pytest.raises(GoneError, match=r"rds:DownloadDBLogFilePortion: .*DBLogFileNotFoundFault"):
        Cloud().call("rds", "download_db_log_file_portion", DBInstanceIdentifier="x", LogFileName="none")
    aws.denied.add("DescribeDBLogFiles")
    with pytest.raises(RefusedError, match="may not rds:DescribeDBLogFiles: allow it in its policy"):
        list(Cloud().pages("rds", "describe_db_log_files", "DescribeDBLogFiles", DBInstanceIdentifier="x"))
    with pytest.raises(RefusedError, match=r"boto3: .*nobody"):
        Cloud(profile="nobody")
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("AWS_EC2_METADATA_DISABLED", "true")
    monkeypatch.setenv("AWS_CONFIG_FILE", "/nonexistent")
    monkeypatch.setenv("AWS_SHARED_CREDENTIALS_FILE", "/nonexistent")
    with pytest.raises(RefusedError, match="no credentials"):
        Cloud().call("rds", "describe_db_instances")
    monkeypatch.delenv("AWS_DEFAULT_REGION")
    with pytest.raises(RefusedError, match="--region"):
        Cloud()


@pytest.mark.long
def test_nobody_answers(aws: Aws, monkeypatch: pytest.MonkeyPatch) -> None:
    """An address without a server, and an answer that is no XML."""
    monkeypatch.setattr(Aws, "answer", lambda self, action, asked: 1 / 0)
    monkeypatch.setenv("AWS_MAX_ATTEMPTS", "1")
    with pytest.raises(TargetError, match="rds:DescribeDBInstances"):
        Cloud(attempts=1).call("rds", "describe_db_instances")
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9")
    with pytest.raises(TargetError, match="connect"):
        Cloud(attempts=1).call("rds", "describe_db_instances")
